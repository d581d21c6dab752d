#!/usr/bin/env python3
"""Measure what PyTorch really occupies on a GPU: one JSON line per case. README.md says what each field means.

    build/assay plan suites/pytorch.yaml --json > plan.json
    python3 peers/pytorch/truth.py --plan plan.json --out FILE [--only REGEX] [--budget SECONDS] [--skip FILE] [--repeat N]
    python3 peers/pytorch/truth.py --plan plan.json --list
    python3 peers/pytorch/truth.py --plan plan.json --out FILE --traces FOLDER

The cases are those of the plan, with its ids; one that PyTorch cannot measure, or this script, is a line with the status
skip and the reason. Models are built from their configuration with random weights; nothing is downloaded. Every case runs
in a child that is forked after the imports and before the device is touched, so each has a fresh context and costs about a
second, and a crash, a hang or a want of memory costs one line. --out is appended to, a line at a time; --skip leaves out
what an earlier run has measured; --budget ends the run cleanly. --repeat N measures each case N times. --traces records
every allocation. --shared-device allows several of these at once, each with its cases. --device cpu rehearses: all
figures of the device are null. truth_records.py makes assay's records of it.
"""
import argparse
import json
import os
import platform
import statistics
import sys
import time
import traceback

import torch

import truth_plan
from fresh_process import in_child
from peer_models import library_versions, model_row
from truth_measure import measure
from truth_meter import CudaMeter, NoMeter, device_ask

TIMED_PASSES = 3  # the last ones, and there must have been others before
GENERATE_PATIENCE = 3  # times the limit of a case


def now_text():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def run_line(device, suite, selected_count):
    """The first line: what ran where, and how many measurements it is to have."""
    keep = ("PYTORCH_", "TORCH_", "CUBLAS", "CUDNN_", "CUDA_", "NVIDIA_TF32")
    return {"type": "run", "started": now_text(),
            "suite": {**suite, "selected_count": selected_count}, **library_versions(), "cuda": torch.version.cuda, "python": platform.python_version(),
            "environment": {name: value for name, value in sorted(os.environ.items()) if name.startswith(keep)},
            "device": device}


def trace_path(options, case):
    name = "".join(c if c.isalnum() or c in "._-" else "_" for c in case["id"])
    return os.path.join(options.traces, name + ".json")


def run_case(case, options, emit, measured=measure):
    """In the child: the record as it grows; the last one emitted is what the case has told. measured: what runs the case
    with a meter and tells the stages, and of passes their times."""
    record = {"status": "cut", "error": None, "stages": {}}

    def tell(stages, times_ms=None):
        record.update({"stages": stages} if times_ms is None else {"stages": stages, "times_ms": times_ms})
        emit(record)

    try:
        meter = CudaMeter(bool(options.traces), options.shared_device) if options.device == "cuda" else NoMeter()
        measured(case, meter, tell)
        if meter.marks is not None:
            record["trace_error"] = meter.trace_save(trace_path(options, case), {
                "id": case["id"], "torch": torch.__version__, "device": meter.device()["name"]})
        record.update(status="ok", workspace_bytes=meter.workspace_bytes(),
                      foreign_process_count=meter.foreign_process_count())
    except torch.OutOfMemoryError as error:
        record.update(status="oom", error=str(error)[:300])
    except Exception as error:  # one case's trouble is one line's
        traceback.print_exc()
        record.update(status="error", error=f"{type(error).__name__}: {error}"[:300])
    emit(record)


def case_line(case, turn, options):
    """A measurement, or the reason why there is none."""
    line = {"type": "case", **case, "turn": turn, "traced": bool(options.traces)}
    reason = truth_plan.refusal(case, model_row, options.device)
    if reason is not None:
        return {**line, "status": "skip", "error": reason, "stages": {}, "times_ms": [], "median_ms": None, "seconds": None}
    limit = options.case_timeout * (GENERATE_PATIENCE if case["mode"] == "generate" else 1)
    start = time.monotonic()
    verdict, records = in_child(lambda emit: run_case(case, options, emit), limit)
    line.update({"times_ms": [], **(records[-1] if records else {"error": None, "stages": {}})})
    if verdict != "ok":
        line["status"] = verdict
    if options.shared_device:
        line["times_ms"] = []
    times = line["times_ms"] if not options.traces and line["status"] == "ok" else []
    line["median_ms"] = round(statistics.median(times[-TIMED_PASSES:]), 3) if len(times) > TIMED_PASSES else None
    line["seconds"] = round(time.monotonic() - start, 3)
    return line


