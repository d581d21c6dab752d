"""Section "library": what transformers of this version does, without a GPU. Buffers, checkpointing, loss upcasts."""
import inspect

import torch
from transformers.modeling_utils import PreTrainedModel

import peer_models
from shadow_cases import case_of
from shadow_device import InputValues

MODELS = ("bert-base-cased", "gpt2", "llama-3.2-1b", "qwen2.5-0.5b", "t5-base", "vit-base", "resnet50")


def buffers_line(name, head):
    case = case_of(name, "load", "bfloat16", 1, head=head)
    _, model, _ = peer_models.build(case, "meta")
    persistent = set(model.state_dict())
    rows = [[key, str(value.dtype).removeprefix("torch."), list(value.shape), key in persistent]
            for key, value in model.named_buffers()]
    return {"type": "library", "about": "buffers", "model": name, "head": head, "class": type(model).__name__,
            "parameter_count": sum(p.numel() for p in model.parameters()),
            "buffer_bytes": sum(b.untyped_storage().nbytes() for b in model.buffers()), "buffers": rows[:8],
            "buffer_count": len(rows)}


def checkpointing_line():
    """The default of gradient_checkpointing_enable(), as its own code makes it."""
    case = case_of("gpt2", "train", "float32", 1)
    _, model, _ = peer_models.build(case, "meta")
    found = []
    model._set_gradient_checkpointing = lambda *args, **keywords: found.append((args, keywords))
    model.gradient_checkpointing_enable()
    function = found[0][1].get("gradient_checkpointing_func")
    return {"type": "library", "about": "checkpointing", "default": dict(function.keywords),
            "signature": str(inspect.signature(PreTrainedModel.gradient_checkpointing_enable))}


def upcast_line(name):
    """In which dtype a bfloat16 model's loss sees the logits."""
    case = case_of(name, "train", "bfloat16", 2, None if name in ("vit-base", "resnet50") else 16, layers=None)
    family, model, config = peer_models.build(case, "meta")
    model.eval()
    seen, before = [], torch.nn.functional.cross_entropy

    def cross_entropy(logits, *rest, **keywords):
        seen.append(str(logits.dtype).removeprefix("torch."))
        return before(logits, *rest, **keywords)

    torch.nn.functional.cross_entropy = cross_entropy
    try:
        inputs, labels = peer_models.make_inputs(case, family, config, "meta")
        with InputValues(padding=False):
            loss = peer_models.forward(case, family, model, inputs, labels)
    finally:
        torch.nn.functional.cross_entropy = before
    return {"type": "library", "about": "loss", "model": name, "logits_dtype": seen,
            "loss_dtype": str(loss.dtype).removeprefix("torch.")}


def attention_line(name):
    _, with_head, _, config = peer_models.MODELS[name]
    made = {}
    for wanted in (None, "sdpa"):
        try:
            with torch.device("meta"):
                made[str(wanted)] = with_head._from_config(config, attn_implementation=wanted).config._attn_implementation
        except ValueError as error:
            made[str(wanted)] = str(error)[:100]
    return {"type": "library", "about": "attention", "model": name, "implementation": made}


def library_lines(device):
    del device  # nothing here depends on it
    for name in MODELS:
        yield buffers_line(name, "lm")
    for name in ("bert-base-cased", "gpt2"):
        yield buffers_line(name, "bare")
    yield checkpointing_line()
    for name in MODELS:
        yield upcast_line(name)
    for name in MODELS[:-1]:
        yield attention_line(name)
