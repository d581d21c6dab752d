#!/usr/bin/env python3
"""Measure what programs occupy that people train with, run as they are: one JSON line per case. README.md says more.

    python3 peers/pytorch/programs.py --out FILE [--only REGEX] [--lane I/N] [--budget SECONDS] [--skip FILE]
    python3 peers/pytorch/programs.py --out FILE --traces FOLDER --only REGEX
    python3 peers/pytorch/programs.py --device meta --out FILE [--tiny] [--events FILE]
    python3 peers/pytorch/programs.py --list

Programs: loops as documentation has them, transformers' Trainer, accelerate, Lightning, PEFT, TRL (program_loops.py,
program_trainers.py). Models are built from their configuration with random weights; nothing is downloaded. Every case runs in
a child that is forked after the imports. A program that is not installed is a line with the status skip. --lane 2/3 runs every
third case, the second of each three: lanes may run side by side, and then the device's bytes are not one case's alone
(shares_device); what the allocator counts is. --device cpu rehearses without figures; --device meta predicts
as shadow_truth.py does: requested bytes alone, no GPU.
"""
import argparse
import importlib.metadata
import importlib.util
import json
import os
import re
import sys
import time
import traceback

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch

import peer_models
import program_loops
import program_meta
import program_own_models
import program_trainers
import truth
from fresh_process import in_child
from program_cases import cases, tiny_cases
from program_reader import STEADY_STEP, Reader
from truth_measure import no_random_init, randomise
from truth_meter import device_ask

# program: (what must be installed, its function)
PROGRAMS = {
    "plain-loop": ((), program_loops.plain_loop),
    "accelerate": (("accelerate",), program_loops.accelerate_loop),
    "hf-trainer": (("accelerate",), program_trainers.hf_trainer),
    "lightning": (("lightning",), program_trainers.lightning_trainer),
    "peft-script": (("peft",), program_trainers.peft_script),
    "trl-sft": (("trl", "datasets"), program_trainers.trl_sft),
    **{name: ((name,), run) for name, run in program_own_models.PROGRAMS.items()},
}
LIBRARIES = ("accelerate", "lightning", "peft", "trl", "datasets", "timm", "bitsandbytes")
MODEL_LIBRARIES = ("torchtune", "litgpt", "torchtitan")  # imported by their own cases


def missing(case, device):
    """What is not installed of what a case needs, or None."""
    if case["program"] in program_own_models.PROGRAMS and device != "meta":
        return "a device for it (the meta device alone)"
    needed = PROGRAMS[case["program"]][0] + (("timm",) if case["model"].startswith("timm/") else ())
    needed += ("bitsandbytes",) if peer_models.is_bitsandbytes(case["optimizer"]) else ()
    return next((name for name in needed if importlib.util.find_spec(name) is None), None)


def program_of(case, family):
    if case["mode"] == "infer":
        return program_loops.plain_inference
    if family in peer_models.CLASSIFIERS and case["program"] == "plain-loop":
        return program_loops.image_loop
    return PROGRAMS[case["program"]][1]


def brings_checkpointing(case):
    """Whether the program itself turns checkpointing on."""
    return case["program"] in ("hf-trainer", "trl-sft")


def built_case(case):
    """What the model is built with, before its program gets it."""
    return {**case, "checkpointing": case["checkpointing"] and not brings_checkpointing(case), "lora_rank": None}


def measure(case, meter, tell):
    reader = Reader(meter, tell)
    reader.read("context")
    built = built_case(case)
    with no_random_init():
        family, model, config = peer_models.build(built, "cpu", checkpointing=None)
    model = model.to(meter.name)
    reader.read("load", parameter_count=sum(p.numel() for p in model.parameters()))
    randomise(model)
    program_of(case, family)(case, family, config, model, reader, meter.name)
    reader.read("after")


def measure_own_model(case, ledger, reader, device):
    """Of a program whose models are its own."""
    def adopt(model):
        program_meta.adopt(model, ledger)
        reader.read("load", parameter_count=sum(p.numel() for p in model.parameters()))

    with ledger:
        program_own_models.PROGRAMS[case["program"]](case, device, adopt, reader)


def measure_meta(case, options, tell):
    """The same on the meta device; the events of one step go to a file where they are wanted."""
    if case["program"] in program_own_models.IMPORTS:
        importlib.import_module(program_own_models.IMPORTS[case["program"]])
    with program_meta.shadow(bool(options.events)) as ledger:
        reader = Reader(program_meta.LedgerMeter(ledger), tell)
        if case["program"] in program_own_models.PROGRAMS:
            measure_own_model(case, ledger, reader, "meta")
        else:
            if peer_models.is_bitsandbytes(case["optimizer"]):
                shadow_optimizer = program_meta.bitsandbytes_pretend(ledger)
            family, model, config = program_meta.build(built_case(case), ledger)
            with ledger:
                reader.read("load", parameter_count=sum(p.numel() for p in model.parameters()))
                program_of(case, family)(case, family, config, model, reader, "meta")
            if peer_models.is_bitsandbytes(case["optimizer"]):
                tell({**reader.rows, "managed": shadow_optimizer.managed()})
    if options.events:
        step = {"id": case["id"], **program_meta.step_of(ledger.events, STEADY_STEP)}
        with open(options.events, "a", encoding="utf-8") as sink:
            sink.write(json.dumps(step, separators=(",", ":")) + "\n")


