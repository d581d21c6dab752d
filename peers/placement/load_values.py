#!/usr/bin/env python3
"""Whether assay load puts the same numbers under the same names as transformers' from_pretrained.

Small models of the catalogue are made and saved by transformers, in shards, some with experts that are stored one by one or
under the names of earlier releases. assay load sends all of each to the disk, as accelerate keeps it there, and accelerate
reads the folder: every tensor must be the one that from_pretrained gives.

Run in the root of the repository: python3 peers/placement/load_values.py build/assay >peers/placement/load_values.txt
Needs torch, transformers and accelerate. Exit 1 where anything differs.
"""
import json
import logging
import pathlib
import subprocess
import sys
import tempfile
import warnings

import accelerate
import torch
import transformers
from accelerate.utils import OffloadedWeightsLoader

CATALOGUE = pathlib.Path("models/catalogue")
MAKERS = (transformers.AutoModelForCausalLM, transformers.AutoModelForMaskedLM, transformers.AutoModelForSeq2SeqLM,
          transformers.AutoModel)


def model_make(path):
    config = transformers.AutoConfig.from_pretrained(path)
    for maker in MAKERS:
        try:
            return maker, maker.from_config(config)
        except ValueError:
            continue
    return None, None


def model_compare(program, name, folder):
    maker, model = model_make(CATALOGUE / name)
    if model is None:
        return None
    saved, offloaded = folder / "saved", folder / "offloaded"
    model.save_pretrained(saved, max_shard_size="60KB")
    device_map = folder / "map.json"
    device_map.write_text(json.dumps({"": "disk"}))
    done = subprocess.run([program, "load", saved, "--map", device_map, "--offload-folder", offloaded,
                           "--offload-buffers", "--no-plain-read", "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        return f"assay load: exit code {done.returncode}: {done.stderr.strip()}"
    told = json.loads(done.stdout)
    weights = OffloadedWeightsLoader(save_folder=str(offloaded))
    expected = maker.from_pretrained(saved).state_dict()
    different = [key for key in weights if not torch.equal(weights[key], expected[key])]
    storages = {expected[key].data_ptr() for key in weights}
    lacking = [key for key in expected if expected[key].data_ptr() not in storages]
    if different or lacking:
        return f"different: {different[:3]}, lacking: {lacking[:3]}"
    return f"{len(weights)} tensors equal, {told['renamed_count']} stored under other names"


def main():
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    logging.disable(logging.WARNING)
    print(f"torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}, "
          f"accelerate {accelerate.__version__}")
    failed = False
    for path in sorted(CATALOGUE.glob("tiny-*")):
        if "architecture" in json.loads((path / "config.json").read_text()):
            continue  # timm's own, which transformers wraps under other names
        with tempfile.TemporaryDirectory() as folder:
            words = model_compare(sys.argv[1], path.name, pathlib.Path(folder))
        if words is not None:
            print(f"{path.name}: {words}")
            failed = failed or "equal" not in words
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
