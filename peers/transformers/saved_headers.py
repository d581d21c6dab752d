#!/usr/bin/env python3
"""The headers of the files that transformers itself writes for every tiny model of the catalogue, with and without a head.

What save_pretrained writes is what files on the hub look like: experts one by one, tied tensors once. A test holds the
names that `assay weights` understands against these headers, without Python.

Run in the root of the repository: python3 peers/transformers/saved_headers.py >tests/models/golden/saved_headers.jsonl
Needs torch and transformers. A line for each file: {"model", "head", "transformers", "header"}.
"""

import json
import pathlib
import tempfile

import transformers
from compare_skeletons import CATALOGUE, HEADS

HEADER_LENGTH_BYTES = 8


def header_of(model):
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        data = (pathlib.Path(folder) / "model.safetensors").read_bytes()
    length = int.from_bytes(data[:HEADER_LENGTH_BYTES], "little")
    return json.loads(data[HEADER_LENGTH_BYTES : HEADER_LENGTH_BYTES + length])


def main():
    for path in sorted(CATALOGUE.glob("tiny-*/config.json")):
        model_type = json.loads(path.read_text()).get("model_type")
        if model_type not in HEADS:
            continue  # timm's, whose files have the names of the state dict
        config = transformers.AutoConfig.from_pretrained(path.parent)
        for head, factory in (("bare", transformers.AutoModel), ("lm", HEADS[model_type])):
            line = {
                "model": path.parent.name,
                "head": head,
                "transformers": transformers.__version__,
                "header": header_of(factory.from_config(config)),
            }
            print(json.dumps(line, separators=(",", ":")))


if __name__ == "__main__":
    main()
