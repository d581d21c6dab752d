#!/usr/bin/env python3
"""Lines of truth.py, or of your own program, as records of assay: report, compare, gate and history read what PyTorch
occupied.

    python3 truth_records.py FILE... --out FOLDER

What a program of your own writes (docs/guides/own-program.md; own_program.py beside this file writes it):

    {"type": "run", "started": "2026-11-20T02:00:00Z", "suite": {"name": NAME}, "torch": VERSION}
    {"type": "case", "id": NAME, "status": "ok", "stages": {"step": {"allocated_bytes_peak": BYTES}}}
    {"type": "end", "finished": "2026-11-20T02:01:00Z", "of": COUNT}

Writes FOLDER/records.jsonl: a run for each run line of the files, a case line for each measurement, with the ids of the
plan. Predictions are null and nothing is judged; what PyTorch does not tell (categories, causes) is null. Traced lines are
left out, because recording slows and enlarges a process. Lines that a cut left unfinished are said and left out. Needs no
torch and no GPU. docs/FORMAT.md has the format of records.
"""
import argparse
import hashlib
import itertools
import json
import os
import sys

from whole_file import whole_file_write

SCHEMA = {"name": "assay-record", "major": 1, "minor": 2}
STAGES = ("load", "forward", "backward", "step", "generate")
LEVELS = ("requested_bytes", "allocated_bytes", "reserved_bytes")
IDENTITY = ("batch", "seq", "attention", "optimizer", "checkpointing", "accumulate", "logits", "head")
STATUSES = {"ok": "ok", "oom": "oom", "timeout": "timeout", "skip": "skip"}  # everything else is an error


def lines_read(paths):
    """The lines of all files, in order; one that is no JSON object with a type is said and left out."""
    for path in paths:
        with open(path, encoding="utf-8") as source:
            for number, text in enumerate(source, 1):
                try:
                    line = json.loads(text)
                    line["type"]
                except (ValueError, KeyError, TypeError) as error:
                    print(f"{path}:{number}: left out: {error!r}", file=sys.stderr)
                    continue
                yield line


def plan_hash(suite):
    """That of the plan; a program of one's own has none, and its cases are told apart by their ids alone."""
    return suite.get("plan_hash") or hashlib.sha256(suite["name"].encode()).hexdigest()[:16]


def run_record(line, case_count):
    """case_count: of the lines, where the run does not say how many there were to be."""
    versions = {name: line.get(name) for name in ("torch", "transformers", "torchvision", "cuda", "python")}
    suite = line["suite"]
    return {"type": "run", "schema": SCHEMA, "run_id": hashlib.sha256(json.dumps(line).encode()).hexdigest()[:32],
            "started": line["started"], "tool": {"name": "pytorch", "version": line["torch"], "versions": versions},
            "suite": {"name": suite["name"], "path": "a plan", "filter": None, "description": suite.get("description"),
                      "plan_hash": plan_hash(suite), "case_count": suite.get("case_count", case_count),
                      "selected_count": suite.get("selected_count", case_count)},
            "device": "cuda:0" if device_record(line) else "cpu", "jobs": 1, "host": None, "hardware": None}


def device_record(run):
    """None of a rehearsal, which has no device."""
    device = run.get("device") or {}
    if device.get("capability") is None:
        return None
    return {"kind": "cuda", "name": device["name"], "spec": "cuda:0",
            "target": "sm_" + device["capability"].replace(".", ""), "total_bytes": device.get("total_bytes"),
            "driver": device.get("driver"), "runtime": run.get("cuda"), "pci_bus_id": None, "uuid": None}


def stage_record(stage):
    record = {}
    for level in LEVELS:
        record[level] = stage.get(level)
        record[level + "_peak"] = stage.get(level + "_peak")
    record.update(device_bytes=stage.get("device_used_bytes"), process_bytes=stage.get("process_used_bytes"),
                  process_bytes_peak=None, seconds=None, categories_at_peak=None)
    return record


def peaks_record(stages):
    """The highest of the stages, where all of them were read; and the first stage in which allocated was highest."""
    record = {}
    for level in LEVELS:
        peaks = [stage[level + "_peak"] for stage in stages.values()]
        record[level + "_peak"] = max(peaks) if peaks and None not in peaks else None
    top = record["allocated_bytes_peak"]
    record["peak_stage"] = next((name for name, stage in stages.items() if top is not None
                                 and stage["allocated_bytes_peak"] == top), None)
    return record


