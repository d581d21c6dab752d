#!/usr/bin/env python3
"""Holds our device maps against accelerate's: get_balanced_memory and infer_auto_device_map over the catalogue, key for key.

Every model of the catalogue is built on the meta device, without and with its head, and planned for twenty budgets that are
made relative to its size, by each strategy. dtypes, classes (those that the model never splits, or none), fallback and offloaded
buffers make 24 combinations, which take turns: eight of them for each budget and strategy of a small model, one for each of a
large one. Compared are the device map, the budgets after balancing, whether accelerate warns of buffers, what it says an empty
device would have needed, and the exception where it raises one. --toys N makes N random modules instead, with odd names, ties,
buffers and special dtypes.

Run in the root of the repository, after make: python3 peers/placement/device_maps.py [--jobs N] [--golden FILE] [--toys N] [MODEL ...]
Needs torch, transformers, timm and accelerate. Exit 1 where anything differs. --golden writes what accelerate said of small models
and of a few large ones, for a test that needs no Python.
"""

import argparse
import collections
import contextlib
import itertools
import json
import logging
import multiprocessing
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings

import accelerate
import timm
import torch
import transformers
from accelerate.utils import get_balanced_memory, infer_auto_device_map
from accelerate.utils import modeling
from accelerate.utils.dataclasses import CustomDtype

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "transformers"))
from compare_skeletons import CATALOGUE, real_model  # noqa: E402

DTYPES = {"-": None, "float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16, "int8": torch.int8,
          "int4": CustomDtype.INT4, "fp8": CustomDtype.FP8, "float64": torch.float64, "bool": torch.bool}
STRATEGIES = ("balanced", "balanced_low_0", "sequential")
OPTIONS = tuple(itertools.product(("float32", "bfloat16", "int8", "int4"), ("own", "none"), ("-", "f", "b")))
LARGE_IN_GOLDEN = ("gpt2", "bert-base-cased", "google-t5/t5-small", "meta-llama/Llama-3.1-70B", "timm/resnet50.a1_in1k")
MAXIMUM_SECONDS = 60


