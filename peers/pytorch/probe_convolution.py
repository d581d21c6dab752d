"""Sections "convolution" and "other convolutions": the workspace of a convolution, forward and backward.

The first has every convolution of the ResNets by batch and dtype; the second the same in other dtypes, without TF32 and
at other batches, and those that cut an image into patches. Rows are [requested bytes, held at the end]: forward, one
held row is the output and the rest is workspace; backward, what is held is the gradients of input and weight.
"""
import torch

import convolution_choice
from allocations import forward_and_backward
from truth_meter import CudaMeter

NETWORKS = ("resnet18", "resnet50", "resnet152")
BATCHES = (1, 8, 32, 64)
IMAGE = 224
# as shapes_of gives them: ViT's, and the two kinds of ConvNeXt's
PATCHES = ((3, 768, 16, 16, 0, IMAGE), (3, 96, 4, 4, 0, IMAGE), (96, 192, 2, 2, 0, IMAGE // 4))
# (dtype, whether its factors may be rounded to TF32)
USUAL_FORMS = ((torch.float32, True), (torch.bfloat16, True))
OTHER_FORMS = ((torch.float32, False), (torch.float16, True))
OTHER_BATCHES = (2, 16, 128)


def shapes_of(network):
    """The distinct convolutions as (channels in, channels out, kernel, stride, padding, rows of the input)."""
    return [(channels, filters, kernel, stride, padding, rows)
            for channels, filters, rows, kernel, stride, padding, _ in convolution_choice.shapes_of(network)]


def convolution_line(shape, batch, form, device):
    dtype, torch.backends.cudnn.allow_tf32 = form
    channels, features, kernel, stride, padding, rows = shape
    x = torch.randn(batch, channels, rows, rows, device=device, dtype=dtype).requires_grad_(channels != 3)
    weight = torch.randn(features, channels, kernel, kernel, device=device, dtype=dtype).requires_grad_()
    line = {"type": "convolution", "batch": batch, "channels": channels, "features": features, "kernel": kernel,
            "stride": stride, "padding": padding, "rows": rows, "dtype": str(dtype).removeprefix("torch."),
            "tf32": form[1] and dtype == torch.float32}
    line.update(forward_and_backward(lambda x, w: torch.nn.functional.conv2d(x, w, None, stride, padding), (x, weight),
                                     device))
    return line


def resnet_shapes():
    return list(dict.fromkeys(shape for network in NETWORKS for shape in shapes_of(network)))


def lines_of(shapes, batches, forms, device):
    for batch in batches if device == "cuda" else batches[:1]:
        for form in forms:
            for shape in shapes:
                yield convolution_line(shape, batch, form, device)


def convolution_lines(device):
    if device == "cuda":
        CudaMeter()
    yield from lines_of(resnet_shapes(), BATCHES, USUAL_FORMS, device)


def other_convolution_lines(device):
    if device == "cuda":
        CudaMeter()
    shapes = resnet_shapes()
    yield from lines_of(PATCHES, BATCHES, USUAL_FORMS + OTHER_FORMS, device)
    yield from lines_of(shapes, (8, 32), OTHER_FORMS, device)
    yield from lines_of(shapes, OTHER_BATCHES, USUAL_FORMS, device)
