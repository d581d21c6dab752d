#!/usr/bin/env python3
"""Asks `assay fit` about every case that was measured, with budgets from a byte below to twice of what it took.

usage: peers/published/fit_rate.py [--program build/assay] [--jobs N] [--write | --rows PATTERN]

A yes below the measurement is wrong: the program took more. A no above it is wrong too. What is left depends, and says
so: whoever always says that is never wrong, so that the page has how often yes and no are said where they are true, too.
The cases are those of figures.jsonl (predict.py writes it), and our own of PyTorch on GPUs under results/reference.
Without an option it prints the table; --write writes fit.jsonl and the section of docs/PUBLISHED.md. --rows prints the
answers of ids that have PATTERN.

Which budget is asked depends on what was measured: of tensors and segments no context is taken off; of a process the
published range of context and libraries; of NVML's growth since the context was there the context is added to the
budget; where pynvml counted the driver's part too, that is added.
"""
import argparse
import collections
import concurrent.futures
import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "docs" / "PUBLISHED.md"
BEGIN, END = "<!-- how often fit is wrong, made by fit_rate.py -->", "<!-- end of how often fit is wrong -->"

# What was measured -> (in words, what the overhead is, which likely ranges of `bounds` are added to the budget).
# No answer of fit is about less than segments: a budget of tensors is one that segments must not exceed either.
KINDS = {"allocated": ("tensors: allocated or active", "0B", ()), "active": ("tensors: allocated or active", "0B", ()),
         "reserved": ("segments: reserved", "0B", ()),
         "device-growth": ("device, without the context", "published", ("context",)),
         "device": ("device or process, as nvidia-smi shows it", "published", ()),
         "device-after": ("device, read after a pass", "published", ()),
         "device-process": ("device or process, as nvidia-smi shows it", "published", ()),
         "process": ("device or process, as nvidia-smi shows it", "published", ())}
# Sources whose program asked pynvml for the device: its `used` has the driver's part in it.
NVML_SOURCES = ("optimum-llama", "optimum-nvml")


# Budgets beside those that lie a byte below and above, in times of what was measured.
SHARES = (1.25, 1.5, 2.0)
BUDGETS = {"below": "one byte less", "above": "one byte more", "1.25": "25 % more", "1.5": "50 % more", "2.0": "twice as much"}


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def program_json(program, *words):
    run = subprocess.run([program, *words, "--json"], cwd=ROOT, capture_output=True, text=True)
    if run.returncode not in (0, 1, 3):
        raise SystemExit(f"{' '.join(words)}: exit code {run.returncode}\n{run.stderr}")
    return json.loads(run.stdout)


def planned(program, suite, gpu):
    """The cases of a suite by id: identity and bounds."""
    return {case["id"]: case for case in program_json(program, "plan", str(suite), "--on", gpu)["cases"]}


def published_questions(program):
    """A question for each figure that is compared at all."""
    plans, found = {}, []
    for figure in lines_of(HERE / "figures.jsonl"):
        if figure.get("predicted_bytes") is None or figure["quantity"] not in KINDS or figure["quality"] not in "AB":
            continue
        key = figure["suite"], figure["gpu"]
        if key not in plans:
            plans[key] = planned(program, Path("peers/published/suites") / f"{figure['suite']}.yaml", figure["gpu"])
        found.append({"id": figure["id"], "quantity": figure["quantity"], "gpu": figure["gpu"], "of": "others",
                      "quality": figure["quality"], "measured_bytes": figure["measured_bytes"], "case": plans[key].get(figure["case"])})
    return found


def measured_of(case):
    """What a line of truth.py measured: the highest of its stages."""
    stages = [stage for name, stage in case["stages"].items() if name != "context"]
    yield "allocated", max(stage["allocated_bytes_peak"] for stage in stages)
    yield "reserved", max(stage["reserved_bytes_peak"] for stage in stages)
    process = [stage["process_used_bytes"] for stage in stages]
    if None not in process:
        yield "process", max(process)


