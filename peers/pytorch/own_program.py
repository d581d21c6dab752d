"""What your own PyTorch program occupies, as lines that truth_records.py makes records of. Nothing else is in this file, so
copy it beside your program, or put the folder that it is installed in on PYTHONPATH.

    with own_program.Night("my-training", "lines.jsonl") as night:
        with night.case("my-model/train/bfloat16/b8"):
            step()

A case has the highest bytes of PyTorch's caching allocator within it, and what was allocated before it and still lives counts
too. A case that is out of memory, or that raises anything else, is a line that says so, and the exception goes on. The last
line is written when the night has ended without one, so that a program which dies is told to be cut short.
"""
import contextlib
import json
import subprocess
import time

import torch

LEVELS = ("requested_bytes", "allocated_bytes", "reserved_bytes")


def now_text():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def driver_text():
    """None where nvidia-smi does not say it: an unknown driver is held against none."""
    try:
        asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return None


class Night:
    """One run of the program: suite is what all its nights are called; the file at path is written anew."""

    def __init__(self, suite, path):
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        self.file = open(path, "w", encoding="utf-8")
        self.case_count = 0
        self.tell({"type": "run", "started": now_text(), "suite": {"name": suite}, "torch": str(torch.__version__),
                   "cuda": torch.version.cuda,
                   "device": {"name": properties.name, "capability": f"{properties.major}.{properties.minor}",
                              "total_bytes": properties.total_memory, "driver": driver_text()}})

    def tell(self, line):
        self.file.write(json.dumps(line, separators=(",", ":")) + "\n")
        self.file.flush()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None:
            self.tell({"type": "end", "finished": now_text(), "of": self.case_count})
        self.file.close()

    @contextlib.contextmanager
    def case(self, name, **identity):
        """What runs within it is one case. The cache of the case before is given back first, and is not in its peaks.
        identity: model, mode, precision, for those who group cases by them."""
        line = {"type": "case", "id": name, "identity": identity, "status": "ok", "error": None, "stages": {}}
        self.case_count += 1
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        began = time.monotonic()
        try:
            yield
            torch.cuda.synchronize()
            stats = torch.cuda.memory_stats()
            line["stages"] = {"step": {level + "_peak": stats[level + ".all.peak"] for level in LEVELS}}
        except BaseException as error:
            line["status"] = "oom" if isinstance(error, torch.cuda.OutOfMemoryError) else "error"
            line["error"] = f"{type(error).__name__}: {error}"[:300]
            raise
        finally:
            self.tell({**line, "seconds": round(time.monotonic() - began, 3)})
