"""Which programs run with which models, most telling cases first.

A case has the identity fields of truth.py and the habits of its program: outputs (kept, dropped), zero_grad
(before-forward, before-backward, after-step), use_cache, clip_grad (none, default, foreach, single), loss_item, mask (the
batch has an attention mask of ones), steps. optimizer: adamw, adam and sgd are torch.optim's with their defaults, null is the
program's own default.
"""
LOOP = {"optimizer": "adamw", "outputs": "kept", "zero_grad": "after-step", "use_cache": True, "loss_item": False}
OWN = {"optimizer": None, "use_cache": True}  # of the configuration; Trainer changes it


def case_of(program, model, precision, batch, seq=None, mode="train", **more):
    case = {"id": None, "program": program, "model": model, "mode": mode, "precision": precision, "batch": batch,
            "seq": seq, "attention": "sdpa", "optimizer": None, "head": "lm", "checkpointing": False, "accumulate": 1,
            "steps": 5}
    defaults = LOOP if program in ("plain-loop", "peft-script") else OWN
    if mode == "infer":
        defaults = {"outputs": "kept", "use_cache": True}
    case.update(defaults)
    case.update(more)
    shown = [f"{name}={value}" if not isinstance(value, bool) else name if value else "no-" + name
             for name, value in more.items() if value is not None]
    case["id"] = "/".join([program, model, mode, precision, f"b{batch}", *([f"s{seq}"] if seq else []), *shown])
    return case


def loop_cases():
    """The habits of a loop, one at a time."""
    out = []
    for model, precision, batch, seq in (("gpt2", "float32", 8, 512), ("qwen2.5-0.5b", "amp-bfloat16", 4, 512),
                                         ("llama-3.2-1b", "bfloat16", 4, 512), ("bert-base-cased", "float32", 8, 512),
                                         ("distilgpt2", "float32", 20, 512)):
        out.append(case_of("plain-loop", model, precision, batch, seq))
        out.append(case_of("plain-loop", model, precision, batch, seq, outputs="dropped", use_cache=False))
    for more in ({"use_cache": False}, {"outputs": "dropped"}, {"zero_grad": "before-forward"},
                 {"zero_grad": "before-backward"}, {"clip_grad": "default"}, {"loss_item": True}, {"set_to_none": False},
                 {"optimizer": "adamw-fused"}, {"mask": True}, {"clip_grad": "single"}, {"optimizer": "sgd"}):
        out.append(case_of("plain-loop", "gpt2", "float32", 8, 512, **more))
    return out


def image_cases():
    out = []
    for model, batch in (("resnet50", 32), ("timm/vgg16.tv_in1k", 32)):
        for habits in ({"outputs": "kept", "zero_grad": "before-forward"},
                       {"outputs": "kept", "zero_grad": "before-backward"},
                       {"outputs": "dropped", "zero_grad": "after-step"}):
            out.append(case_of("plain-loop", model, "float32", batch, optimizer="adam", loss_item=True, **habits))
    out.append(case_of("plain-loop", "resnet50", "amp-bfloat16", 32, optimizer="sgd", zero_grad="before-forward"))
    return out


def inference_cases():
    out = []
    for model, precision in (("llama-3.2-1b", "bfloat16"), ("gpt2", "float32")):
        for habits in ({}, {"use_cache": False}, {"outputs": "dropped"}):
            out.append(case_of("plain-loop", model, precision, 8, 512, mode="infer", **habits))
    return out


def trainer_cases():
    out = []
    for model, batch, seq in (("gpt2", 8, 512), ("bert-base-cased", 8, 512), ("qwen2.5-0.5b", 4, 512)):
        out.append(case_of("hf-trainer", model, "amp-bfloat16", batch, seq, mask=True))
        out.append(case_of("hf-trainer", model, "float32", batch, seq, mask=True))
    out.append(case_of("hf-trainer", "gpt2", "amp-bfloat16", 8, 512, mask=True, checkpointing=True))
    out.append(case_of("hf-trainer", "gpt2", "float32", 8, 512, mask=True, optimizer="adamw"))
    out.append(case_of("hf-trainer", "gpt2", "float32", 8, 512, mask=True, optimizer="adafactor"))
    out.append(case_of("hf-trainer", "gpt2", "float32", 8, 512, mask=True, max_grad_norm=0.0))
    out.append(case_of("hf-trainer", "gpt2", "float32", 8, 512, mask=True, label_smoothing_factor=0.1))
    out.append(case_of("hf-trainer", "gpt2", "amp-float16", 8, 512, mask=True))
    out.append(case_of("hf-trainer", "gpt2", "amp-bfloat16", 4, 512, mask=True, accumulate=2))
    out.append(case_of("hf-trainer", "llama-3.2-1b", "bfloat16", 2, 512, mask=True))
    return out


def bitsandbytes_cases():
    """The Trainer with optimizers of bitsandbytes, which it tells to keep states of embeddings in float32."""
    out = []
    for model, precision, batch, seq in (("tiny/gpt2-wide", "float32", 2, 8), ("gpt2", "float32", 8, 512),
                                         ("bert-base-cased", "amp-bfloat16", 8, 512),
                                         ("llama-3.2-1b", "bfloat16", 2, 512)):
        for optimizer in ("adam-8bit", "paged-adamw-8bit", "paged-adamw-32bit"):
            out.append(case_of("hf-trainer", model, precision, batch, seq, mask=True, optimizer=optimizer))
    return out


