"""A function in a process of its own, forked from this one: imports are paid once, contexts and crashes are its own."""
import json
import os
import select
import signal
import time
import traceback

PIPE_BYTES = 1 << 16


def in_child(function, timeout_seconds):
    """(verdict, lines): function(emit) runs in a forked child, and what it emitted arrives here, one by one.

    The verdict is "ok", "timeout" or "crash" (a signal, or an exception, whose traceback is printed). What was emitted
    before a timeout or a crash is kept. A line is anything that JSON can say.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        os._exit(run_child(function, writer))
    os.close(writer)
    text, timed_out = read_until(reader, time.monotonic() + timeout_seconds)
    if timed_out:
        os.kill(pid, signal.SIGKILL)
    os.close(reader)
    _, status = os.waitpid(pid, 0)
    lines = [json.loads(line) for line in text.split(b"\n")[:-1]]  # the last has no end, or is empty
    return ("timeout" if timed_out else "crash" if status != 0 else "ok"), lines


def run_child(function, writer):
    def emit(line):
        data = json.dumps(line).encode() + b"\n"
        while data:
            data = data[os.write(writer, data):]

    try:
        function(emit)
        return 0
    except BaseException:  # the parent is told by the exit status
        traceback.print_exc()
        return 1


def read_until(reader, end):
    """(bytes, whether the time was up before the child closed its end)."""
    chunks = []
    while True:
        left = end - time.monotonic()
        if left <= 0 or not select.select([reader], [], [], left)[0]:
            return b"".join(chunks), True
        chunk = os.read(reader, PIPE_BYTES)
        if not chunk:
            return b"".join(chunks), False
        chunks.append(chunk)