def budgets_of(total, largest):
    """Twenty, in bytes: name of a device -> size. They do not divide evenly."""
    def part(fraction):
        return int(total * fraction) + 7
    rest = {"cpu": part(2)}
    return [
        {"0": part(2), **rest},
        {"0": part(0.6), "1": part(0.6), **rest},
        {str(i): part(0.3) for i in range(4)} | rest,
        {str(i): part(0.28) for i in range(4)},
        {"0": part(0.2), "1": part(0.5), "2": part(0.4), **rest},
        {"0": part(0.01), "1": part(1), **rest},
        {"0": 0, "1": part(0.6), "2": part(0.6), **rest},
        {"0": part(0.5), "cpu": part(0.2)},
        {"0": part(0.5), "2": part(0.6), **rest},
        {"1": part(0.5), "2": part(0.6), **rest},
        {"0": part(0.5)},
        {"cpu": part(0.5)},
        {"cpu": part(2)},
        {"0": part(0.5), "1": part(0.3), "disk": 1},
        {"0": total},
        {"0": total // 2 + largest, "1": total // 2 + largest},
        {"0": part(0.15), "1": part(0.15), "2": part(0.15), "cpu": part(0.15)},
        {str(i): part(0.15) for i in range(8)} | rest,
        {"1": part(0.3), "3": part(0.3), "6": part(0.5), "cpu": part(0.1)},
        {"0": largest + 7, "cpu": largest + 7},
    ]


class Endless(Exception):
    pass


@contextlib.contextmanager
def time_limit(seconds):
    def give_up(*_):
        raise Endless
    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class Minimums(logging.Handler):
    """What accelerate logs of devices that stayed empty."""

    def __init__(self):
        super().__init__(logging.INFO)
        self.found = {}

    def emit(self, record):
        for line in record.getMessage().splitlines():
            if line.startswith("  - ") and line.endswith(" bytes required"):
                device, size = line[4:].removesuffix(" bytes required").split(": ")
                self.found[device] = float(size)


def real_plan(model, request):
    """What accelerate answers: a dict, or the name of its exception."""
    strategy, width, classes, flags, budgets, *rest = request
    specials = {path: DTYPES[name] for path, name in rest[0].items()} if rest else None
    memory = {int(name) if name.isdigit() else name: size for name, size in budgets.items()}
    if classes == "own":
        whole = list(getattr(model, "_no_split_modules", None) or [])
    else:
        whole = [] if classes == "none" else classes.split(",")
    minimums = Minimums()
    modeling.logger.handlers = [minimums]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with time_limit(MAXIMUM_SECONDS):
                if strategy != "sequential":
                    memory = get_balanced_memory(model, dict(memory), whole, DTYPES[width], specials,
                                                 low_zero=strategy == "balanced_low_0")
                kept = dict(memory)
                device_map = infer_auto_device_map(model, dict(memory), whole, DTYPES[width], specials, clean_result="k" not in flags,
                                                   offload_buffers="b" in flags, fallback_allocation="f" in flags)
        except Endless:
            return {"error": "endless"}
        except Exception as error:  # its name is what is compared
            return {"error": type(error).__name__}
    return {
        "device_map": dict(device_map),
        "max_memory": {str(key): value for key, value in modeling.get_max_memory(kept).items()},
        "warns": any("bytes of buffer for offloaded layers" in str(one.message) for one in caught),
        "minimum": minimums.found,
    }


def hash_of(answer):
    """As device_plan_hash of tests/placement/request_line.c."""
    text = "".join(f"{path}={device}\n" for path, device in sorted(answer["device_map"].items(), key=lambda kv: kv[0].encode()))
    text += "".join(f"@{name}={round(size * 8)}\n" for name, size in answer["max_memory"].items())
    value = 0xcbf29ce484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return f"{value:016x}"


def real_plan_ordered(model, request):
    """The same with the groups of ties in registration order. accelerate takes them out of a set of names, in an order that changes
    with the hash seed, and with it which of several tied modules is split."""
    unordered = modeling.find_tied_parameters
    order = {name: index for index, (name, _) in enumerate(model.named_parameters())}
    def place(group):
        return min(order.get(name, len(order)) for name in group)
    modeling.find_tied_parameters = lambda model: sorted(unordered(model), key=place)
    try:
        return real_plan(model, request)
    finally:
        modeling.find_tied_parameters = unordered


def hold(ours, model, request, counts):
    """(what accelerate answers, what differs or None)."""
    real, answer = real_plan(model, request), ours.plan(request)
    wrong = difference(answer, real)
    if wrong:
        real = real_plan_ordered(model, request)
        counts["ordered"] += not difference(answer, real)
        wrong = difference(answer, real)
    counts["different" if wrong else "equal"] += 1
    return real, wrong


class Ours:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def ask(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def plan(self, request):
        answer = self.ask("plan " + line_of(request))
        if "error" in answer:
            return {"error": answer["error"]}
        return {
            "device_map": answer["device_map"],
            "max_memory": answer["max_memory"],
            "warns": "bytes of buffers, which lie on a GPU" in answer["warnings"],
            "minimum": {str(one["device"]): one["minimum_bytes"] for one in answer["devices"] if one["minimum_bytes"] is not None},
        }


def line_of(request):
    strategy, width, classes, flags, *pairs = request
    return " ".join((strategy, width, classes, flags,
                     ";".join(",".join(f"{name}={value}" for name, value in some.items()) for some in pairs)))


def difference(ours, real):
    if ours.get("error") != real.get("error"):
        return f"ours {ours.get('error', 'a map')}, real {real.get('error', 'a map')}"
    if "error" in real:
        return None
    for what in ("device_map", "max_memory", "minimum", "warns"):
        if ours[what] != real[what]:
            if isinstance(ours[what], dict):
                keys = [key for key in {**real[what], **ours[what]} if ours[what].get(key) != real[what].get(key)]
                return f"{what}: " + ", ".join(f"{key}: ours {ours[what].get(key)}, real {real[what].get(key)}" for key in keys[:4])
            return f"{what}: ours {ours[what]}, real {real[what]}"
    return None


def requests_of(model, small, turn):
    whole = list(getattr(model, "_no_split_modules", None) or [])
    for index in range(20):
        for place, strategy in enumerate(STRATEGIES):
            first = turn + index * 7 + place * 5
            options = OPTIONS[first % 3::3] if small else [OPTIONS[first % len(OPTIONS)]]
            for width, classes, flags in options:
                sizes = modeling.compute_module_sizes(model, dtype=DTYPES[width])
                parts = list(model.named_parameters(recurse=False)) + list(model.named_children())
                largest, _ = modeling.get_max_layer_size(parts, sizes, whole if classes == "own" else [])
                yield strategy, width, classes, flags, budgets_of(int(sizes[""]), int(largest))[index]


def compare(ours, model, requests):
    """(counts, lines of differences, lines for the golden file) of one model."""
    counts, differences, golden = collections.Counter(), [], []
    for request in requests:
        real, wrong = hold(ours, model, request, counts)
        counts["raised"] += "error" in real
        if wrong:
            differences += [f"    {line_of(request)}", f"        {wrong}"]
        golden.append(line_of(request) + " " + (real.get("error") or hash_of(real)))
    return counts, differences, golden


class Toy(torch.nn.Module):
    pass


KINDS = {name: type(name, (Toy,), {}) for name in ("Alpha", "Beta", "Gamma", "Delta")}
TOY_DTYPES = ("float32", "float32", "float32", "float16", "int64", "bool")


def toy_model(rng):
    """A random module and the lines that describe it to our program. Its names are those that substring tests confuse."""
    lines, parameters, modules = ["toy"], [], []
    ties = rng.choice((0, 0, 0.05, 0.15, 0.3))
    names = ("1", "11", "0", "10", "a", "a1", "weight", "w")
    tensors = []

    def fill(module, depth):
        for _ in range(rng.choice((0, 1, 1, 2) if depth else (0, 0, 1))):
            name = rng.choice(("weight", "bias", "w", "x"))
            if hasattr(module, name):
                continue
            tied = rng.choice(parameters) if parameters and rng.random() < ties else None
            if tied is not None:
                value = tensors[tied]
                size, dtype = value.numel(), "float32"
            else:
                size, dtype = rng.choice((4, 4, 8, 9, 16, 30)), "float32"
                value = torch.nn.Parameter(torch.empty(size, device="meta"))
            module.register_parameter(name, value)
            if tied is None:
                parameters.append(len(tensors))
            tensors.append(value)
            lines.append(f"tensor p {name} {dtype} {size} {-1 if tied is None else tied}")
        for _ in range(rng.choice((0, 0, 0, 1, 2))):
            name = rng.choice(("mean", "mask"))
            if hasattr(module, name):
                continue
            size, dtype, kept = rng.choice((4, 8, 5)), rng.choice(TOY_DTYPES), rng.random() < 0.6
            module.register_buffer(name, torch.empty(size, device="meta", dtype=getattr(torch, dtype)), persistent=kept)
            tensors.append(module._buffers[name])
            lines.append(f"tensor {'b' if kept else 't'} {name} {dtype} {size} -1")

    def grow(module, depth, index):
        fill(module, depth)
        count = rng.choice((2, 3, 4, 6)) if depth == 0 else rng.choice((0, 0, 1, 2, 3)) if depth < 4 else 0
        for name in rng.sample(names, count):
            if hasattr(module, name):
                continue
            kind = rng.choice(tuple(KINDS))
            child = KINDS[kind]()
            module.add_module(name, child)
            modules.append(child)
            lines.append(f"module {index} {name} {kind}")
            grow(child, depth + 1, len(modules) - 1)

    root = Toy()
    modules.append(root)
    lines.append("module -1 . Toy")
    grow(root, 0, 0)
    return root, "\n".join(lines + ["end"])


def toys(ours, count, seed, golden_path):
    """Random models, each with a few random requests. What depends on the order of ties is no golden answer."""
    rng, golden = random.Random(seed), []
    counts = collections.Counter()
    for number in range(count):
        model, text = toy_model(rng)
        ours.ask(text)
        golden.append(text)
        for _ in range(8):
            width = rng.choice(("-", "float32", "float16", "int8", "int4", "fp8"))
            total = int(modeling.compute_module_sizes(model, dtype=DTYPES[width])[""])
            devices = rng.sample(("0", "1", "2", "3"), rng.choice((0, 1, 2, 2, 3))) + rng.choice(([], ["cpu"]))
            budgets = {name: rng.choice((0, total // 3, total // 2, rng.randrange(total + 2))) for name in devices}
            classes = rng.choice(("none", "Alpha", "Alpha,Beta", "Gamma,Delta,Nowhere"))
            flags = rng.choice(("-", "-", "f", "k", "fk", "b"))
            if not budgets:
                continue
            request = (rng.choice(STRATEGIES), width, classes, flags, budgets)
            paths = [path for path, _ in modeling.named_module_tensors(model, recurse=True)] + ["weight", "mean", "no.such"]
            if rng.random() < 0.3:
                request += ({path: rng.choice(tuple(DTYPES)[1:]) for path in rng.sample(paths, min(3, len(paths)))},)
            ordered = counts["ordered"]
            real, wrong = hold(ours, model, request, counts)
            counts[real.get("error", "maps")] += 1
            if not wrong and counts["ordered"] == ordered:
                golden.append(line_of(request) + " " + (real.get("error") or hash_of(real)))
            if wrong and counts["different"] <= 5:
                print(f"    toy {number} of seed {seed}\n{text}\nplan {line_of(request)}\n        {wrong}")
    if golden_path is not None:
        pathlib.Path(golden_path).write_text("\n".join(golden) + "\n")
    detail = ", ".join(f"{key} {value}" for key, value in sorted(counts.items()) if key not in ("equal", "different", "ordered"))
    print(f"{'DIFFERENT' if counts['different'] else 'equal'} {count} toys of seed {seed}: {counts['equal']} equal, "
          f"{counts['ordered']} of them with ties in registration order, {counts['different']} different ({detail})", flush=True)
    return counts["different"]


def model_job(job):
    """Both forms of one model: (counts, text, golden lines)."""
    program, turn, name = job
    ours, small = Ours(program), name.startswith("tiny-")
    total, lines, golden = collections.Counter(), [], []
    for head in ("bare", "lm"):
        model = real_model(name, head)
        answer = ours.ask(f"model {name} {head}")
        if "error" in answer:
            total["different"] += 1
            lines.append(f"DIFFERENT {name} {head}: {answer['text']}")
            continue
        counts, differences, answers = compare(ours, model, requests_of(model, small, turn))
        total += counts
        lines.append(f"{'DIFFERENT' if differences else 'equal'} {name} {head}: {counts['equal']} equal, "
                     f"{counts['different']} different, accelerate raised in {counts['raised']}")
        lines += differences[:6]
        if small or name in LARGE_IN_GOLDEN:
            golden += [f"model {name} {head}"] + (answers[turn % 4::4] if small else answers)
    ours.process.stdin.close()
    ours.process.wait()
    return total, lines, golden


def catalogue(program, names, golden_path, jobs):
    golden, total = [], collections.Counter()
    with multiprocessing.Pool(jobs) as pool:
        for counts, lines, answers in pool.imap(model_job, [(program, turn, name) for turn, name in enumerate(names)]):
            print("\n".join(lines), flush=True)
            total += counts
            golden += answers
    if golden_path is not None:
        pathlib.Path(golden_path).write_text("\n".join(golden) + "\n")
    ordered = f" ({total['ordered']} of them with ties in registration order)" if total["ordered"] else ""
    print(f"{total['equal']} equal{ordered}, {total['different']} different; accelerate raised in {total['raised']}")
    return total["different"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--golden")
    parser.add_argument("--toys", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("models", nargs="*")
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    modeling.logger.setLevel(logging.INFO)
    modeling.logger.propagate = False
    names = arguments.models or sorted(str(path.parent.relative_to(CATALOGUE)) for path in CATALOGUE.rglob("config.json"))
    print(f"torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}, timm {timm.__version__}, "
          f"accelerate {accelerate.__version__}", flush=True)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/answer_plans"
        subprocess.run(["cc", "-std=c11", "-O1", "-D_GNU_SOURCE", "-I.", "-o", program, "peers/placement/answer_plans.c",
                        "tests/placement/request_line.c", "build/libassay.a", "-ljansson", "-lyaml", "-lhwloc", "-ldl", "-lm",
                        "-pthread", "-fopenmp"], check=True)
        if arguments.toys > 0:
            ours = Ours(program)
            different = toys(ours, arguments.toys, arguments.seed, arguments.golden)
            ours.process.stdin.close()
            ours.process.wait()
        else:
            different = catalogue(program, names, arguments.golden, arguments.jobs)
    print(f"took {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
