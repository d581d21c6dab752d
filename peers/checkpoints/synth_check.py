#!/usr/bin/env python3
"""Checkpoints of `assay synth`, read by the libraries that they are for.

Every tiny model of the catalogue, with and without its head, in float32, float16 and bfloat16, as one file and in shards of 20 KB,
and one model of real size. Of each: safetensors opens every file and gives every tensor; from_pretrained finds no key missing,
unexpected or of another shape, and takes the types as they are stored; a forward pass gives finite numbers; and what
save_pretrained writes of the loaded model is, file for file and byte for byte, what assay had written. timm's models take
the tensors strictly, under their own names.

Run in the root of the repository: python3 peers/checkpoints/synth_check.py >peers/checkpoints/synth_check.txt
Needs torch, transformers, timm and safetensors. Exit code 1 where anything differs.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import safetensors
import timm
import torch
import transformers

sys.path.insert(0, "peers/transformers")
from compare_skeletons import CATALOGUE, HEADS  # noqa: E402

PROGRAM = "build/assay"
PRECISIONS = ("float32", "float16", "bfloat16")
TINY_SIZES = ("50GB", "20KB")
REAL = (("distilgpt2", "float32", "50GB"), ("distilgpt2", "bfloat16", "30MB"), ("distilgpt2", "float16", "100MiB"))
TOKENS = 8


def synth(model, folder, *options):
    subprocess.run([PROGRAM, "synth", model, "--out", str(folder), *options], check=True, capture_output=True)


def tensor_files(folder):
    return sorted(folder.glob("*.safetensors"))


def tensors_of(folder):
    """Every tensor by safetensors' own reader; the index, where there is one, names the file of each."""
    tensors, files = {}, {}
    for path in tensor_files(folder):
        with safetensors.safe_open(path, framework="pt") as opened:
            assert opened.metadata() == {"format": "pt"}, f"{path.name}: {opened.metadata()}"
            for name in opened.keys():
                assert name not in tensors, f"{name} is stored twice"
                tensors[name], files[name] = opened.get_tensor(name), path.name
    index = folder / "model.safetensors.index.json"
    if index.exists():
        document = json.loads(index.read_text())
        assert document["weight_map"] == files, "the index says other files"
        total = sum(tensor.nbytes for tensor in tensors.values())
        assert document["metadata"]["total_size"] == total, "total_size"
    else:
        assert len(tensor_files(folder)) == 1, "several files and no index"
    for name, tensor in tensors.items():
        assert not tensor.is_floating_point() or bool(torch.isfinite(tensor).all()), f"{name} is not finite"
    return tensors


def forward(model, config):
    if hasattr(config, "num_channels"):
        side = config.image_size
        inputs = {"pixel_values": torch.randn(1, config.num_channels, side, side, dtype=model.dtype)}
    else:
        inputs = {"input_ids": torch.randint(3, config.vocab_size, (2, TOKENS))}
        if config.is_encoder_decoder:
            inputs["decoder_input_ids"] = inputs["input_ids"]
    with torch.no_grad():
        output = model.eval()(**inputs)[0]
    assert bool(torch.isfinite(output).all()), "the forward pass gives numbers that are not finite"


def same_files(folder, again):
    names = [path.name for path in tensor_files(folder)] + ["model.safetensors.index.json"] * (
        (folder / "model.safetensors.index.json").exists()
    )
    for name in names:
        assert (folder / name).read_bytes() == (again / name).read_bytes(), f"save_pretrained writes another {name}"
    assert len(tensor_files(again)) == len(tensor_files(folder)), "save_pretrained writes other files"


def check_transformers(folder, factory, precision, size):
    model, info = factory.from_pretrained(folder, output_loading_info=True)
    for key in ("missing_keys", "unexpected_keys", "mismatched_keys", "error_msgs"):
        assert not info.get(key), f"{key}: {sorted(info[key])[:3]}"
    assert str(model.dtype) == f"torch.{precision}", f"{model.dtype} is loaded"
    forward(model, model.config)
    with tempfile.TemporaryDirectory() as again:
        model.save_pretrained(again, max_shard_size=int(size[:-3]) << 20 if size.endswith("MiB") else size)
        same_files(folder, pathlib.Path(again))


def check_timm(folder, precision):
    config = json.loads((folder / "config.json").read_text())
    arguments = {"num_classes": config["num_classes"], **config.get("model_args", {})}
    if "cfg" in arguments:  # which timm's own function takes for that of the pretrained weights
        model = timm.models.vgg.VGG(**arguments)
    else:
        model = timm.create_model(config["architecture"], **arguments)
    stored = tensors_of(folder)
    assert list(sorted(model.state_dict())) == sorted(stored), "other keys"
    model = model.to(getattr(torch, precision)).eval()
    model.load_state_dict(stored, strict=True)
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, stored[name]) and tensor.dtype == stored[name].dtype, name
    size = config["pretrained_cfg"]["input_size"]
    with torch.no_grad():
        output = model(torch.randn(1, *size, dtype=getattr(torch, precision)))
    assert bool(torch.isfinite(output).all()), "the forward pass gives numbers that are not finite"


def check(model, head, factory, precision, size):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "made"
        synth(model, folder, "--head", head, "--precision", precision, "--max-shard-size", size)
        tensors = tensors_of(folder)
        if factory is None:  # timm's
            check_timm(folder, precision)
        else:
            check_transformers(folder, factory, precision, size)
        total = sum(tensor.nbytes for tensor in tensors.values())
        return len(tensor_files(folder)), len(tensors), total


def cases():
    for path in sorted(CATALOGUE.glob("tiny-*/config.json")):
        model_type = json.loads(path.read_text()).get("model_type")
        for precision in PRECISIONS:
            if model_type not in HEADS:
                yield path.parent.name, "lm", None, precision, "50GB"
                continue
            for head, factory in (("bare", transformers.AutoModel), ("lm", HEADS[model_type])):
                for size in TINY_SIZES:
                    yield path.parent.name, head, factory, precision, size
    for model, precision, size in REAL:
        yield model, "lm", HEADS["gpt2"], precision, size


def main():
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    print(f"transformers {transformers.__version__}, safetensors {safetensors.__version__}, timm {timm.__version__}, "
          f"torch {torch.__version__.split('+')[0]}")
    print(f"{'model':24} {'head':4} {'precision':9} {'shard size':>10} {'files':>5} {'tensors':>7} {'bytes':>10}  result")
    failures = count = 0
    for model, head, factory, precision, size in cases():
        count += 1
        try:
            files, tensors, total = check(model, head, factory, precision, size)
            result = "same"
        except (AssertionError, RuntimeError, OSError, ValueError, subprocess.CalledProcessError) as error:
            files, tensors, total = 0, 0, 0
            detail = getattr(error, "stderr", b"") or str(error).encode()
            result = f"DIFFERS: {detail.decode().strip()[:200]}"
            failures += 1
        print(f"{model:24} {head:4} {precision:9} {size:>10} {files:5d} {tensors:7d} {total:10d}  {result}", flush=True)
    print(f"{count} checkpoints, {count - failures} are loaded without a word and saved again byte for byte")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
