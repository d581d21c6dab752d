#!/usr/bin/env python3
"""What Liger-Kernel's cross entropy computes: its own Triton kernels, interpreted on the CPU, as JSON.

    TRITON_INTERPRET=1 python3 peers/pytorch/tiny_liger.py > peers/pytorch/tiny_liger.json

"models": losses and gradient norms of the tiny models of tiny_losses.py, with the same weights and inputs, in float32.
"calls": the function alone. Element k of [rows, classes], row-major, is 16 * mix(k) rounded to the dtype; the target of a
row is (7 * row + 3) mod classes, but -100 where row mod 3 is 1; the loss is multiplied by `scale` before the backward
pass. "gradient" is that of the logits, row-major. bfloat16 has no scale, because Triton's interpreter multiplies two of
its numbers as if they were integers.
"""
import importlib.metadata
import json
import sys

import torch
import transformers

import tiny_losses
from liger_loss import liger_cross_entropy

CALLS = ((5, 37, 1.0), (4, 130, 0.5), (3, 1, 1.0), (3, 8, 1024.0))  # rows, classes, scale


def call(rows, classes, scale, dtype):
    logits = (16 * tiny_losses.mix(torch.arange(rows * classes))).to(dtype).view(rows, classes).requires_grad_()
    row = torch.arange(rows)
    targets = torch.where(row % 3 == 1, -100, (7 * row + 3) % classes)
    # The logits of a model are no leaf: the kernel writes into what another operation has made.
    loss = torch.nn.functional.cross_entropy(logits * 1, targets)
    (loss * scale).backward()
    return {"rows": rows, "classes": classes, "scale": scale, "dtype": str(dtype)[6:], "loss": loss.item(),
            "gradient": logits.grad.double().flatten().tolist()}


def model(name):
    network = tiny_losses.build(name).train()
    tiny_losses.fill(network, patternless=name == "resnet18")
    loss = tiny_losses.loss_of(name, network, torch.float32)
    loss.backward()
    return {"model": f"tiny/{name}", "loss": loss.item(),
            "gradients": {key: parameter.grad.double().norm().item() for key, parameter in network.named_parameters()}}


def main():
    torch.set_num_threads(1)
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    versions.update({name: importlib.metadata.version(name) for name in ("liger-kernel", "triton")})
    with liger_cross_entropy(launches=True):
        calls = [call(rows, classes, scale, dtype) for rows, classes, scale in CALLS
                 for dtype in (torch.float32, torch.float16, torch.bfloat16) if dtype != torch.bfloat16 or scale == 1]
        models = [model(name) for name in (*tiny_losses.TEXT, "vit", "resnet18")]
    json.dump({"versions": versions, "calls": calls, "models": models}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
