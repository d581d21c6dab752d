"""A program on the meta device under the ledger of shadow_ledger.py, in the belief that it is a GPU of capability 9.0.

shadow_device.py makes the decisions of the library; what programs ask besides is answered here: autocast, which optimizers may
be foreach, values of scalars, and on which device to run. No figure of an allocator: requested bytes alone.
"""
import contextlib
import os
import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode

import peer_models
from shadow_autocast import CudaAutocast
from shadow_device import compute_capability_90
from shadow_ledger import StorageLedger, exact_lifetimes


class LedgerMeter:
    """Answers as truth_meter.CudaMeter does, from the ledger."""
    name = "meta"
    marks = None

    def __init__(self, ledger):
        self.ledger = ledger

    def stage_begins(self, stage):
        self.ledger.mark(stage)

    def reset_peaks(self):
        self.ledger.reset_peak()

    def counters(self, stage):
        return {"requested_bytes": self.ledger.live_bytes, "requested_bytes_peak": self.ledger.peak_bytes,
                "peak_operator": self.ledger.peak_operator}


class ProgramValues(TorchDispatchMode):
    """Answers questions about values. Of booleans yes (every token is attended to, in one sequence), but that no loss is
    infinite, which is what Trainer asks; any number is 1."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten._local_scalar_dense.default and args[0].is_meta:
            if args[0].dtype == torch.bool:
                return not sys._getframe(1).f_code.co_filename.endswith("trainer.py")
            return 1.0 if args[0].is_floating_point() else 1
        if func is torch.ops.aten._to_copy.default and args[0].is_meta:
            device = (kwargs or {}).get("device")
            if device is not None and torch.device(device).type == "cpu":  # what a program brings to the host
                return torch.ones(args[0].shape, dtype=kwargs.get("dtype") or args[0].dtype)
        return func(*args, **(kwargs or {}))


REAL_AUTOCAST = torch.autocast
DEVICES = ("meta", "cuda")  # a checkpoint asks for cuda's, because meta tensors name no device for it


class MetaAutocast(contextlib.ContextDecorator):
    """torch.autocast as programs call it; switched off it is the real one, which says nothing to meta."""

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        taken = enabled and CudaAutocast.active is None
        cached = cache_enabled is not False
        self.context = CudaAutocast(dtype or torch.float16, cached) if taken else contextlib.nullcontext()
        self.nested = None

    def _recreate_cm(self):
        return self

    def __enter__(self):
        self.nested = contextlib.nullcontext() if CudaAutocast.active is not None else self.context
        return self.nested.__enter__()

    def __exit__(self, *error):
        return self.nested.__exit__(*error)


def autocast(device_type, dtype=None, enabled=True, cache_enabled=None):
    if not enabled:
        return REAL_AUTOCAST("cpu" if device_type == "meta" else device_type, enabled=False)
    return MetaAutocast(device_type, dtype, cache_enabled=cache_enabled)


@contextlib.contextmanager
def programs_patched():
    """What programs ask of torch about a device, answered for meta as for a GPU."""
    import transformers.training_args
    from torch.optim import optimizer
    from torch.utils import _foreach_utils

    def supported():
        return ["cuda", "meta"]

    def is_enabled(device_type=None):
        return CudaAutocast.active is not None if device_type in DEVICES else enabled(device_type or "cuda")

    def dtype_of(device_type):
        if device_type in DEVICES:
            return CudaAutocast.active.dtype if CudaAutocast.active is not None else torch.float16
        return dtype(device_type)

    enabled, dtype = torch.is_autocast_enabled, torch.get_autocast_dtype
    changes = [(torch, "autocast", autocast), (torch.amp, "autocast", autocast),
               (torch.amp, "is_autocast_available", lambda device_type: True),
               (torch, "is_autocast_enabled", is_enabled), (torch, "get_autocast_dtype", dtype_of),
               (transformers.training_args, "is_torch_bf16_gpu_available", lambda: True),
               (optimizer, "_get_foreach_kernels_supported_devices", supported),
               (_foreach_utils, "_get_foreach_kernels_supported_devices", supported),
               (optimizer, "_get_fused_kernels_supported_devices", supported)]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in changes]
    os.environ["ACCELERATE_TORCH_DEVICE"] = "meta"
    for owner, name, new in changes:
        setattr(owner, name, new)
    try:
        yield
    finally:
        for owner, name, old in before:
            setattr(owner, name, old)


def step_of(events, turn):
    """One step as what it takes and gives back, in order: pairs of bytes (negative: given back) and a place in the list
    of operators. turn: which, counted from 0. It begins with the first operator after the batch and ends where the
    next one begins so; what lies between two steps is then at its end. A last pass has no next one."""
    begins = [place for place, event in enumerate(events) if event == ["stage", "forward"]]
    begins = [next(place for place in range(begin, len(events)) if is_computed(events[place])) for begin in begins
              if any(is_computed(event) for event in events[begin:])]
    taken, operators, pairs = {}, [], []
    for place, event in enumerate(events[:(begins + [len(events)])[turn + 1]]):
        if event[0] == "alloc":
            taken[event[1]] = event[2], event[3]
        if event[0] == "stage" or place < begins[turn]:
            continue
        size, operator = taken[event[1]]
        if operator not in operators:
            operators.append(operator)
        pairs.append([size if event[0] == "alloc" else -size, operators.index(operator)])
    return {"operators": operators, "events": pairs}


def is_computed(event):
    return event[0] == "alloc" and event[3] != "to_device"


@contextlib.contextmanager
def shadow(keep_events):
    """The ledger, active."""
    ledger = StorageLedger("meta", keep_events)
    with programs_patched(), compute_capability_90(answers=False), exact_lifetimes(), ProgramValues():
        yield ledger


def bitsandbytes_pretend(ledger):
    """For a program whose optimizer is one of bitsandbytes; the module that counts its managed memory."""
    import shadow_bitsandbytes
    import shadow_optimizer
    ledger.inside = shadow_bitsandbytes.kernel_of
    shadow_optimizer.pretend()
    return shadow_optimizer


def build(case, ledger):
    """The model, counted."""
    family, model, config = peer_models.build(case, "meta")
    adopt(model, ledger)
    return family, model, config


def adopt(model, ledger):
    for kind, tensors in (("parameter", model.named_parameters()), ("buffer", model.named_buffers())):
        for name, tensor in tensors:
            ledger.adopt(tensor, kind + " " + name)
