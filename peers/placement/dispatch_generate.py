#!/usr/bin/env python3
"""What a dispatched model holds on each device while transformers generates with it, and while attention is sdpa, without any GPU.

The companion of dispatch.py, with its models, maps and fake devices. Greedy generation over a dynamic cache: the real generate() of the
real dispatched model, with the questions it asks about values answered as in peers/pytorch/shadow_generate.py. Figures are those of
the prefill (forward) and of all that follows (generate), at their end and at most; what generate() keeps of special tokens, 8 bytes
for each on the device of its input, is said apart (special) and is in none of them. With sdpa the backend of a call is the one that
peers/pytorch/shadow_device.py says for compute capability 9.0, where the tensors are on a GPU.

Run in the root of the repository:
python3 peers/placement/dispatch_generate.py [MODEL…] >peers/placement/dispatch-generate-VERSIONS.jsonl
Needs torch, transformers, timm and accelerate. tests/models/test_placed_generate.c holds our placed tapes against the lines.
"""
import contextlib
import gc
import json
import logging
import sys
import tempfile
import warnings
import weakref

import accelerate
import timm
import torch
import torch.nn.functional as F
import transformers
import transformers.utils.import_utils as import_utils
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_iter
from transformers.generation.utils import GenerationMixin

import fake_devices
from dispatch import IMAGES, Subject, dispatch_measure, dispatched, maps_of_children, maps_plan
from shadow_device import attention as attention_of_gpu
from shadow_generate import generate
from shadow_ledger import StorageLedger, absent_on_device, is_mask_of_math_attention

MODELS = ("tiny-llama", "tiny-gpt2", "tiny-qwen2", "tiny-mixtral", "tiny-bert", "tiny-vit", "tiny-gemma2", "tiny-opt", "tiny-bloom",
          "tiny-falcon", "tiny-gpt-neox", "tiny-deepseek-v2", "tiny-qwen3-moe")
ENCODERS = ("bert", "roberta", "distilbert")
# Attention, batch, prompt, new tokens.
GENERATIONS = [("eager", 1, 8, 4), ("sdpa", 3, 6, 3)]
PASSES = [(1, 8), (3, 16)]


class Writer(Subject):
    """A model that keeps what it has seen."""

    def make(self, attention="eager"):
        model = super().make(attention)
        model.config.use_cache = True
        model.generation_config.use_cache = True
        return model


class KernelLedger(fake_devices.DeviceLedger):
    """Sees attention as a GPU carries it out: a softmax that is one operator and five kernels, a mask that is added in place, and no
    statistics that nobody asked for."""

    _safe_softmax = StorageLedger._safe_softmax

    def _see(self, tensor, name):
        self.see(tensor)

    def hide(self, tensor):
        storage = tensor.untyped_storage()
        self.known[storage._cdata] = (str(tensor.device), 0)
        weakref.finalize(storage, self.gone, storage._cdata).atexit = False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten._safe_softmax.default and not kwargs:
            return self._safe_softmax(*args[:2])
        if func is torch.ops.aten.add.Tensor and is_mask_of_math_attention(*args):
            return torch.ops.aten.alias(torch.ops.aten.add_.Tensor(*args))
        if "attention" in func._schema.name:
            out = func(*args, **(kwargs or {}))
            for tensor in absent_on_device(func, args, out):
                self.hide(tensor)
            for leaf in tree_iter(out):
                if isinstance(leaf, torch.Tensor):
                    self.see(leaf)
            return out
        return super().__torch_dispatch__(func, types, args, kwargs)


class Stages:
    """Notes what each device holds at the end of a stage, and at most in it."""

    def __init__(self, ledger):
        self.ledger, self.figures = ledger, {}

    @contextlib.contextmanager
    def stage(self, name):
        self.ledger.peak_reset()
        yield
        self.figures[name] = {"end": dict(self.ledger.live), "peak": dict(self.ledger.peak)}


