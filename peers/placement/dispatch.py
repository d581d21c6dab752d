#!/usr/bin/env python3
"""What accelerate's dispatch_model holds on each device, pass by pass, without any GPU.

Real models of transformers are dispatched by the real accelerate over cuda:0, cuda:1, the host and the disk, on fake
tensors: PyTorch's FakeTensorMode gives tensors the device they would have, and a ledger under the dispatcher sees every
storage come and go on each device. Nothing is computed. The second of two forward passes is measured. Attention is eager: which kernel a GPU would choose is
peers/pytorch's matter.

Four things are replaced, because they need what is not there: nn.Parameter's class is told where a fake tensor hides it, a
fake tensor's address is a number of its storage (accelerate tells tied tensors by it, and it would be 0), emptying the cache
does nothing, and a weight that comes from the disk is an empty tensor of the host of the same size.

Run in the root of the repository: python3 peers/placement/dispatch.py >peers/placement/dispatch-VERSIONS.jsonl
Needs torch, transformers and accelerate. tests/models/test_placed_dispatch.c holds our placed tapes against the lines.
"""
import builtins
import gc
import itertools
import json
import logging
import pathlib
import sys
import tempfile
import warnings
import weakref

import accelerate
import accelerate.utils.modeling as modeling
import accelerate.utils.offload as offload
import torch
import transformers
from accelerate import dispatch_model
from accelerate.utils import compute_module_sizes, infer_auto_device_map
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

CATALOGUE = pathlib.Path("models/catalogue")
CAUSAL = transformers.AutoModelForCausalLM
MODELS = {"tiny-llama": CAUSAL, "tiny-mistral": CAUSAL, "tiny-qwen2": CAUSAL, "tiny-qwen3": CAUSAL, "tiny-gemma": CAUSAL,
          "tiny-gemma2": CAUSAL, "tiny-phi3": CAUSAL, "tiny-gpt2": CAUSAL, "tiny-gpt-neox": CAUSAL, "tiny-opt": CAUSAL,
          "tiny-bloom": CAUSAL, "tiny-falcon": CAUSAL, "tiny-bert": transformers.AutoModelForMaskedLM,
          "tiny-roberta": transformers.AutoModelForMaskedLM, "tiny-distilbert": transformers.AutoModelForMaskedLM}
SHAPES = [(1, 8), (3, 16)]
# Budgets as shares of the model's bytes: device 0, device 1, host; what is left goes to the disk.
BUDGETS = [(0.75, 2.0, 0), (0.6, 0.6, 2.0), (0.75, 0, 2.0), (0.6, 0, 0.6), (0.6, 0.3, 0.5), (0, 0.8, 2.0)]


class DeviceLedger(TorchDispatchMode):
    """Live and highest bytes of each device. A storage is seen when an operator returns it first."""

    def __init__(self):
        super().__init__()
        self.live, self.peak, self.known = {}, {}, {}

    def see(self, tensor):
        storage = tensor.untyped_storage()
        device = str(tensor.device)
        if device == "meta" or storage._cdata in self.known:
            return
        size = storage.nbytes()
        self.known[storage._cdata] = (device, size)
        self.live[device] = self.live.get(device, 0) + size
        self.peak[device] = max(self.peak.get(device, 0), self.live[device])
        weakref.finalize(storage, self.gone, storage._cdata).atexit = False

    def gone(self, address):
        device, size = self.known.pop(address)
        self.live[device] -= size

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for leaf in tree_iter(out):
            if isinstance(leaf, torch.Tensor):
                self.see(leaf)
        return out


def type_of(value, *more):
    if more:
        return builtins.type(value, *more)
    return torch.nn.Parameter if isinstance(value, torch.nn.Parameter) else builtins.type(value)


addresses, address_count = {}, itertools.count(1)


