#!/usr/bin/env python3
"""Ask cuDNN which engine computes a convolution and what it needs, on GPUs that are not there.

    python3 peers/pytorch/convolution_choice.py [--devices REGEX] [--networks REGEX] [--batches N,...] [--forms REGEX]
    python3 peers/pytorch/convolution_choice.py --here          # on a machine with a GPU: as that describes itself, too

cuDNN 9.8 and later answer for a device that is described to them ("deviceless compilation" in its documentation), so
the library of any PyTorch with CUDA will do. As PyTorch's Conv_v8.cpp does, its instant heuristic is asked for a list of
engines, and then for those to fall back on. Those that would round their factors are left out, and those on tensor cores
where float32 may not be rounded to TF32. PyTorch takes the first that runs; with torch.backends.cudnn.benchmark it first
takes the largest workspace of both lists.

Without any GPU cuDNN leaves out the engines that ask cuBLASLt, which take most windows of one pixel. Output: a line for
each device, JSON, and one for each question,

    device form pass batch channels filters rows kernel stride padding groups: engine=bytes ...; engine=bytes ...

with form tf32, float32 (without TF32), bfloat16 or float16, each with "-last" if channels come last in memory; pass
forward, image or weight; the engines of the heuristic in its order, and behind the semicolon those to fall back on, each
with its workspace, at the place where it is first named with that many bytes.
"""
import argparse
import concurrent.futures
import ctypes
import itertools
import json
import multiprocessing
import os
import re
import sys

# cudnn_graph.h of cuDNN 9
CONVOLUTION, ENGINE, CHOICE, HEURISTIC, GRAPH, TENSOR, DEVICE = 1, 2, 3, 4, 15, 17, 38  # descriptors
HANDLE, DTYPE, INT64, FLOAT, MODE, HEURISTIC_MODE, NOTE, DESCRIPTOR, INT32, CHAR = 0, 1, 3, 4, 7, 8, 11, 15, 23, 24  # types
INSTANT, FALL_BACK = 0, 2
TENSOR_CORE, DOWN_CONVERT, NOTE_COUNT = 1 << 0, 1 << 1, 10
DTYPES = {"float32": 0, "tf32": 0, "float16": 2, "bfloat16": 9}
# pass: its descriptor; attributes of alpha, beta, convolution, weight, image, result
PASSES = {"forward": (10, (700, 701, 702, 703, 704, 705)), "image": (12, (706, 707, 708, 709, 710, 711)),
          "weight": (11, (712, 713, 714, 715, 716, 717))}

# name: compute capability, multiprocessors, shared memory of a block, L2, clocks of multiprocessors and memory, memory,
# blocks and threads of a multiprocessor; the rest is the same for all
DEVICES = {
    "H100": (900, 132, 232448, 52428800, 1980000, 2619000, 85024112640, 32, 2048),
    "A100": (800, 108, 166912, 41943040, 1410000, 1215000, 42474471424, 32, 2048),
    "RTX-3060": (860, 28, 101376, 2359296, 1777000, 7501000, 12622168064, 16, 1536),
    "RTX-3090": (860, 82, 101376, 6291456, 1695000, 9751000, 25438126080, 16, 1536),
    "RTX-4060": (890, 24, 101376, 25165824, 2460000, 8501000, 8318222336, 24, 1536),
    "L40S": (890, 142, 101376, 100663296, 2520000, 9001000, 47697362944, 24, 1536),
    "T4": (750, 40, 65536, 4194304, 1590000, 5001000, 15655829504, 16, 1024),
    "B200": (1000, 148, 232448, 132644864, 1965000, 3996000, 191503138816, 32, 2048),
    "RTX-5090": (1200, 170, 101376, 100663296, 2407000, 14001000, 34190917632, 24, 1536),
}
NETWORKS = ("resnet18", "resnet50", "vgg16", "mobilenet_v2", "convnext_tiny", "regnet_y_400mf", "vit_b_16")
FORMS = ("tf32", "bfloat16", "float32", "float16", "tf32-last", "bfloat16-last")
IMAGE = 224


def described(name):
    capability, processors, shared, cache, clock, memory_clock, memory, blocks, threads = DEVICES[name]
    return {"maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536,
            "multiProcessorCount": processors, "warpSize": 32, "maxSharedMemoryPerBlock": 49152,
            "maxSharedMemoryPerBlockOptin": shared, "reservedSharedMemoryPerBlock": 1024 if capability >= 800 else 0,
            "maxRegistersPerSM": 65536, "maxCtasPerSM": blocks, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": threads,
            "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, "totalGlobalMem": memory, "smClockRateKHz": clock,
            "memClockRateKHz": memory_clock, "l2CacheSize": cache, "cudaDeviceId": 0, "deviceVer": capability,
            "driverVer": 13000, "deviceName": name}


