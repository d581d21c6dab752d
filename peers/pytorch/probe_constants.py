"""Sections "context" and "workspace": what a process occupies before and beside its tensors."""
import torch

from allocations import allocations_of
from truth_meter import CudaMeter, NoMeter


def context_lines(device):
    """Driver's bytes after each first use of a library: the growth is code and state that was loaded for it."""
    meter = CudaMeter() if device == "cuda" else NoMeter()

    def read(after):
        row = meter.counters(after)
        outside = None if row["device_used_bytes"] is None else row["device_used_bytes"] - row["reserved_bytes"]
        return {"type": "context", "after": after, "device_used_bytes": row["device_used_bytes"],
                "process_used_bytes": row["process_used_bytes"], "reserved_bytes": row["reserved_bytes"],
                "outside_allocator_bytes": outside}

    yield read("context")
    x = torch.ones(256, 256, device=device)
    yield read("first tensor")
    keep = [x * 2]
    yield read("element kernel")
    keep.append(x @ x)
    yield read("float32 product")
    half = x.bfloat16()
    keep.append(half @ half)
    yield read("bfloat16 product")
    keep.append(torch.nn.functional.linear(half, half, half[0]))
    yield read("bfloat16 linear with bias")
    image = torch.ones(2, 16, 32, 32, device=device)
    keep.append(torch.nn.functional.conv2d(image, torch.ones(16, 16, 3, 3, device=device)))
    yield read("float32 convolution")
    for name, dtype in (("float32", torch.float32), ("bfloat16", torch.bfloat16)):
        q = torch.ones(2, 4, 64, 64, device=device, dtype=dtype, requires_grad=True)
        out = torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)
        yield read(f"{name} attention")
        out.sum().backward()
        yield read(f"{name} attention backward")
    weight = torch.ones(256, 256, device=device, requires_grad=True)
    (x @ weight).sum().backward()
    yield read("float32 product backward")
    weight.grad = torch.ones_like(weight)
    torch.optim.AdamW([weight], fused=True).step()
    yield read("fused optimizer step")


def workspace_lines(device):
    """Which library keeps which workspace, and when it takes it: rows [bytes, held] of the first and second call."""
    def both(name, work):
        rows = [allocations_of(work, device)[1] for _ in range(2)]
        return {"type": "workspace", "work": name, "first": rows[0], "second": rows[1]}

    if device == "cuda":
        CudaMeter()
    x = torch.ones(256, 256, device=device)
    half = x.bfloat16()
    bias, half_bias = x[0].clone(), half[0].clone()
    leaf, half_leaf = x.clone().requires_grad_(), half.clone().requires_grad_()
    linear = torch.nn.functional.linear
    yield both("float32 product", lambda: x @ x)
    yield both("bfloat16 product", lambda: half @ half)
    yield both("float32 linear without bias", lambda: linear(x, x))
    yield both("float32 linear with bias", lambda: linear(x, x, bias))
    yield both("bfloat16 linear with bias", lambda: linear(half, half, half_bias))
    yield both("float32 batched product", lambda: torch.bmm(x[None], x[None]))
    yield both("float32 product, backward", lambda: (x @ leaf).backward(x))
    yield both("bfloat16 linear with bias, backward", lambda: linear(half, half_leaf, half_bias).backward(half))
    with torch.autocast(device, dtype=torch.bfloat16):
        yield both("linear with bias under autocast", lambda: linear(x, leaf, bias))
