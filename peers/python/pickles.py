#!/usr/bin/env python3
"""Writes pickles of plain data in the protocols 2 to 5, and what is in them as JSON, for tests/base/test_pickle.c.
usage: pickles.py FOLDER   (run with Python 3.11.7; the folder beside this file has what it wrote)

The snapshot is tests/memory/vectors/record-snapshot.json with tuples, where torch.cuda.memory._snapshot() has them."""

import json
import pickle
import pickletools
import sys
from pathlib import Path


def plain():
    shared = {"name": "a frame", "line": 7}
    return {
        "none": None, "true": True, "false": False,
        "integers": [0, 1, 255, 256, 65535, 65536, -1, -128, 2**31 - 1, 2**31, -2**31 - 1, 2**63 - 1, -2**63],
        "reals": [0.5, -1.25, 1e300], "text": "\u00e4\u4e2d\U0001f600", "long text": "x" * 300, "empty": "",
        "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)], "nested": [[[[{}]]], {"a": {"b": [1]}}],
        "shared": [shared, shared], "many": list(range(1500)), "members": {str(i): i for i in range(1200)},
        "numbered": {7: "seven", -1: "below"}, "set": {5}, "frozen": frozenset([6]), "bytes": b"\x00\xff",
    }


def as_json(value):
    """What assay makes of it: tuples and sets are arrays, keys are texts, bytes are null."""
    if isinstance(value, dict):
        return {str(key): as_json(member) for key, member in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [as_json(element) for element in value]
    return None if isinstance(value, (bytes, bytearray)) else value


def with_tuples(value):
    if isinstance(value, dict):
        return {key: tuple(member) if key.endswith("pool_id") else with_tuples(member) for key, member in value.items()}
    return [with_tuples(element) for element in value] if isinstance(value, list) else value


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    root = Path(__file__).resolve().parent.parent.parent
    snapshot = json.loads((root / "tests/memory/vectors/record-snapshot.json").read_text())
    data = plain()
    (folder / "plain.json").write_text(json.dumps(as_json(data)) + "\n")
    for protocol in range(2, 6):
        value = dict(data, set=[5], frozen=[6], bytes=None) if protocol < 4 else data  # older ones call functions
        (folder / f"plain-{protocol}.pickle").write_bytes(pickle.dumps(value, protocol))
        (folder / f"snapshot-{protocol}.pickle").write_bytes(pickle.dumps(with_tuples(snapshot), protocol))
    (folder / "plain-slow.pickle").write_bytes(pickletools.optimize(pickle._dumps(data, 4)))


main()