class Refused(Exception):
    pass


class Library:
    """cuDNN's backend interface: descriptors with attributes."""

    def __init__(self):
        import torch  # loads what cuDNN needs
        folder = os.path.join(os.path.dirname(torch.__path__[0]), "nvidia", "cudnn", "lib")
        self.library = ctypes.CDLL(os.path.join(folder, "libcudnn.so.9"))
        self.library.cudnnGetErrorString.restype = ctypes.c_char_p
        self.open = []

    def version(self):
        return self.library.cudnnGetVersion()

    def check(self, status):
        if status != 0:
            text = ctypes.create_string_buffer(1024)
            self.library.cudnnGetLastErrorString(text, ctypes.c_size_t(len(text)))
            raise Refused(f"{self.library.cudnnGetErrorString(status).decode()}: {text.value.decode()}")

    def new(self, kind):
        descriptor = ctypes.c_void_p()
        self.check(self.library.cudnnBackendCreateDescriptor(kind, ctypes.byref(descriptor)))
        self.open.append(descriptor)
        return descriptor

    def set(self, descriptor, attribute, kind, values):
        self.check(self.library.cudnnBackendSetAttribute(descriptor, attribute, kind, ctypes.c_int64(len(values)), values))

    def finalize(self, descriptor):
        self.check(self.library.cudnnBackendFinalize(descriptor))
        return descriptor

    def get(self, descriptor, attribute, kind, values):
        """How many there are; as many of them as fit are written to values."""
        count = ctypes.c_int64()
        self.check(self.library.cudnnBackendGetAttribute(descriptor, attribute, kind, ctypes.c_int64(len(values or ())),
                                                         ctypes.byref(count), values))
        return count.value

    def release(self, kept=0):
        """All descriptors but the first `kept`."""
        while len(self.open) > kept:
            self.library.cudnnBackendDestroyDescriptor(self.open.pop())


def integers(*values):
    return (ctypes.c_int64 * len(values))(*values)


def numbers(*values):  # enumerations
    return (ctypes.c_int * len(values))(*values)


def pointers(*values):
    return (ctypes.c_void_p * len(values))(*values)


def device_new(cudnn, properties):
    """Of JSON; None: of the GPU that is here."""
    device = cudnn.new(DEVICE)
    if properties is None:
        cudnn.set(device, 2700, INT32, (ctypes.c_int32 * 1)(0))
    else:
        text = json.dumps(properties).encode()
        cudnn.set(device, 2702, CHAR, ctypes.create_string_buffer(text, len(text)))
    return cudnn.finalize(device)


def device_here():
    """What cuDNN says of the GPU that is here."""
    import torch
    torch.cuda.init()
    torch.zeros(1, device="cuda")
    cudnn = Library()
    device = device_new(cudnn, None)
    text = ctypes.create_string_buffer(65536)
    count = cudnn.get(device, 2702, CHAR, text)
    return json.loads(text.raw[:count].split(b"\0")[0])


def tensor_new(cudnn, name, dtype, sizes, last):
    batch, channels, rows, columns = sizes
    strides = ((rows * columns * channels, 1, columns * channels, channels) if last else
               (rows * columns * channels, rows * columns, columns, 1))
    tensor = cudnn.new(TENSOR)
    for attribute, kind, values in ((906, INT64, integers(ord(name))), (901, DTYPE, numbers(dtype)),
                                    (902, INT64, integers(batch, channels, rows, columns)), (903, INT64, integers(*strides)),
                                    (900, INT64, integers(16))):
        cudnn.set(tensor, attribute, kind, values)
    return cudnn.finalize(tensor)


