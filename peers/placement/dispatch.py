#!/usr/bin/env python3
"""What accelerate's dispatch_model holds on each device, pass by pass, without any GPU; cpu_offload, disk_offload and chains of
cpu_offload_with_hook too.

Real models of transformers and timm are dispatched by the real accelerate over cuda:0, cuda:1, the host and the disk, on fake
tensors (fake_devices.py): by its planner's maps, by maps of whole children, by maps that split layers, with other main devices. The
second of two forward passes is measured; a line with an error is a pass that accelerate cannot run. Attention is eager: which kernel a GPU would choose is
peers/pytorch's matter.

Run in the root of the repository: python3 peers/placement/dispatch.py [MODEL… | chains] >peers/placement/dispatch-VERSIONS.jsonl
Needs torch, transformers, timm and accelerate. tests/models/test_placed_dispatch.c holds our placed tapes against the lines.
"""
import gc
import json
import logging
import pathlib
import sys
import tempfile
import warnings

import accelerate
import accelerate.utils.offload as offload
import timm
import torch
import transformers
from accelerate import cpu_offload, cpu_offload_with_hook, disk_offload, dispatch_model
from accelerate.utils import compute_module_sizes, infer_auto_device_map, set_module_tensor_to_device
from torch._subclasses.fake_tensor import FakeTensorMode

import fake_devices
from peer_models import CLASSIFIERS, IMAGES, model_row

MODELS = ("tiny-llama", "tiny-mistral", "tiny-qwen2", "tiny-qwen3", "tiny-gemma", "tiny-gemma2", "tiny-gemma3", "tiny-phi3",
          "tiny-gpt2", "tiny-gpt-neo", "tiny-gpt-neox", "tiny-opt", "tiny-opt-projected", "tiny-bloom", "tiny-falcon", "tiny-falcon-alibi",
          "tiny-falcon-grouped", "tiny-bert", "tiny-roberta", "tiny-distilbert", "tiny-mixtral", "tiny-qwen2-moe",
          "tiny-qwen3-moe", "tiny-deepseek-v2", "tiny-deepseek-v3", "tiny-t5", "tiny-vit", "tiny-convnext", "tiny-vgg",
          "tiny-resnet", "tiny-resnet-bottleneck")
SHAPES = [(1, 8), (3, 16)]
# Budgets as shares of the model's bytes: device 0, device 1, host; what is left goes to the disk.
BUDGETS = [(0.75, 2.0, 0), (0.6, 0.6, 2.0), (0.75, 0, 2.0), (0.6, 0, 0.6), (0.6, 0.3, 0.5), (0, 0.8, 2.0)]


# Places that a model's children get in turn.
TURNS = [(0, 1), (1, 0), (0, "cpu"), ("cpu", 0), (0, "disk"), ("disk", 1), (0, 1, "cpu"), ("cpu", "disk"), ("cpu",), (1,)]
CHAINS = [["tiny-bert", "tiny-llama"], ["tiny-llama", "tiny-bert"], ["tiny-t5", "tiny-resnet", "tiny-gpt2"],
          ["tiny-gpt2", "tiny-vit", "tiny-mixtral"], ["tiny-llama"]]


def index_write(model, device_map, folder):
    """index.json of the modules on the disk, as offload_state_dict writes it."""
    state = offload.extract_submodules_state_dict(model.state_dict(), [k for k, d in device_map.items() if d == "disk"])
    index = {name: {"dtype": str(tensor.dtype)[6:], "shape": list(tensor.shape)} for name, tensor in state.items()}
    pathlib.Path(folder, "index.json").write_text(json.dumps(index))


class Subject:
    """A model of the catalogue, its real class, and what it is called with."""

    def __init__(self, name):
        self.family, self.kind, _, self.config = model_row(name)
        self.name = name

    def make(self, attention="eager"):
        if self.family in CLASSIFIERS:
            model = self.kind()
        else:
            if self.family not in IMAGES:
                self.config.use_cache = False
            model = self.kind._from_config(self.config, attn_implementation=attention)
            model.tie_weights()
        return model.eval()

    def whole(self):
        """Classes that a planner keeps whole; those of timm say none."""
        return list(getattr(self.make(), "_no_split_modules", None) or [])

    def arguments(self, batch, seq, device):
        if self.family in IMAGES:
            size = self.config["image_size"] if isinstance(self.config, dict) else self.config.image_size
            pixels = torch.ones(batch, 3, size, size, device=device)
            labels = torch.ones(batch, dtype=torch.int64, device=device)  # a batch comes with them
            return {"x" if self.family in CLASSIFIERS else "pixel_values": pixels}, labels
        ids = torch.ones(batch, seq, dtype=torch.int64, device=device)
        return ({"input_ids": ids, "decoder_input_ids": ids} if self.family == "t5" else {"input_ids": ids}), None


def output_of(model, inputs):
    """What a user keeps: the logits."""
    out = model(**inputs)
    return out if isinstance(out, torch.Tensor) else out[0]


def passes_run(ledger, run):
    """Two passes, of which the second is measured. run gives what is kept until the figures are taken."""
    gc.collect()
    held = dict(ledger.live)
    with torch.no_grad():
        out = run()
        del out
        gc.collect()
        ledger.peak_reset()
        gc.disable()
        out = run()
        gc.enable()
    return {"load": held, "end": dict(ledger.live), "peak": dict(ledger.peak)}


