"""Sections "network ...": what cuDNN takes for whole networks of convolutions in training, by its settings.

The engine of a convolution is looked for once in a process and then kept, whatever the settings are by then, so each
setting is a section (a process) of its own. Of each step there are the peaks and, in order, the workspaces: the requests
of 512 KiB and more that were given back before the next request but one. With torch.backends.cudnn.benchmark the first
step tries the engines, all in the largest workspace that one of them needs, and then empties the cache.
"""
import torch
import torchvision

from truth_meter import CudaMeter, history_begin, history_entries

WORKSPACE_LEAST = 1 << 19
STEPS = 2
# name: (benchmark, TF32 allowed, channels last, autocast to bfloat16)
SETTINGS = {"plain": (False, True, False, False), "benchmark": (True, True, False, False),
            "float32": (False, False, False, False), "last": (False, True, True, True)}
NETWORKS = (("resnet50", 32), ("vgg16", 32), ("mobilenet_v2", 32), ("resnet50", 8))
IMAGE = 224


def workspaces_of(entries):
    found, last = [], []
    for entry in entries:
        if entry["action"] == "alloc":
            last = last[-1:] + [entry]
        elif entry["action"] == "free_completed":
            for asked in last:
                if asked["addr"] == entry["addr"] and asked["size"] >= WORKSPACE_LEAST:
                    found.append(asked["size"])
    return found


def step_line(model, images, labels, optimizer, autocast, device):
    on_gpu = device == "cuda"
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
        history_begin()
    optimizer.zero_grad()
    with torch.autocast(device, torch.bfloat16, enabled=autocast):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    if not on_gpu:
        return {"peak_requested": None, "peak_allocated": None, "peak_reserved": None, "workspaces": None}
    torch.cuda.synchronize()
    entries = history_entries()
    torch.cuda.memory._record_memory_history(enabled=None)
    stats = torch.cuda.memory_stats()
    return {"peak_requested": stats["requested_bytes.all.peak"], "peak_allocated": stats["allocated_bytes.all.peak"],
            "peak_reserved": stats["reserved_bytes.all.peak"], "reserved": stats["reserved_bytes.all.current"],
            "workspaces": workspaces_of(entries)}


def network_lines(setting, device):
    if device == "cuda":
        CudaMeter()
    benchmark, tf32, last, autocast = SETTINGS[setting]
    torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32 = benchmark, tf32
    layout = torch.channels_last if last else torch.contiguous_format
    for name, batch in NETWORKS:
        batch, image = (batch, IMAGE) if device == "cuda" else (2, 64)
        model = getattr(torchvision.models, name)().to(device, memory_format=layout)
        images = torch.randn(batch, 3, image, image, device=device).to(memory_format=layout)
        labels = torch.zeros(batch, dtype=torch.int64, device=device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
        line = {"type": "network", "name": name, "batch": batch, "setting": setting}
        try:
            for step in range(1, STEPS + 1):
                yield {**line, "step": step, **step_line(model, images, labels, optimizer, autocast, device)}
        except RuntimeError as error:
            yield {**line, "error": str(error)[:200]}
        del model, images, optimizer
        if device == "cuda":
            torch.cuda.empty_cache()


def network_section(setting):
    """The lines of a setting, as a function of the device."""
    def lines(device):
        yield from network_lines(setting, device)
    return lines
