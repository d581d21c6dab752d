"""What one piece of work takes from PyTorch's caching allocator: every request in order, and which are still held."""
import torch

from truth_meter import history_begin, history_entries


def allocations_of(work, device):
    """(what work returned, [[requested bytes, held at the end], ...]); the list is None where nothing is recorded.

    What work returns is kept alive while the list is made, so that outputs and saved tensors count as held.
    """
    if device != "cuda":
        return work(), None
    torch.cuda.synchronize()
    history_begin()
    result = work()
    torch.cuda.synchronize()
    entries = history_entries()
    torch.cuda.memory._record_memory_history(enabled=None)
    rows, open_rows = [], {}
    for entry in entries:
        if entry["action"] == "alloc":
            open_rows[entry["addr"]] = len(rows)
            rows.append([entry["size"], True])
        elif entry["action"] == "free_completed" and entry["addr"] in open_rows:
            rows[open_rows.pop(entry["addr"])][1] = False
    return result, rows


def forward_and_backward(function, inputs, device):
    """{"forward": rows, "backward": rows, "outputs": bytes} of a function of tensors, after one pass to warm it up.

    The gradient of the result is made before the backward pass; gradients of the inputs are held at its end.
    """
    warm = function(*inputs)
    learns = warm.requires_grad
    if learns:
        warm.backward(torch.ones_like(warm))
    del warm
    for tensor in inputs:
        tensor.grad = None
    out, forward = allocations_of(lambda: function(*inputs), device)
    line = {"forward": forward, "output_bytes": out.untyped_storage().nbytes(), "backward": None}
    if learns:
        gradient = torch.ones_like(out)
        _, line["backward"] = allocations_of(lambda: out.backward(gradient), device)
    for tensor in inputs:
        tensor.grad = None
    return line
