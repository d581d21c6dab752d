#!/usr/bin/env python3
"""What transformers writes in pieces: the headers of all shards and the metadata of the index, for every tiny model.

Each model is made by from_pretrained in a 16-bit type, so that what the library keeps in float32 is, and saved by
save_pretrained with shards of 4 KB, so that nearly every boundary between two tensors is tried. A test holds the layout
that `assay synth` writes against these headers, without Python.

Run in the root of the repository: python3 peers/transformers/saved_shards.py >tests/models/golden/saved_shards.jsonl
Needs torch and transformers. A line for each model: {"model", "head", "precision", "maximum", "transformers", "metadata",
"shards": [header, ...]}. The precision is bfloat16, and float16 for the models that keep a part of themselves in float32.
"""

import json
import pathlib
import tempfile

import torch
import transformers
from compare_skeletons import CATALOGUE, HEADS
from saved_headers import HEADER_LENGTH_BYTES

MAXIMUM = "4KB"


def header_of(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:HEADER_LENGTH_BYTES], "little")
    return json.loads(data[HEADER_LENGTH_BYTES : HEADER_LENGTH_BYTES + length])


def saved(factory, config, precision):
    """The metadata of the index and the headers of the shards, in the order of their numbers."""
    with tempfile.TemporaryDirectory() as folder:
        whole, pieces = pathlib.Path(folder) / "whole", pathlib.Path(folder) / "pieces"
        factory.from_config(config).save_pretrained(whole)
        made = factory.from_pretrained(whole, dtype=getattr(torch, precision))
        made.save_pretrained(pieces, max_shard_size=MAXIMUM)
        index = json.loads((pieces / "model.safetensors.index.json").read_text())
        headers = [header_of(path) for path in sorted(pieces.glob("model-*.safetensors"))]
        return index["metadata"], headers


def precisions_of(factory, config):
    made = factory.from_config(config)
    return ["bfloat16", "float16"] if made._keep_in_fp32_modules or made._keep_in_fp32_modules_strict else ["bfloat16"]


def main():
    for path in sorted(CATALOGUE.glob("tiny-*/config.json")):
        model_type = json.loads(path.read_text()).get("model_type")
        if model_type not in HEADS:
            continue  # timm's, which it writes as one file
        config = transformers.AutoConfig.from_pretrained(path.parent)
        for head, factory in (("bare", transformers.AutoModel), ("lm", HEADS[model_type])):
            for precision in precisions_of(factory, config):
                metadata, headers = saved(factory, config, precision)
                line = {
                    "model": path.parent.name,
                    "head": head,
                    "precision": precision,
                    "maximum": MAXIMUM,
                    "transformers": transformers.__version__,
                    "metadata": metadata,
                    "shards": headers,
                }
                print(json.dumps(line, separators=(",", ":")))


if __name__ == "__main__":
    main()
