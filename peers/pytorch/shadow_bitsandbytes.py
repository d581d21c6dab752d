"""bitsandbytes as it runs on a GPU of compute capability 9.0, on meta tensors.

Its operators for CUDA are Python that takes memory and then calls native code with addresses. Here that very Python
runs, with nothing behind its calls: the ledger sees what each operator takes and gives back on the way. Models are
quantised by transformers' own quantiser; prepare_model_for_kbit_training and the adapters are PEFT's.
"""
import importlib
import logging
import sys
from unittest import mock

import bitsandbytes
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import BitsAndBytesConfig
from transformers.pytorch_utils import Conv1D
from transformers.quantizers import AutoHfQuantizer

H200 = (132, 9, 0)  # multiprocessors and compute capability, by which bitsandbytes chooses between its products

FUNCTIONS = ("MatMul4BitBackward", "MatMul8bitLtBackward")  # keep tensors as attributes, where no hook sees them


class NoOutliers(TorchDispatchMode):
    """Whether activations are beyond the threshold of LLM.int8 is a question about values; here none are."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return False if func is torch.ops.aten.is_nonzero.default else func(*args, **(kwargs or {}))


class NativeLibrary:
    """Whatever is called does nothing and reports no error."""

    def __getattr__(self, name):
        def call(*arguments):
            return 0
        setattr(self, name, call)
        return call


def cuda_kernels():
    """Operator → the Python that bitsandbytes runs for it on CUDA."""
    kernels = {}

    def note(name, device):
        def decorate(function):
            kernels[name.removesuffix(".default")] = function
            return function
        return decorate

    with mock.patch("bitsandbytes._ops.register_kernel", note), \
            mock.patch("bitsandbytes.cextension.lib", NativeLibrary()):
        importlib.reload(sys.modules["bitsandbytes.backends.default.ops"])  # those without a form of their own
        cuda = importlib.import_module("bitsandbytes.backends.cuda.ops")
    cuda.CUBLAS_Context = mock.MagicMock()
    cuda._get_raw_stream = lambda index: 0
    cuda._gpu_dispatch_props = lambda index: H200
    rows_quantize = kernels["bitsandbytes::int8_vectorwise_quant"]

    def without_outliers(*arguments, **keywords):
        with NoOutliers():
            return rows_quantize(*arguments, **keywords)

    return kernels | {"bitsandbytes::int8_vectorwise_quant": without_outliers}


KERNELS = cuda_kernels()
logging.getLogger("bitsandbytes").setLevel(logging.ERROR)


def kernel_of(func):
    """What a ledger runs instead of an operator, to see inside it; None where there is nothing inside."""
    return KERNELS.get(func._schema.name) if func.namespace == "bitsandbytes" else None


def weight_quantize(module, dtype):
    """As Bnb4bitQuantize and Bnb8bitQuantize of transformers do it, but that bitsandbytes would not quantise on meta."""
    rows, columns = module.out_features, module.in_features
    whole = torch.empty(columns, rows, dtype=dtype, device="meta").T if module.source_cls is Conv1D else \
        torch.empty(rows, columns, dtype=dtype, device="meta")
    module.weight = type(module.weight)(whole, requires_grad=False, **module.weight.__dict__)._quantize("meta")
    if module.bias is not None:
        module.bias = torch.nn.Parameter(module.bias.data.to(dtype), requires_grad=False)


def quantize(model, precision, threshold, twice=False):
    """A model on meta as from_pretrained gives it with a configuration of bitsandbytes; twice: double quantisation."""
    configuration = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=twice,
                                       bnb_4bit_compute_dtype=torch.bfloat16) if precision == "int4" else \
        BitsAndBytesConfig(load_in_8bit=True, llm_int8_threshold=float(threshold))
    quantizer = AutoHfQuantizer.from_config(configuration, pre_quantized=False)
    quantizer._process_model_before_weight_loading(model, device_map=None)
    for module in model.modules():
        if isinstance(module, (bitsandbytes.nn.Linear4bit, bitsandbytes.nn.Linear8bitLt)):
            weight_quantize(module, torch.bfloat16)
    quantizer._process_model_after_weight_loading(model)
    return model


def quantization_tensors(model):
    """(name, tensor) of what stands beside the codes, which are parameters: scales, levels, and of double quantisation
    the map, scale and mean of scales; at last the map that those of all weights are copied from."""
    twice = False
    for name, module in model.named_modules():
        if isinstance(module, bitsandbytes.nn.Linear4bit):
            state = module.weight.quant_state
            yield name + ".weight.absmax", state.absmax
            yield name + ".weight.code", state.code
            if state.nested:
                twice = True
                yield name + ".weight.nested_absmax", state.state2.absmax
                yield name + ".weight.nested_code", state.state2.code
                yield name + ".weight.offset", state.offset
        elif isinstance(module, bitsandbytes.nn.Linear8bitLt):
            yield name + ".weight.SCB", module.weight.SCB if module.weight.SCB is not None else module.state.SCB
    if twice:
        yield "map of scales", bitsandbytes.functional.name2qmap["dynamic"]


def kept_tensors(result):
    """(function, attribute, tensor) of what bitsandbytes' products below a result keep for the backward pass."""
    seen, todo = set(), [result.grad_fn]
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        todo += [below for below, _ in node.next_functions]
        if node.name() in FUNCTIONS:
            for attribute in ("tensors", "tensor_states"):
                for tensor in getattr(node, attribute, ()):
                    if isinstance(tensor, torch.Tensor):
                        yield node.name(), attribute, tensor
