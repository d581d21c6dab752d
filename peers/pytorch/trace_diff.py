#!/usr/bin/env python3
"""What PyTorch's allocator was asked for beside what the tape of the same case asks for, event by event.

    python3 peers/pytorch/trace_diff.py TRACE... [--lines FILE...] [--hunks 10] [--passes N] [--around 3] [--ops] [--strict]

TRACE is a file of `truth.py --traces` or `programs.py --traces`; the case's identity is looked up in the lines (default: *.jsonl in the folder above the
trace's). Both are lists of sizes taken and given back; they are aligned so that as few events as possible are left over,
and each run of leftovers is printed with the events around it, with our tensors' names: `theirs` is what only PyTorch
did, `ours` what only the tape did. Runs that repeat (one for each layer) are printed once, with their number. What is
given back between two requests is put in order of size, because the allocator is the same behind any order of it (and
autocast's cache is a hash table, whose order nobody can tell); --strict leaves it as it was. Addresses are left out: which
block the allocator gives is what `assay replay TRACE` compares.

The tape has fewer passes than truth.py runs (two of inference, three steps of training), so as many passes of the trace
are compared. The first line of a case says how many events each side has and how many are left over. Needs a built
build/libassay.a and a C compiler (tape_export.c); no PyTorch, no GPU. Exit code 1 where anything is left over.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

LEFT_MAXIMUM = 2000
SOURCES = ("peers/pytorch/tape_export.c", "tests/models/program_lines.c", "tests/models/shadow_lines.c", "tests/support/modelled.c")


def export_program(folder):
    program = os.path.join(folder, "tape_export")
    subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-I.", "-O1", "-o", program, *SOURCES, "build/libassay.a",
                    "-lcmocka", "-ljansson", "-lyaml", "-lhwloc", "-ldl", "-lm", "-pthread", "-fopenmp"], check=True)
    return program


class Event:
    """key: what is compared. Bytes taken are positive, given back negative. taken: of a free of PyTorch's, the malloc."""

    def __init__(self, key, text, index, taken=None):
        self.key, self.text, self.index, self.taken, self.ops = key, text, index, taken, []


def tape_events(program, identity, target):
    """Events in order; operations go into the text of the next event."""
    out = subprocess.run([program, json.dumps(identity), target], check=True, stdout=subprocess.PIPE, text=True).stdout
    events, sizes, names, ops, stages = [], {}, {}, [], []
    for number, line in enumerate(out.splitlines()):
        row = json.loads(line)
        if row[0] == "run":
            ops.append(row[1])
            continue
        if row[0] == "stage":
            stages.append((len(events), row[1]))
            continue
        if row[0] == "alloc":
            sizes[row[1]] = row[2]
            names[row[1]] = (row[4] + ": " if row[4] and not row[3].startswith(row[4]) else "") + row[3]
        sign = 1 if row[0] == "alloc" else -1
        event = Event(sign * sizes[row[1]], names[row[1]], number)
        event.ops, ops = ops, []
        events.append(event)
    return events, stages


def trace_events(document):
    """Events in order; where the peaks were reset, which begins a stage; and where each stage ended: (place, name)."""
    events, sizes, taken, resets, ends = [], {}, {}, [], []
    for number, row in enumerate(document["events"]):
        if row[0] == "malloc":
            sizes[row[1]], taken[row[1]] = row[2], Event(row[2], "", number)
            events.append(taken[row[1]])
        elif row[0] == "free":
            events.append(Event(-sizes[row[1]], "", number, taken[row[1]]))
        elif row[0] == "reset_peaks":
            resets.append(len(events))
        elif row[0] == "counters":
            ends.append((len(events), row[1]["stage"]))
    return events, resets, ends


def align(a, b):
    """Pairs (i, j) of equal keys in order, with as few left over as there can be (Myers' greedy search). Where more than
    LEFT_MAXIMUM are left over, which would take minutes, the pairs are those of the common beginning alone."""
    n, m = len(a), len(b)
    frontier, history = {1: 0}, []
    for depth in range(min(n + m, LEFT_MAXIMUM) + 1):
        history.append(dict(frontier))
        for k in range(-depth, depth + 1, 2):
            down = k == -depth or (k != depth and frontier.get(k - 1, -1) < frontier.get(k + 1, -1))
            x = frontier.get(k + 1, 0) if down else frontier.get(k - 1, 0) + 1
            y = x - k
            while x < n and y < m and a[x] == b[y]:
                x, y = x + 1, y + 1
            frontier[k] = x
            if x >= n and y >= m:
                return backtrack(history, n, m)
    equal = 0
    while equal < min(n, m) and a[equal] == b[equal]:
        equal += 1
    return [(i, i) for i in range(equal)]


def backtrack(history, x, y):
    pairs = []
    for depth in range(len(history) - 1, -1, -1):
        frontier, k = history[depth], x - y
        down = k == -depth or (k != depth and frontier.get(k - 1, -1) < frontier.get(k + 1, -1))
        before = k + 1 if down else k - 1
        before_x = frontier.get(before, 0)
        before_y = before_x - before
        while x > max(before_x, 0) and y > max(before_y, 0) and (x, y) != (before_x, before_y):
            start_x, start_y = (before_x, before_y + 1) if down else (before_x + 1, before_y)
            if x <= start_x and y <= start_y:
                break
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = before_x, before_y
    return pairs[::-1]


def releases_sorted(events):
    """What stands between two requests in order of size."""
    ordered, run = [], []
    for event in events:
        if event.key < 0:
            run.append(event)
            continue
        ordered += sorted(run, key=lambda free: free.key) + [event]
        run = []
    return ordered + sorted(run, key=lambda free: free.key)


