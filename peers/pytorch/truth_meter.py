"""What a device says of its memory: the caching allocator's counters, the driver's, and every allocation in order.

Two meters with the same functions: CudaMeter reads; NoMeter stands for a device without counters (the CPU, in a
rehearsal) and answers null everywhere, never 0.
"""
import gc
import json
import os
import sys

import torch

from fresh_process import in_child
from whole_file import whole_file_write

COUNTERS = ("requested_bytes", "allocated_bytes", "active_bytes", "reserved_bytes", "inactive_split_bytes")
HISTORY_ENTRIES = 4_000_000
DEVICE_SECONDS = 120
# PyTorch's word for an event, and ours in a trace. "free_requested" is left out: the block is reusable at "completed".
VERBS = {"alloc": "malloc", "free_completed": "free", "segment_alloc": "segment", "segment_free": "segment_free"}


def history_begin():
    """From here on the allocator notes every event; what it had noted before is forgotten."""
    torch.cuda.memory._record_memory_history(context=None, stacks="python", clear_history=True,
                                             max_entries=HISTORY_ENTRIES)


def history_entries():
    """What the allocator has noted of memory, oldest first."""
    device = torch.cuda.current_device()
    traces = torch.cuda.memory._snapshot()["device_traces"]
    return [entry for entry in (traces[device] if device < len(traces) else ()) if entry["action"] != "snapshot"]


class Nvml:
    """The driver's view of one process; every reading may be None (no library, or a container that hides it)."""

    def __init__(self):
        try:
            import pynvml
            pynvml.nvmlInit()
            uuid = str(torch.cuda.get_device_properties(0).uuid)
            self.library = pynvml
            self.handle = pynvml.nvmlDeviceGetHandleByUUID(uuid if uuid.startswith("GPU-") else "GPU-" + uuid)
        except Exception:  # whatever is missing: the reading is null and the case goes on
            self.library = None

    def read(self, function):
        try:
            return function(self.library, self.handle) if self.library is not None else None
        except Exception:
            return None

    def process_bytes(self):
        def mine(library, handle):
            sizes = [p.usedGpuMemory for p in library.nvmlDeviceGetComputeRunningProcesses(handle)
                     if p.pid == os.getpid()]
            return sizes[0] or None if sizes else None  # some drivers say 0 in a container
        return self.read(mine)

    def foreign_process_count(self):
        """Others on the device make its used bytes meaningless. None where the driver does not show our own number,
        because then the others' numbers mean nothing either (containers)."""
        def others(library, handle):
            numbers = [process.pid for process in library.nvmlDeviceGetComputeRunningProcesses(handle)]
            return len(numbers) - 1 if os.getpid() in numbers else None
        return self.read(others)

    def driver(self):
        version = self.read(lambda library, handle: library.nvmlSystemGetDriverVersion())
        return version.decode() if isinstance(version, bytes) else version


class CudaMeter:
    name = "cuda"

    def __init__(self, traced=False, shared=False):
        """shared: other processes use the device at the same time, so its used bytes are not told."""
        self.shared = shared
        torch.cuda.init()
        torch.cuda.mem_get_info()  # makes the context
        self.nvml = Nvml()
        self.marks = [] if traced else None
        if traced:
            history_begin()

    def synchronize(self):
        torch.cuda.synchronize()

    def mark(self, event):
        if self.marks is not None:
            self.marks.append((len(history_entries()), event))

    def reset_peaks(self):
        torch.cuda.reset_peak_memory_stats()
        self.mark(["reset_peaks"])

    def counters(self, stage):
        torch.cuda.synchronize()
        stats = torch.cuda.memory_stats()
        free_bytes, total_bytes = torch.cuda.mem_get_info()
        row = {}
        for name in COUNTERS:
            row[name] = stats.get(name + ".all.current")
            row[name + "_peak"] = stats.get(name + ".all.peak")
        self.mark(["counters", {"stage": stage, **{name: row[name] for name in row
                                                   if name.startswith(("requested", "allocated", "reserved"))}}])
        row["segment_count"] = stats.get("segment.all.current")
        row["alloc_retry_count"] = stats.get("num_alloc_retries")
        row["device_used_bytes"] = None if self.shared else total_bytes - free_bytes
        row["process_used_bytes"] = self.nvml.process_bytes()
        return row

    def workspace_bytes(self):
        """What cuBLAS keeps from the allocator; given back by the question, so it is the last one of a case."""
        torch.cuda.synchronize()
        gc.collect()
        before = torch.cuda.memory_allocated()
        torch._C._cuda_clearCublasWorkspaces()
        return before - torch.cuda.memory_allocated()

    def device(self):
        properties = torch.cuda.get_device_properties(0)
        return {"name": properties.name, "capability": f"{properties.major}.{properties.minor}",
                "multiprocessor_count": properties.multi_processor_count, "total_bytes": properties.total_memory,
                "driver": self.nvml.driver(), "cudnn": torch.backends.cudnn.version(),
                "foreign_process_count": self.foreign_process_count()}

    def foreign_process_count(self):
        return self.nvml.foreign_process_count()

    def trace_save(self, path, identity):
        """The trace in the form that `assay replay` reads; addresses begin at the lowest segment.

        Returns None, or why the history cannot be said in that form; it is then kept as PyTorch gave it.
        """
        entries = history_entries()
        unknown = {entry["action"] for entry in entries} - {*VERBS, "free_requested"}
        streams = {entry["stream"] for entry in entries}
        if unknown or len(streams) > 1:
            whole_file_write(path, json.dumps({"device_traces": [entries]}, separators=(",", ":")))
            return f"events {sorted(unknown)} on {len(streams)} streams cannot be said in a trace; kept as recorded"
        base = min((e["addr"] for e in entries if e["action"] == "segment_alloc"), default=0)
        events, marks = [], list(self.marks)
        for place in range(len(entries) + 1):
            while marks and marks[0][0] == place:
                events.append(marks.pop(0)[1])
            if place < len(entries) and entries[place]["action"] in VERBS:
                entry = entries[place]
                with_size = entry["action"] in ("alloc", "segment_alloc")
                events.append([VERBS[entry["action"]], entry["addr"] - base] + [entry["size"]] * with_size)
        rows = ",\n".join(json.dumps(event, separators=(",", ":")) for event in events)
        whole_file_write(path, '{"about": ' + json.dumps(identity) + ', "events": [\n' + rows + "\n]}\n")
        return None


class NoMeter:
    name = "cpu"
    marks = None

    def synchronize(self):
        pass

    def reset_peaks(self):
        pass

    def counters(self, stage):
        names = [name + peak for name in COUNTERS for peak in ("", "_peak")]
        return dict.fromkeys([*names, "segment_count", "alloc_retry_count", "device_used_bytes", "process_used_bytes"])

    def workspace_bytes(self):
        return None

    def foreign_process_count(self):
        return None

    def device(self):
        return {"name": "CPU (a rehearsal: no counter is read)"}


def device_ask(name):
    """What the device is, or None where there is none; asked in a child, because it begins CUDA. Exits with 1 where
    children could not use CUDA, or where the asking itself breaks."""
    def answer(emit):
        if name != "cuda":
            emit(NoMeter().device())
        elif torch.cuda.is_available():
            emit(CudaMeter().device())

    if torch.cuda.is_initialized():
        sys.exit("an import has begun CUDA in this process; the children that measure would fail")
    verdict, devices = in_child(answer, DEVICE_SECONDS)
    if verdict != "ok":
        sys.exit(f"asking the device ended in a {verdict}")
    return devices[0] if devices else None
