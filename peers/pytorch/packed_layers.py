#!/usr/bin/env python3
"""Checkpoints of GPTQ and AWQ: the bytes that stand for each weight, and what a layer takes on its way to a product.

    python3 peers/pytorch/packed_layers.py FOLDER > peers/pytorch/packed_layers.jsonl

FOLDER has the unpacked wheels of auto-gptq 0.7.1 and autoawq 0.2.5, whose layers are real and lie on the meta device. Their
kernels are compiled and do not run there: each is replaced by what its C++ allocates for it (exllama_ext.cpp and
exllamav2's ext.cpp write into what they are given; gemm_cuda_gen.cu takes eight partial sums and adds them). A line a model, then
a line for each kind of layer, with and without a bias. README.md says what the fields mean."""
import importlib
import json
import os
import sys
import types

import torch

import peer_models
from shadow_cases import case_of
from shadow_ledger import StorageLedger

MODELS = ("gpt2", "meta-llama/Llama-2-7b-hf", "meta-llama/Llama-2-13b-hf", "Qwen/Qwen2.5-0.5B", "Qwen/Qwen2.5-7B",
          "Qwen/Qwen2.5-32B")
# What a case says: quantize, precision, kernel.
KINDS = (("gptq", "int4", "exllama"), ("gptq", "int4", "exllamav2"), ("gptq", "int4", "cuda-old"),
         ("gptq", "int8", "cuda-old"), ("awq", "int4", "gemm"), ("awq", "int4", "gemv"))
INPUTS, OUTPUTS = 512, 384
ROWS = (1, 8, 9, 127, 128, 1023, 1024)


def folder_package(name, folder):
    """A package without its __init__, which would load models of other releases of transformers."""
    package = types.ModuleType(name)
    package.__path__ = [folder]
    sys.modules[name] = package


def layers_of(folder):
    for name in ("auto_gptq", "auto_gptq.nn_modules", "auto_gptq.nn_modules.qlinear", "awq", "awq.modules",
                 "awq.modules.linear", "awq.utils"):
        folder_package(name, os.path.join(folder, *name.split(".")))
    gptq, awq = "auto_gptq.nn_modules.qlinear.qlinear_", "awq.modules.linear."
    names = {"exllama": gptq + "exllama", "exllamav2": gptq + "exllamav2", "cuda-old": gptq + "cuda_old",
             "gemm": awq + "gemm", "gemv": awq + "gemv"}
    return {kernel: importlib.import_module(name) for kernel, name in names.items()}


def partial_sums(rows, outputs):
    return torch.empty(8, rows.shape[0], outputs, dtype=torch.float16, device="meta").sum(0)


def kernels_replace(modules):
    modules["exllama"].q4_matmul = lambda rows, matrix, out: None
    modules["exllamav2"].gemm_half_q_half = lambda rows, handle, out, force_cuda: None
    modules["gemm"].AWQ_INSTALLED = True
    modules["gemm"].awq_ext = types.SimpleNamespace(
        dequantize_weights_cuda=lambda codes, *rest: torch.empty(codes.shape[0], codes.shape[1] * 8,
                                                                 dtype=torch.float16, device="meta"),
        gemm_forward_cuda=lambda rows, codes, *rest: partial_sums(rows, codes.shape[1] * 8))
    modules["gemv"].AWQ_INSTALLED = True
    modules["gemv"].awq_ext = types.SimpleNamespace(
        gemmv2_forward_cuda=lambda rows, codes, *rest: partial_sums(rows, codes.shape[0]),
        gemv_forward_cuda=lambda rows, codes, *rest: torch.empty(rows.shape[0], codes.shape[0], dtype=torch.float16,
                                                                 device="meta"))


def layer_new(modules, kind, group, inputs, outputs, bias):
    quantize, precision, kernel = kind
    bits = 8 if precision == "int8" else 4
    with torch.device("meta"):
        if quantize == "awq":
            made = modules[kernel].WQLinear_GEMM if kernel == "gemm" else modules[kernel].WQLinear_GEMV
            return made(bits, group, inputs, outputs, bias, "meta")
        layer = modules[kernel].QuantLinear(bits, group, inputs, outputs, bias)
    layer.q4, layer.width, layer.q_handle = None, outputs, None
    return layer


