#!/usr/bin/env python3
"""One load of a checkpoint by real libraries for each line on standard input; what it took, as one JSON line.

    printf '\\n\\n' | python3 peers/placement/bench_load.py --checkpoint FOLDER --how accelerate
    {"torch": "2.11.0", "safetensors": "0.6.2", "accelerate": "1.15.0", "transformers": "5.23.0"}
    {"seconds": 0.41, "bytes": 497759232}

The first line comes before the first load; where none can be made it is {"unavailable": REASON}, and the exit status is 77.
safetensors: load_file of model.safetensors, and nothing else. accelerate: load_checkpoint_in_model onto the CPU, of the
model that config.json says, made on the meta device beforehand. Both may map the file and read nothing; so one byte of
every page of every tensor is read before the clock stops. `make bench` puts such loads between its own.
"""
import argparse
import json
import pathlib
import sys
import time


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", type=pathlib.Path, required=True, help="a folder with config.json and model.safetensors")
    parser.add_argument("--how", choices=("safetensors", "accelerate"), required=True)
    return parser.parse_args()


def answer(**fields):
    print(json.dumps(fields), flush=True)


class Loader:
    def __init__(self, options):
        import accelerate
        import safetensors
        import safetensors.torch
        import torch
        import transformers
        self.torch, self.accelerate, self.transformers = torch, accelerate, transformers
        self.load_file = safetensors.torch.load_file
        self.folder, self.how = options.checkpoint, options.how
        self.config = transformers.AutoConfig.from_pretrained(self.folder)
        self.versions = {module.__name__: module.__version__
                         for module in (torch, safetensors, accelerate, transformers)}

    def model(self):
        with self.accelerate.init_empty_weights():
            model = self.transformers.AutoModelForCausalLM.from_config(self.config)
        model.tie_weights()
        return model

    def run(self):
        model = self.model() if self.how == "accelerate" else None
        begin = time.perf_counter()
        if model is None:
            tensors = list(self.load_file(self.folder / "model.safetensors").values())
        else:
            self.accelerate.load_checkpoint_in_model(model, str(self.folder), device_map={"": "cpu"})
            tensors = list({tensor.data_ptr(): tensor for tensor in model.state_dict().values()}.values())
        for tensor in tensors:
            tensor.contiguous().view(-1).view(self.torch.uint8)[::4096].sum()
        return {"seconds": time.perf_counter() - begin, "bytes": sum(tensor.nbytes for tensor in tensors)}


def main():
    options = arguments()
    try:
        loader = Loader(options)
    except (ImportError, OSError, ValueError) as error:
        answer(unavailable=f"{type(error).__name__}: {error}")
        return 77
    answer(**loader.versions)
    for _ in sys.stdin:
        answer(**loader.run())
    return 0


if __name__ == "__main__":
    sys.exit(main())
