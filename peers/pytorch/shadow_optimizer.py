"""Optimizers of bitsandbytes on meta tensors: its own Python, down to the calls of native code, which do nothing.

Paged states come from get_paged, whose native call takes managed memory (cudaMallocManaged). Here that call gives memory
of the host that nobody touches, and counts. To a ledger such a state is none of the device's, as it is none of PyTorch's
allocator on a GPU; on a GPU, too, its tensor says that it is the CPU's.
"""
import ctypes
import mmap

import torch
from bitsandbytes import functional
from bitsandbytes.optim.optimizer import GlobalOptimManager

from shadow_bitsandbytes import NativeLibrary


class ManagedMemory(NativeLibrary):
    """What was asked of cudaMallocManaged, and fetched to the device before it was used."""

    def __init__(self):
        self.sizes, self.fetched_bytes, self._mapped = [], 0, []

    def cget_managed_ptr(self, size):
        memory = mmap.mmap(-1, size.value)
        self._mapped.append(memory)
        self.sizes.append(size.value)
        return ctypes.addressof(ctypes.c_char.from_buffer(memory))

    def cprefetch(self, pointer, size, device):
        self.fetched_bytes += size.value

    def account(self):
        return {"bytes": sum(self.sizes), "tensor_count": len(self.sizes), "fetched_bytes": self.fetched_bytes}


GET_PAGED = functional.get_paged


def pretend():
    """Forgets what earlier cases told the library; from now on it asks a new ManagedMemory."""
    GlobalOptimManager._instance = None
    functional.lib = ManagedMemory()
    functional.get_paged = lambda *shape, dtype, device: GET_PAGED(*shape, dtype=dtype, device=torch.device("cuda", 0))


def managed():
    """What was taken since."""
    return functional.lib.account()


def keep_embeddings_float32(model):
    """As transformers' Trainer does it for optimizers in 8 bits (Trainer.create_optimizer)."""
    manager = GlobalOptimManager.get_instance()
    for module in model.modules():
        if isinstance(module, torch.nn.Embedding):
            manager.register_module_override(module, "weight", {"optim_bits": 32})
