"""What `accelerate estimate-memory` computes, as JSON, for the external estimators of a suite (suites/external.yaml).

The command prints a table of rounded figures, and asks the hub about every model. This calls the same functions of the
installed accelerate and prints their bytes. With --config, the folder of that config.json stands for the repository, so that
no network is needed: only accelerate's question to the hub is answered here, by what the file says.

usage: accelerate_memory.py MODEL --dtype PRECISION [--config FILE]
       accelerate_memory.py --version

Made with accelerate 1.15.0, transformers 5.17.0, timm 1.0.31.
"""

import argparse
import contextlib
import json
import os
import sys
import types


def library_of(config):
    """The library that the hub would name: timm's files name an architecture instead of a model type."""
    return "transformers" if "model_type" in config else "timm"


def answer_for_hub(estimate, config_path):
    """Lets accelerate find a file where it would ask the hub; returns what it takes for the model's name."""
    with open(config_path, encoding="utf-8") as file:
        config = json.load(file)
    info = types.SimpleNamespace(library_name=library_of(config), config=config)
    estimate.verify_on_hub = lambda repo, token=None: info
    folder = os.path.abspath(os.path.dirname(config_path))
    return folder if info.library_name == "transformers" else "local-dir:" + folder


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", nargs="?")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--config")
    parser.add_argument("--version", action="store_true")
    arguments = parser.parse_args()
    try:
        import accelerate
        from accelerate.commands import estimate
    except ImportError as error:
        sys.exit(f"{error} in {sys.executable}: install accelerate, transformers and timm for it")
    if arguments.version:
        print("accelerate", accelerate.__version__)
        return
    dtypes = {"float32": "float32", "float16": "float16", "bfloat16": "float16", "int8": "int8", "int4": "int4"}
    if arguments.model is None or arguments.dtype not in dtypes:
        sys.exit("a model is missing" if arguments.model is None else f"accelerate has no rule for {arguments.dtype}")
    name = arguments.model
    if arguments.config is not None:
        name = answer_for_hub(estimate, arguments.config)
    question = types.SimpleNamespace(
        model_name=name, library_name=None, trust_remote_code=False, dtypes=[dtypes[arguments.dtype]]
    )
    with contextlib.redirect_stdout(sys.stderr):
        [[dtype, largest, total, training]] = estimate.gather_data(question)
    adam = max(training.values())
    json.dump(
        {
            "dtype": dtype,
            "largest_layer_bytes": int(largest),
            "total_bytes": int(total),
            "training_adam_bytes": adam if adam >= 0 else None,
        },
        sys.stdout,
    )
    print()


if __name__ == "__main__":
    main()
