#!/usr/bin/env python3
"""Ask PyTorch's compiled flash attention among how many blocks it divides the columns, on GPUs that are not there.

    python3 peers/pytorch/flash_splits.py > peers/pytorch/flash_splits.txt

A preloaded library (pretend_device.c, built here with cc) is the GPU: it has so many multiprocessors, tells what memory
is taken, and runs no kernel. Output: one line for every call,

    batch heads groups rows columns width part_width parts...

with the width of one part's output (0 if nothing was ever taken) and, for each number of multiprocessors of the first
line, how many parts there are: 1 if nothing is taken. The script fails if the two pieces of memory, log-sum-exps and
outputs of the parts, are not what so many parts need, or do not come behind the log-sum-exp of the result.
"""
import argparse
import itertools
import os
import subprocess
import sys
import tempfile

from attention_choice import pretend_build

MULTIPROCESSORS = (16, 28, 46, 84, 108, 128, 132, 188)
BATCHES = (1, 3, 16)
HEADS = ((12, 12), (32, 8), (14, 2), (40, 40))
LENGTHS = ((1, 2), (1, 300), (1, 1025), (1, 4096), (1, 16400), (16, 16), (100, 100), (64, 3000), (512, 512),
           (1024, 1024), (2048, 2048))
WIDTHS = (32, 64, 72, 128, 136, 192, 256)
MARK = "FLASH_SPLITS_PRETENDED"


def calls():
    return itertools.product(BATCHES, HEADS, LENGTHS, WIDTHS)


def ask():
    import torch
    flash = torch.ops.aten._scaled_dot_product_flash_attention
    for batch, (heads, groups), (rows, columns), width in calls():
        query = torch.empty(batch, heads, rows, width, device="cuda", dtype=torch.bfloat16)
        key = torch.empty(batch, groups, columns, width, device="cuda", dtype=torch.bfloat16)
        print("call", file=sys.stderr, flush=True)
        flash(query, key, key, 0.0, False, False)
        print("end", file=sys.stderr, flush=True)


def parts_read(call, sizes):
    """Of the sizes of one call, in order: output, log-sum-exp, parts if any, random state, unused number, nothing."""
    batch, (heads, _), (rows, _), width = call
    if sizes[:2] != [2 * batch * heads * rows * width, 4 * batch * heads * rows] or sizes[-3:] != [16, 8, 0]:
        raise SystemExit(f"{call}: not the memory of a flash attention: {sizes}")
    if len(sizes) == 5:
        return 1, 0
    sums, outputs = sizes[2:-3]
    parts, rest = divmod(sums, sizes[1])
    if rest or outputs % sums:
        raise SystemExit(f"{call}: {sums} and {outputs} bytes are not so many parts")
    return parts, outputs // sums


def answers(count, folder, library):
    environment = {**os.environ, MARK: "1", "PRETEND_CAPABILITY": "80", "PRETEND_MULTIPROCESSORS": str(count),
                   "PRETEND_TELLS": "1", "PYTORCH_NO_CUDA_MEMORY_CACHING": "1", "LD_PRELOAD": library,
                   "LD_LIBRARY_PATH": folder + ":" + os.environ.get("LD_LIBRARY_PATH", "")}
    run = subprocess.run([sys.executable, __file__], env=environment, check=True, capture_output=True, text=True)
    texts = [text.split("end")[0].splitlines() for text in run.stderr.split("call")[1:]]
    sizes = [[int(line.split()[1]) for line in lines if line.startswith("malloc")] for lines in texts]
    return [parts_read(call, taken) for call, taken in zip(calls(), sizes, strict=True)]


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    if os.environ.get(MARK):
        ask()
        return
    import torch
    with tempfile.TemporaryDirectory() as folder:
        library = pretend_build(folder)
        found = [answers(count, folder, library) for count in MULTIPROCESSORS]
    print(f"# torch {torch.__version__}:", *MULTIPROCESSORS)
    for (batch, heads, lengths, width), *of_counts in zip(calls(), *found):
        part_width = max(taken for _, taken in of_counts)
        print(batch, *heads, *lengths, width, part_width, *(parts for parts, _ in of_counts))


if __name__ == "__main__":
    main()
