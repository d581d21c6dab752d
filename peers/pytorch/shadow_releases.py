#!/usr/bin/env python3
"""The shadow of shadow_truth.py under an older release of transformers: the same ledger and the same stages.

    PYTHONPATH=FOLDER-OF-THAT-RELEASE python3 peers/pytorch/shadow_releases.py --out FILE [--only REGEX] [--events DIR]

The models are those of the catalogue that the release knows, by their config.json. peer_models.py imports classes that older
releases lack; this file asks for nothing that transformers 4.35 does not have. README.md says what each field means.
"""
import argparse
import contextlib
import json
import os
import re
import sys

import torch
import transformers
from torch.utils._python_dispatch import TorchDispatchMode
from transformers.generation import GenerationMixin
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_FOR_MASKED_LM_MAPPING

from shadow_device import compute_capability_90
from shadow_ledger import StorageLedger, exact_lifetimes

try:
    import torch.nested._internal.nested_tensor  # 2.3 imports it late, and it makes meta tensors
except ImportError:
    pass  # 2.1 has none

CATALOGUE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models", "catalogue")
STEPS = 3  # the third is the one that is reported
RELEASE = tuple(int(part) for part in transformers.__version__.split(".")[:2])
TORCH = tuple(int(part) for part in torch.__version__.split(".")[:2])
FOLLOWED = (2, 11)  # the torch that a case names no release of
ENCODERS = ("bert", "roberta", "distilbert")
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
AUTOCAST = torch.autocast
aten = torch.ops.aten


def case_of(model, mode, precision, batch, seq, **more):
    case = {"id": None, "model": model, "mode": mode, "precision": precision, "batch": batch, "seq": seq,
            "attention": "sdpa", "optimizer": "adamw-fused" if mode == "train" else None, "head": "lm",
            "checkpointing": False, "accumulate": 1, **more}
    case["id"] = "/".join([model, mode, precision, case["attention"], str(batch), str(seq)]
                          + [f"{key}={value}" for key, value in more.items() if key not in ("attention", "events")])
    return case


def cases():
    """Toys whose events can be read, and real models for their peaks."""
    out = []
    for model in ("tiny-gpt2", "tiny-llama", "tiny-qwen2", "tiny-qwen3", "tiny-mistral", "tiny-bert"):
        for precision in ("float32", "bfloat16"):
            for attention in ("sdpa", "eager"):
                more = {"attention": attention, "events": True}
                out.append(case_of(model, "infer", precision, 2, 8, **more))
                out.append(case_of(model, "train", precision, 2, 8, **more))
                if model != "tiny-bert":
                    out.append(case_of(model, "generate", precision, 2, 8, new_tokens=4, **more))
    for model, batch, seq in (("gpt2", 4, 512), ("distilgpt2", 20, 128), ("bert-base-cased", 8, 512),
                              ("meta-llama/Llama-2-7b-hf", 2, 512), ("meta-llama/Llama-3.2-1B", 4, 512),
                              ("TinyLlama/TinyLlama-1.1B-Chat-v1.0", 2, 256), ("Qwen/Qwen2-0.5B", 1, 1024),
                              ("Qwen/Qwen3-0.6B", 2, 512), ("mistralai/Mistral-7B-v0.1", 1, 512)):
        for precision in ("float32", "bfloat16"):
            for attention in ("sdpa", "eager"):
                if "7b" in model.lower() and precision == "float32":
                    continue
                out.append(case_of(model, "infer", precision, batch, seq, attention=attention))
                out.append(case_of(model, "train", precision, batch, seq, attention=attention))
                if "bert" not in model:
                    out.append(case_of(model, "generate", precision, batch, seq, attention=attention, new_tokens=16))
    return out


def configuration(case):
    """The case's configuration; None where the release does not know its model type, or has no such attention."""
    with open(os.path.join(CATALOGUE, case["model"], "config.json"), encoding="utf-8") as source:
        raw = json.load(source)
    if raw["model_type"] not in CONFIG_MAPPING:
        return None
    scaling = raw.get("rope_scaling")
    if RELEASE < (4, 43) and scaling and "type" not in scaling:
        raw["rope_scaling"] = None  # releases before Llama 3.1 refuse the key; it changes no size
    return CONFIG_MAPPING[raw["model_type"]].from_dict(raw)


def kind_of(config):
    table = MODEL_FOR_MASKED_LM_MAPPING if config.model_type in ENCODERS else MODEL_FOR_CAUSAL_LM_MAPPING
    return table[type(config)]


def attention_is_there(case, kind):
    """Eager attention every class has; sdpa only those that say so."""
    return case["attention"] == "eager" or getattr(kind, "_supports_sdpa", False)


def build(case, config, kind, device):
    config.use_cache = bool(case.get("use_cache"))
    words = {"dtype" if RELEASE >= (4, 56) else "torch_dtype": DTYPES[case["precision"]]}
    if RELEASE >= (4, 36):
        words["attn_implementation"] = case["attention"]
    with torch.device(device):
        model = kind._from_config(config, **words)
    if getattr(model.config, "_attn_implementation", case["attention"]) != case["attention"]:
        raise ValueError(f"{case['id']}: the release chose {model.config._attn_implementation}")
    return model


class Stages:
    """Live bytes and their peak between two marks, as in shadow_truth.py."""

    def __init__(self, ledger):
        self.ledger, self.rows, self.name = ledger, {}, None

    def begin(self, name):
        self.end()
        self.ledger.mark(name)
        self.ledger.reset_peak()
        self.name = name

    def end(self):
        if self.name is not None:
            self.rows[self.name] = {"requested_bytes": self.ledger.live_bytes,
                                    "requested_bytes_peak": self.ledger.peak_bytes,
                                    "peak_operator": self.ledger.peak_operator}
        self.name = None


