#!/usr/bin/env python3
"""What accelerate's load_checkpoint_in_model does with checkpoints that are right, and with those that are not.

A small real model of transformers is made without weights, and the real accelerate loads a checkpoint of safetensors into it
over the host and the disk, on the CPU. Each line of output is one case: the checkpoint (model, dtype, files, edits), the call
(device map, dtype, keep_in_fp32_modules, strict, offload_buffers, offload folder), and what came of it: for every key of the state
dict its device, its dtype and whether its values are the file's; what lies in the offload folder; the warnings; or the exception.

Run in the root of the repository: python3 peers/placement/load_checkpoint.py >peers/placement/load_checkpoint-VERSIONS.jsonl
Needs torch, transformers and accelerate. tests/load/test_accelerate_loads.c holds our loader against the lines.
"""
import itertools
import json
import logging
import os
import pathlib
import sys
import tempfile
import warnings

import accelerate
import accelerate.utils.modeling as modeling
import torch
import transformers
from accelerate import init_empty_weights, load_checkpoint_in_model
from safetensors.torch import save_file

CATALOGUE = pathlib.Path("models/catalogue")
MODELS = {"tiny-llama": transformers.AutoModelForCausalLM, "tiny-gpt2": transformers.AutoModelForCausalLM,
          "tiny-resnet": transformers.AutoModelForImageClassification}
ALL = {"": "cpu"}
HALF = {"model.embed_tokens": "cpu", "model.layers.0": "disk", "model.layers.1": "cpu", "model.norm": "cpu", "lm_head": "cpu"}
NESTED = {"model": "disk", "model.layers.1": "cpu", "model.layers.1.mlp.up_proj": "disk",
          "model.layers.0.self_attn.q_proj.weight": "cpu", "lm_head": "cpu"}
Q = "model.layers.0.self_attn.q_proj.weight"


def model_make(name):
    """Without weights, tied; buffers too. A model of timm without its wrapper, as its own files name it."""
    with init_empty_weights(include_buffers=True):
        model = MODELS[name].from_config(transformers.AutoConfig.from_pretrained(CATALOGUE / name))
    model.tie_weights()
    return model.timm_model if hasattr(model, "timm_model") else model


