#!/usr/bin/env python3
"""Predict, without a GPU, which bytes PyTorch eager occupies: real models, real autograd, no arithmetic.

    python3 peers/pytorch/shadow_truth.py --out FILE [--only REGEX] [--events DIR] [--list]

Each case runs on the meta device under a ledger (shadow_ledger.py) with the operator choices of an sm_90 GPU
(shadow_device.py). One JSON line per case; sizes are requested bytes. README.md says what each field means.
"""
import argparse
import contextlib
import importlib
import importlib.metadata
import json
import os
import re
import sys

import torch
from torch.utils._pytree import tree_leaves

import peer_models
import shadow_generate
from liger_loss import liger_cross_entropy
from shadow_autocast import CudaAutocast
from shadow_cases import cases
from shadow_device import compute_capability_90
from shadow_ledger import SavedTensors, StorageLedger, exact_lifetimes
from shadow_step import StepProgram, make_average

STEPS = 3  # the third is the one that is reported: optimizer state exists, everything is steady
EVENT_STEPS = 2  # how many of them an event list holds


def precision_context(case):
    if case.get("float32_outputs"):  # the model brings its own
        return contextlib.nullcontext()
    dtype = peer_models.autocast_dtype(case)
    return contextlib.nullcontext() if dtype is None else CudaAutocast(dtype)


def shadow_bitsandbytes():
    return importlib.import_module("shadow_bitsandbytes")  # needs a library that most cases do without


def shadow_optimizer():
    return importlib.import_module("shadow_optimizer")  # likewise


def beside_parameters(case, model):
    """name: tensor of what stands beside quantised weights."""
    return dict(shadow_bitsandbytes().quantization_tensors(model)) if case["precision"] in peer_models.QUANTIZED else {}


def ledger_for(case, device, keep_events=False):
    ledger = StorageLedger(device, keep_events)
    if case["precision"] in peer_models.QUANTIZED or peer_models.is_bitsandbytes(case["optimizer"]):
        ledger.inside = shadow_bitsandbytes().kernel_of
    if case.get("cache_dtype"):
        ledger.inside = shadow_generate.quanto_kernel_of
    return ledger


def loss_context(case):
    if case.get("label_smoothing") == "cross-entropy":
        return smoothed_cross_entropy()
    return liger_cross_entropy() if case.get("loss") == "fused" else contextlib.nullcontext()


@contextlib.contextmanager
def smoothed_cross_entropy():
    """torch's own argument, for as long as it lasts: classes and modules look the function up in its place."""
    plain = torch.nn.functional.cross_entropy
    torch.nn.functional.cross_entropy = lambda *values, **names: plain(*values, **{**names, "label_smoothing": 0.1})
    try:
        yield
    finally:
        torch.nn.functional.cross_entropy = plain


def count_saved(case, device="meta"):
    """Bytes that one forward pass leaves for the backward pass, by kind and by dtype."""
    family, model, config = peer_models.build(case, device)
    model.train()
    inputs, labels = peer_models.make_inputs(case, family, config, device)
    saved = SavedTensors({"parameters": [*model.parameters(), *beside_parameters(case, model).values()],
                          "buffers": list(model.buffers()), "inputs": [*tree_leaves(inputs), *tree_leaves(labels)]}, device)
    ledger = ledger_for(case, device)  # knows which storages a GPU would not hold
    with saved.recording(), precision_context(case) as autocast, ledger:
        loss = peer_models.forward(case, family, model, inputs, labels)
    for address in autocast.cast_storages if autocast else ():
        saved.known[address] = "weight_casts"
    kept = shadow_bitsandbytes().kept_tensors(loss) if case["precision"] in peer_models.QUANTIZED else ()
    kinds, dtypes = saved.account(ledger.not_on_device, [tensor for _, _, tensor in kept])
    del loss
    return kinds, dtypes


class Stages:
    """Live bytes and their peak between two marks."""

    def __init__(self, ledger):
        self.ledger = ledger
        self.rows = {}

    @contextlib.contextmanager
    def stage(self, name, again=False):
        if not again:
            self.ledger.mark(name)
            self.ledger.reset_peak()
        yield
        self.rows[name] = {"requested_bytes": self.ledger.live_bytes, "requested_bytes_peak": self.ledger.peak_bytes,
                           "peak_operator": self.ledger.peak_operator}


def names_of(case):
    """What a program's names for the model's outputs stand for; None if they keep nothing."""
    return {} if case.get("outputs") == "kept" else None


