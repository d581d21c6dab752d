#!/usr/bin/env python3
"""Allocation histories that others recorded on their GPUs and published, through our allocator: one JSON line each.

    python3 peers/pytorch/histories.py --clones FOLDER [--list histories.jsonl] [--assay build/assay] > histories.jsonl

The list says where a history lies: repository (OWNER/NAME on GitHub), commit, path. FOLDER holds clones, bare or not, as
OWNER+NAME. The histories themselves are not ours to copy; what is kept is where they are, a checksum, and how many
placements, segments and sums our allocator has equal. Exits 1 when any differs.
"""
import argparse
import collections
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time

from snapshot_complete import complete
from snapshot_to_json import snapshot_read

WORKSPACES = re.compile("getNewWorkspace|gemm_and_bias")


def file_of(clones, row):
    """The bytes of a path at a commit."""
    folder = os.path.join(clones, row["repository"].replace("/", "+"))
    for inner in ("", "repo", "repo/.git"):
        done = subprocess.run(["git", "-C", os.path.join(folder, inner), "show", f"{row['commit']}:{row['path']}"],
                              capture_output=True, check=False) if os.path.isdir(os.path.join(folder, inner)) else None
        if done is not None and done.returncode == 0:
            return done.stdout
    sys.exit(f"{row['repository']} at {row['commit']} is not under {clones}")


def workspaces_of(snapshot):
    """[bytes, who took it, whether on the autograd engine's thread, how often] of cuBLAS and cuBLASLt, by the stacks."""
    counts = collections.Counter()
    for entry in next(trace for trace in snapshot["device_traces"] if trace):
        names = [frame["name"] for frame in entry.get("frames", ())] if entry["action"] == "alloc" else []
        found = WORKSPACES.search(" ".join(names))
        if found:
            counts[entry["size"], found.group(), any("autograd::Engine" in name for name in names)] += 1
    return [[*kind, count] for kind, count in counts.items()]


def judged(row, clones, assay, folder):
    data = file_of(clones, row)
    path = os.path.join(folder, "history")
    with open(path, "wb") as sink:
        sink.write(data)
    snapshot = snapshot_read(path)
    trace = complete(snapshot)
    with open(path + ".json", "w", encoding="utf-8") as sink:
        json.dump(trace, sink)
    done = subprocess.run([assay, "replay", path + ".json", "--json"], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{row['path']}: {done.stderr.strip()}")
    verdict = json.loads(done.stdout)["pytorch"]
    begin = next((entry.get("time_us") for t in snapshot["device_traces"] for entry in t), None)
    return {**{key: row[key] for key in ("repository", "commit", "path")},
            "sha256": hashlib.sha256(data).hexdigest(),
            "recorded_on": time.strftime("%Y-%m-%d", time.gmtime(begin / 1e6)) if begin else None,
            **trace["about"], "equal": verdict["equal"],
            **{f"{kind}_{count}": verdict[kind][count] for kind in ("figures", "placements", "segments")
               for count in ("count", "unequal_count")}, "workspaces": workspaces_of(snapshot)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", required=True)
    parser.add_argument("--list", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "histories.jsonl"))
    parser.add_argument("--assay", default="build/assay")
    options = parser.parse_args()
    with open(options.list, encoding="utf-8") as source:
        rows = [json.loads(text) for text in source]
    with tempfile.TemporaryDirectory() as folder:
        lines = [judged(row, options.clones, options.assay, folder) for row in rows]
    for line in lines:
        print(json.dumps(line))
    return 0 if all(line["equal"] for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
