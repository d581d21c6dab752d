#!/usr/bin/env python3
"""What cudnn.benchmark changes: peaks of three SGD steps of torchvision's networks, with and without it, as JSON lines.

    python3 peers/pytorch/probe_benchmark.py >> peers/pytorch/probe_benchmark.jsonl

32 images of 224 x 224, float32 and autocast to bfloat16. Each network runs in a process of its own. Bytes are those of
torch.cuda: a step's peaks while it goes forward and backward, and what is held when it has ended.
"""
import itertools
import json
import os
import sys

import torch
import torch.nn.functional as F
import torchvision

NETWORKS = ("resnet50", "vgg16", "convnext_tiny", "efficientnet_b0", "regnet_y_400mf", "resnet18", "mobilenet_v2")
BATCH, EDGE, STEPS = 32, 224, 3


def step_of(model, optimizer, images, labels, precision):
    torch.cuda.reset_peak_memory_stats()
    optimizer.zero_grad()
    with torch.autocast("cuda", torch.bfloat16, enabled=precision == "amp-bfloat16"):
        loss = F.cross_entropy(model(images), labels)
    forward = (torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
    torch.cuda.reset_peak_memory_stats()
    loss.backward()
    backward = (torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
    optimizer.step()
    torch.cuda.synchronize()
    return {"forward_allocated": forward[0], "forward_reserved": forward[1], "backward_allocated": backward[0],
            "backward_reserved": backward[1], "requested_now": torch.cuda.memory_stats()["requested_bytes.all.current"],
            "allocated_now": torch.cuda.memory_allocated(), "reserved_now": torch.cuda.memory_reserved()}


def measure(network, precision, benchmark):
    torch.backends.cudnn.benchmark = benchmark
    model = getattr(torchvision.models, network)(weights=None).to("cuda").train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(BATCH, 3, EDGE, EDGE, device="cuda")
    labels = torch.randint(0, 1000, (BATCH,), device="cuda")
    steps = []
    for _ in range(STEPS):
        steps.append(step_of(model, optimizer, images, labels, precision))
    free, total = torch.cuda.mem_get_info()
    stats = torch.cuda.memory_stats()
    return {"steps": steps, "used": total - free, "alloc_retries": stats["num_alloc_retries"],
            "segments": stats["segment.all.allocated"]}


def run_alone(network, precision, benchmark):
    """Prints the line of one network, from a process of its own; whether it could."""
    child = os.fork()  # nothing here has asked for a GPU yet
    if child == 0:
        line = {"model": network, "batch": BATCH, "precision": precision, "cudnn_benchmark": benchmark}
        print(json.dumps({**line, **measure(network, precision, benchmark)}), flush=True)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status != 0:
        print(f"{network} {precision}, benchmark {benchmark}: no line, see above", file=sys.stderr)
    return status == 0


def main():
    made = [run_alone(*case) for case in itertools.product(NETWORKS, ("float32", "amp-bfloat16"), (False, True))]
    return 0 if all(made) else 1


if __name__ == "__main__":
    sys.exit(main())
