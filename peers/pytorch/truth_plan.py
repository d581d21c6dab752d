"""The cases that `assay plan SUITE --json` prints, as cases of truth.py; and which of them PyTorch cannot measure, and why.

A case keeps the id and the identity of the plan, so that what is measured here stands beside what assay measures. An axis
that says nothing about it (null) has the value that the loop of truth_measure.py takes for granted.
"""
import importlib.util
import json
import re

TAKEN_FOR_GRANTED = {"batch": 1, "seq": None, "attention": "sdpa", "optimizer": None, "checkpointing": False,
                     "accumulate": 1}
KNOWN_AXES = {"model", "mode", "precision", "quantize", "batch", "seq", "new_tokens", "cache", "cache_dtype", "beams",
              "attention", "padding", "optimizer", "loss", "lora_rank", "lora_targets", "prepare_kbit", "checkpointing",
              "accumulate", "accumulated_loss", "autocast", "zero_grad", "zero_grad_to", "optimizer_in_backward",
              "clip_grad", "grad_scaler", "weight_average", "logits", "tf32", "tf32_convolutions", "head"}
PRECISIONS = ("float32", "float16", "bfloat16", "amp-float16", "amp-bfloat16")


def case_of(row):
    identity = row["identity"]
    case = {"id": row["id"], "identity": identity, **TAKEN_FOR_GRANTED}
    case.update({axis: value for axis, value in identity.items() if value is not None})
    if case["mode"] == "train":
        case.update(habits_of(case))
    return case


def habits_of(case):
    """What a line says of the loop although the identity leaves it out: older lines, without it, were measured without a
    scaler and without dividing. A lean scaler is assay's own; PyTorch's is run instead."""
    habits = {}
    if case["accumulate"] > 1:
        habits["accumulated_loss"] = case.get("accumulated_loss", "divided")
    if case["precision"] == "amp-float16":
        habits["grad_scaler"] = case.get("grad_scaler", "torch")
    return habits


def missing_library(case):
    """What a case needs beside torch and transformers and does not find here, or None."""
    needed = {"peft": case.get("lora_rank"), "bitsandbytes": (case["optimizer"] or "").endswith("bit"),
              "timm": case.get("weight_average", "none").startswith("timm"),
              "liger_kernel": case.get("loss") == "fused"}
    for library, wanted in needed.items():
        if wanted and importlib.util.find_spec(library) is None:
            return library
    return None


def refusal(case, model_row, device):
    """Why PyTorch does not measure this case on cuda or cpu; None where it does. model_row: peer_models.model_row."""
    unknown = sorted(axis for axis, value in case["identity"].items() if value is not None and axis not in KNOWN_AXES)
    if unknown:
        return f"this script does not know the axis {unknown[0]}"
    if case["precision"] not in PRECISIONS:
        return f"weights in {case['precision']} are run by shadow_truth.py alone, on the meta device"
    if case["attention"] == "native":
        return "attention native is a kernel of assay's own"
    if case.get("cache_dtype", "auto") != "auto":
        return f"a cache in {case['cache_dtype']} is run by shadow_truth.py alone, on the meta device"
    if case.get("loss") == "fused" and device == "cpu":
        return "the kernels of Liger need a GPU"
    library = missing_library(case)
    if library:
        return f"{library} is not installed"
    try:
        model_row(case["model"])
    except (KeyError, ValueError, OSError) as error:
        return f"no model of PyTorch is known for {case['model']} ({error})"
    return None


def spread(cases):
    """In an order that spreads the models: what a short run has measured is of every family. Generation, which is slow,
    comes last."""
    seen, places = {}, []
    for case in cases:
        place = seen[case["model"]] = seen.get(case["model"], 0) + 1
        places.append((place, case))
    return [case for _, case in sorted(places, key=lambda pair: (pair[1]["mode"] == "generate", pair[0]))]


def read(path):
    """(what a run line says of the suite, cases) of a plan."""
    with open(path, encoding="utf-8") as source:
        plan = json.load(source)
    suite = {"name": plan["suite"], "description": plan["description"], "plan_hash": plan["plan_hash"],
             "case_count": plan["suite_case_count"]}
    return suite, spread(case_of(row) for row in plan["cases"])


def select(cases, pattern, repeat):
    """[(case, turn)]: the cases whose id matches, `repeat` times."""
    return [(case, turn) for turn in range(1, repeat + 1) for case in cases if re.search(pattern, case["id"])]
