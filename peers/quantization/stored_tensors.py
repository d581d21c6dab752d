"""What bitsandbytes and torchao store for a quantised model, and what their codes are worth.

Prints JSON lines: the versions; for each tiny model of peers/pytorch/tiny, with and without its head, in 8 and 4 bits,
the bytes that stand for each parameter once transformers has loaded it; then one matrix with the codes, scales and
dequantised values that the libraries make of it. Everything runs on the CPU."""
import json
import os
import sys
import tempfile

import bitsandbytes
import torch
import torchao
import transformers
from torchao.quantization import Float8Tensor, PerTensor
from transformers import BitsAndBytesConfig

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "pytorch"))
from peer_models import MODELS

transformers.logging.set_verbosity_error()
NAMES = ("bert", "gpt2", "llama", "llama-gqa", "qwen2", "vit")
PRECISIONS = {
    "int8": BitsAndBytesConfig(load_in_8bit=True),
    "int4": BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16),
}


def tensor_bytes(tensor):
    return tensor.numel() * tensor.element_size()


def parts_of(parameter):
    """The tensors that stand for a parameter; LLM.int8 keeps its codes under two names."""
    parts = {"weight": tensor_bytes(parameter.data)}
    if isinstance(parameter, bitsandbytes.nn.Int8Params):
        parts["SCB"] = tensor_bytes(parameter.SCB)
    if isinstance(parameter, bitsandbytes.nn.Params4bit):
        parts["absmax"] = tensor_bytes(parameter.quant_state.absmax)
        parts["code"] = tensor_bytes(parameter.quant_state.code)
    return parts


def load(name, head, precision):
    family, with_head, bare, config = MODELS["tiny/" + name]
    kind = with_head if head == "lm" else bare
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        kind(config).to(torch.bfloat16).save_pretrained(folder)
        return kind.from_pretrained(folder, quantization_config=PRECISIONS[precision], dtype=torch.bfloat16,
                                    device_map={"": "cpu"})


def tables_are_apart(model):
    """Each 4-bit weight has a table of levels of its own."""
    tables = [p.quant_state.code.data_ptr() for p in model.parameters() if isinstance(p, bitsandbytes.nn.Params4bit)]
    return len(set(tables)) == len(tables)


def bits(tensor):
    return tensor.contiguous().view({1: torch.uint8, 2: torch.int16, 4: torch.int32}[tensor.element_size()]) \
        .flatten().tolist()


def values():
    torch.manual_seed(1)
    weight = (torch.randn(6, 128) * 0.02).to(torch.bfloat16)
    weight[1] *= 40
    weight[2, :64] = 0
    codes, scales, _ = bitsandbytes.functional.int8_vectorwise_quant(weight.half())
    print(json.dumps({"values": "int8", "weight": bits(weight), "codes": bits(codes), "scales": bits(scales),
                      "dequantized": bits(bitsandbytes.functional.int8_vectorwise_dequant(codes, scales))}))
    codes, state = bitsandbytes.functional.quantize_4bit(weight, blocksize=64, quant_type="nf4")
    print(json.dumps({"values": "int4", "weight": bits(weight), "codes": bits(codes), "scales": bits(state.absmax),
                      "levels": bits(state.code),
                      "dequantized": bits(bitsandbytes.functional.dequantize_4bit(codes, state))}))
    # Of a bfloat16 tensor torchao rounds the scale to bfloat16 too; of a float32 one it stays what it is.
    tensor = Float8Tensor.from_hp(weight.float(), granularity=PerTensor())
    print(json.dumps({"values": "fp8", "weight": bits(weight), "codes": bits(tensor.qdata),
                      "scales": bits(tensor.scale), "dequantized": bits(tensor.dequantize())}))


def main():
    print(json.dumps({"torch": torch.__version__, "transformers": transformers.__version__,
                      "bitsandbytes": bitsandbytes.__version__, "torchao": torchao.__version__}))
    for name in NAMES:
        for head in ("bare", "lm"):
            for precision in PRECISIONS:
                model = load(name, head, precision)
                print(json.dumps({"model": name, "head": head, "precision": precision,
                                  "tables_are_apart": tables_are_apart(model),
                                  "stored": {path: parts_of(parameter)
                                             for path, parameter in model.named_parameters()}}))
    values()


if __name__ == "__main__":
    main()