def own_questions(program):
    """Of each case that PyTorch ran on a GPU of ours, the first time it was run."""
    found = []
    for folder in sorted((ROOT / "results" / "reference").glob("nvidia-*/pytorch-*")):
        plans, seen = {}, set()
        for path in sorted(folder.glob("*.jsonl")):
            lines = lines_of(path)
            gpu = next((line["device"]["name"] for line in lines if line.get("type") == "run"), None)
            for case in lines:
                if case.get("type") != "case" or case.get("status") != "ok" or case["id"] in seen or gpu is None:
                    continue
                if not plans:
                    for suite in sorted((ROOT / "suites").glob("pytorch*.yaml")):
                        plans.update(planned(program, suite.relative_to(ROOT), gpu))
                seen.add(case["id"])
                for quantity, measured_bytes in measured_of(case):
                    found.append({"id": f"{folder.parent.name}/{case['id']}", "quantity": quantity, "gpu": gpu,
                                  "of": "ours", "quality": "A", "measured_bytes": measured_bytes, "case": plans.get(case["id"])})
    return found


def case_words(identity):
    """The options of a case; what says nothing about it is null in its identity."""
    words = [identity["model"]]
    for key, value in identity.items():
        if key != "model" and value is not None:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            words.append(f"--{key.replace('_', '-')}={text}")
    return words


def added_bytes(question):
    """What the budget gets beside the measurement, so that it is one of fit's."""
    parts = KINDS[question["quantity"]][2]
    bounds = question["case"]["bounds"]
    driver = question["id"].split("/")[0] in NVML_SOURCES and question["quantity"].startswith("device")
    return sum(bounds[part]["likely_bytes"] for part in parts) - (bounds["driver"]["likely_bytes"] if driver else 0)


def fit_words(question, memory_bytes):
    overhead = KINDS[question["quantity"]][1]
    return [*case_words(question["case"]["identity"]), "--memory", f"{memory_bytes}B", "--overhead", overhead, "--for",
            question["gpu"]]


def answer(program, words):
    document = program_json(program, "fit", *words)
    return document["answer"], document["left_beside_allocated_high_bytes"] is not None


def asked(program, question):
    """The question with its answers below and above, or without where it has no case or no bounds."""
    row = {key: question[key] for key in ("id", "quantity", "gpu", "of", "quality", "measured_bytes")}
    if question["case"] is None or question["case"].get("bounds") is None:
        return None
    budget = question["measured_bytes"] + added_bytes(question)
    row["words"] = fit_words(question, budget - 1)
    row["below"], row["gives_back"] = answer(program, row["words"])
    row["above"], _ = answer(program, fit_words(question, budget + 1))
    row["at"] = {}
    for share in SHARES:
        said, gives_back = answer(program, fit_words(question, round(share * question["measured_bytes"]) + added_bytes(question)))
        row["at"][str(share)] = "yes, giving back" if said == "yes" and gives_back else said
    return row


def wrong_of(row):
    """Which answers of a row are wrong. A yes that counts on cached segments is none that segments without a bound could
    refute, but tensors do; a no above what tensors take is none, because segments take more."""
    tensors = row["quantity"] in ("allocated", "active")
    return {"yes": row["below"] == "yes" and (tensors or not row["gives_back"]),
            "no": row["above"] == "no" and not tensors}


def said_of(row, budget):
    """The answer at a budget, and whether it is wrong."""
    if budget in row["at"]:
        said = row["at"][budget]
    else:
        said = "yes, giving back" if budget == "below" and row["below"] == "yes" and row["gives_back"] else row[budget]
    tensors = row["quantity"] in ("allocated", "active")
    if budget == "below":
        return said, said == "yes" or (said.startswith("yes") and tensors)
    return said, said == "no" and not tensors


WHOSE = {("others", "A"): "others, all of the case is known", ("others", "B"): "others, one thing is open",
         ("ours", "A"): "us, of PyTorch"}


def counts_by(rows, key_of):
    found = collections.defaultdict(collections.Counter)
    for row in rows:
        wrong = wrong_of(row)
        found[key_of(row)].update({"rows": 1, "wrong yes": wrong["yes"], "wrong no": wrong["no"],
                                   "gives back": row["below"] == "yes" and not wrong["yes"],
                                   "depends": row["below"] == "depends" or row["above"] == "depends"})
    return found


def table_lines(rows):
    found = counts_by(rows, lambda row: (row["of"], row["quality"], KINDS[row["quantity"]][0]))
    lines = ["| measured by | what | figures | wrong yes | wrong no | depends | yes by giving back |",
             "| --- | --- | ---: | ---: | ---: | ---: | ---: |"]
    for of, quality, what in sorted(found, key=lambda key: (key[1], key[0], key[2])):
        counts = found[of, quality, what]
        lines.append(f"| {WHOSE[of, quality]} | {what} | {counts['rows']} | {counts['wrong yes']} | {counts['wrong no']} | "
                     f"{counts['depends']} | {counts['gives back']} |")
    return lines