class Lines(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def case(name, model="tiny-llama", **changes):
    return {"name": name, "model": model, "stored": "float32", "files": ["model.safetensors"], "shards": 1, "edits": [],
            "format": "pt", "map": ALL, "dtype": None, "keep": None, "strict": False, "offload_buffers": False,
            "folder": True, **changes}


def edit(kind, tensor, value=None):
    return {"kind": kind, "tensor": tensor, "value": value}


def cases():
    dtypes = [None, "float32", "float16", "bfloat16"]
    for stored, dtype in itertools.product(dtypes[1:], dtypes):
        yield case(f"{stored} loaded as {dtype}", stored=stored, dtype=dtype)
        yield case(f"{stored} loaded as {dtype} over two places", stored=stored, dtype=dtype, map=HALF)
    for shards, device_map, dtype in itertools.product([1, 3], [HALF, NESTED], [None, "float16"]):
        yield case("a map of prefixes", shards=shards, map=device_map, dtype=dtype)
    for dtype, keep in itertools.product(dtypes, [["norm"], ["input_layernorm"], ["lm_head.weight"], ["proj"], ["rm"], []]):
        yield case("keep in float32", dtype=dtype, keep=keep)
        yield case("keep in float32, over two places", dtype=dtype, keep=keep, map=HALF, stored="bfloat16")
    for strict in [False, True]:
        for device_map in [ALL, HALF]:
            yield case("missing key", strict=strict, map=device_map, edits=[edit("drop", Q)])
            yield case("unexpected key", strict=strict, map=device_map, edits=[edit("add", "model.layers.7.extra.weight")])
            yield case("wrong shape", strict=strict, map=device_map, edits=[edit("first_size", "model.norm.weight", 5)])
            yield case("a key has another name", strict=strict, map=device_map, edits=[edit("name", Q, "model.q.weight")])
        yield case("wrong shape on the disk", strict=strict, map=HALF, edits=[edit("first_size", Q, 5)])
        yield case("unexpected key without a device", strict=strict, map=HALF, edits=[edit("add", "other.extra.weight")])
    yield case("no device set", map={"model.embed_tokens": "cpu", "model.norm": "cpu"})
    yield case("no device for one tensor", map={"model": "cpu"})
    yield case("a prefix is no module", map={"model": "cpu", "lm": "cpu"})
    yield case("an empty map", map={})
    yield case("disk without a folder", map=HALF, folder=False)
    yield case("two indexes", files=["a.safetensors.index.json", "model.safetensors.index.json"], shards=2)
    yield case("index of another name", files=["other.safetensors.index.json"], shards=2)
    yield case("no index", files=["model-00001-of-00002.safetensors"])
    yield case("whole file and index", files=["model.safetensors", "model.safetensors.index.json"], shards=2)
    yield case("empty folder", files=[])
    yield case("no folder", files=None)
    for kind in ["pt", "tf", "flax", "mlx", None]:
        yield case(f"format {kind}", format=kind)
        yield case(f"format {kind}, two places", format=kind, map=HALF)
    for tied in [ALL, {"transformer": "cpu", "lm_head": "disk"}, {"transformer": "disk", "lm_head": "cpu"}]:
        yield case("tied, stored once", model="tiny-gpt2", map=tied, dtype="float16")
        yield case("tied, stored twice", model="tiny-gpt2", map=tied, edits=[edit("tied", "lm_head.weight")])
        yield case("tied, the other name", model="tiny-gpt2", map=tied,
                   edits=[edit("name", "transformer.wte.weight", "lm_head.weight")])
    for offload_buffers, dtype in itertools.product([False, True], [None, "bfloat16"]):
        yield case("buffers", model="tiny-resnet", map={"conv1": "disk", "bn1": "disk", "layer1": "cpu", "layer2": "disk",
                                                          "layer3": "cpu", "layer4": "cpu", "fc": "disk"},
                   offload_buffers=offload_buffers, dtype=dtype)
    for dtype in dtypes:
        yield case("float8 stays or not", edits=[edit("dtype", Q, "float8_e4m3fn")], dtype=dtype)
        yield case("int8 stays or not", edits=[edit("dtype", Q, "int8")], dtype=dtype)
        yield case("float64", edits=[edit("dtype", Q, "float64")], dtype=dtype)
        yield case("float8 on the disk", edits=[edit("dtype", Q, "float8_e4m3fn")], dtype=dtype, map=HALF)


def stored_tensors(model, case_):
    """Every stored value is not zero, so that what was loaded can be told."""
    tensors, seen = {}, set()
    edits = {(e["kind"], e["tensor"]): e["value"] for e in case_["edits"]}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if (id(tensor) in seen and ("tied", name) not in edits) or ("drop", name) in edits:
            continue
        seen.add(id(tensor))
        shape = list(tensor.shape)
        if ("first_size", name) in edits:
            shape[0] = edits["first_size", name]
        floating = tensor.is_floating_point()
        dtype = getattr(torch, edits.get(("dtype", name), case_["stored"] if floating else "int64"))
        tensors[edits.get(("name", name), name)] = torch.ones(shape).to(dtype)
    for (kind, name) in edits:
        if kind == "add":
            tensors[name] = torch.ones(4)
    return tensors


def checkpoint_write(folder, tensors, case_):
    """Shards take the tensors in turn."""
    if case_["files"] is None:
        return os.path.join(folder, "is-not-there")
    metadata = {"format": case_["format"]} if case_["format"] is not None else None
    names = sorted(tensors)
    for name in case_["files"]:
        if name.endswith(".index.json"):
            shards = [f"model-{i + 1:05}-of-{case_['shards']:05}.safetensors" for i in range(case_["shards"])]
            weight_map = {t: shards[i % len(shards)] for i, t in enumerate(names)}
            for shard in shards:
                save_file({t: tensors[t] for t in names if weight_map[t] == shard}, os.path.join(folder, shard), metadata)
            with open(os.path.join(folder, name), "w") as out:
                json.dump({"metadata": {}, "weight_map": weight_map}, out)
        else:
            save_file(tensors, os.path.join(folder, name), metadata)
    return folder


def outcome(case_):
    lines = Lines()
    logger = logging.getLogger("accelerate.utils.modeling")
    logger.addHandler(lines)
    logger.propagate = False
    model = model_make(case_["model"])
    if case_["shards"] > 1 and case_["files"] == ["model.safetensors"]:
        case_["files"] = ["model.safetensors.index.json"]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as offload:
        path = checkpoint_write(folder, stored_tensors(model, case_), case_)
        try:
            load_checkpoint_in_model(model, path, device_map=case_["map"], dtype=case_["dtype"], strict=case_["strict"],
                                     keep_in_fp32_modules=case_["keep"], offload_buffers=case_["offload_buffers"],
                                     offload_folder=offload if case_["folder"] else None)
        except Exception as error:
            return {"error": type(error).__name__, "message": str(error).replace(folder, "FOLDER")}
        finally:
            logger.removeHandler(lines)
        tensors = {}
        for name, tensor in model.state_dict().items():
            is_meta = tensor.device.type == "meta"
            loaded = not is_meta and bool((tensor.float() == 1).all())
            tensors[name] = [str(tensor.device), str(tensor.dtype).removeprefix("torch."), loaded]
        index = os.path.join(offload, "index.json")
        offloaded = json.load(open(index)) if os.path.exists(index) else {}
        warned = [line.replace(folder, "FOLDER") for line in lines.lines]
        return {"tensors": tensors, "offloaded": {k: v["dtype"] for k, v in offloaded.items()}, "warnings": warned}


def main():
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    modeling.is_tqdm_available = lambda: False
    print(json.dumps({"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__,
                      "accelerate": accelerate.__version__}))
    for case_ in cases():
        case_["outcome"] = outcome(case_)
        print(json.dumps(case_))


if __name__ == "__main__":
    sys.exit(main())