def address_of(tensor):
    """A number of the storage that no later one gets."""
    storage = tensor.untyped_storage()
    if storage._cdata not in addresses:
        addresses[storage._cdata] = next(address_count)
        weakref.finalize(storage, addresses.pop, storage._cdata).atexit = False
    return addresses[storage._cdata]


def empty_weight(file, info):
    return torch.empty(info["shape"], dtype=getattr(torch, info["dtype"]))


modeling.type = type_of
FakeTensor.data_ptr = address_of
modeling.clear_device_cache = lambda *arguments, **keywords: None
offload.load_offloaded_weight = empty_weight


def index_write(model, device_map, folder):
    """index.json of the modules on the disk, as offload_state_dict writes it."""
    state = offload.extract_submodules_state_dict(model.state_dict(), [k for k, d in device_map.items() if d == "disk"])
    index = {name: {"dtype": str(tensor.dtype)[6:], "shape": list(tensor.shape)} for name, tensor in state.items()}
    pathlib.Path(folder, "index.json").write_text(json.dumps(index))


def passes_measure(name, maker, attention, device_map, offload_buffers, batch, seq):
    config = transformers.AutoConfig.from_pretrained(CATALOGUE / name)
    config._attn_implementation = attention
    config.use_cache = False
    with FakeTensorMode(allow_non_fake_inputs=True), DeviceLedger() as ledger, tempfile.TemporaryDirectory() as folder:
        model = maker.from_config(config, attn_implementation=attention)
        model.tie_weights()
        model.eval()
        if "disk" in device_map.values():
            index_write(model, device_map, folder)
        devices = [d for d in device_map.values() if isinstance(d, int)]
        model = dispatch_model(model, dict(device_map), main_device=min(devices) if devices else None,
                               offload_dir=folder, offload_buffers=offload_buffers)
        gc.collect()
        main = f"cuda:{min(devices)}" if devices else "cpu"
        ids = torch.ones(batch, seq, dtype=torch.int64, device=main)
        held = dict(ledger.live)
        with torch.no_grad():
            out = model(ids)
            del out
            gc.collect()
            ledger.peak = dict(ledger.live)
            gc.disable()
            out = model(ids)
            gc.enable()
        return {"load": held, "end": dict(ledger.live), "peak": dict(ledger.peak)}


def budgets_make(total, shares):
    budget = {i: int(share * total) for i, share in enumerate(shares[:2]) if share > 0}
    budget["cpu"] = int(shares[2] * total)
    return budget


def main():
    warnings.filterwarnings("ignore")
    logging.disable(logging.ERROR)
    transformers.logging.set_verbosity_error()
    print(json.dumps({"type": "run", "torch": torch.__version__, "transformers": transformers.__version__,
                      "accelerate": accelerate.__version__, "device": "fake cuda:0, cuda:1, cpu"}))
    for name, maker in MODELS.items():
        config = transformers.AutoConfig.from_pretrained(CATALOGUE / name)
        with torch.device("meta"):
            bare = maker.from_config(config)
        bare.tie_weights()
        total = compute_module_sizes(bare)[""]
        seen = []
        for shares in BUDGETS:
            try:
                device_map = infer_auto_device_map(bare, budgets_make(total, shares),
                                                   no_split_module_classes=list(bare._no_split_modules or []))
            except IndexError:  # ties that its planner cannot follow
                continue
            if device_map in seen:
                continue
            seen.append(device_map)
            for batch, seq in SHAPES:
                for buffers in (False, True):
                    if buffers and not {"cpu", "disk"} & set(device_map.values()):
                        continue
                    line = {"type": "case", "model": name, "map": device_map, "attention": "eager", "batch": batch,
                            "seq": seq, "offload_buffers": buffers}
                    try:
                        line |= passes_measure(name, maker, "eager", device_map, buffers, batch, seq)
                    except (RuntimeError, ValueError, KeyError, NotImplementedError) as error:
                        line["error"] = f"{builtins.type(error).__name__}: {str(error).splitlines()[0][:200]}"
                    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    sys.exit(main())
