#!/usr/bin/env python3
"""What forms of a loss take, beside the plain one: real models on the meta device, as shadow_truth.py runs them.

    python3 peers/pytorch/loss_forms.py > peers/pytorch/loss_forms.jsonl

Each line is a case in one form, with the requested peaks of its stages:
* plain: the model's own loss, a mean; of images cross_entropy(outputs, labels)
* label_smoothing: cross_entropy(..., label_smoothing=0.1) in its place
* num_items: reduction="sum" and a division by a count that lies on the device, as the Trainer of transformers has it
* none: reduction="none", then mean()
"""
import contextlib
import functools
import json
import sys

import torch

import peer_models
import shadow_truth
from shadow_cases import case_of, optimizer_for
from shadow_device import compute_capability_90
from shadow_ledger import exact_lifetimes

CROSS_ENTROPY = torch.nn.functional.cross_entropy
CASES = (("tiny/llama", 8, 512), ("gpt2", 4, 256), ("llama-mha", 2, 256), ("bert-base-cased", 4, 128), ("resnet18", 8, None))


def smoothed(*arguments, **keywords):
    return CROSS_ENTROPY(*arguments, **{**keywords, "label_smoothing": 0.1})


def summed(*arguments, items, **keywords):
    return CROSS_ENTROPY(*arguments, **{**keywords, "reduction": "sum"}) / items


def rowwise(*arguments, **keywords):
    return CROSS_ENTROPY(*arguments, **{**keywords, "reduction": "none"}).mean()


@contextlib.contextmanager
def form_of(form):
    """Puts the form into the place of cross_entropy for as long as it lasts; classes and modules look it up there."""
    items = torch.zeros((), device="meta", dtype=torch.int64)
    forms = {"label_smoothing": smoothed, "num_items": functools.partial(summed, items=items), "none": rowwise}
    torch.nn.functional.cross_entropy = forms.get(form, CROSS_ENTROPY)
    try:
        yield
    finally:
        torch.nn.functional.cross_entropy = CROSS_ENTROPY


def run(case, form):
    with compute_capability_90(), exact_lifetimes(), form_of(form):
        ledger = shadow_truth.ledger_for(case, "meta")
        family, model, config = peer_models.build(case, "meta")
        for tensor in (*model.parameters(), *model.buffers()):
            ledger.adopt(tensor, "model")
        stages = shadow_truth.Stages(ledger)
        model.train()
        optimizer = peer_models.make_optimizer(case["optimizer"], list(model.parameters()))
        with ledger:
            inputs, labels = peer_models.make_inputs(case, family, config, "meta")
            for _ in range(shadow_truth.STEPS):
                with stages.stage("forward"), shadow_truth.precision_context(case):
                    loss = peer_models.forward(case, family, model, inputs, labels)
                with stages.stage("backward"):
                    loss.backward()
                with stages.stage("step"):
                    optimizer.step()
                optimizer.zero_grad(set_to_none=True)
    return {name: row["requested_bytes_peak"] for name, row in stages.rows.items()}


def main():
    head = {"type": "run", **peer_models.library_versions(), "device": "meta as sm_90"}
    print(json.dumps(head))
    for precision in ("float32", "bfloat16"):
        for model, batch, seq in CASES:
            case = case_of(model, "train", precision, batch, seq, "sdpa", optimizer_for(precision))
            for form in ("plain", "label_smoothing", "num_items", "none"):
                peaks = run(case, form)
                print(json.dumps({"type": "case", **case, "form": form, "peaks": peaks}, separators=(",", ":")), flush=True)
                print(case["id"], form, peaks, file=sys.stderr)


if __name__ == "__main__":
    main()