def already_measured(path):
    """{(id, turn)} of the lines that are ok; nothing where the file does not exist."""
    done = set()
    if not os.path.exists(path):
        return done
    with open(path, encoding="utf-8") as source:
        for text in source:
            try:
                line = json.loads(text)
            except ValueError:
                continue  # a line that a cut left unfinished
            if line.get("type") == "case" and line["status"] == "ok" and not line["traced"]:
                done.add((line["id"], line["turn"]))
    return done


def open_to_append(path):
    """After a line that a cut left unfinished, a new one is begun."""
    if path == "-":
        return sys.stdout
    sink = open(path, "ab+")
    if sink.tell() > 0:
        sink.seek(-1, os.SEEK_END)
        if sink.read(1) != b"\n":
            sink.write(b"\n")
    sink.close()
    return open(path, "a", encoding="utf-8")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan", required=True, help="what `assay plan SUITE --json` printed")
    parser.add_argument("--out", default="-")
    parser.add_argument("--only", default="", help="regular expression on the id")
    parser.add_argument("--skip", help="lines of an earlier run: what is ok there is not measured again")
    parser.add_argument("--repeat", type=int, default=1, help="of each case, in fresh processes")
    parser.add_argument("--traces", help="folder: record the allocations of each case there instead")
    parser.add_argument("--budget", type=float, default=480, help="seconds after which no further case is begun")
    parser.add_argument("--case-timeout", type=float, default=60, help="seconds")
    parser.add_argument("--shared-device", action="store_true", help="others use it meanwhile: its used bytes and times are null")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.traces and options.device != "cuda":
        parser.error("--traces needs a GPU: no other allocator keeps a history")
    return options


def main():
    options = parse()
    try:
        suite, cases = truth_plan.read(options.plan)
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"truth.py: {options.plan}: not what `assay plan SUITE --json` prints: {error!r}", file=sys.stderr)
        return 2
    todo = truth_plan.select(cases, options.only, options.repeat)
    if options.skip:
        done = already_measured(options.skip)
        todo = [(case, turn) for case, turn in todo if (case["id"], turn) not in done]
    if options.list:
        print("\n".join(f"{case['id']}  (turn {turn})" if options.repeat > 1 else case["id"] for case, turn in todo))
        return 0
    device = device_ask(options.device)
    if device is None:
        print("truth.py: no CUDA device; --device cpu rehearses without figures", file=sys.stderr)
        return 77
    if options.traces:
        os.makedirs(options.traces, exist_ok=True)
    sink = open_to_append(options.out)

    def write(line):
        sink.write(json.dumps(line, separators=(",", ":")) + "\n")
        sink.flush()

    write(run_line(device, suite, len(todo)))
    start, count, ok = time.monotonic(), 0, 0
    for case, turn in todo:
        if time.monotonic() - start > options.budget:
            break
        line = case_line(case, turn, options)
        write(line)
        count += 1
        ok += line["status"] == "ok"
        if line["status"] == "skip":
            print(f"{count}/{len(todo)} skip    {line['id']}: {line['error']}", file=sys.stderr, flush=True)
            continue
        peaks = [stage["allocated_bytes_peak"] for stage in line["stages"].values() if stage["allocated_bytes_peak"]]
        print(f"{count}/{len(todo)} {line['status']:7s} {line['id']} {max(peaks, default=None)}", file=sys.stderr,
              flush=True)
    write({"type": "end", "finished": now_text(), "cases": count, "ok": ok, "of": len(todo), "seconds": round(time.monotonic() - start, 1)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
