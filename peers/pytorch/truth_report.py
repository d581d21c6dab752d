#!/usr/bin/env python3
"""Lines of truth.py beside what assay predicts for the same cases: one Markdown page.

    python3 peers/pytorch/truth_report.py FILE... [--assay build/assay] [--traces FOLDER] > PAGE.md

Every stage of every case is compared in requested, allocated and reserved bytes (ours - PyTorch's, relative to
PyTorch's). Cases that assay cannot say (generation, T5) are listed, not left out silently. Needs no torch and no GPU.
"""
import argparse
import glob
import json
import os
import statistics
import subprocess
import sys

NAMES = {"llama-3.2-1b": "meta-llama/Llama-3.2-1B", "llama-2-7b": "meta-llama/Llama-2-7b-hf",
         "qwen2.5-0.5b": "Qwen/Qwen2.5-0.5B", "vit-base": "google/vit-base-patch16-224",
         "resnet18": "timm/resnet18.a1_in1k", "resnet50": "timm/resnet50.a1_in1k", "resnet152": "timm/resnet152.a1_in1k"}
LEVELS = ("requested", "allocated", "reserved")
STAGES = ("load", "forward", "backward", "step", "generate")
BEYOND = 0.02  # a difference that is shown case by case
TURNS = 2  # from here on the spread of repeated cases means something


def read(paths):
    """(run line of the first file, {id: ok lines}, traced lines, lines that are not ok and never became so)."""
    head, ok, traced, others = None, {}, [], []
    for path in paths:
        with open(path, encoding="utf-8") as source:
            for number, text in enumerate(source, 1):
                try:
                    line = json.loads(text)
                except ValueError as error:
                    print(f"{path}:{number}: left out, not JSON: {error}", file=sys.stderr)
                    continue
                if line["type"] == "run":
                    head = head or line
                elif line["type"] == "case" and line["status"] != "ok":
                    others.append(line)
                elif line["type"] == "case" and line["traced"]:
                    traced.append(line)
                elif line["type"] == "case":
                    ok.setdefault(line["id"], []).append(line)
    if head is None or head["device"] is None:
        sys.exit("no line of type 'run' with a device")
    return head, ok, traced, [line for line in others if line["traced"] or line["id"] not in ok]