def other_cases():
    out = []
    for model, batch, seq in (("gpt2", 8, 512), ("bert-base-cased", 8, 512)):
        out.append(case_of("accelerate", model, "amp-bfloat16", batch, seq, optimizer="adamw"))
        out.append(case_of("lightning", model, "amp-bfloat16", batch, seq, optimizer="adamw"))
        out.append(case_of("lightning", model, "float32", batch, seq, optimizer="adamw"))
    out.append(case_of("lightning", "gpt2", "float32", 8, 512, optimizer="adamw", clip_grad="default"))
    out.append(case_of("accelerate", "gpt2", "float32", 8, 512, optimizer="adamw", clip_grad="default"))
    out.append(case_of("accelerate", "gpt2", "amp-float16", 8, 512, optimizer="adamw"))
    out.append(case_of("lightning", "resnet50", "float32", 32, optimizer="adam"))
    out.append(case_of("peft-script", "llama-3.2-1b", "bfloat16", 4, 512, lora_rank=8))
    out.append(case_of("peft-script", "llama-3.2-1b", "bfloat16", 4, 512, lora_rank=8, use_cache=False,
                       outputs="dropped"))
    out.append(case_of("peft-script", "qwen2.5-0.5b", "float32", 4, 512, lora_rank=8))
    out.append(case_of("trl-sft", "qwen2.5-0.5b", "amp-bfloat16", 4, 512))
    out.append(case_of("trl-sft", "qwen2.5-0.5b", "amp-bfloat16", 4, 512, checkpointing=True))
    out.append(case_of("trl-sft", "gpt2", "float32", 8, 512))
    out.append(case_of("trl-sft", "llama-3.2-1b", "bfloat16", 4, 512, checkpointing=True))
    return out


def own_model_cases():
    """Programs whose models are their own; on the meta device alone."""
    out = []
    for program in ("torchtune", "litgpt"):
        for model in ("llama-3.2-1b", "qwen2.5-0.5b"):
            out.append(case_of(program, model, "bfloat16", 4, 512))
            out.append(case_of(program, model, "float32", 2, 2048))
        out.append(case_of(program, "llama-3.2-1b", "bfloat16", 1, 4096))
    out.append(case_of("torchtitan", "llama-3.2-1b", "amp-bfloat16", 4, 512))
    out.append(case_of("torchtitan", "llama-3.2-1b", "amp-bfloat16", 1, 4096))
    out.append(case_of("torchtitan", "llama-3.2-1b", "float32", 2, 2048))
    out.append(case_of("torchtitan", "llama-3.2-1b", "amp-bfloat16", 4, 512, checkpointing=True))
    return out


def tiny_own_model_cases():
    """torchtune's norms in float32 are one kernel on a GPU and several here, so that it is compared in bfloat16."""
    out = []
    for program, precisions in (("torchtune", ("bfloat16",)), ("litgpt", ("float32", "bfloat16"))):
        for model in ("tiny/llama-gqa", "tiny/qwen2"):
            for precision in precisions:
                out.append(case_of(program, model, precision, 2, 24))
            out.append(case_of(program, model, "bfloat16", 1, 60))
            out.append(case_of(program, model, "bfloat16", 10, 29))  # three of litgpt's chunks; five columns in the last of torchtune's
        out.append(case_of(program, "tiny/llama-gqa", "bfloat16", 2, 24, loss="composed"))
    out.append(case_of("torchtune", "tiny/llama-gqa", "bfloat16", 2, 24, checkpointing=True))
    return out


def cases():
    """Kinds by turns, so that what a short run has measured is of every kind."""
    kinds = [loop_cases(), trainer_cases(), other_cases(), inference_cases(), image_cases(), own_model_cases(),
             bitsandbytes_cases()]
    out = []
    for place in range(max(map(len, kinds))):
        out += [kind[place] for kind in kinds if place < len(kind)]
    return out


def tiny_cases():
    """For the meta device, event by event, and to rehearse."""
    out = []
    for model in ("tiny/gpt2", "tiny/llama-gqa", "tiny/bert"):
        for precision in ("float32", "amp-bfloat16"):
            for program, more in (("plain-loop", {}), ("hf-trainer", {}), ("accelerate", {"optimizer": "adamw"}),
                                  ("lightning", {"optimizer": "adamw"}), ("trl-sft", {})):
                if program != "trl-sft" or "bert" not in model:
                    out.append(case_of(program, model, precision, 2, 8, **more))
        out.append(case_of("plain-loop", model, "float32", 2, 8, mode="infer"))
    for zero_grad in ("before-forward", "before-backward"):
        out.append(case_of("plain-loop", "tiny/gpt2", "float32", 2, 8, zero_grad=zero_grad))
    out.append(case_of("plain-loop", "tiny/gpt2", "float32", 2, 8, outputs="dropped"))
    out.append(case_of("plain-loop", "tiny/gpt2", "float32", 2, 8, clip_grad="default", loss_item=True))
    out.append(case_of("hf-trainer", "tiny/gpt2", "float32", 2, 8, mask=True, checkpointing=True))
    out.append(case_of("peft-script", "tiny/llama-gqa", "float32", 2, 8, lora_rank=2))
    for precision in ("float32", "amp-bfloat16"):
        out.append(case_of("hf-trainer", "tiny/llama-gqa", precision, 2, 8, lora_rank=2, checkpointing=True))
    for model in ("tiny/gpt2", "tiny/llama-gqa"):
        out.append(case_of("trl-sft", model, "amp-bfloat16", 2, 8, checkpointing=True))
        out.append(case_of("trl-sft", model, "amp-bfloat16", 10, 30))  # three chunks of entropies
    return out + tiny_own_model_cases()
