"""Liger-Kernel's cross entropy (liger-kernel 0.8.5) in the place of PyTorch's, as its apply_liger_kernel_to_llama(
cross_entropy=True) puts it there: torch.nn.functional.cross_entropy itself, which the losses of transformers, of its
classifiers and of our own ResNets all call.

The function is Liger's own: what it allocates, saves and gives back. On the meta device no kernel runs, and questions
about values (how many targets count, are they classes, is the gradient 1) are answered "all, yes, yes".
"""
import contextlib
import importlib

import torch
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten


class Launch:
    """A Triton kernel that is not launched."""

    def __getitem__(self, grid):
        return lambda *arguments, **keywords: None


class TargetValues(TorchDispatchMode):
    """The answers; everything else goes on to the ledger."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is aten._local_scalar_dense.default and args[0].is_meta:
            return True if args[0].dtype == torch.bool else 1
        if func is aten.equal.default and args[0].is_meta:
            return True
        return func(*args, **(kwargs or {}))


def with_answers(function):
    def answered(*arguments):
        with TargetValues():
            return function(*arguments)
    return answered


@contextlib.contextmanager
def liger_cross_entropy(launches=False):
    """For the duration of a with block; `launches`: let Triton run its kernels, for tensors that have values."""
    module = importlib.import_module("liger_kernel.ops.cross_entropy")
    functional = importlib.import_module("liger_kernel.transformers.functional")
    changes = [(torch.nn.functional, "cross_entropy", functional.liger_cross_entropy)]
    if not launches:
        changes += [(module, "liger_cross_entropy_kernel", Launch()), (module, "element_mul_kernel", Launch()),
                    (module, "cross_entropy_forward", with_answers(module.cross_entropy_forward)),
                    (module, "cross_entropy_backward", with_answers(module.cross_entropy_backward))]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in changes]
    for owner, name, new in changes:
        setattr(owner, name, new)
    try:
        yield
    finally:
        for owner, name, old in before:
            setattr(owner, name, old)
