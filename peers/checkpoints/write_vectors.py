#!/usr/bin/env python3
"""Writes the small model files of tests/checkpoint/vectors with the libraries that define the formats, and the tables that
the tests compare with. usage: write_vectors.py FOLDER (needs safetensors, gguf and numpy)"""

import json
import struct
import sys
from importlib.metadata import version
from pathlib import Path

import gguf
import numpy
import safetensors
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from safetensors.numpy import save_file


def tensors(seed):
    generator = numpy.random.default_rng(seed)
    yield "embed.weight", generator.standard_normal((5, 4)).astype(numpy.float32)
    yield "layer.0.weight", generator.standard_normal((4, 4)).astype(numpy.float16)
    yield "layer.0.bias", numpy.zeros(4, numpy.float64)
    yield "scalar", numpy.array(3, numpy.int64)
    yield "empty", numpy.zeros((0, 7), numpy.uint8)
    yield "mask", numpy.ones((2, 3), numpy.bool_)
    yield "counts", numpy.arange(3, dtype=numpy.uint16)
    yield "größe ☃", numpy.ones(2, numpy.complex64)


def write_safetensors(folder):
    save_file(dict(tensors(0)), folder / "several.safetensors", metadata={"format": "np", "said \"so\"": "tab\there"})
    save_file({}, folder / "none.safetensors")


def write_dtypes(folder):
    """One tensor of every dtype that the library can write, through its own serializer."""
    sizes = {"bool": 1, "uint8": 1, "int8": 1, "float8_e5m2": 1, "float8_e4m3fn": 1, "float8_e8m0fnu": 1,
             "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1, "float4_e2m1fn_x2": 1, "int16": 2, "uint16": 2, "float16": 2,
             "bfloat16": 2, "int32": 4, "uint32": 4, "float32": 4, "complex64": 8, "float64": 8, "int64": 8, "uint64": 8}
    zeros = numpy.zeros(48, numpy.uint8)
    described = {name: safetensors.TensorSpec(dtype=name, shape=[3, 2], data_ptr=zeros.ctypes.data, data_len=6 * size)
                 for name, size in sizes.items()}
    (folder / "dtypes.safetensors").write_bytes(safetensors.serialize(described))


def write_gguf(path, endianness, split=None):
    writer = gguf.GGUFWriter(path, "llama", endianess=endianness)
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(64)
    writer.add_head_count(4)
    writer.add_head_count_kv([2])
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_token_list(["a", "b", "c"] * 4)
    writer.add_token_types([1] * 12)
    writer.add_bool("test.bool", True)
    writer.add_uint64("test.large", 2**64 - 1)
    writer.add_int8("test.int8", -5)
    writer.add_float64("test.float64", 2.5)
    writer.add_key_value("test.nested", [[1, 2], [3]], gguf.GGUFValueType.ARRAY)
    writer.add_string("test.text", "größe")
    generator = numpy.random.default_rng(1)

    def add(name, rows, columns, kind):
        values = generator.standard_normal((rows, columns)).astype(numpy.float32)
        if kind == GGMLQuantizationType.F32:
            writer.add_tensor(name, values)
        else:
            writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)

    add("token_embd.weight", 12, 32, GGMLQuantizationType.Q8_0)
    for name, rows, columns in (("attn_q", 32, 32), ("attn_k", 16, 32), ("attn_v", 16, 32), ("attn_output", 32, 32),
                                ("ffn_gate", 64, 32), ("ffn_up", 64, 32), ("ffn_down", 32, 64)):
        add(f"blk.0.{name}.weight", rows, columns, GGMLQuantizationType.Q4_0)
    for name in ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"):
        writer.add_tensor(f"{name}.weight", numpy.ones(32, numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_experts(path, architecture):
    """Two experts in one block, as the converter of Mixtral and of Qwen joins them."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(64)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_key_length(8)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_expert_count(2)
    writer.add_expert_used_count(1)
    if architecture != "llama":
        writer.add_expert_feed_forward_length(64)
    shapes = {"token_embd": (12, 32), "output": (12, 32), "output_norm": (32,), "blk.0.attn_norm": (32,),
              "blk.0.ffn_norm": (32,), "blk.0.attn_q": (32, 32), "blk.0.attn_k": (16, 32), "blk.0.attn_v": (16, 32),
              "blk.0.attn_output": (32, 32), "blk.0.ffn_gate_inp": (2, 32), "blk.0.ffn_gate_exps": (2, 64, 32),
              "blk.0.ffn_up_exps": (2, 64, 32), "blk.0.ffn_down_exps": (2, 32, 64)}
    if architecture != "llama":
        shapes |= {"blk.0.attn_q_norm": (8,), "blk.0.attn_k_norm": (8,)}
    for name, shape in shapes.items():
        values = numpy.ones(shape, numpy.float32)
        if name.endswith("_exps"):
            kind = GGMLQuantizationType.Q4_0
            writer.add_tensor(f"{name}.weight", gguf.quants.quantize(values, kind), raw_dtype=kind)
        else:
            writer.add_tensor(f"{name}.weight", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def described(path):
    """What the library's own reader finds."""
    reader = gguf.GGUFReader(path)
    return [{"name": tensor.name, "type": tensor.tensor_type.name, "shape": [int(n) for n in reversed(tensor.shape)],
             "bytes": int(tensor.n_bytes), "offset": int(tensor.data_offset)} for tensor in reader.tensors]


ARCHITECTURES = ("llama", "qwen2", "qwen2moe", "qwen3", "qwen3moe", "gemma", "phi3", "gptneox", "gpt2", "bert", "bloom")
PREFIXES = ("model.layers.1.", "transformer.h.1.", "gpt_neox.layers.1.", "encoder.layer.1.", "embeddings.", "lm_head",
            "model.embed_tokens", "model.norm", "transformer.w", "transformer.ln_f", "gpt_neox.embed_in",
            "gpt_neox.final_layer_norm")


def names():
    """transformers' names of modules, and GGUF's, for the architectures that we read; layer 1 stands for all."""
    numbers = {name: number for number, name in gguf.MODEL_ARCH_NAMES.items()}
    return {name: {module: tensor for module, (_, tensor) in
                   gguf.TensorNameMap(numbers[name], 2).mapping.items() if module.startswith(PREFIXES)}
            for name in ARCHITECTURES}


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    write_safetensors(folder)
    write_dtypes(folder)
    write_gguf(folder / "tiny-llama.gguf", gguf.GGUFEndian.LITTLE)
    write_gguf(folder / "tiny-llama-big-endian.gguf", gguf.GGUFEndian.BIG)
    write_experts(folder / "tiny-mixtral.gguf", "llama")
    write_experts(folder / "tiny-qwen3-moe.gguf", "qwen3moe")
    for name in ("several", "none", "dtypes"):
        data = (folder / f"{name}.safetensors").read_bytes()
        length = struct.unpack("<Q", data[:8])[0]
        (folder / f"{name}.header.json").write_text(json.dumps(json.loads(data[8 : 8 + length]), indent=1) + "\n")
    table = {"gguf": version("gguf"), "safetensors": version("safetensors"), "numpy": version("numpy"),
             "sizes": {kind.name: {"number": int(kind), "block": block, "bytes": size}
                       for kind, (block, size) in GGML_QUANT_SIZES.items()},
             "tiny-llama.gguf": described(folder / "tiny-llama.gguf")}
    (folder / "gguf-names.json").write_text(json.dumps({"gguf": version("gguf"), "names": names()}, indent=0) + "\n")
    (folder / "libraries.json").write_text(json.dumps(table, indent=1) + "\n")


main()
