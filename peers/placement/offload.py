#!/usr/bin/env python3
"""Offload folders of the real accelerate and ours, each read by the other.

Tensors: every dtype and many shapes and names. accelerate's offload_weight writes and ours reads; ours writes, and accelerate's
OffloadedWeightsLoader reads; the folders are the same files. Entries that name a file of safetensors, with a dtype of their own or
without: both read the same elements. An index is merged by both alike.
Models: assay offload writes a checkpoint's folder; the real disk_offload and dispatch_model take it for models with other
weights, and compute what the checkpoint's model computes. accelerate writes the folder of a model, and assay offload --check
--values finds every byte of its checkpoint in it.
Stale folders: what accelerate does with the folder of another model, and what ours says.

Run in the root of the repository after make: python3 peers/placement/offload.py [--golden FILE] >peers/placement/offload-VERSIONS.txt
Needs torch, transformers, accelerate and safetensors, and a C compiler. --golden writes the tensors, accelerate's files for them
and what its loader makes of them for tests/checkpoint/test_offload_peers.c.
"""
import argparse
import filecmp
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import accelerate
import numpy
import safetensors
import torch
import transformers
from accelerate import disk_offload, dispatch_model
from accelerate.utils.offload import (OffloadedWeightsLoader, offload_state_dict, save_offload_index)
from safetensors.torch import save_file

DTYPES = ["float32", "float16", "bfloat16", "float64", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32",
          "uint64", "bool", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
          "float8_e5m2fnuz", "float8_e8m0fnu"]
SHAPES = [(), (0,), (1,), (7,), (2, 3), (0, 5), (3, 0, 2), (4, 1, 3), (2, 2, 2, 2), (1000, 37)]
NAMES = ["weight", "model.layers.0.mlp.up_proj.weight", "with blank", "tilde~1", "caf\u00e9", "\u65e5\u672c", "emoji\U0001F600",
         "quote\"", "back\\slash", "tab\t", "dot.", ".dot", "percent%s"]
FLOATS = ["float32", "float16", "bfloat16", "float8_e4m3fn"]
MODELS = {"tiny-llama": transformers.AutoModelForCausalLM, "tiny-gpt2": transformers.AutoModelForCausalLM,
          "tiny-bert": transformers.AutoModelForMaskedLM, "tiny-mixtral": transformers.AutoModelForCausalLM,
          "tiny-qwen3": transformers.AutoModelForCausalLM, "tiny-opt": transformers.AutoModelForCausalLM,
          "tiny-gpt-neox": transformers.AutoModelForCausalLM, "tiny-bloom": transformers.AutoModelForCausalLM}


