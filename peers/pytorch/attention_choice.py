#!/usr/bin/env python3
"""Ask PyTorch's compiled dispatcher which kernel computes attention, on GPUs that are not there.

    python3 peers/pytorch/attention_choice.py > peers/pytorch/attention_choice.txt

A preloaded library (pretend_device.c, built here with cc) answers the questions about the device; fake CUDA tensors ask
torch._fused_sdp_choice. Output: one line for every kind of call, without those that say nothing new (of two widths or
lengths that behave alike everywhere one is left out),

    dtype groups width rows columns mask dropout causal gradients choices

with 4 query heads over that many groups (1: without enable_gqa), width of the keys or keys:values where these have
another, 0 or 1 for what is absent or there (mask 2: one that wants a gradient), and one letter for each capability of the
first line: cudnn, flash, efficient, math.
"""
import argparse
import itertools
import os
import subprocess
import sys
import sysconfig
import tempfile

CAPABILITIES = (70, 75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121)
WIDTHS = (1, 4, 6, 8, 20, 64, 128, 136, 192, 200, 224, 232, 256, 260, 264)
NARROW = ((24, 12), (24, 16), (192, 128), (72, 64), (64, 72), (28, 20), (8, 6), (320, 256), (256, 264), (136, 128))
LENGTHS = ((1, 1), (1, 33), (7, 7), (128, 128), (7, 9), (128, 1))
NAMES = {0: "math", 1: "flash", 2: "efficient", 3: "cudnn"}
MARK = "ATTENTION_CHOICE_PRETENDED"


def ask():
    import torch
    from torch._subclasses import fake_tensor
    fake_tensor.init_gpu_context = lambda device: None  # there is none to be made
    on_cuda = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)
    choice = torch.ops.aten._fused_sdp_choice.default
    dtypes = (torch.float32, torch.float16, torch.bfloat16)
    fakes = fake_tensor.FakeTensorMode()
    shapes = [(groups, width, width) for groups in (4, 2, 1) for width in WIDTHS]
    shapes += [(4, *widths) for widths in NARROW]
    for dtype, (groups, width, value_width), (rows, columns), mask, dropout, causal, learns in itertools.product(
            dtypes, shapes, LENGTHS, (0, 1, 2), (0, 1), (0, 1), (0, 1)):
        if mask and causal or mask == 2 and not learns:
            continue
        with fakes:
            query = torch.empty(2, 4, rows, width, device="cuda", dtype=dtype, requires_grad=bool(learns))
            key = torch.empty(2, groups, columns, width, device="cuda", dtype=dtype, requires_grad=bool(learns))
            value = torch.empty(2, groups, columns, value_width, device="cuda", dtype=dtype, requires_grad=bool(learns))
            kind = {"dtype": dtype, "requires_grad": True} if mask == 2 else {"dtype": torch.bool}
            bias = torch.empty(2, 1, rows, columns, device="cuda", **kind) if mask else None
        chosen = choice.redispatch(on_cuda, query, key, value, bias, 0.1 * dropout, bool(causal), scale=None,
                                   enable_gqa=groups == 2)
        widths = width if width == value_width else f"{width}:{value_width}"
        print(os.environ["PRETEND_CAPABILITY"], str(dtype)[6:], groups, widths, rows, columns, mask, dropout,
              causal, learns, NAMES[chosen])


def pretend_build(folder):
    include = os.path.join(sysconfig.get_paths()["purelib"], "nvidia", "cu13", "include")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pretend_device.c")
    library = os.path.join(folder, "libcuda.so.1")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wl,-soname,libcuda.so.1", "-I" + include, source, "-o", library],
                   check=True)
    return library


def without_repeats(lines):
    """Calls and their choices; of widths and lengths that behave alike everywhere the first."""
    table = {}
    for line in lines:
        fields = line.split()
        call = tuple(fields[1:])[:-1]
        table[call] = table.get(call, "") + fields[-1][0]
    for first, last in ((2, 3), (3, 5)):  # width; rows and columns
        behaviour, kept = {}, {}
        for key, value in table.items():
            behaviour.setdefault(key[first:last], []).append((key[:first] + key[last:], value))
        for name, rows in behaviour.items():
            kept.setdefault(tuple(rows), name)
        table = {key: value for key, value in table.items() if key[first:last] in kept.values()}
    return [" ".join((*key, value)) for key, value in table.items()]


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    if os.environ.get(MARK):
        ask()
        return
    import torch
    cudnn = ".".join(map(str, torch._C._cudnn.getRuntimeVersion()))
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        library = pretend_build(folder)
        for capability in CAPABILITIES:
            environment = {**os.environ, MARK: "1", "PRETEND_CAPABILITY": str(capability), "LD_PRELOAD": library,
                           "LD_LIBRARY_PATH": folder + ":" + os.environ.get("LD_LIBRARY_PATH", "")}
            out = subprocess.run([sys.executable, __file__], env=environment, check=True, capture_output=True, text=True)
            lines += out.stdout.splitlines()
    print(f"# torch {torch.__version__}, cuDNN {cudnn}:", *CAPABILITIES)
    print("\n".join(without_repeats(lines)))


if __name__ == "__main__":
    main()
