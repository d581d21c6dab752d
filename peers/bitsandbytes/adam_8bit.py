#!/usr/bin/env python3
"""Five steps of bitsandbytes' Adam8bit on the CPU, with numbers that anybody can recompute, as JSON.

    python3 peers/bitsandbytes/adam_8bit.py > peers/bitsandbytes/adam_8bit.json

The parameter has 5000 elements: 19 blocks of 256 and one that is not full. k is the place of an element, n the step:
    parameter[k] = ((31 * k) mod 97 - 48) / 97
    gradient[k]  = ((7919 * k + 104729 * n) mod 2003 - 1001) / 2003 / 2^(k mod 11)
evaluated in float64 and rounded once to float32. Learning rate 0.01, the other settings are Adam8bit's own.

Codes are found by bitsandbytes' own PyTorch code (backends/triton/kernels_optim.py), the nearest number of the map, as its
CUDA kernel does. Its compiled CPU code goes through a coarse table: after one step of the above, 96 codes of the first
and 2163 of the second moment are not the nearest.

"maps": the numbers that the codes of the first and second moments stand for. "states": how the state of a parameter is
stored: name, dtype, shape; for one of 4095 elements (fewer than min_8bit_size) and for the one above. "steps": for the
first and the last step the codes and scales, and the parameter's sum and sum of squares.
"""
import json
import os
import sys

os.environ["TORCHDYNAMO_DISABLE"] = "1"  # nothing here is worth compiling

import bitsandbytes
import torch
from bitsandbytes.backends.cpu import ops
from bitsandbytes.backends.triton.kernels_optim import _quantize_blockwise_pytorch

COUNT, STEPS = 5000, 5


def parameter_of(count):
    k = torch.arange(count, dtype=torch.int64)
    return torch.nn.Parameter((((31 * k) % 97 - 48).double() / 97).float())


def gradient_of(count, step):
    k = torch.arange(count, dtype=torch.int64)
    return (((7919 * k + 104729 * step) % 2003 - 1001).double() / 2003 / 2.0 ** (k % 11).double()).float()


def states_of(state):
    return {name: [str(value.dtype).removeprefix("torch."), list(value.shape)]
            for name, value in state.items() if torch.is_tensor(value)}


def quantize_nearest(values, code, absmax, codes, blocksize):
    nearest, largest = _quantize_blockwise_pytorch(values, code, blocksize)
    codes.copy_(nearest)
    absmax.copy_(largest)


def main():
    ops._quant_blockwise_fp32_direct = quantize_nearest
    small, parameter = parameter_of(4095), parameter_of(COUNT)
    optimizer = bitsandbytes.optim.Adam8bit([small, parameter], lr=0.01)
    steps = []
    for step in range(1, STEPS + 1):
        small.grad, parameter.grad = gradient_of(4095, step), gradient_of(COUNT, step)
        optimizer.step()
        state = optimizer.state[parameter]
        if step in (1, STEPS):
            values = parameter.detach().double()
            steps.append({"step": step, "sum": values.sum().item(), "sum_of_squares": (values * values).sum().item(),
                          **{name: state[name].tolist() for name in ("state1", "state2", "absmax1", "absmax2")}})
    state = optimizer.state[parameter]
    document = {"versions": {"bitsandbytes": bitsandbytes.__version__, "torch": torch.__version__},
                "maps": [state["qmap1"].tolist(), state["qmap2"].tolist()],
                "states": {"small": states_of(optimizer.state[small]), "large": states_of(state)},
                "steps": steps}
    json.dump(document, sys.stdout)
    print()


if __name__ == "__main__":
    main()