def train(case, family, model, config, ledger, stages, device):
    model.train()
    average = make_average(case, model)
    optimizer = peer_models.make_optimizer(case["optimizer"], [p for p in model.parameters() if p.requires_grad])
    if case.get("embedding_states") == "float32":
        shadow_optimizer().keep_embeddings_float32(model)
    inputs, labels = peer_models.make_inputs(case, family, config, device)
    program, names = StepProgram(case, optimizer, ledger, model, average), names_of(case)
    for step in range(STEPS):
        if step == EVENT_STEPS:
            ledger.stop_events()
        program.before_forward()
        for micro in range(case["accumulate"]):
            with stages.stage("forward" if micro == 0 else f"forward_{micro}"), precision_context(case):
                loss = peer_models.forward(case, family, model, inputs, labels, names)
            if micro == 0:
                program.before_backward()
            with stages.stage("backward" if micro == 0 else f"backward_{micro}"):
                program.backward(loss)
        with stages.stage("step"):
            program.step()
        program.after_step()
    return {"managed": shadow_optimizer().managed()} if case["optimizer"].startswith("paged-") else {}


def infer(case, family, model, config, ledger, stages, device):
    model.eval()
    inputs, labels = peer_models.make_inputs(case, family, config, device)
    names = names_of(case)
    passes = 2 if names is None else 3  # outputs that are kept are there from the second on
    with torch.no_grad():
        for step in range(passes):
            if step == passes - 1:
                ledger.stop_events()
            with stages.stage("forward"), precision_context(case):
                out = peer_models.forward(case, family, model, inputs, labels, names)
            if names is None:
                del out


def generate(case, family, model, config, ledger, stages, device):
    """Of one call; what it returns is alive at the end."""
    model.eval()
    inputs, labels = peer_models.make_inputs(case, family, config, device)
    out, kv_cache_bytes = shadow_generate.generate(case, model, inputs, stages, precision_context(case))
    return {"kv_cache_bytes": kv_cache_bytes}


MODES = {"infer": infer, "generate": generate, "train": train}


def run(case, events_dir=None, device="meta"):
    """The record of one case."""
    record = dict(case)
    with compute_capability_90(padding=bool(case.get("padding"))), exact_lifetimes(), loss_context(case):
        if case["mode"] == "train":
            kinds, dtypes = count_saved(case, device)
            record["saved_for_backward_bytes"] = sum(
                kinds.get(kind, 0) for kind in ("activations", "inputs", "weight_casts"))
            record["saved_kinds"], record["saved_dtypes"] = kinds, dtypes
        ledger = ledger_for(case, device, events_dir is not None)
        family, model, config = peer_models.build(case, device)
        for kind, tensors in (("parameter", model.named_parameters()), ("buffer", model.named_buffers()),
                              ("parameter", beside_parameters(case, model).items())):
            for name, tensor in tensors:
                ledger.adopt(tensor, kind + " " + name)
        stages = Stages(ledger)
        record["load_bytes"] = ledger.live_bytes
        with ledger:
            more = MODES[case["mode"]](case, family, model, config, ledger, stages, device)
        record.update(more or {})
        record["stages"] = stages.rows
    if events_dir:
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", case["id"]) + ".jsonl"
        with open(os.path.join(events_dir, name), "w", encoding="utf-8") as sink:
            for event in ledger.recorded:
                sink.write(json.dumps(event, separators=(",", ":")) + "\n")
    return record


def optional_versions(todo):
    """Of the libraries that only some cases need."""
    needed = {"peft": any(case.get("lora_rank") for case in todo),
              "bitsandbytes": any(peer_models.is_bitsandbytes(case["optimizer"]) or case["precision"] in peer_models.QUANTIZED
                                  for case in todo),
              "liger-kernel": any(case.get("loss") == "fused" for case in todo),
              "optimum-quanto": any(case.get("cache_dtype") in ("int4", "int2") for case in todo)}
    return {name: importlib.metadata.version(name) for name, wanted in needed.items() if wanted}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="-")
    parser.add_argument("--only", default="")
    parser.add_argument("--events", help="folder for the event lists of the cases that ask for one")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    todo = [c for c in cases() if re.search(options.only, c["id"])]
    if options.list:
        print("\n".join(c["id"] for c in todo))
        return
    if options.events:
        os.makedirs(options.events, exist_ok=True)
    try:
        sink = sys.stdout if options.out == "-" else open(options.out, "x", encoding="utf-8")
    except OSError as error:
        sys.exit(f"shadow_truth.py: {error}; name a file that is not there yet with --out")
    head = {"type": "run", **peer_models.library_versions(), **optional_versions(todo), "device": "meta as sm_90"}
    sink.write(json.dumps(head) + "\n")
    for case in todo:
        want = case.pop("events", False)
        record = run(case, options.events if want else None)
        sink.write(json.dumps({"type": "case", **record}, separators=(",", ":")) + "\n")
        sink.flush()
        print(case["id"], record.get("saved_for_backward_bytes"),
              {k: v["requested_bytes_peak"] for k, v in record["stages"].items()}, file=sys.stderr)


if __name__ == "__main__":
    main()
