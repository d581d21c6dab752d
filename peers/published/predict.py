#!/usr/bin/env python3
"""Predicts what others measured, and writes the page that says how far off the predictions were.

usage: peers/published/predict.py [--program build/assay] [--write | --check | --rows [PATTERN]]

Without an option it prints the table of sources. --write writes suites/, figures.jsonl, docs/PUBLISHED.md with its plot, and
the lines of README.md. --check says which of them are stale. --rows prints row by row, of ids that have PATTERN.
README.md beside this file says what the fields mean.
"""
import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.dont_write_bytecode = True
import cases  # noqa: E402
import page  # noqa: E402

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SUITES = HERE / "suites"


def rows_read():
    """Every row of rows/*.jsonl, with the line of its source as `source`."""
    rows = []
    for path in sorted((HERE / "rows").glob("*.jsonl")):
        source, *lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            line["source"] = source
            rows.append(line)
    if len({row["id"] for row in rows}) != len(rows):
        raise SystemExit("two rows have the same id")
    return rows


def suite_name(gpu):
    return re.sub(r"[^a-z0-9]+", "-", gpu.replace("NVIDIA ", "").replace("GeForce ", "").lower()).strip("-")


def value_text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def case_line(case):
    fields = {"model": case.model, "mode": case.mode, **case.fields}
    return "  - {" + ", ".join(f"{key}: {value_text(value)}" for key, value in fields.items()) + "}"


def cases_made(rows):
    """Sets row["case"] or row["why_not"], and returns the suites: by GPU, the lines of its cases in order."""
    suites = {}
    for row in rows:
        if all(measured["quantity"] == "unknown" for measured in row["measured"]):
            row["why_not"] = "the source does not say which memory it is"
            continue
        try:
            row["case"] = cases.case_of(row, row["source"])
        except cases.NotPredicted as reason:
            row["why_not"] = str(reason)
            continue
        lines = suites.setdefault(row["gpu"], [])
        line = case_line(row["case"])
        if line not in lines:
            lines.append(line)
        row["line"] = line
    return suites


def suites_text(suites):
    """The text of each suite, by file name."""
    texts = {}
    for gpu, lines in sorted(suites.items()):
        name = suite_name(gpu)
        texts[f"{name}.yaml"] = (
            f"# Written by peers/published/predict.py: cases that others measured on {gpu}.\n"
            f"# on: {gpu}\nversion: 1\nname: published-{name}\ncases:\n" + "\n".join(lines) + "\n")
    return texts


def plans_asked(program, suites, texts):
    """The replay of each case, by GPU and line: one process for each GPU."""
    answers = {}
    SUITES.mkdir(exist_ok=True)
    for gpu, lines in suites.items():
        path = SUITES / f"{suite_name(gpu)}.yaml"
        if not path.exists() or path.read_text() != texts[path.name]:
            path.write_text(texts[path.name])
        command = [program, "plan", str(path.relative_to(ROOT)), "--on", gpu, "--json"]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if run.returncode != 0:
            raise SystemExit(f"{' '.join(command)}: exit code {run.returncode}\n{run.stderr}")
        planned = json.loads(run.stdout)["cases"]
        if len(planned) != len(lines):
            raise SystemExit(f"{path.name}: {len(lines)} cases written, {len(planned)} planned")
        for line, case in zip(lines, planned):
            answers[gpu, line] = case
    return answers


# Members of a case of a plan that make up a quantity, added up: what is predicted for what was measured.
REPLAY = "estimates/replay/"
QUANTITIES = {
    "allocated": [REPLAY + "allocated_bytes_peak"],
    "active": [REPLAY + "allocated_bytes_peak"],
    "reserved": [REPLAY + "reserved_bytes_peak"],
    # NVML's growth since the context was there: what segments take, and what is loaded later.
    "device-growth": ["bounds/segments/likely_bytes", "bounds/libraries/likely_bytes"],
    # nvidia-smi shows what processes and an idle device take, pynvml's figure has the driver's own part too.
    "device": ["bounds/device_bytes/likely_bytes"],
    "device-process": ["bounds/process_bytes/likely_bytes"],
    "device-after": ["bounds/nvml_bytes/likely_bytes"],
}


def member_of(case, path):
    for key in path.split("/"):
        case = case.get(key) if isinstance(case, dict) else None
    return case


def figures_made(rows, answers):
    """One dictionary for each measured figure."""
    figures = []
    for row in rows:
        for measured in row["measured"]:
            figure = {"id": row["id"], "quantity": measured["quantity"], "mode": row["mode"],
                      "quality": row["quality"], "measured_bytes": measured["bytes"],
                      "predicted_bytes": None}
            figures.append((row, measured, figure))
            if "line" not in row:
                figure["why_not"] = row["why_not"]
                continue
            case = answers[row["gpu"], row["line"]]
            figure["suite"] = suite_name(row["gpu"])
            figure["gpu"] = row["gpu"]
            figure["case"] = case["id"]
            if measured.get("full"):
                figure["why_not"] = "the allocator had filled the device, so that the figure says nothing about the need"
            elif measured["quantity"] == "unknown":
                figure["why_not"] = "the source does not say which memory it is"
            else:
                paths = QUANTITIES[measured["quantity"]]
                parts = [member_of(case, path) for path in paths]
                if case["estimates"]["replay"].get("fits") == "no":
                    figure["why_not"] = "it is predicted not to fit this GPU, and ran"
                elif None in parts:
                    figure["why_not"] = "context and libraries of this GPU are not known"
                else:
                    figure["predicted_from"] = paths
                    figure["predicted_bytes"] = sum(parts)
                    if all(path.endswith("/likely_bytes") for path in paths):
                        for end in ("low", "high"):
                            figure[f"{end}_bytes"] = sum(member_of(case, path.replace("/likely_", f"/{end}_"))
                                                         for path in paths)
    return figures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="build/assay")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--write", action="store_true")
    group.add_argument("--check", action="store_true")
    group.add_argument("--rows", nargs="?", const="")
    options = parser.parse_args()
    rows = rows_read()
    suites = cases_made(rows)
    answers = plans_asked(options.program, suites, suites_text(suites))
    figures = figures_made(rows, answers)
    if options.rows is not None:
        page.rows_print(figures, options.rows)
    elif options.write or options.check:
        stale = page.files_write(ROOT, figures, write=options.write)
        if options.check and stale:
            raise SystemExit("stale: " + ", ".join(stale))
    else:
        page.summary_print(figures)


if __name__ == "__main__":
    main()
