"""Writes the lines that truth.py would, out of assay's own records: every case of the plan but those that generate, with its
bytes divided by STAND_IN_FACTOR. Nothing here is of PyTorch; it shows what ci/gpu.sh does with such lines."""
import argparse
import json
import os

LEVELS = ("requested_bytes", "allocated_bytes", "reserved_bytes")


def stage_of(stage, factor):
    return {key: None if value is None else int(value / factor) for key, value in stage.items()
            if key.startswith(LEVELS)}


def main():
    parser = argparse.ArgumentParser()
    for name in ("plan", "out", "budget", "case-timeout"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    factor = float(os.environ["STAND_IN_FACTOR"])
    with open(options.plan, encoding="utf-8") as source:
        plan = json.load(source)
    with open(os.path.join(os.path.dirname(options.out), "records.jsonl"), encoding="utf-8") as source:
        measured = {line["id"]: line for line in map(json.loads, source) if line["type"] == "case"}
    lines = [{"type": "run", "started": "2026-01-01T00:00:00Z", "torch": os.environ.get("STAND_IN_TORCH", "2.11.0+cu130"), "transformers": "0.0.0",
              "suite": {"name": plan["suite"], "description": plan["description"], "plan_hash": plan["plan_hash"],
                        "case_count": plan["suite_case_count"], "selected_count": len(plan["cases"])},
              "device": {"name": "stand-in", "capability": "7.5"}}]
    for case in plan["cases"]:
        skip = case["identity"]["mode"] == "generate"
        stages = {} if skip else measured[case["id"]]["stages"]
        lines.append({"type": "case", "id": case["id"], "identity": case["identity"], "turn": 1, "traced": False,
                      "status": "skip" if skip else "ok", "error": "it does not generate" if skip else None, "times_ms": [],
                      "stages": {name: stage_of(stage, factor) for name, stage in stages.items()}})
    lines.append({"type": "end", "finished": "2026-01-01T00:00:01Z", "cases": len(lines) - 1, "ok": 0,
                  "of": len(lines) + 1})
    with open(options.out, "w", encoding="utf-8") as sink:
        sink.writelines(json.dumps(line) + "\n" for line in lines)


main()
