#!/usr/bin/env python3
"""What stands for each parameter of a quantised model under adapters, and what one adapted layer keeps for its backward pass.

    python3 peers/pytorch/quantized_layers.py > peers/pytorch/quantized_layers.jsonl

Real classes of transformers, peft and bitsandbytes on the meta device, as in shadow_bitsandbytes.py; a line a model, then a
line for each kind of layer. README.md says what the fields mean."""
import json

import torch

import peer_models
import shadow_bitsandbytes
from shadow_cases import case_of
from shadow_ledger import SavedTensors, StorageLedger
from shadow_truth import adapter_versions

MODELS = ("tiny/bert", "tiny/gpt2", "tiny/llama-gqa", "tiny/qwen2", "gpt2", "llama-2-7b")
BATCH, SEQ = 8, 8  # 64 rows: nowhere are the codes of such weights multiplied without being dequantised


def tensor_bytes(tensor):
    return tensor.numel() * tensor.element_size()


def stored_bytes(model):
    """Parameter, as the model names it before adapters → bytes of all that stands for it."""
    rows = {}
    for name, tensor in [*model.named_parameters(), *shadow_bitsandbytes.quantization_tensors(model)]:
        path = name.removeprefix("base_model.model.").replace(".base_layer", "")
        for part in (".absmax", ".code", ".SCB"):
            path = path.removesuffix(part)
        rows[path] = rows.get(path, 0) + tensor_bytes(tensor)
    return rows


def is_of_first_layer(path):
    """Or of none: what follows is the same again."""
    return all(part == "0" for part in path.split(".") if part.isdigit())


def kept_by(module, dtype):
    """[function, attribute or "saved", dtype, shape, bytes] of what a layer keeps of its input, parameters left out."""
    layer = module.get_base_layer()
    rows = torch.zeros(BATCH, SEQ, layer.in_features, device="meta", dtype=dtype, requires_grad=True) * 1
    known = [*module.parameters(), *(tensor for _, tensor in shadow_bitsandbytes.quantization_tensors(module))]
    saved, ledger = SavedTensors({"parameters": known}), StorageLedger()
    ledger.inside = shadow_bitsandbytes.kernel_of
    with saved.recording(), ledger:
        result = module(rows)
    kept = [("", "saved", box.tensor) for box in filter(None, (reference() for reference in saved.boxes))]
    kept += shadow_bitsandbytes.kept_tensors(result)
    seen, out = set(saved.known), []
    for function, attribute, tensor in kept:
        storage = tensor.untyped_storage()
        if storage._cdata not in seen:
            seen.add(storage._cdata)
            out.append([function, attribute, str(tensor.dtype)[6:], list(tensor.shape), storage.nbytes()])
    return out


def record(model_name, precision, prepared):
    case = case_of(model_name, "train", precision, BATCH, SEQ, lora_rank=8, lora_targets="linear", prepare_kbit=prepared)
    _, model, _ = peer_models.build(case, "meta")
    model.train()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    identity = {"model": model_name, "precision": precision, "prepare_kbit": prepared, "lora_rank": 8,
                "lora_targets": "linear"}
    stored = stored_bytes(model)  # before a layer runs: Linear4bit then changes its bias
    layers, seen = [], set()
    for name, module in model.named_modules():
        kind = name.rsplit(".", 1)[-1]
        if hasattr(module, "get_base_layer") and hasattr(module, "lora_A") and kind not in seen:
            seen.add(kind)
            kept = kept_by(module, torch.float32 if prepared else torch.bfloat16)
            layers.append({**identity, "layer": name.removeprefix("base_model.model."), "batch": BATCH, "seq": SEQ,
                           "kept": kept, "kept_bytes": sum(row[-1] for row in kept)})
    return [{**identity, "trained_count": sum(p.numel() for p in trained),
             "trained_bytes": sum(map(tensor_bytes, trained)), "stored_bytes": sum(stored.values()),
             "stored": {path: size for path, size in stored.items() if is_of_first_layer(path)}}, *layers]


def main():
    versions = adapter_versions([case_of("gpt2", "train", "int4", 1, 1, lora_rank=8)])
    print(json.dumps({**peer_models.library_versions(), **versions}))
    for model in MODELS:
        for precision in ("int8", "int4"):
            for prepared in (False, True):
                for line in record(model, precision, prepared):
                    print(json.dumps(line, separators=(",", ":")))


if __name__ == "__main__":
    main()