def run_case(case, options, emit):
    """In the child, as truth.py does."""
    def measured(case, meter, tell):
        if options.device == "meta":
            measure_meta(case, options, tell)
        else:
            measure(case, meter, tell)

    truth.run_case(case, options, emit, measured)


def case_line(case, options):
    """A measurement, or the reason why there is none."""
    line = {"type": "case", **case, "turn": 1, "traced": bool(options.traces), "shares_device": options.shared_device}
    library = missing(case, options.device)
    if library:
        return {**line, "status": "skip", "error": f"{library} is not installed", "stages": {}, "seconds": None}
    start = time.monotonic()
    verdict, records = in_child(lambda emit: run_case(case, options, emit), options.case_timeout)
    record = records[-1] if records else {"status": "cut", "error": None, "stages": {}}
    if record["status"] == "cut":
        record = {**record, "status": verdict if verdict != "ok" else "error", "error": "ended before its last stage"}
    return {**line, **record, "seconds": round(time.monotonic() - start, 1)}


def versions():
    found = {}
    for name in LIBRARIES + MODEL_LIBRARIES:
        if importlib.util.find_spec(name) is not None:
            found[name] = importlib.metadata.version(name)
    return found


def import_all():
    """Before the first fork, so that no case pays for it; what fails here, fails in its cases alone."""
    for name in LIBRARIES:
        try:
            if importlib.util.find_spec(name) is not None:
                importlib.import_module(name)
        except Exception:
            traceback.print_exc()
    import transformers
    for name in ("Trainer", "TrainingArguments"):
        getattr(transformers, name)


def lane(text):
    try:
        turn, count = (int(part) for part in text.split("/"))
    except ValueError:
        turn, count = 0, 0
    if not 1 <= turn <= count:
        raise argparse.ArgumentTypeError("write I/N, I from 1 to N")
    return turn, count


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="-")
    parser.add_argument("--only", default="", help="regular expression on the id")
    parser.add_argument("--skip", help="lines of an earlier run: what is ok there is not measured again")
    parser.add_argument("--traces", help="folder: record the allocations of each case there instead")
    parser.add_argument("--lane", type=lane, default=(1, 1), help="I/N: every Nth case, from the Ith on")
    parser.add_argument("--budget", type=float, default=480, help="seconds after which no further case is begun")
    parser.add_argument("--case-timeout", type=float, default=90, help="seconds")
    parser.add_argument("--device", choices=("cuda", "cpu", "meta"), default="cuda")
    parser.add_argument("--events", help="file, with --device meta: what the third step takes and gives back, a line a case")
    parser.add_argument("--tiny", action="store_true", help="the tiny models, to rehearse")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    options.shared_device = options.lane[1] > 1
    return options


def main():
    options = parse()
    todo = [case for case in (tiny_cases() if options.tiny else cases()) if re.search(options.only, case["id"])]
    if options.skip:
        done = {name for name, _ in truth.already_measured(options.skip)}
        todo = [case for case in todo if case["id"] not in done]
    todo = todo[options.lane[0] - 1::options.lane[1]]
    if options.list:
        print("\n".join(case["id"] for case in todo))
        return 0
    import_all()
    device = "meta as sm_90" if options.device == "meta" else device_ask(options.device)
    if device is None:
        print("programs.py: no CUDA device; --device cpu rehearses without figures", file=sys.stderr)
        return 77
    if options.traces:
        os.makedirs(options.traces, exist_ok=True)
    sink = truth.open_to_append(options.out)

    def write(row):
        sink.write(json.dumps(row, separators=(",", ":")) + "\n")
        sink.flush()

    write({**truth.run_line(device, {"name": "programs"}, len(todo)), **versions()})
    start, count, ok = time.monotonic(), 0, 0
    for case in todo:
        if time.monotonic() - start > options.budget:
            break
        line = case_line(case, options)
        write(line)
        count += 1
        ok += line["status"] == "ok"
        whole = line["stages"].get("whole", {})
        peak = whole.get("allocated_bytes_peak") or whole.get("requested_bytes_peak")
        print(f"{count}/{len(todo)} {line['status']:7s} {line['seconds']} s {line['id']} {peak or line['error']}",
              file=sys.stderr, flush=True)
    write({"type": "end", "finished": truth.now_text(), "cases": count, "ok": ok, "of": len(todo),
           "seconds": round(time.monotonic() - start, 1)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
