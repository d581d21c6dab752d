"""Section "convolution": the workspace of every convolution of the ResNets, forward and backward, by batch and dtype.

Rows are [requested bytes, held at the end]: forward, one held row is the output and the rest is workspace; backward,
what is held is the gradients of input and weight.
"""
import torch
import torchvision

from allocations import forward_and_backward
from truth_meter import CudaMeter

NETWORKS = ("resnet18", "resnet50", "resnet152")
BATCHES = (1, 8, 32, 64)
IMAGE = 224


def shapes_of(network):
    """The distinct convolutions as (channels in, channels out, kernel, stride, padding, rows of the input)."""
    with torch.device("meta"):
        model = getattr(torchvision.models, network)()
    found = {}

    def note(module, inputs, output):
        found[(module.in_channels, module.out_channels, module.kernel_size[0], module.stride[0], module.padding[0],
               inputs[0].shape[-1])] = None

    for module in model.modules():
        if isinstance(module, torch.nn.Conv2d):
            module.register_forward_hook(note)
    model.eval()
    with torch.no_grad():
        model(torch.zeros(1, 3, IMAGE, IMAGE, device="meta"))
    return list(found)


def convolution_line(shape, batch, dtype, device):
    channels, features, kernel, stride, padding, rows = shape
    x = torch.randn(batch, channels, rows, rows, device=device, dtype=dtype).requires_grad_(channels != 3)
    weight = torch.randn(features, channels, kernel, kernel, device=device, dtype=dtype).requires_grad_()
    line = {"type": "convolution", "batch": batch, "channels": channels, "features": features, "kernel": kernel,
            "stride": stride, "padding": padding, "rows": rows, "dtype": str(dtype).removeprefix("torch.")}
    line.update(forward_and_backward(lambda x, w: torch.nn.functional.conv2d(x, w, None, stride, padding), (x, weight),
                                     device))
    return line


def convolution_lines(device):
    if device == "cuda":
        CudaMeter()
    shapes = list(dict.fromkeys(shape for network in NETWORKS for shape in shapes_of(network)))
    for batch in BATCHES if device == "cuda" else BATCHES[:1]:
        for dtype in (torch.float32, torch.bfloat16):
            for shape in shapes:
                yield convolution_line(shape, batch, dtype, device)
