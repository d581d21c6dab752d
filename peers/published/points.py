#!/usr/bin/env python3
"""Prints what others measured of inference as a table of points, for `assay calibrate --law inference-overhead`.

usage: peers/published/points.py [--program build/assay] > points.tsv

Of quality A and B, allocated bytes of a GPU that has the whole model, in 16 or 32 bits. Measured is what they published; the weights
are those of the configuration, and the numbers of a model are left to the reader, who looks it up.
"""
import argparse
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TEXTS = ["model", "kind", "target", "program", "mode", "precision", "attention", "logits", "cache"]
NUMBERS = ["batch", "seq", "new_tokens", "hidden", "width", "cached", "heads", "layers", "ffn", "vocab", "image", "weights",
           "pass", "decode", "allocated", "footprint"]


def planned(program, suite, gpu):
    command = [program, "plan", f"peers/published/suites/{suite}.yaml", "--on", gpu, "--json"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if run.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit code {run.returncode}\n{run.stderr}")
    return {case["id"]: case for case in json.loads(run.stdout)["cases"]}


def row_of(figure, case):
    identity = case["identity"]
    weights = case["estimates"]["replay"]["stages"]["load"]["requested_bytes"]
    generates = identity["mode"] == "generate"
    return {"model": identity["model"], "kind": "-", "target": case["target"], "program": figure["id"].split("/")[0],
            "mode": identity["mode"], "precision": identity["precision"], "attention": identity["attention"] or "eager",
            "logits": "last" if generates else identity["logits"] or "all",
            "cache": (identity["cache"] or "dynamic") if generates else "none", "batch": identity["batch"],
            "seq": identity["seq"], "new_tokens": identity["new_tokens"] or 0, "weights": weights,
            "allocated": figure["measured_bytes"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/assay")
    program = parser.parse_args().program
    figures = [json.loads(line) for line in (HERE / "figures.jsonl").read_text().splitlines()]
    plans, seen = {}, set()
    print("# assay law points 1")
    print("\t".join(TEXTS + NUMBERS))
    for figure in figures:
        if (figure["quantity"] != "allocated" or figure["quality"] not in "AB" or "case" not in figure
                or figure.get("why_not") or figure["mode"] not in ("infer", "generate")):
            continue
        if figure["suite"] not in plans:
            plans[figure["suite"]] = planned(program, figure["suite"], figure["gpu"])
        case = plans[figure["suite"]][figure["case"]]
        if case["identity"]["precision"] not in ("float32", "float16", "bfloat16") or case["identity"]["quantize"]:
            continue
        row = row_of(figure, case)
        line = "\t".join(str(row.get(key, "-")) for key in TEXTS + NUMBERS)
        if line not in seen:
            print(line)
        seen.add(line)


if __name__ == "__main__":
    sys.exit(main())
