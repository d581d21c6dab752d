#!/usr/bin/env python3
"""Holds the skeletons against the real classes, and the accelerate estimator against accelerate itself.

Every model of the catalogue is built on the meta device by transformers or timm, from the catalogue's own config.json,
without and with its head. Compared are, in order: names, kinds, shapes and dtypes of every parameter and buffer, ties,
the order in which module.to(device) moves them, the classes of the modules, which of them are never split, the number of
parameters, the bytes of buffers, accelerate's total and largest layer, and its printed table, to the character.

Run in the root of the repository, after make: python3 peers/transformers/compare_skeletons.py [--golden] [MODEL ...]
Needs torch, transformers, timm and accelerate. Exit 1 where anything differs. With --golden the real tensors of the tiny
models are written to tests/models/golden, where a test reads them that needs no Python.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import accelerate
import timm
import torch
import transformers
from accelerate.commands.estimate import create_ascii_table, estimate_training_usage
from accelerate.utils import calculate_maximum_sizes, convert_bytes

CATALOGUE = pathlib.Path("models/catalogue")
GOLDEN = pathlib.Path("tests/models/golden")
HEADS = {
    "bert": transformers.AutoModelForMaskedLM,
    "bloom": transformers.AutoModelForCausalLM,
    "deepseek_v2": transformers.AutoModelForCausalLM,
    "deepseek_v3": transformers.AutoModelForCausalLM,
    "distilbert": transformers.AutoModelForMaskedLM,
    "falcon": transformers.AutoModelForCausalLM,
    "gemma": transformers.AutoModelForCausalLM,
    "gemma2": transformers.AutoModelForCausalLM,
    "gemma3_text": transformers.AutoModelForCausalLM,
    "gpt2": transformers.AutoModelForCausalLM,
    "gpt_neox": transformers.AutoModelForCausalLM,
    "llama": transformers.AutoModelForCausalLM,
    "mistral": transformers.AutoModelForCausalLM,
    "mixtral": transformers.AutoModelForCausalLM,
    "opt": transformers.AutoModelForCausalLM,
    "phi3": transformers.AutoModelForCausalLM,
    "qwen2": transformers.AutoModelForCausalLM,
    "qwen2_moe": transformers.AutoModelForCausalLM,
    "qwen3": transformers.AutoModelForCausalLM,
    "qwen3_moe": transformers.AutoModelForCausalLM,
    "roberta": transformers.AutoModelForMaskedLM,
    "t5": transformers.AutoModelForSeq2SeqLM,
    "vit": transformers.AutoModelForImageClassification,
    "convnext": transformers.AutoModelForImageClassification,
    "xlm-roberta": transformers.AutoModelForMaskedLM,
}


def real_model(name, head):
    """The real class on the meta device. What timm makes has one form: with its classifier."""
    raw = json.loads((CATALOGUE / name / "config.json").read_text())
    with torch.device("meta"):
        if "architecture" in raw:
            arguments = {key: tuple(value) if isinstance(value, list) else value
                         for key, value in raw.get("model_args", {}).items()}
            if "cfg" in arguments:  # an argument of the class that create_model does not pass on
                return timm.models.vgg.VGG(num_classes=raw["num_classes"], **arguments)
            return timm.create_model(raw["architecture"], pretrained=False, num_classes=raw["num_classes"], **arguments)
        config = transformers.AutoConfig.from_pretrained(CATALOGUE / name)
        maker = HEADS[config.model_type] if head == "lm" else transformers.AutoModel
        model = maker.from_config(config, dtype=torch.float32)
    if hasattr(model, "tie_weights"):
        model.tie_weights()
    return model


def real_tensors(model):
    """(path, kind, shape, dtype, owner) in the order of the state dict, transient buffers included."""
    owners, rows = {}, []
    for prefix, module in model.named_modules():
        transient = module._non_persistent_buffers_set
        members = [(key, tensor, "parameter") for key, tensor in module._parameters.items()]
        members += [(key, tensor, "transient" if key in transient else "buffer") for key, tensor in module._buffers.items()]
        for key, tensor, kind in members:
            if tensor is None:
                continue
            path = f"{prefix}.{key}" if prefix else key
            owner = owners.setdefault(id(tensor), path)
            shape = "(" + ",".join(map(str, tensor.shape)) + ")"
            dtype = str(tensor.dtype).removeprefix("torch.")
            rows.append((path, kind, shape, dtype, "-" if owner == path else owner))
    return rows


def real_load_order(module, prefix=""):
    """What Module._apply does: children first, then its own parameters, then its own buffers."""
    order = []
    for key, child in module.named_children():
        order += real_load_order(child, f"{prefix}{key}.")
    for members in (module._parameters, module._buffers):
        order += [prefix + key for key, tensor in members.items() if tensor is not None]
    return order


def real_modules(model, tensors):
    """(path, class, whole or -) of every module that holds tensors, itself or below."""
    whole = set(getattr(model, "_no_split_modules", None) or [])
    holders = {"."}
    for path, *_ in tensors:
        parts = path.split(".")
        holders.update(".".join(parts[:i]) for i in range(1, len(parts)))
    rows = []
    for path, module in model.named_modules():
        if (path or ".") in holders:
            name = type(module).__name__
            rows.append((path or ".", name, "whole" if name in whole else "-"))
    return rows


def real_table(name, total, largest):
    rows = []
    for dtype, divisor in (("float32", 1), ("float16", 2), ("int8", 4), ("int4", 8)):
        training = max(estimate_training_usage(total, dtype).values())
        sizes = (largest, total) if divisor == 1 else (largest / divisor, total / divisor)
        rows.append([dtype, *map(convert_bytes, sizes), convert_bytes(training) if training != -1 else "N/A"])
    headers = ["dtype", "Largest Layer", "Total Size", "Training using Adam"]
    return create_ascii_table(headers, rows, f"Memory Usage for loading `{name}`")


def dump(program, name, what):
    text = subprocess.run([program, name, what], check=True, capture_output=True, text=True).stdout
    if what == "table":
        return text
    lines = {}
    for line in text.splitlines():
        kind, *fields = line.split(" ")
        lines.setdefault(kind, []).append(tuple(fields))
    return lines


def first_difference(what, ours, real):
    for index, (a, b) in enumerate(zip(ours, real)):
        if a != b:
            return [f"{what} {index}: ours {a}, real {b}"]
    if len(ours) != len(real):
        return [f"{what}: ours has {len(ours)}, real has {len(real)}"]
    return []


def compare(program, name, head):
    model = real_model(name, head)
    ours = dump(program, name, head)
    tensors = real_tensors(model)
    loads = [(path,) for path in real_load_order(model)]
    buffers = sum(b.numel() * b.element_size() for b in model.buffers())
    counts = (str(sum(p.numel() for p in model.parameters())), str(buffers))
    differences = first_difference("tensor", ours.get("tensor", []), tensors)
    differences += first_difference("load", ours.get("load", []), loads)
    differences += first_difference("module", ours["module"], real_modules(model, tensors))
    differences += first_difference("counts", ours["counts"], [counts])
    if head == "bare":
        total, (largest, _) = calculate_maximum_sizes(model)
        differences += first_difference("accelerate", ours["accelerate"], [(str(int(total)), str(int(largest)))])
        table = real_table(name, total, largest)
        differences += first_difference("table", dump(program, name, "table").splitlines(), table.splitlines())
    verdict = "equal" if not differences else "DIFFERENT"
    print(f"{verdict} {name} {head}: {type(model).__name__}, {len(tensors)} tensors, {counts[0]} parameters, "
          f"{counts[1]} bytes of buffers", flush=True)
    for line in differences:
        print(f"    {line}")
    return not differences


def golden_write(name):
    """One line a tensor: tensor PATH KIND SHAPE DTYPE OWNER; then the load order: load PATH."""
    for head in ("bare", "lm"):
        model = real_model(name, head)
        lines = ["tensor " + " ".join(row) for row in real_tensors(model)]
        lines += ["load " + path for path in real_load_order(model)]
        (GOLDEN / f"{name}.{head}.txt").write_text("\n".join(lines) + "\n")


def main():
    transformers.logging.set_verbosity_error()
    if "--golden" in sys.argv[1:]:
        for path in sorted(CATALOGUE.glob("tiny-*")):
            golden_write(path.name)
        return 0
    names = sys.argv[1:] or sorted(str(path.parent.relative_to(CATALOGUE)) for path in CATALOGUE.rglob("config.json"))
    print(f"torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}, timm {timm.__version__}, "
          f"accelerate {accelerate.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/dump_skeleton"
        subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-I.", "-o", program, "peers/transformers/dump_skeleton.c",
                        "build/libassay.a", "-ljansson", "-lyaml", "-lhwloc", "-ldl", "-lm", "-pthread", "-fopenmp"],
                       check=True)
        results = [compare(program, name, head) for name in names for head in ("bare", "lm")]
    print(f"{sum(results)} equal, {len(results) - sum(results)} different")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
