#!/usr/bin/env python3
"""A memory snapshot of PyTorch (a pickle) as JSON, for `assay replay`. Needs no torch.

    python3 peers/pytorch/snapshot_to_json.py SNAPSHOT.pickle > snapshot.json

Stack frames are left out. A pickle may name code to run; one that names anything at all is refused, because what
torch.cuda.memory._dump_snapshot writes holds lists, dictionaries, numbers and text only.
"""
import json
import pickle
import sys

# What assay reads, and what says which rules were in force.
SEGMENT = ("device", "address", "total_size", "allocated_size", "active_size", "requested_size", "stream",
           "segment_type", "segment_pool_id", "is_expandable")
ENTRY = ("action", "addr", "size", "stream", "pool_id", "segment_pool_id", "device_free")


class PlainUnpickler(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"it names {module}.{name}; a memory snapshot has no classes")


def only(entry, keys):
    return {key: entry[key] for key in keys if key in entry}


def snapshot_read(path):
    """The object that the pickle holds; exits with the reason where it is none of PyTorch's snapshots."""
    try:
        with open(path, "rb") as source:
            snapshot = PlainUnpickler(source).load()
        if isinstance(snapshot["segments"], list) and isinstance(snapshot["device_traces"], list):
            return snapshot
        reason = "no lists of segments and of traces"
    except (OSError, EOFError, KeyError, TypeError, ValueError, IndexError, pickle.UnpicklingError) as error:
        reason = repr(error)
    sys.exit(f"{path}: not a memory snapshot: {reason}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    snapshot = snapshot_read(sys.argv[1])
    json.dump({"segments": [only(segment, SEGMENT) for segment in snapshot["segments"]],
               "device_traces": [[only(entry, ENTRY) for entry in trace] for trace in snapshot["device_traces"]],
               "allocator_settings": snapshot.get("allocator_settings")}, sys.stdout, separators=(",", ":"))
    print()


if __name__ == "__main__":
    main()