def validity_record(line):
    """None where nothing was measured."""
    if not line["stages"]:
        return None
    foreign = line.get("foreign_process_count")
    reasons = [f"{foreign} other processes used the device"] if foreign else []
    retries = max((stage.get("alloc_retry_count") or 0 for stage in line["stages"].values()), default=0)
    if retries:
        reasons.append(f"memory was refused {retries} times and PyTorch gave back its cache")
    return {"valid": not reasons, "reasons": reasons}


def case_record(line, run):
    status = STATUSES.get(line["status"], "error")
    stages = {name: stage_record(line["stages"][name]) for name in STAGES if name in line["stages"]}
    context = line["stages"].get("context")
    if status == "ok" and not stages:
        sys.exit(f"truth_records.py: case {line['id']}: it is ok and has no stage; name one of {', '.join(STAGES)}")
    whole = stages if status == "ok" else {}  # of a case that did not end the highest stage is no peak
    return {"type": "case", "id": line["id"], "identity": identity_record(line), "status": status,
            "reason": line.get("error") or (None if status == "ok" else f"PyTorch's process ended in a {line['status']}"),
            "attempt": line.get("turn", 1), "duration_s": line.get("seconds"), "tags": [], "device": device_record(run),
            "stages": stages or None, "context": context and {"device_bytes": context.get("device_used_bytes"),
                                                              "process_bytes": context.get("process_used_bytes")},
            **peaks_record(whole), "categories_at_peak": None, "causes": None, "saved_for_backward_bytes": None,
            "attention_backend": None, "loss": None, "sequence_hash": None, "validity": validity_record(line),
            "oom": {"wanted_bytes": None, "held_bytes": None, "stage": None, "label": None} if status == "oom" else None,
            "estimates": None, "verdicts": []}


def end_record(line, run, counts):
    done = sum(counts.values())
    outcome = ("incomplete" if done < line["of"] else
               "skipped" if counts.get("skip") == done else
               "pass" if counts.get("ok", 0) + counts.get("skip", 0) == done else "inconclusive")
    return {"type": "end", "finished": line["finished"], "interrupted": done < line["of"],
            "counts": {"total": line["of"], "done": done,
                       **{name: counts.get(name, 0) for name in ("ok", "fail", "error", "oom", "timeout", "skip")}},
            "outcome": outcome}


def identity_record(line):
    """Of the plan; a program of one's own may name model, mode and precision, and says no more."""
    own = {"model": line["id"], "mode": "program", "precision": "unknown", **dict.fromkeys(IDENTITY)}
    return {**own, **(line.get("identity") or {})}


def is_measurement(line):
    return line["type"] == "case" and not line.get("traced")


def records(lines):
    run, counts = None, {}
    for place, line in enumerate(lines):
        if line["type"] == "run":
            run, counts = line, {}
            its_own = itertools.takewhile(lambda other: other["type"] != "run", lines[place + 1:])
            yield run_record(line, sum(map(is_measurement, its_own)))
        elif run is None:
            sys.exit("truth_records.py: a line before any of type 'run'; give files that truth.py wrote")
        elif is_measurement(line):
            record = case_record(line, run)
            counts[record["status"]] = counts.get(record["status"], 0) + 1
            yield record
        elif line["type"] == "end" and counts:
            yield end_record(line, run, counts)


def is_ours(path):
    """Whether every run that path holds, if it is there at all, came from here: what assay measured is not replaced."""
    if not os.path.lexists(path):
        return True
    if not os.path.isfile(path) or os.path.islink(path):
        return False
    runs = [line for line in lines_read([path]) if line["type"] == "run"]
    return bool(runs) and all((line.get("tool") or {}).get("name") == "pytorch" for line in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--out", required=True, help="folder; a records.jsonl of this program there is replaced")
    options = parser.parse_args()
    try:
        rows = [json.dumps(record, separators=(",", ":")) + "\n" for record in records(list(lines_read(options.files)))]
    except OSError as error:
        sys.exit(f"truth_records.py: {error}")
    except (KeyError, TypeError, AttributeError) as error:
        sys.exit(f"truth_records.py: not lines that truth.py wrote: {error!r}")
    os.makedirs(options.out, exist_ok=True)
    path = os.path.join(options.out, "records.jsonl")
    if not is_ours(path):
        sys.exit(f"truth_records.py: {path} is not what this program wrote; move it away, or name another folder with --out")
    whole_file_write(path, "".join(rows))


if __name__ == "__main__":
    main()
