#!/usr/bin/env python3
"""Losses and gradient norms of LoRA adapters on tiny frozen models, as JSON.

    python3 peers/pytorch/tiny_lora.py > peers/pytorch/tiny_lora.json

peft's own adapters around transformers' own models. Weights and tokens are those of tiny_losses.py; the parameters of
the frozen model come first, in their order, then those of the adapters in theirs, so that B is not 0 and the gradient of
A can be seen. Rank 4, all else as LoraConfig has it. "gradients": Euclidean norms of all that have one.
"""
import json
import sys

import peft
import torch
import transformers

import peer_models
import tiny_losses


def fill(model):
    """tiny_losses.fill with the adapters last."""
    named = list(model.named_parameters())
    ordered = [p for name, p in named if "lora_" not in name] + [p for name, p in named if "lora_" in name]
    model.parameters = lambda recurse=True: iter(ordered)
    tiny_losses.fill(model, patternless=False)
    del model.parameters


def measure(name, targets):
    model = tiny_losses.build(name)
    modules = {"attention": None, "linear": "all-linear",
               "projections": peer_models.attention_projections(model)}[targets]
    model = peft.get_peft_model(model, peft.LoraConfig(r=4, target_modules=modules)).train()
    fill(model)
    loss = tiny_losses.loss_of(name, model, torch.float32)
    loss.backward()
    gradients = {key: parameter.grad.double().norm().item() for key, parameter in model.named_parameters()
                 if parameter.grad is not None}
    return {"model": f"tiny/{name}", "lora_rank": 4, "lora_targets": targets, "batch": tiny_losses.BATCH,
            "seq": tiny_losses.SEQ, "loss": loss.item(), "gradients": gradients}


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows = [measure(name, targets) for name in tiny_losses.TEXT for targets in ("attention", "linear", "projections")]
    versions = {"torch": torch.__version__, "transformers": transformers.__version__, "peft": peft.__version__}
    json.dump({"versions": versions, "models": rows}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
