"""Sections "driver's memory" and "context programs": what driver, context, modules and libraries take beside tensors.

Every line stands for a process of its own, forked before CUDA begins, because modules that were loaded stay loaded. A
program is small, so that nearly all that it takes besides the allocator's segments is code and state of libraries. Steps
repeat until the figure is settled (three times); `outside_allocator_bytes` = used - reserved of the whole device.
"""
import ctypes
import os

import torch

from fresh_process import in_child
from truth_meter import CudaMeter, NoMeter

CHILD_SECONDS = 60
STEPS = 3
LIMITS = {"stack_bytes": 0, "print_buffer_bytes": 1, "heap_bytes": 2}  # CUlimit: of a thread, of printf, of malloc


def nvml_rows(meter):
    """The driver's two ways to count a device, which differ by what it keeps for itself; null where it has none."""
    def first(library, handle):
        info = library.nvmlDeviceGetMemoryInfo(handle)
        return {"total_bytes": info.total, "used_bytes": info.used, "free_bytes": info.free}

    def second(library, handle):
        info = library.nvmlDeviceGetMemoryInfo(handle, version=library.nvmlMemory_v2)
        return {"total_bytes": info.total, "used_bytes": info.used, "free_bytes": info.free,
                "driver_reserved_bytes": info.reserved}

    return {"nvml": meter.nvml.read(first), "nvml_v2": meter.nvml.read(second)}


def context_limits():
    """What the context keeps for each resident thread, for printf and for malloc in kernels."""
    driver = ctypes.CDLL("libcuda.so.1")
    rows = {}
    for name, number in LIMITS.items():
        value = ctypes.c_size_t()
        rows[name] = value.value if driver.cuCtxGetLimit(ctypes.byref(value), number) == 0 else None
    return rows


def driver_lines(device):
    """The device before a context (NVML alone, in this process), and with one."""
    if device != "cuda":
        yield {"type": "driver", "at": "context"}
        return

    def with_context(emit):
        meter = CudaMeter()
        properties = torch.cuda.get_device_properties(0)
        free_bytes, total_bytes = torch.cuda.mem_get_info()
        emit({"type": "driver", "at": "context", **nvml_rows(meter), "cuda_total_bytes": total_bytes,
              "cuda_used_bytes": total_bytes - free_bytes, "process_used_bytes": meter.nvml.process_bytes(),
              "limits": context_limits(), "multiprocessor_count": properties.multi_processor_count,
              "threads_per_multiprocessor": properties.max_threads_per_multi_processor})

    yield from in_child(with_context, CHILD_SECONDS)[1]


def tensor_program(device):
    torch.ones(1, device=device).mul_(2)


def decoder(device, dtype):
    layer = torch.nn.TransformerEncoderLayer(128, 2, 256, batch_first=True, dropout=0.0, device=device, dtype=dtype)
    table = torch.nn.Embedding(512, 128, device=device, dtype=dtype)
    head = torch.nn.Linear(128, 512, bias=False, device=device, dtype=dtype)
    return torch.nn.ModuleList([table, layer, head])


def logits_of(parts, tokens):
    mask = torch.nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], tokens.device, parts[0].weight.dtype)
    return parts[2](parts[1](parts[0](tokens), src_mask=mask, is_causal=True))


def inference_program(device, dtype):
    parts = decoder(device, dtype).eval()
    tokens = torch.zeros(2, 128, dtype=torch.long, device=device)
    with torch.no_grad():
        logits_of(parts, tokens)[:, -1].float().topk(50)


def training_program(device, dtype, autocast=None, fused=True):
    parts = decoder(device, dtype)
    optimizer = torch.optim.AdamW(parts.parameters(), fused=fused)
    scaler = torch.amp.GradScaler(device, enabled=autocast is torch.float16)
    tokens = torch.zeros(2, 128, dtype=torch.long, device=device)
    with torch.autocast(device, dtype=autocast or torch.bfloat16, enabled=autocast is not None):
        logits = logits_of(parts, tokens)
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), tokens.flatten())
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(parts.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    loss.item()


def image_program(device, train):
    network = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 7, 2, 3), torch.nn.BatchNorm2d(64), torch.nn.ReLU(),
                                  torch.nn.MaxPool2d(3, 2, 1), torch.nn.Conv2d(64, 64, 3, 1, 1),
                                  torch.nn.Conv2d(64, 128, 1, 2), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                                  torch.nn.Linear(128, 10)).to(device).train(train)
    images = torch.ones(4, 3, 64, 64, device=device)
    if not train:
        with torch.no_grad():
            network(images)
        return
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
    torch.nn.functional.cross_entropy(network(images), torch.zeros(4, dtype=torch.long, device=device)).backward()
    optimizer.step()


# (name, the program, whether it also runs with every module loaded at once)
PROGRAMS = (("one tensor", tensor_program, True),
            ("inference float32", lambda device: inference_program(device, torch.float32), False),
            ("inference bfloat16", lambda device: inference_program(device, torch.bfloat16), False),
            ("inference float16", lambda device: inference_program(device, torch.float16), False),
            ("training float32", lambda device: training_program(device, torch.float32), False),
            ("training float32 foreach",
             lambda device: training_program(device, torch.float32, fused=False), False),
            ("training bfloat16", lambda device: training_program(device, torch.bfloat16), True),
            ("training amp-float16",
             lambda device: training_program(device, torch.float32, autocast=torch.float16), False),
            ("image inference", lambda device: image_program(device, False), False),
            ("image training", lambda device: image_program(device, True), True))


def program_line(name, program, loading, device, emit):
    os.environ["CUDA_MODULE_LOADING"] = loading  # before CUDA begins in this process
    meter = CudaMeter() if device == "cuda" else NoMeter()
    rows = [meter.counters("context")]
    for _ in range(STEPS):
        program(device)
        rows.append(meter.counters("step"))
    keys = ("device_used_bytes", "process_used_bytes", "reserved_bytes")
    outside = [None if row["device_used_bytes"] is None else row["device_used_bytes"] - row["reserved_bytes"]
               for row in rows]
    emit({"type": "program", "program": name, "module_loading": loading,
          "context": {key: rows[0][key] for key in keys}, "end": {key: rows[-1][key] for key in keys},
          "outside_allocator_bytes": outside})


def program_lines(device):
    for loading in ("LAZY", "EAGER"):
        for name, program, eagerly in PROGRAMS:
            if loading == "LAZY" or eagerly:
                verdict, lines = in_child(lambda emit: program_line(name, program, loading, device, emit),
                                          CHILD_SECONDS)
                yield from lines
                if verdict != "ok":
                    yield {"type": "program", "program": name, "module_loading": loading, "error": verdict}