def inputs_of(case):
    return torch.zeros(case["batch"], case["seq"], device="meta", dtype=torch.int64)


def infer(case, model, ledger, stages):
    model.eval()
    ids = inputs_of(case)
    with torch.no_grad():
        for step in range(2):
            if step == 1:
                ledger.stop_events()
            stages.begin("forward")
            out = model(input_ids=ids)
            out = out if case.get("use_cache") else out[0]
            stages.end()
            del out


def train(case, model, ledger, stages):
    model.train()
    ids = inputs_of(case)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    for step in range(STEPS):
        if step == STEPS - 1:
            ledger.stop_events()
        stages.begin("forward")
        loss = model(input_ids=ids, labels=ids).loss
        stages.begin("backward")
        loss.backward()
        stages.begin("step")
        optimizer.step()
        stages.end()
        ledger.mark("zero_grad")
        optimizer.zero_grad(set_to_none=True)


class Answers(TorchDispatchMode):
    """Says "all tokens are attended to", "no row has ended" and, when the length is reached, "all rows have"."""

    def __init__(self):
        super().__init__()
        self.asks_for_end = False
        self.has_ended = False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is aten._local_scalar_dense.default and args[0].is_meta:
            if args[0].dtype == torch.bool:
                return self.has_ended if self.asks_for_end else True
            return 0
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def replaced(owner, name, new):
    old = getattr(owner, name)
    setattr(owner, name, new)
    try:
        yield
    finally:
        setattr(owner, name, old)


def ends_answered(answers, name):
    """The method, while which a question about values is whether all rows have ended."""
    old = getattr(GenerationMixin, name)

    def method(self, *arguments, **keywords):
        answers.asks_for_end = True
        try:
            return old(self, *arguments, **keywords)
        finally:
            answers.asks_for_end = False
    return method


def generate(case, model, ledger, stages):
    """Greedy, ended by its length alone. The prompt's pass ends the stage `forward`."""
    model.eval()
    ids = inputs_of(case)
    answers, passes = Answers(), [0]

    def counted(module, arguments, output):
        passes[0] += 1
        answers.has_ended = passes[0] == case["new_tokens"]
        if passes[0] == 1:
            stages.begin("generate")

    model.generation_config.eos_token_id = None
    hook = model.register_forward_hook(counted)
    with contextlib.ExitStack() as changes:
        changes.enter_context(answers)
        if hasattr(GenerationMixin, "_has_unfinished_sequences"):
            changes.enter_context(replaced(GenerationMixin, "_has_unfinished_sequences",
                                           ends_answered(answers, "_has_unfinished_sequences")))
        stages.begin("forward")
        with torch.no_grad():
            out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=case["new_tokens"],
                                 do_sample=False, use_cache=True, pad_token_id=0, eos_token_id=None)
        stages.end()
    hook.remove()
    if passes[0] != case["new_tokens"] or out.shape[1] != case["seq"] + case["new_tokens"]:
        raise ValueError(f"{case['id']}: {passes[0]} passes, {tuple(out.shape)}")


MODES = {"infer": infer, "train": train, "generate": generate}


def autocast(device_type, *arguments, **keywords):
    """Rotary positions are made with autocast switched off, which meta does not have."""
    return contextlib.nullcontext() if device_type == "meta" else AUTOCAST(device_type, *arguments, **keywords)


def run(case, events_dir=None):
    """The line of one case; None where the release has no such model or attention."""
    config = configuration(case)
    if config is None or not attention_is_there(case, kind_of(config)):
        return None
    record = {key: value for key, value in case.items() if key != "events"}
    record["release"] = "transformers=" + transformers.__version__
    if TORCH != FOLLOWED:
        record["release"] += "+torch=" + torch.__version__.split("+")[0]
    keeps = events_dir is not None and case.get("events", False)
    with compute_capability_90(), exact_lifetimes(), replaced(torch, "autocast", autocast):
        ledger = StorageLedger("meta", keeps)
        model = build(case, config, kind_of(config), "meta")
        for kind, tensors in (("parameter", model.named_parameters()), ("buffer", model.named_buffers())):
            for name, tensor in tensors:
                ledger.adopt(tensor, kind + " " + name)
        record["load_bytes"] = ledger.live_bytes
        stages = Stages(ledger)
        with ledger:
            MODES[case["mode"]](case, model, ledger, stages)
        record["stages"] = stages.rows
    if keeps:
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", case["id"]) + ".jsonl"
        with open(os.path.join(events_dir, name), "w", encoding="utf-8") as sink:
            for event in ledger.recorded or ledger.events:
                sink.write(json.dumps(event, separators=(",", ":")) + "\n")
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="-")
    parser.add_argument("--only", default="")
    parser.add_argument("--events", help="folder for the event lists of the toys")
    options = parser.parse_args()
    if options.events:
        os.makedirs(options.events, exist_ok=True)
    try:
        sink = sys.stdout if options.out == "-" else open(options.out, "x", encoding="utf-8")
    except OSError as error:
        sys.exit(f"shadow_releases.py: {error}; name a file that is not there yet with --out")
    head = {"type": "run", "torch": torch.__version__, "transformers": transformers.__version__, "device": "meta as sm_90"}
    sink.write(json.dumps(head) + "\n")
    for case in cases():
        if not re.search(options.only, case["id"]):
            continue
        record = run(case, options.events)
        if record is None:
            continue
        sink.write(json.dumps({"type": "case", **record}, separators=(",", ":")) + "\n")
        sink.flush()
        print(case["id"], {key: row["requested_bytes_peak"] for key, row in record["stages"].items()}, file=sys.stderr)


if __name__ == "__main__":
    main()