def tensor_bytes(tensor):
    return tensor.numel() * tensor.element_size()


def is_of_first_layer(path):
    return all(part == "0" for part in path.split(".") if part.isdigit())


def scratch_bytes(modules, kernel, layers):
    """What autogptq_post_init keeps, without act-order, of the layers of a model."""
    if kernel == "exllama":
        return 2 + 2 * max(layer.qweight.numel() * 8 for layer in layers)
    if kernel != "exllamav2":
        return 0
    permutations = sum(2 * 2 * layer.qweight.shape[0] * 8 for layer in layers if layer.group_size < layer.infeatures)
    return max(layer.scratch_space_fixed() for layer in layers) // 2 * 2 + permutations


def model_line(modules, name, kind):
    """Replaces as transformers and optimum do: all Linear and Conv1D but the head."""
    group = 64 if name == "gpt2" else 128
    _, model, _ = peer_models.build(case_of(name, "infer", "float16", 1, 1), "meta")
    stored, layers = {}, []
    for path, module in list(model.named_modules()):
        if module is model.get_output_embeddings() or type(module).__name__ not in ("Linear", "Conv1D"):
            continue
        turned = type(module).__name__ == "Conv1D"
        inputs, outputs = module.weight.shape if turned else reversed(module.weight.shape)
        layer = layer_new(modules, kind, group, inputs, outputs, module.bias is not None)
        layers.append(layer)
        stored[path + ".weight"] = sum(tensor_bytes(tensor) for at, tensor in layer.named_buffers() if at != "bias")
    whole = sum(map(tensor_bytes, {id(p): p for p in model.parameters()}.values()))
    for path in stored:
        whole += stored[path] - tensor_bytes(model.get_parameter(path))
    return {"model": name, "quantize": kind[0], "precision": kind[1], "kernel": kind[2], "group_size": group,
            "weights_bytes": whole, "scratch_bytes": scratch_bytes(modules, kind[2], layers),
            "stored": {path: size for path, size in stored.items() if is_of_first_layer(path)}}


def layer_line(modules, kind, rows, bias):
    """Bytes taken (positive) and given back (negative) by one call, in their order."""
    layer = layer_new(modules, kind, 128, INPUTS, OUTPUTS, bias)
    if kind[2] == "cuda-old":
        layer.wf = layer.wf.to("meta")
    ledger = StorageLedger(keep_events=True)
    a = torch.empty(1, rows, INPUTS, dtype=torch.float16, device="meta")
    for tensor in [a, *layer.buffers(), *([layer.wf] if kind[2] == "cuda-old" else [])]:
        ledger.adopt(tensor, "given")
    given = ledger.live_bytes
    ledger.reset_peak()
    with torch.no_grad(), ledger:
        out = layer(a)
    return {"quantize": kind[0], "precision": kind[1], "kernel": kind[2], "rows": rows, "bias": bias,
            "inputs": INPUTS, "outputs": OUTPUTS, "group_size": 128, "peak_bytes": ledger.peak_bytes - given,
            "end_bytes": ledger.live_bytes - given, "out_bytes": tensor_bytes(out)}


def main():
    modules = layers_of(sys.argv[1])
    kernels_replace(modules)
    print(json.dumps({**peer_models.library_versions(), "auto-gptq": "0.7.1", "autoawq": "0.2.5"}))
    for name in MODELS:
        for kind in KINDS:
            print(json.dumps(model_line(modules, name, kind), separators=(",", ":")))
    for kind in KINDS:
        for rows in ROWS:
            if kind[2] == "cuda-old" and rows < 128:
                continue  # its kernel, which the meta device is not given
            for bias in (False, True):
                print(json.dumps(layer_line(modules, kind, rows, bias), separators=(",", ":")))


if __name__ == "__main__":
    main()