def dispatched(subject, line, folder):
    """The model of a line, dispatched, and its main device."""
    model = subject.make(line["attention"])
    device_map = line["map"]
    if "disk" in device_map.values():
        index_write(model, device_map, folder)
    parameters = dict(model.named_parameters())
    for key, device in device_map.items():  # a parameter by itself: whoever loads it puts it there, dispatch_model leaves it
        if key in parameters and isinstance(device, int):
            set_module_tensor_to_device(model, key, device)
    del parameters
    gc.collect()
    devices = [d for d in device_map.values() if isinstance(d, int)]
    main = line.get("main", min(devices) if devices else "cpu")
    return dispatch_model(model, dict(device_map), main_device=main, offload_dir=folder,
                          offload_buffers=line["offload_buffers"], force_hooks=line.get("force_hooks", False)), main


def dispatch_measure(ledger, subject, line, folder):
    model, main = dispatched(subject, line, folder)
    inputs, labels = subject.arguments(line["batch"], line["seq"], f"cuda:{main}" if main != "cpu" else main)
    return passes_run(ledger, lambda: output_of(model, inputs))


def offload_measure(ledger, subject, line, folder):
    """cpu_offload or disk_offload of the whole model, run on device 0."""
    model = subject.make(line["attention"])
    if line["offload"] == "disk":
        index_write(model, {name: "disk" for name, _ in model.named_children()} |
                    {name: "disk" for name, _ in model.named_parameters(recurse=False)}, folder)
        model = disk_offload(model, folder, torch.device("cuda:0"), line["offload_buffers"])
    else:
        model = cpu_offload(model, torch.device("cuda:0"), line["offload_buffers"])
    inputs, labels = subject.arguments(line["batch"], line["seq"], "cuda:0")
    return passes_run(ledger, lambda: output_of(model, inputs))


def chain_measure(ledger, line):
    """Models that run in turn, each sent back to the host when the next one runs, the last one by hook.offload()."""
    subjects = [Subject(name) for name in line["chain"]]
    models, hook = [], None
    for subject in subjects:
        model, hook = cpu_offload_with_hook(subject.make(line["attention"]), torch.device("cuda:0"), hook)
        models.append((model, subject.arguments(line["batch"], line["seq"], "cuda:0")))

    def run():
        for model, (inputs, labels) in models:
            out = output_of(model, inputs)
        if line["offload_last"]:
            hook.offload()
        return out
    return passes_run(ledger, run)


def line_print(line):
    with tempfile.TemporaryDirectory() as folder:
        try:
            with FakeTensorMode(allow_non_fake_inputs=True), fake_devices.DeviceLedger() as ledger:
                if "chain" in line:
                    line |= chain_measure(ledger, line)
                else:
                    measure = offload_measure if "offload" in line else dispatch_measure
                    line |= measure(ledger, Subject(line["model"]), line, folder)
        except (RuntimeError, ValueError, KeyError, NotImplementedError) as error:
            line["error"] = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
        gc.enable()
    print(json.dumps(line), flush=True)


def budgets_make(total, shares):
    budget = {i: int(share * total) for i, share in enumerate(shares[:2]) if share > 0}
    budget["cpu"] = int(shares[2] * total)
    return budget


def maps_plan(subject, whole):
    """The planner's maps of all budgets, each once. whole: classes that are not split."""
    with torch.device("meta"):
        bare = subject.make()
    total = compute_module_sizes(bare)[""]
    seen = []
    for shares in BUDGETS:
        try:
            device_map = infer_auto_device_map(bare, budgets_make(total, shares), no_split_module_classes=whole)
        except IndexError:  # ties that its planner cannot follow
            continue
        if device_map not in seen:
            seen.append(device_map)
    return seen


def maps_of_children(subject):
    """The model's own children, whole, on two places or three in turn."""
    with torch.device("meta"):
        names = [name for name, child in subject.make().named_children() if child.state_dict()]
    return [{name: places[i % len(places)] for i, name in enumerate(names)} for places in TURNS]


def lines_make(name):
    """All lines of a model, without the figures."""
    subject = Subject(name)
    line = {"type": "case", "model": name, "attention": "eager", "batch": 1, "seq": 8, "offload_buffers": False}
    planned = maps_plan(subject, subject.whole())
    for device_map in planned:
        for batch, seq in SHAPES:
            for buffers in (False, True):
                if not buffers or {"cpu", "disk"} & set(device_map.values()):
                    yield line | {"map": device_map, "batch": batch, "seq": seq, "offload_buffers": buffers}
    for device_map in maps_of_children(subject):
        yield line | {"map": device_map, "force_hooks": True}
    for device_map in maps_plan(subject, []):
        if device_map not in planned:
            yield line | {"map": device_map}
    for device_map in planned[:2]:
        yield line | {"map": device_map, "main": 1}
        yield line | {"map": device_map, "main": "cpu"}
    for offload in ("cpu", "disk"):
        for buffers in (False, True):
            yield line | {"offload": offload, "offload_buffers": buffers}


def chains_make():
    for names in CHAINS:
        for last in (False, True):
            for batch, seq in SHAPES:
                yield {"type": "case", "chain": names, "attention": "eager", "batch": batch, "seq": seq, "offload_last": last}


def main():
    warnings.filterwarnings("ignore")
    logging.disable(logging.ERROR)
    transformers.logging.set_verbosity_error()
    fake_devices.install()
    print(json.dumps({"type": "run", "torch": torch.__version__, "transformers": transformers.__version__,
                      "timm": timm.__version__, "accelerate": accelerate.__version__, "device": "fake cuda:0, cuda:1, cpu"}))
    for name in sys.argv[1:] or (*MODELS, "chains"):
        for line in chains_make() if name == "chains" else lines_make(name):
            line_print(line)


if __name__ == "__main__":
    sys.exit(main())