def budget_counts(rows, quality):
    """By budget: how often each answer was given, of the figures of a quality."""
    found = {}
    for budget in BUDGETS:
        counts = found[budget] = collections.Counter()
        for row in rows:
            if row["quality"] == quality:
                said, wrong = said_of(row, budget)
                counts.update({"rows": 1, said.split(",")[0]: 1, "back": said == "yes, giving back",
                               "wrong yes": wrong and said.startswith("yes"), "wrong no": wrong and said == "no"})
    return found


def budget_lines(rows):
    lines = ["| all of the case is known; memory | yes | of these by giving back | depends | no | wrong yes | wrong no |",
             "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for budget, counts in budget_counts(rows, "A").items():
        back = "-" if budget == "above" else counts["back"]
        lines.append(f"| {BUDGETS[budget]} | {counts['yes']} | {back} | {counts['depends']} | {counts['no']} | "
                     f"{counts['wrong yes']} | {counts['wrong no']} |")
    return lines


def percent(part, whole):
    return f"{part} of {whole} ({100.0 * part / max(whole, 1):.0f} %)"


def rate_words(rows, quality):
    """The wrong ones of the yeses with a byte less, and what was said instead."""
    counts = budget_counts(rows, quality)["below"]
    return (f"{counts['wrong yes']} of {counts['yes']} yeses {'was' if counts['wrong yes'] == 1 else 'were'} wrong, beside "
            f"{counts['depends']} depends and {counts['no']} no")


def power_words(rows, quality):
    """How often yes is said where it is true."""
    found = budget_counts(rows, quality)
    return ", ".join(f"with {BUDGETS[budget]} {percent(found[budget]['yes'], found[budget]['rows'])}"
                     for budget in ("above", "1.25", "1.5", "2.0"))


def section(rows):
    wrong = collections.Counter(row["id"].rsplit("/", 1)[0] for row in rows if wrong_of(row)["yes"])
    back = budget_counts(rows, "A")["below"]["back"]
    text = [BEGIN, "## How often `assay fit` is wrong", "",
            f"`fit` was asked about each of {len(rows)} measured figures with one byte less memory than the program took, with one more, and "
            "with up to twice of it. A yes with less is wrong, and so is a no with more. A budget is seldom as near as a byte, so these are the "
            f"hardest questions there are. With one byte less **{rate_words(rows, 'A')} where all of the case is known**; "
            f"{rate_words(rows, 'B')} where the source leaves one thing open, so that the case is partly guessed.", "",
            "Whoever always says depends is never wrong either. What a yes is worth is how often it is said where it is true: where all of "
            f"the case is known, {power_words(rows, 'A')}; where one thing is open, {power_words(rows, 'B')}.", "",
            *budget_lines(rows), "",
            f"A yes that counts on segments which the allocator gives back is not refuted by a program that took more when nobody stopped "
            f"it, nor is it confirmed: all such yeses with a byte less ({back} where all of the case is known) are excused by that alone. "
            "A no above what tensors took is right if segments need more, and is not counted. With one byte less and one more, by what was "
            "measured:", "", *table_lines(rows), ""]
    if wrong:
        text += ["A wrong yes, by source; the causes stand in the table of figures beyond 5 %: " +
                 ", ".join(f"{name} {count}" for name, count in sorted(wrong.items())) + ".", ""]
    text += ["`peers/published/fit_rate.py` asks; a test asks some of it again.", END]
    return "\n".join(text)


def page_write(rows):
    """Where predict.py puts it too: before the sources."""
    page = PAGE.read_text()
    text = section(rows)
    before = "## By source and mode\n"
    whole = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.S)
    PAGE.write_text(whole.sub(lambda _: text, page, count=1) if whole.search(page)
                    else page.replace(before, text + "\n\n" + before, 1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="build/assay")
    parser.add_argument("--jobs", type=int, default=2)
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--write", action="store_true")
    group.add_argument("--rows")
    options = parser.parse_args()
    questions = published_questions(options.program) + own_questions(options.program)
    if options.rows is not None:
        questions = [question for question in questions if options.rows in question["id"]]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        rows = [row for row in pool.map(lambda one: asked(options.program, one), questions) if row is not None]
    if options.rows is not None:
        for row in rows:
            print(json.dumps(row))
    elif options.write:
        (HERE / "fit.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        page_write(rows)
    else:
        print("\n".join(table_lines(rows)))
        for row in rows:
            if any(wrong_of(row).values()):
                print(f"{row['id']} {row['quantity']}: below {row['below']}, above {row['above']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