def hunks_of(pairs, n, m):
    """(first, end) of what is left over on each side between two pairs."""
    hunks, i, j = [], 0, 0
    for x, y in [*pairs, (n, m)]:
        if x > i or y > j:
            hunks.append((i, x, j, y))
        i, j = x + 1, y + 1
    return hunks


def at(marks, position):
    name = ""
    for where, what in marks:
        if where <= position:
            name = what
    return name


def event_line(kind, event, show_ops=False):
    """A free of PyTorch's has the name of the tensor that was aligned with its malloc."""
    ops = f"   [{', '.join(event.ops)}]" if show_ops and event.ops else ""
    text = event.text if event.taken is None else event.taken.text or f"of event {event.taken.index}"
    return f"    {kind:<7}{event.index:>7}  {event.key:>+14,d}  {text}{ops}"


def hunk_print(hunk, theirs, ours, options):
    i, x, j, y = hunk
    for back in range(options.around, 0, -1):
        if j - back >= 0:
            print(event_line("both", ours[j - back], options.ops))
    for event in theirs[i:x]:
        print(event_line("theirs", event))
    for event in ours[j:y]:
        print(event_line("ours", event, options.ops))
    for event in ours[y:y + options.around]:
        print(event_line("both", event, options.ops))


def compare(name, theirs, ours, stages, options):
    if not options.strict:
        theirs, ours = releases_sorted(theirs), releases_sorted(ours)
    pairs = align([event.key for event in theirs], [event.key for event in ours])
    hunks = hunks_of(pairs, len(theirs), len(ours))
    for x, y in pairs:
        theirs[x].text = ours[y].text
    left = len(theirs) + len(ours) - 2 * len(pairs)
    print(f"{name}: PyTorch {len(theirs)} events, ours {len(ours)}; left over {len(theirs) - len(pairs)} and "
          f"{len(ours) - len(pairs)}, in {len(hunks)} places")
    kinds = {}
    for hunk in hunks:
        i, x, j, y = hunk
        # Around it too: the same sizes at another place of the model are another thing.
        sign = (tuple(event.key for event in theirs[i:x]), tuple(event.key for event in ours[j:y]),
                ours[j - 1].key if j > 0 else 0)
        kinds.setdefault(sign, []).append(hunk)
    for number, same in enumerate(list(kinds.values())[:options.hunks]):
        print(f"  {number + 1}. {at(stages, same[0][2])}, {len(same)} x")
        hunk_print(same[0], theirs, ours, options)
    if len(kinds) > options.hunks:
        print(f"  and {len(kinds) - options.hunks} more kinds")
    return left


def cut(events, resets, count):
    """Up to the end of so many stages: where the next one begins."""
    return events[:resets[count]] if 0 <= count < len(resets) else events


def program_cut(events, resets, ends, count):
    """Of a program: up to the end of so many steps; of inference, up to the end of so many passes, of which only the first
    one's end is told."""
    steps = [place for place, stage in ends if stage == "step"]
    if steps:
        return events[:steps[min(count, len(steps)) - 1]]
    first = next(place for place, stage in ends if stage == "forward_first")
    return events[:[place for place in resets if place > first][count - 1]]


def as_run(row):
    """The identity, with what the loop did that measured the line: a line that says nothing of it is of a loop that neither
    scaled its loss nor divided it (truth_plan.py). A line of a program is its own identity."""
    if "program" in row:
        return {name: value for name, value in row.items() if name != "stages"}
    habits = {"grad_scaler": "none", "accumulated_loss": "whole"} if row["identity"]["mode"] == "train" else {}
    habits.update({name: row[name] for name in habits if name in row})
    return {**row["identity"], **habits}


def identity_of(case_id, files):
    for path in files:
        with open(path) as lines:
            for line in lines:
                if case_id in line:
                    row = json.loads(line)
                    if row.get("id") == case_id:
                        return as_run(row)
    raise SystemExit(f"trace_diff.py: no line of {', '.join(files)} has the case {case_id}; name its file by --lines")


def trace_compare(path, program, options):
    with open(path) as source:
        document = json.load(source)
    case_id = document["about"]["id"]
    files = options.lines or sorted(glob.glob(os.path.join(os.path.dirname(path) or ".", "..", "*.jsonl")))
    identity = identity_of(case_id, files)
    ours, stages = tape_events(program, identity, options.target)
    theirs, resets, ends = trace_events(document)
    stages_of_pass = 1 if identity["mode"] == "infer" else 2 * int(identity.get("accumulate") or 1) + 1
    passes = options.passes or (2 if identity["mode"] == "infer" else 3)
    if "program" in identity:
        theirs = program_cut(theirs, resets, ends, passes)
    else:
        theirs = cut(theirs, resets, passes * stages_of_pass)
    for side in (theirs, ours):  # the loop lets go of the last output or of gradients; the tape ends with them
        while side and side[-1].key < 0:
            side.pop()
    return compare(case_id, theirs, ours, stages, options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", metavar="TRACE")
    parser.add_argument("--lines", nargs="+", help="files of truth.py with the identities of the cases")
    parser.add_argument("--target", default="sm_90")
    parser.add_argument("--hunks", type=int, default=10, help="kinds of differences that are printed")
    parser.add_argument("--around", type=int, default=3, help="events that both have, printed around a difference")
    parser.add_argument("--passes", type=int, help="passes of the trace that are compared")
    parser.add_argument("--ops", action="store_true", help="operations of ours that ran before each event")
    parser.add_argument("--strict", action="store_true", help="compare the order of releases too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = export_program(folder)
        left = sum(trace_compare(path, program, options) for path in options.traces)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
