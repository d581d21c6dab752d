#!/usr/bin/env python3
"""What one layer of 4-bit weights takes and gives back in each release of bitsandbytes: quantised, called, and in the backward pass.

    python3 peers/pytorch/bitsandbytes_releases.py FOLDER... > peers/pytorch/bitsandbytes_releases.jsonl

Each FOLDER has the Python of one release (bitsandbytes/, as its tag or its wheel has it). It runs on the meta device without its
native code: whatever it calls there does nothing, and its question whether a tensor is on CUDA is answered yes. README.md says
what the fields mean."""
import importlib
import importlib.abc
import importlib.util
import json
import os
import subprocess
import sys
import types
from unittest import mock

import torch

from shadow_ledger import StorageLedger

INPUTS, OUTPUTS = 512, 384
ROWS = (1, 2, 64)
H100 = (132, 9, 0)  # multiprocessors and compute capability


class Native:
    """Of the library's native code, and of the module that loads it: whatever is called does nothing."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments: 0


class NativeModule(types.ModuleType):
    lib = Native()
    COMPILED_WITH_CUDA = True
    HIP_ENVIRONMENT = False
    ROCM_WARP_SIZE_64 = False
    BNB_BACKEND = "CUDA"
    ROCM_GPU_ARCH = "unknown"
    ipex_cpu = ipex_xpu = None


class AsOnCuda(importlib.abc.Loader):
    """Loads functional.py with its questions whether a tensor is on CUDA answered."""

    def __init__(self, path):
        self.path = path

    def exec_module(self, module):
        text = open(self.path, encoding="utf-8").read()
        for question in ("A.device.type != 'cuda'", 'A.device.type != "cuda"'):
            text = text.replace(question, "False")
        exec(compile(text, self.path, "exec"), module.__dict__)
        for name in ("is_on_gpu", "pre_call", "post_call", "get_ptr", "_get_tensor_stream", "get_tensor_stream"):
            if hasattr(module, name):
                setattr(module, name, lambda *arguments: True)


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != "bitsandbytes.functional":
            return None
        return importlib.util.spec_from_loader(name, AsOnCuda(os.path.join(path[0], "functional.py")))


def library_of(folder):
    sys.path.insert(0, folder)
    sys.meta_path.insert(0, Finder())
    sys.modules["bitsandbytes.cextension"] = NativeModule("bitsandbytes.cextension")
    for name in ("scipy", "scipy.stats"):
        sys.modules.setdefault(name, mock.MagicMock())
    sys.modules["triton"] = None  # kernels of other layers
    with mock.patch.dict(os.environ, {"BITSANDBYTES_NOWELCOME": "1"}), mock.patch("sys.stdout", sys.stderr):
        package = types.ModuleType("bitsandbytes")  # without its __init__, which looks for a GPU
        package.__path__ = [os.path.join(folder, "bitsandbytes")]
        sys.modules["bitsandbytes"] = package
        package.functional = importlib.import_module("bitsandbytes.functional")
        for name in ("matmul", "matmul_4bit", "MatmulLtState"):
            functions = importlib.import_module("bitsandbytes.autograd._functions")
            setattr(package, name, getattr(functions, name))
        package.nn = importlib.import_module("bitsandbytes.nn")
    return package


def kernels_of(folder):
    """Operator → the Python that runs for it on CUDA, of releases that register theirs."""
    if not os.path.exists(os.path.join(folder, "bitsandbytes", "backends", "cuda", "ops.py")):
        return {}
    kernels = {}

    def note(name, device):
        def decorate(function):
            kernels[name.removesuffix(".default")] = function
            return function
        return decorate

    sys.modules["bitsandbytes"].backends = importlib.import_module("bitsandbytes.backends")
    with mock.patch("bitsandbytes._ops.register_kernel", note):
        importlib.import_module("bitsandbytes.backends.default.ops")
        cuda = importlib.import_module("bitsandbytes.backends.cuda.ops")
    cuda._get_raw_stream = cuda._get_tensor_stream = lambda *arguments: 0
    cuda._gpu_dispatch_props = lambda index: H100
    cuda._cuda_device_of = lambda tensor: mock.MagicMock()
    return kernels


def ledger_new():
    ledger = StorageLedger("meta", keep_events=True)
    ledger.inside = lambda func: KERNELS.get(func._schema.name) if func.namespace == "bitsandbytes" else None
    return ledger


def stored_tensors(value):
    """What a quantisation state holds, which releases before 0.42 keep as a list of lists."""
    if isinstance(value, torch.Tensor):
        yield value
    for part in value if isinstance(value, (list, tuple)) else vars(value).values() if hasattr(value, "absmax") else ():
        if not isinstance(part, torch.Size):
            yield from stored_tensors(part)


def weight_quantize(library, module):
    """As Params4bit does it when it comes to a GPU, of a weight that is there already."""
    weight = module.weight
    halves = not hasattr(weight, "quant_storage")  # .half() before it comes, until 0.43
    whole = torch.empty(OUTPUTS, INPUTS, device="meta", dtype=torch.float16 if halves else torch.bfloat16)
    library.functional.name2qmap.clear()  # it is the first weight
    ledger = ledger_new()
    with ledger:
        ledger.adopt(whole, "weight")
        codes, state = library.functional.quantize_4bit(whole, blocksize=64, quant_type="nf4",
                                                        compress_statistics=weight.compress_statistics)
        del whole
    weight.data, weight.quant_state, module.quant_state = codes, state, state
    return list(ledger.events)


def layer_call(module, rows, trains):
    """The events of a call, and of its backward pass. The layer's input is its own as long as it is called."""
    source = torch.empty(1, rows, INPUTS, device="meta", dtype=torch.bfloat16, requires_grad=trains)
    ledger = ledger_new()
    with torch.set_grad_enabled(trains), ledger:
        for tensor in [module.weight, *stored_tensors(module.weight.quant_state), *filter(None.__ne__, [module.bias])]:
            ledger.adopt(tensor, "stored")
        ledger.adopt(source, "source")
        given = source * 1
        ledger.mark("forward")
        result = module(given)
        del given
        if trains:
            loss = result.view(-1).mean()
            del result
            ledger.mark("backward")
            loss.backward()
            del loss
    return list(ledger.events)


def record(library, release, twice, bias):
    with torch.device("meta"):
        module = library.nn.Linear4bit(INPUTS, OUTPUTS, bias=bias, compute_dtype=torch.bfloat16, quant_type="nf4",
                                       compress_statistics=twice)
    if bias:
        module.bias = torch.nn.Parameter(module.bias.data.to(torch.bfloat16), requires_grad=False)
    identity = {"bitsandbytes": release, "double_quant": twice, "bias": bias}
    lines = [{**identity, "what": "load", "events": weight_quantize(library, module)}]
    for rows in ROWS:
        for what in ("infer", "train"):
            lines.append({**identity, "what": what, "rows": rows, "events": layer_call(module, rows, what == "train")})
    return lines


KERNELS = {}


def main():
    if sys.argv[1] != "--one":
        print(json.dumps({"torch": torch.__version__}))
        sys.stdout.flush()
        for folder in sys.argv[1:]:
            subprocess.run([sys.executable, __file__, "--one", folder], check=True)
        return
    folder = sys.argv[2]
    library = library_of(folder)
    KERNELS.update(kernels_of(folder))
    release = ".".join(os.path.basename(os.path.abspath(folder)).split(".")[:2])
    for twice in (False, True):
        for bias in (False, True):
            for line in record(library, release, twice, bias):
                print(json.dumps(line, separators=(",", ":")))


if __name__ == "__main__":
    main()