def graph_new(cudnn, form, direction, batch, shape):
    channels, filters, rows, kernel, stride, padding, groups = shape
    dtype, last = DTYPES[form.removesuffix("-last")], form.endswith("-last")
    out = (rows + 2 * padding - kernel) // stride + 1
    image = tensor_new(cudnn, "x", dtype, (batch, channels, rows, rows), last)
    weight = tensor_new(cudnn, "w", dtype, (filters, channels // groups, kernel, kernel), last)
    result = tensor_new(cudnn, "y", dtype, (batch, filters, out, out), last)
    convolution = cudnn.new(CONVOLUTION)
    for attribute, kind, values in ((106, INT64, integers(2)), (100, DTYPE, numbers(0)), (101, MODE, numbers(1)),
                                    (102, INT64, integers(1, 1)), (103, INT64, integers(stride, stride)),
                                    (104, INT64, integers(padding, padding)), (105, INT64, integers(padding, padding))):
        cudnn.set(convolution, attribute, kind, values)
    cudnn.finalize(convolution)
    descriptor, attributes = PASSES[direction]
    operation = cudnn.new(descriptor)
    cudnn.set(operation, attributes[0], FLOAT, (ctypes.c_float * 1)(1.0))
    cudnn.set(operation, attributes[1], FLOAT, (ctypes.c_float * 1)(0.0))
    for attribute, value in zip(attributes[2:], (convolution, weight, image, result)):
        cudnn.set(operation, attribute, DESCRIPTOR, pointers(value))
    cudnn.finalize(operation)
    graph = cudnn.new(GRAPH)
    cudnn.set(graph, 801, DESCRIPTOR, pointers(operation))
    return cudnn.finalize(graph)


def engine_of(cudnn, choice):
    """(index, bits of its numerical notes)"""
    engine, index, notes = cudnn.new(ENGINE), integers(0), numbers(*[0] * NOTE_COUNT)
    cudnn.get(choice, 300, DESCRIPTOR, pointers(engine))
    count = cudnn.get(engine, 1303, NOTE, notes)
    cudnn.get(engine, 1301, INT64, index)
    return index[0], sum(1 << note for note in notes[:count])


def choices_of(cudnn, device, graph, mode, form):
    """[(engine, bytes)] in cuDNN's order, without what PyTorch leaves out and without repeats."""
    heuristic = cudnn.new(HEURISTIC)
    cudnn.set(heuristic, 201, DESCRIPTOR, pointers(graph))
    cudnn.set(heuristic, 200, HEURISTIC_MODE, numbers(mode))
    cudnn.set(heuristic, 204, DESCRIPTOR, pointers(device))
    cudnn.finalize(heuristic)
    count = cudnn.get(heuristic, 202, DESCRIPTOR, None)
    choices = [cudnn.new(CHOICE) for _ in range(count)]
    count = cudnn.get(heuristic, 202, DESCRIPTOR, pointers(*choices))
    found = {}
    for choice in choices[:count]:
        engine, notes = engine_of(cudnn, choice)
        if notes & DOWN_CONVERT or form.startswith("float32") and notes & TENSOR_CORE:
            continue
        size = integers(0)
        cudnn.get(choice, 303, INT64, size)
        found[(engine, size[0])] = None
    return list(found)


def question(cudnn, device, form, direction, batch, shape):
    lists = []
    kept = len(cudnn.open)
    try:
        graph = graph_new(cudnn, form, direction, batch, shape)
        for mode in (INSTANT, FALL_BACK):
            try:
                choices = choices_of(cudnn, device, graph, mode, form)
                lists.append(" ".join(f"{engine}={size}" for engine, size in choices))
            except Refused as error:
                lists.append(f"({str(error)[:60]})")
    finally:
        cudnn.release(kept)
    return "; ".join(lists)


def shapes_of(network):
    """The distinct convolutions: channels, filters, rows of the image, kernel, stride, padding, groups."""
    import torch
    import torchvision
    with torch.device("meta"):
        model = getattr(torchvision.models, network)()
    found = {}

    def note(module, inputs, output):
        found[(module.in_channels, module.out_channels, inputs[0].shape[-1], module.kernel_size[0], module.stride[0],
               module.padding[0], module.groups)] = None

    for module in model.modules():
        if isinstance(module, torch.nn.Conv2d):
            module.register_forward_hook(note)
    model.eval()
    with torch.no_grad():
        model(torch.zeros(1, 3, IMAGE, IMAGE, device="meta"))
    return list(found)


def device_lines(name, properties, questions):
    cudnn = Library()
    device = device_new(cudnn, properties)
    return [f"{name} {form} {direction} {batch} {' '.join(map(str, shape))}: "
            + question(cudnn, device, form, direction, batch, shape) for form, direction, batch, shape in questions]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", default="")
    parser.add_argument("--networks", default="^(resnet18|resnet50|vgg16|mobilenet_v2)$")
    parser.add_argument("--batches", default="8,32")
    parser.add_argument("--forms", default="^(tf32|bfloat16|float32)$")
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    return parser.parse_args()


def main():
    options = parse()
    devices = {name: described(name) for name in DEVICES if re.search(options.devices, name)}
    if options.here:
        devices["here"] = device_here()
    shapes = list(dict.fromkeys(shape for network in NETWORKS if re.search(options.networks, network)
                                for shape in shapes_of(network)))
    questions = [(form, direction, int(batch), shape)
                 for form, batch, shape, direction in itertools.product(
                     [form for form in FORMS if re.search(options.forms, form)], options.batches.split(","), shapes, PASSES)
                 if direction != "image" or shape[0] != 3]
    print(f"# cuDNN {Library().version()}")
    for name, properties in devices.items():
        print(json.dumps({"device": name, **properties}))
    part = -(-len(questions) // max(1, options.jobs // len(devices)))
    work = [(name, properties, questions[at:at + part]) for name, properties in devices.items()
            for at in range(0, len(questions), part)]
    with concurrent.futures.ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        for lines in pool.map(device_lines, *zip(*work)):
            print("\n".join(lines), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