def tensor_bytes(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


def tensor_make(dtype, shape, seed):
    """Elements of any bits; a boolean is 0 or 1."""
    generator = torch.Generator().manual_seed(seed)
    width = getattr(torch, dtype).itemsize
    count = int(numpy.prod(shape, dtype=numpy.int64))
    bits = torch.randint(0, 2 if dtype == "bool" else 256, (count * width,), dtype=torch.uint8, generator=generator)
    return bits.view(getattr(torch, dtype)).reshape(shape)


def tensors_make():
    tensors = {f"{dtype}.{'x'.join(map(str, shape)) or 'scalar'}": tensor_make(dtype, shape, 31 * i + k)
               for i, dtype in enumerate(DTYPES) for k, shape in enumerate(SHAPES)}
    tensors |= {name: tensor_make("float32", (3,), 1000 + i) for i, name in enumerate(NAMES)}
    tensors["transposed"] = torch.arange(12.0).reshape(3, 4).t()
    tensors["strided"] = torch.arange(20, dtype=torch.bfloat16)[::3]
    tensors["expanded"] = torch.tensor([1.5, 2.5]).expand(3, 2)
    return tensors


def row_of(name, tensor):
    return {"name": name, "dtype": str(tensor.dtype).split(".")[1], "shape": list(tensor.shape),
            "hex": tensor_bytes(tensor).hex()}


class Ours:
    def __init__(self, folder):
        self.program = f"{folder}/answer_offload"
        subprocess.run(["cc", "-std=c11", "-O1", "-D_GNU_SOURCE", "-I.", "-o", self.program,
                        "peers/placement/answer_offload.c", "build/libassay.a", "-lhwloc", "-ljansson", "-lyaml", "-ldl",
                        "-lm", "-pthread", "-fopenmp"], check=True)

    def read(self, folder):
        result = subprocess.run([self.program, "read", folder], check=True, capture_output=True, text=True)
        return {row["name"]: row for row in map(json.loads, result.stdout.splitlines())}

    def write(self, folder, tensors):
        rows = "".join(json.dumps(row_of(*item)) + "\n" for item in tensors.items())
        subprocess.run([self.program, "write", folder], check=True, input=rows, text=True)


def loaded_row(loader, name):
    """None where accelerate's loader cannot read what it finds."""
    try:
        return row_of(name, loader[name])
    except TypeError:
        return None


class Tally:
    def __init__(self):
        self.bad = 0

    def tell(self, what, equal, different, more=""):
        self.bad += different
        print(f"{'equal' if different == 0 else 'DIFFERENT'} {what}: {equal} equal, {different} different{more}", flush=True)


def same_row(row, tensor):
    return row is not None and "error" not in row and {k: row[k] for k in row} == row_of(row["name"], tensor)


def tensors_compare(ours, root, tally):
    tensors = tensors_make()
    theirs, mine = f"{root}/theirs", f"{root}/mine"
    offload_state_dict(theirs, tensors)
    rows = ours.read(theirs)
    equal = sum(same_row(rows.get(name), tensor) for name, tensor in tensors.items())
    tally.tell("accelerate writes, ours reads", equal, len(tensors) - equal)
    ours.write(mine, tensors)
    loader = OffloadedWeightsLoader(save_folder=mine)
    own = OffloadedWeightsLoader(save_folder=theirs)
    raised = [name for name in tensors if loaded_row(own, name) is None]
    equal = sum(loaded_row(loader, name) == (None if name in raised else row_of(name, tensor))
                for name, tensor in tensors.items())
    tally.tell("ours writes, OffloadedWeightsLoader reads", equal, len(tensors) - equal,
               f" (it raises TypeError for {len(raised)} in either folder: {', '.join(raised)})" if raised else "")
    names = sorted(os.listdir(theirs))
    equal = sum(filecmp.cmp(f"{theirs}/{name}", f"{mine}/{name}", shallow=False) for name in names
                if os.path.exists(f"{mine}/{name}"))
    tally.tell("files of the two folders, byte for byte, index.json among them", equal,
               len(set(names) | set(os.listdir(mine))) - equal)


def merges_compare(ours, root, tally):
    first, second = {"a": torch.arange(4.0), "b": torch.tensor(3)}, {"c": torch.ones(2, 2, dtype=torch.bfloat16)}
    indexes = []
    for k, (one, two) in enumerate([("theirs", "theirs"), ("theirs", "ours"), ("ours", "theirs"), ("ours", "ours")]):
        folder = f"{root}/merge{k}"
        for writer, tensors in ((one, first), (two, second)):
            (offload_state_dict if writer == "theirs" else ours.write)(folder, tensors)
        indexes.append(pathlib.Path(folder, "index.json").read_bytes())
    equal = sum(index == indexes[0] for index in indexes)
    tally.tell("indexes that one writes and the other adds to", equal, len(indexes) - equal)


def references_make(root):
    """A file of safetensors and the entries that name it, with every dtype they may be wanted in."""
    values = torch.cat([torch.linspace(-3, 3, 41), torch.tensor([0.0, -0.0, 448.0, 464.0, 465.0, 65504.0, 65520.0, 1e-7, 5e-8,
                        2.0 ** -9, 2.0 ** -10, 1e30, -1e30, float("inf"), 1.00390625, 1.01171875])])
    stored = {dtype: values.to(getattr(torch, dtype)) for dtype in FLOATS}
    stored["whole"] = torch.arange(9, dtype=torch.int64).reshape(3, 3)
    path = f"{root}/values.safetensors"
    save_file(stored, path)
    index = {f"{a} as {b}": {"safetensors_file": path, "weight_name": a, "dtype": b} for a in FLOATS for b in FLOATS}
    index["float32"] = {"safetensors_file": path}
    index["another"] = {"safetensors_file": path, "weight_name": "whole"}
    index["whole"] = {"safetensors_file": path, "dtype": "int64"}
    return path, index


def is_same_values(row, tensor):
    """Bit by bit, but for NaN, which is NaN."""
    wanted = row_of(row["name"], tensor)
    if "hex" not in row or row["dtype"] != wanted["dtype"] or row["shape"] != wanted["shape"]:
        return False
    mine = torch.frombuffer(bytearray.fromhex(row["hex"]), dtype=tensor.dtype).reshape(tensor.shape)
    if not tensor.dtype.is_floating_point:
        return torch.equal(mine, tensor)
    a, b = tensor_bytes(mine), tensor_bytes(tensor)
    width = tensor.dtype.itemsize
    nan = tensor.float().isnan() & mine.float().isnan()
    return all(bool(nan.reshape(-1)[i]) or a[i * width:(i + 1) * width] == b[i * width:(i + 1) * width]
               for i in range(tensor.numel()))


def references_compare(ours, root, tally):
    _, index = references_make(root)
    folder = f"{root}/references"
    os.makedirs(folder)
    save_offload_index(index, folder)
    loader, rows = OffloadedWeightsLoader(save_folder=folder), ours.read(folder)
    equal = sum(is_same_values(rows[name], loader[name]) for name in index)
    tally.tell("entries that name a file of safetensors", equal, len(index) - equal)


# -- models

def model_make(name, seed):
    config = transformers.AutoConfig.from_pretrained(f"models/catalogue/{name}")
    torch.manual_seed(seed)
    return MODELS[name].from_config(config).eval()


def answer(model):
    ids = torch.arange(1, 9).reshape(1, 8)
    with torch.no_grad():
        return model(input_ids=ids).logits


def offload(*words):
    return subprocess.run(["build/assay", "offload", *words], capture_output=True, text=True)


def halves_map(model):
    """Leaves with parameters: the first half stays on the host, the other goes to the disk."""
    names = [name for name, module in model.named_modules() if name and not list(module.children())]
    with_tensors = [name for name in names if any(True for _ in model.get_submodule(name).parameters())]
    device_map = {name: "cpu" for name in names}
    device_map |= {name: "cpu" for name in model.state_dict() if name.rpartition(".")[0] not in device_map}
    return device_map | {name: "disk" for name in with_tensors[len(with_tensors) // 2:]}


def parts_compare(name, root, expected, results):
    """The part of a model that a device map gives to the disk."""
    part, theirs = f"{root}/{name}-part", f"{root}/{name}-part-theirs"
    model = model_make(name, 1)
    device_map = halves_map(model)
    pathlib.Path(f"{root}/map.json").write_text(json.dumps(device_map))
    chosen = offload(f"{root}/{name}", "--to", part, "--map", f"{root}/map.json")
    dispatch_model(model, device_map, main_device="cpu", offload_dir=theirs)
    results["assay offload --map writes what dispatch_model writes"].append(
        chosen.returncode == 0 and sorted(os.listdir(part)) == sorted(os.listdir(theirs)) and
        all(filecmp.cmp(f"{part}/{file}", f"{theirs}/{file}", shallow=False) for file in os.listdir(part)
            if file != "index.json") and
        json.load(open(f"{part}/index.json")) == json.load(open(f"{theirs}/index.json")))
    scrambled = model_make(name, 1)
    state, on_disk = scrambled.state_dict(), set(json.load(open(f"{part}/index.json")))
    shared = {tensor.data_ptr() for key, tensor in state.items() if key not in on_disk}
    for key in on_disk:
        if state[key].data_ptr() not in shared:
            state[key].zero_()
    dispatch_model(scrambled, device_map, main_device="cpu", offload_dir=part)
    results["dispatch_model with that part scrambled and our folder computes what the checkpoint computes"].append(
        torch.equal(answer(scrambled), expected))


def model_compare(name, root, results):
    checkpoint, folder, theirs = f"{root}/{name}", f"{root}/{name}-ours", f"{root}/{name}-theirs"
    model = model_make(name, 1)
    model.save_pretrained(checkpoint)
    expected = answer(model)
    written = offload(checkpoint, "--to", folder)
    results["assay offload writes the names of the state dict"].append(
        written.returncode == 0 and set(json.load(open(f"{folder}/index.json"))) == set(model.state_dict()))
    other = disk_offload(model_make(name, 2), folder, execution_device="cpu", offload_buffers=True)
    results["disk_offload of other weights over our folder computes what the checkpoint computes"].append(
        torch.equal(answer(other), expected))
    parts_compare(name, root, expected, results)
    disk_offload(model_make(name, 1), theirs, execution_device="cpu", offload_buffers=True)
    held = offload("--check", theirs, checkpoint, "--values", "--json")
    results["assay offload --check --values finds the checkpoint in accelerate's folder"].append(
        held.returncode == 0 and json.loads(held.stdout)["findings"] == [])
    results["our folder and accelerate's are the same files"].append(
        sorted(os.listdir(folder)) == sorted(os.listdir(theirs)) and
        all(filecmp.cmp(f"{folder}/{file}", f"{theirs}/{file}", shallow=False) for file in os.listdir(folder)
            if file != "index.json") and
        json.load(open(f"{folder}/index.json")) == json.load(open(f"{theirs}/index.json")))


def models_compare(root, tally):
    results = {what: [] for what in (
        "assay offload writes the names of the state dict",
        "disk_offload of other weights over our folder computes what the checkpoint computes",
        "assay offload --map writes what dispatch_model writes",
        "dispatch_model with that part scrambled and our folder computes what the checkpoint computes",
        "assay offload --check --values finds the checkpoint in accelerate's folder",
        "our folder and accelerate's are the same files")}
    for name in MODELS:
        model_compare(name, root, results)
    for what, passed in results.items():
        more = "" if all(passed) else " (" + ", ".join(n for n, ok in zip(MODELS, passed) if not ok) + ")"
        tally.tell(f"{what}, models", sum(passed), len(passed) - sum(passed), more)


def stale_compare(root, tally):
    """What each says of a folder that is not the model's."""
    told = 0
    for what, folder_of, seed in (("older weights of the same model", "tiny-llama", 9),
                                  ("another model", "tiny-qwen3", 1)):
        folder, checkpoint = f"{root}/stale-{folder_of}-{seed}", f"{root}/tiny-llama"
        offload_state_dict(folder, model_make(folder_of, seed).state_dict())
        model = disk_offload(model_make("tiny-llama", 1), folder, execution_device="cpu")
        try:
            theirs = "computes something else" if not torch.equal(answer(model), answer(model_make("tiny-llama", 1))) \
                else "computes the same"
        except (KeyError, ValueError, RuntimeError) as error:
            theirs = f"{type(error).__name__}: {str(error).splitlines()[0][:100]}"
        mine = offload("--check", folder, checkpoint, "--values", "--json")
        kinds = sorted({row["kind"] for row in json.loads(mine.stdout)["findings"]})
        told += mine.returncode == 1
        print(f"stale, {what}: accelerate {theirs}; ours: exit code {mine.returncode}, {', '.join(kinds)}", flush=True)
    tally.tell("stale folders that assay offload --check tells", told, 2 - told)


# -- for tests without Python

def golden_write(path):
    """Lines: tensors as accelerate writes them, their index, and what its loader makes of a file of safetensors."""
    tensors = {name: tensor for name, tensor in tensors_make().items() if tensor.numel() <= 24 and "/" not in name}
    with tempfile.TemporaryDirectory() as root, open(path, "w", encoding="ascii") as file:
        file.write(json.dumps({"type": "run", "torch": torch.__version__.split("+")[0], "accelerate": accelerate.__version__,
                               "numpy": numpy.__version__, "safetensors": safetensors.__version__}) + "\n")
        offload_state_dict(f"{root}/f", tensors)
        for name, tensor in tensors.items():
            dat = pathlib.Path(root, "f", f"{name}.dat").read_bytes()
            file.write(json.dumps({"type": "tensor"} | row_of(name, tensor) | {"dat": dat.hex()}) + "\n")
        file.write(json.dumps({"type": "index", "text": pathlib.Path(root, "f", "index.json").read_text()}) + "\n")
        stored, index = references_make(root)
        loader = OffloadedWeightsLoader(index=index)
        file.write(json.dumps({"type": "safetensors", "hex": pathlib.Path(stored).read_bytes().hex()}) + "\n")
        for name, entry in index.items():
            entry = {key: value for key, value in entry.items() if key != "safetensors_file"}
            file.write(json.dumps({"type": "reference", "entry": entry} | row_of(name, loader[name])) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--golden", help="write the file that tests/checkpoint/test_offload_peers.c reads, and nothing else")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.ERROR)
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    if options.golden:
        golden_write(options.golden)
        return 0
    print(f"torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}, accelerate {accelerate.__version__}, "
          f"numpy {numpy.__version__}, safetensors {safetensors.__version__}")
    tally = Tally()
    with tempfile.TemporaryDirectory() as root:
        ours = Ours(root)
        tensors_compare(ours, root, tally)
        merges_compare(ours, root, tally)
        references_compare(ours, root, tally)
        models_compare(root, tally)
        stale_compare(root, tally)
    return 1 if tally.bad else 0


if __name__ == "__main__":
    sys.exit(main())
