#!/usr/bin/env python3
"""What accelerate's find_executable_batch_size tries, and which errors it takes for out of memory.

The real function is given functions that fail: with an out of memory at every batch above a limit, for the sequence of its
batches, by its own rule (int(batch * 0.9), since 1.9) and by the one that it had before (batch // 2, as its
reduce_batch_size_fn); and with each kind of error that a device, a library or the host has for want of memory, for whether it
goes on. Errors that need no GPU are provoked; those of CUDA are made of the classes that PyTorch raises, with its texts.

Run in the root of the repository: python3 peers/placement/batch_size.py >peers/placement/batch_size-VERSIONS.jsonl
Needs torch and accelerate. tests/question/test_batch_peers.c holds our searches and decisions against the lines.
"""
import gc
import json
import resource

import accelerate
import torch
from accelerate.utils import find_executable_batch_size

STARTS = list(range(1, 131)) + [256, 300, 1000, 4096, 65535, 10**6, 10**9 + 7, 2**40]
LIMITS = [1, 2, 3, 7, 16, 63, 64, 100, 127]


def run(function, start, halves):
    """The batches that were tried, what came back, and the error that came out."""
    tries = []

    def tried(batch_size):
        tries.append(batch_size)
        return function(batch_size)

    if halves:
        size = start

        def reduce():
            nonlocal size
            size //= 2
            return size

        search = find_executable_batch_size(tried, starting_batch_size=start, reduce_batch_size_fn=reduce)
    else:
        search = find_executable_batch_size(tried, starting_batch_size=start)
    try:
        return tries, search(), None
    except Exception as error:
        return tries, None, error


def refuse_above(limit):
    def function(batch):
        if batch > limit:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total ")
        return batch

    return function


def error_of_limited_process():
    """PyTorch's error of the host where the kernel maps no more."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as status:
        pages = int(status.read().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**20, before[1]))
    try:
        torch.empty(20 * 2**20, dtype=torch.uint8)
    except Exception as error:
        return error
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    raise SystemExit("PyTorch had memory beyond RLIMIT_AS")


def error_of_program():
    try:
        bytearray(2**62)
    except MemoryError as error:
        return error
    raise SystemExit("a bytearray of 2^62 bytes was made")


def errors():
    yield "segment", torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total ")
    yield "limit", error_of_limited_process()
    yield "cublas", RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")
    yield "cuda", torch.AcceleratorError("CUDA error: out of memory\nSearch for `cudaErrorMemoryAllocation' in "
                                         "https://docs.nvidia.com/cuda/")
    yield "program", error_of_program()
    # What else it does or does not recognise.
    yield "cuda, older", RuntimeError("CUDA error: out of memory")
    yield "cuda, as a sentence", RuntimeError("CUDA error: out of memory.")
    yield "cublas, not initialised", RuntimeError("CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling "
                                                  "`cublasCreate(handle)`")
    yield "cudnn, not supported", RuntimeError("cuDNN error: CUDNN_STATUS_NOT_SUPPORTED. This error may appear if you "
                                               "passed in a non-contiguous input.")
    yield "cudnn, not supported, without a stop", RuntimeError("cuDNN error: CUDNN_STATUS_NOT_SUPPORTED")
    yield "cudnn, no memory", RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED")
    yield "nccl", RuntimeError("NCCL Error 1: unhandled cuda error")
    yield "hip", torch.OutOfMemoryError("HIP out of memory. Tried to allocate 2.00 GiB")
    yield "xpu", torch.OutOfMemoryError("XPU out of memory. Tried to allocate 2.00 GiB")
    yield "mps", RuntimeError("MPS backend out of memory (MPS allocated: 17.90 GB)")
    yield "hpu", RuntimeError("FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::33554432 (32)MB")
    yield "host, older", RuntimeError("[enforce fail at CPUAllocator.cpp:68] . DefaultCPUAllocator: can't allocate "
                                      "memory: you tried to allocate 1 bytes. Error code 12 (Cannot allocate memory)")
    yield "another type", ValueError("CUDA out of memory. Tried to allocate 20.00 MiB")
    yield "two arguments", RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB", 2)
    yield "no memory meant", RuntimeError("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)")
    yield "device lost", torch.AcceleratorError("CUDA error: an illegal memory access was encountered")


def type_name(error):
    module = type(error).__module__
    return type(error).__name__ if module == "builtins" else module + "." + type(error).__name__


def fails_with(error):
    def function(_batch):
        raise error

    return function


def main():
    gc.freeze()  # it collects after each try, and would walk through all of torch
    print(json.dumps({"type": "versions", "accelerate": accelerate.__version__, "torch": torch.__version__}))
    for policy in ("0.9", "halve"):
        for start, limit in [(start, 0) for start in STARTS] + [(128, limit) for limit in LIMITS]:
            tries, result, error = run(refuse_above(limit), start, policy == "halve")
            print(json.dumps({"type": "search", "policy": policy, "start": start, "limit": limit, "tries": tries,
                              "result": result, "error": None if error is None else str(error)}))
    for name, error in errors():
        tries, _, _ = run(fails_with(error), 2, False)
        print(json.dumps({"type": "error", "name": name, "class": type_name(error), "arguments": len(error.args),
                          "text": error.args[0] if error.args else None, "reduces": tries == [2, 1]}))


main()
