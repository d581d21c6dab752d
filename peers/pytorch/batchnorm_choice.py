#!/usr/bin/env python3
"""Ask PyTorch's compiled dispatcher which batch normalisation runs, and what it leaves behind, on a GPU that is not there.

    python3 peers/pytorch/batchnorm_choice.py > peers/pytorch/batchnorm_choice.txt

Fake CUDA tensors go through torch.batch_norm; the operator that arrives below it is noted, and the elements of the mean and of the
deviation that it gives back. Needs a build of PyTorch with CUDA and cuDNN, and no GPU. Output: one line for each kind of call,

    device dtype weights training shape: operator statistics

with the dtype of the images and of the weights, 0 or 1 for training, the shape of the images, and how many of mean and deviation
(0 to 2) have elements. Rows of the host are run on real tensors.
"""
import itertools

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

CHANNELS = 2
SHAPES = ((2, 2), (2, 2, 4), (2, 2, 4, 4), (2, 2, 4, 4, 4), (65535, 2, 1, 1), (65536, 2, 1, 1), (880801, 2, 1, 1),
          (880802, 2, 1, 1), (1, 2, 1, 2**30 - 1), (1, 2, 1, 2**30), (1, 2, 32768, 32768), (2, 2, 32768, 32768))
DTYPES = ((torch.float32, torch.float32), (torch.float16, torch.float16), (torch.bfloat16, torch.bfloat16),
          (torch.float16, torch.float32), (torch.bfloat16, torch.float32))


class Noted(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if "batch_norm" in str(func):
            self.operator = str(func).split(".")[1]
            self.statistics = sum(tensor.numel() > 0 for tensor in out[1:3])
        return out


def ask(device, dtype, weights, training, shape):
    images = torch.empty(shape, device=device, dtype=dtype)
    weight, bias, mean, variance = (torch.ones(CHANNELS, device=device, dtype=weights) for _ in range(4))
    with torch.no_grad(), Noted() as noted:
        torch.batch_norm(images, weight, bias, mean, variance, training, 0.1, 1e-5, torch.backends.cudnn.enabled)
    words = [device, str(dtype)[6:], str(weights)[6:], str(int(training)), "x".join(map(str, shape))]
    print(" ".join(words) + f": {noted.operator} {noted.statistics}")


def main():
    print(f"# torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
    for (dtype, weights), training, shape in itertools.product(DTYPES, (False, True), SHAPES):
        with FakeTensorMode():
            ask("cuda", dtype, weights, training, shape)
    for (dtype, weights), training in itertools.product(DTYPES, (False, True)):
        ask("cpu", dtype, weights, training, (2, 2, 4, 4))


main()