def estimate(assay, case, target):
    """The stages that assay replays for a case, or the reason why it cannot."""
    command = [assay, "estimate", NAMES.get(case["model"], case["model"]), "--mode", case["mode"], "--precision",
               case["precision"], "--head", case["head"], "--for", target, "--json"]
    if case["mode"] != "load":
        command += ["--batch", str(case["batch"]), "--attention", case["attention"]]
        command += ["--seq", str(case["seq"])] if case["seq"] else []
    if case["mode"] == "generate":
        command += ["--new-tokens", str(case["new_tokens"])]
    if case["mode"] == "train":
        command += ["--optimizer", case["optimizer"]] + ["--checkpointing"] * case["checkpointing"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None, (done.stderr.strip().splitlines() or ["no reason"])[-1]
    stages = json.loads(done.stdout)["estimates"]["replay"]["stages"]
    if case["mode"] == "generate":  # truth.py reads one stage: the prefill is in its peak
        prefill, whole = stages.pop("forward"), stages["generate"]
        whole.update({key: max(figure, prefill[key]) for key, figure in whole.items() if key.endswith("_peak")})
    return stages, None


def differences(line, stages):
    """{(stage, level, "end" | "peak"): (ours, PyTorch's)} of what both sides have."""
    found = {}
    for stage in STAGES:
        theirs, ours = line["stages"].get(stage), stages.get(stage)
        for level in LEVELS if theirs and ours else ():
            for kind, suffix in (("end", "_bytes"), ("peak", "_bytes_peak")):
                if theirs.get(level + suffix) is not None:
                    found[stage, level, kind] = ours[level + suffix], theirs[level + suffix]
    return found


def highest(found, level):
    """The peak of a case on one level: over all stages of both sides."""
    peaks = [pair for (stage, where, kind), pair in found.items() if where == level and kind == "peak"]
    return (max(p[0] for p in peaks), max(p[1] for p in peaks)) if peaks else None


def percent(pair):
    return (pair[0] - pair[1]) / pair[1] if pair[1] else 0.0 if pair[0] == 0 else float("inf")


def summary_table(rows):
    print("| mode | level | cases | equal | median | worst | worst case |\n|---|---|---:|---:|---:|---:|---|")
    for mode in ("load", "infer", "train"):
        for level in LEVELS:
            pairs = [(percent(highest(found, level)), line["id"], highest(found, level)) for line, found in rows
                     if line["mode"] == mode and highest(found, level)]
            if pairs:
                worst = max(pairs, key=lambda pair: abs(pair[0]))
                print(f"| {mode} | {level} | {len(pairs)} | {sum(ours == theirs for _, _, (ours, theirs) in pairs)} | "
                      f"{statistics.median(abs(p[0]) for p in pairs):.3%} | {worst[0]:+.3%} | {worst[1]} |")


def beyond_table(rows):
    print("| case | stage | level | assay | PyTorch | difference |\n|---|---|---|---:|---:|---:|")
    for line, found in rows:
        for (stage, level, kind), pair in found.items():
            if abs(percent(pair)) > BEYOND:
                print(f"| {line['id']} | {stage} {kind} | {level} | {pair[0]:,} | {pair[1]:,} | {pair[0] - pair[1]:+,} "
                      f"({percent(pair):+.2%}) |")


def spread_row(lines):
    """Per field, the widest difference between the processes over all stages; None where a reading is missing."""
    cells = []
    for field in ("requested_bytes_peak", "allocated_bytes_peak", "reserved_bytes_peak", "device_used_bytes"):
        spreads = []
        for stage in lines[0]["stages"]:
            values = [line["stages"].get(stage, {}).get(field) for line in lines]
            spreads.append(None if None in values else max(values) - min(values))
        cells.append("unknown" if None in spreads else f"{max(spreads):,}")
    return cells


def spread_table(ok):
    print("| case | processes | requested | allocated | reserved | device |\n|---|---:|---:|---:|---:|---:|")
    for identity, lines in ok.items():
        if len(lines) >= TURNS:
            print(f"| {identity} | {len(lines)} | " + " | ".join(spread_row(lines)) + " |")


def traces_section(assay, folder, ok, traced):
    print("Recording itself changes nothing where the peaks of a recorded and an unrecorded process are equal:\n")
    for line in traced:
        if line["id"] in ok:
            print(f"* {line['id']}: differences " + ", ".join(spread_row([line, ok[line["id"]][0]])[:-1]))
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        done = subprocess.run([assay, "replay", path], capture_output=True, text=True, check=False)
        print(f"\n`assay replay {os.path.basename(path)}` (exit {done.returncode}):\n\n```\n"
              f"{(done.stdout + done.stderr).strip()}\n```")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--assay", default="build/assay")
    parser.add_argument("--traces", help="folder of truth.py --traces")
    options = parser.parse_args()
    head, ok, traced, others = read(options.files)
    major, minor = head["device"].get("capability", "9.0").split(".")
    rows, unsaid = [], []
    for line in (lines[0] for lines in ok.values()):
        stages, reason = estimate(options.assay, line, f"sm_{major}{minor}")
        if stages is None:
            unsaid.append((line, reason))
        else:
            rows.append((line, differences(line, stages)))
    print(f"# {head['device']['name']}, torch {head['torch']}, transformers {head['transformers']}\n")
    print(f"{sum(map(len, ok.values()))} measurements ok, {len(others)} not; {len(rows)} cases predicted, {len(unsaid)} not.\n")
    summary_table(rows)
    print(f"\n## Stages beyond {BEYOND:.0%}\n")
    beyond_table(rows)
    print("\n## Spread over fresh processes, bytes\n")
    spread_table(ok)
    if options.traces:
        print("\n## Traces through our allocator\n")
        traces_section(options.assay, options.traces, ok, traced)
    print("\n## Not predicted, not measured\n")
    for line, reason in unsaid:
        print(f"* {line['id']}: {reason}")
    for line in others:
        print(f"* {line['id']}: {line['status']}: {line['error']}")


if __name__ == "__main__":
    main()