@contextlib.contextmanager
def special_tokens_apart(ledger, noted):
    """Notes the bytes of the special tokens' tensors, and takes them off the ledger until they go. On their way from the host each lies
    there for a moment, before anything else of a generation is there."""
    prepare = GenerationMixin._prepare_special_tokens

    def noting(self, *arguments, **keywords):
        before = set(ledger.known)
        prepare(self, *arguments, **keywords)
        for address in set(ledger.known) - before:
            device, size = ledger.known[address]
            ledger.live[device] -= size
            ledger.known[address] = (device, 0)
            noted[device] = noted.get(device, 0) + size
        ledger.peak_reset()
    GenerationMixin._prepare_special_tokens = noting
    try:
        yield
    finally:
        GenerationMixin._prepare_special_tokens = prepare


@contextlib.contextmanager
def attention_of_places():
    """scaled_dot_product_attention as a GPU takes it on a GPU, and as it is on the host."""
    of_host = F.scaled_dot_product_attention

    def attention(query, *arguments, **keywords):
        return (attention_of_gpu if query.device.type == "cuda" else of_host)(query, *arguments, **keywords)
    F.scaled_dot_product_attention = attention
    try:
        yield
    finally:
        F.scaled_dot_product_attention = of_host


def generate_measure(ledger, subject, line, folder):
    """One generation, as of a model that has just been dispatched."""
    model, main = dispatched(subject, line, folder)
    inputs, _ = subject.arguments(line["batch"], line["seq"], f"cuda:{main}" if main != "cpu" else main)
    gc.collect()
    load, stages = dict(ledger.live), Stages(ledger)
    gc.disable()
    special = {}
    with special_tokens_apart(ledger, special):
        out, _ = generate({"new_tokens": line["new_tokens"]}, model, inputs["input_ids"], stages, contextlib.nullcontext())
    del out
    gc.enable()
    return {"load": load, "special": special} | stages.figures


def line_print(line):
    generates = line["mode"] == "generate"
    with tempfile.TemporaryDirectory() as folder:
        try:
            with attention_of_places(), FakeTensorMode(allow_non_fake_inputs=True), KernelLedger() as ledger:
                subject = (Writer if generates else Subject)(line["model"])
                line |= (generate_measure if generates else dispatch_measure)(ledger, subject, line, folder)
        except (RuntimeError, ValueError, KeyError, NotImplementedError) as error:
            line["error"] = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
        gc.enable()
    print(json.dumps(line), flush=True)


def lines_make(name):
    """All lines of a model, without the figures."""
    subject = Subject(name)
    maps = maps_plan(subject, subject.whole()) + maps_of_children(subject)
    line = {"type": "case", "model": name, "offload_buffers": False}
    if subject.family not in (*IMAGES, *ENCODERS):
        for device_map in maps:
            for attention, batch, seq, new_tokens in GENERATIONS:
                yield line | {"mode": "generate", "attention": attention, "batch": batch, "seq": seq,
                              "new_tokens": new_tokens, "map": device_map}
    if subject.family not in IMAGES or name == "tiny-vit":
        for i, device_map in enumerate(maps):
            batch, seq = PASSES[i % len(PASSES)]
            yield line | {"mode": "infer", "attention": "sdpa", "batch": batch, "seq": seq, "map": device_map}


def main():
    warnings.filterwarnings("ignore")
    logging.disable(logging.ERROR)
    transformers.logging.set_verbosity_error()
    fake_devices.install()
    # transformers takes a fake tensor for a trace, in which it asks no questions about values and makes larger masks.
    import_utils.is_fake_tensor = lambda tensor: False
    print(json.dumps({"type": "run", "torch": torch.__version__, "transformers": transformers.__version__,
                      "timm": timm.__version__, "accelerate": accelerate.__version__, "device": "fake cuda:0, cuda:1, cpu"}))
    for name in sys.argv[1:] or MODELS:
        for line in lines_make(name):
            line_print(line)


if __name__ == "__main__":
    sys.exit(main())
