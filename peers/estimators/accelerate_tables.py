"""What `accelerate estimate-memory` computes for every name of the catalogue, one JSON line each.

The functions of the installed accelerate build each model with the real classes, without storage, from the catalogue's own
config.json; accelerate_memory.py answers the question that they put to the hub. So the lines are what somebody sees today who
types `accelerate estimate-memory NAME`: classes and buffers are those of the installed transformers and timm.

The first line has the versions. Then, for each name: bytes of the largest layer, the total and training with Adam by dtype, as
Python has them (with a fraction where it has one), or why there is no table.

Run in the root of the repository: python3 peers/estimators/accelerate_tables.py [NAME ...] >peers/estimators/accelerate_tables.jsonl
tests/estimate/test_accelerate_tables.c reads it.
"""

import contextlib
import json
import pathlib
import sys
import types

import accelerate
import timm
import torch
import transformers
from accelerate.commands import estimate

from accelerate_memory import answer_for_hub

CATALOGUE = pathlib.Path("models/catalogue")
DTYPES = ["float32", "float16", "int8", "int4"]


def catalogue_names():
    return sorted(str(path.parent.relative_to(CATALOGUE)) for path in CATALOGUE.rglob("config.json"))


def rows_of(name):
    """The rows of the table. What accelerate prints meanwhile goes to standard error. accelerate itself gives a tensor storage
    before it takes it away; on the meta device that needs no memory, and the sizes are the same."""
    place = answer_for_hub(estimate, CATALOGUE / name / "config.json")
    question = types.SimpleNamespace(model_name=place, library_name=None, trust_remote_code=False, dtypes=DTYPES)
    with contextlib.redirect_stdout(sys.stderr), torch.device("meta"):
        rows = estimate.gather_data(question)
    return [
        {
            "dtype": dtype,
            "largest_layer_bytes": largest,
            "total_bytes": total,
            "training_adam_bytes": max(training.values()) if max(training.values()) >= 0 else None,
        }
        for dtype, largest, total, training in rows
    ]


def main():
    transformers.logging.set_verbosity_error()
    versions = {
        "accelerate": accelerate.__version__,
        "transformers": transformers.__version__,
        "timm": timm.__version__,
        "torch": torch.__version__.split("+")[0],
    }
    print(json.dumps({"versions": versions}))
    for name in sys.argv[1:] or catalogue_names():
        line = {"model": name}
        try:
            line["rows"] = rows_of(name)
        except Exception as error:  # whatever the libraries raise is why they print no table
            line["refused"] = f"{type(error).__name__}: {error}".splitlines()[0].replace(str(CATALOGUE.resolve()), ".")
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
