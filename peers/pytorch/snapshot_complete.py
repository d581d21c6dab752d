#!/usr/bin/env python3
"""A memory snapshot of PyTorch whose history began late, made whole for `assay replay`.

    python3 peers/pytorch/snapshot_complete.py SNAPSHOT.pickle > trace.json

Histories that people publish mostly begin when a model is loaded already. What lay where at that moment follows from
the snapshot's end, walked backwards: which blocks were live, of which size. The trace that is written first brings an
allocator into that state (segments, live blocks, gaps), then has the recorded events as they are, then PyTorch's sums.
Its "about" says how many events are of the first part; only what comes after them is PyTorch's word.

Of a block that was live at the begin and freed later the record says what was requested, not what was given. Up to 1 MiB
requested that is the same, rounded to 512; above, a rest of at most 1 MiB up to the next block is taken as given too,
because PyTorch does not split off so little. One stream, no expandable segments.
"""
import bisect
import json
import sys

from snapshot_to_json import snapshot_read

UNIT, SMALL, LARGE_SEGMENT, STEP = 512, 1 << 20, 20 << 20, 2 << 20
VERBS = {"alloc": "malloc", "free_completed": "free", "segment_alloc": "segment", "segment_free": "segment_free"}
UNKNOWN = None


def rounded(size):
    return max(UNIT, -(-size // UNIT) * UNIT)


class Layout:
    """Segments {address: bytes} and live blocks {address: [bytes or UNKNOWN, requested, largest possible bytes]}."""

    def __init__(self, segments):
        self.segments = {segment["address"]: segment["total_size"] for segment in segments}
        self.starts = sorted(self.segments)
        self.live, self.order = {}, []
        for segment in segments:
            for block in segment["blocks"]:
                if block["state"] != "inactive":
                    self.add(block["address"], block["size"], block["requested_size"])

    def end_of(self, address):
        start = self.starts[bisect.bisect_right(self.starts, address) - 1]
        return start + self.segments[start]

    def add(self, address, size, requested):
        place = bisect.bisect_left(self.order, address)
        following = self.order[place] if place < len(self.order) else None
        end = self.end_of(address)
        room = (min(following, end) if following is not None else end) - address
        self.order.insert(place, address)
        self.live[address] = [size, requested, room]
        if place > 0:
            before = self.live[self.order[place - 1]]
            before[2] = min(before[2], address - self.order[place - 1])

    def remove(self, address):
        del self.live[address]
        self.order.pop(bisect.bisect_left(self.order, address))

    def undo(self, entry):
        """One step back in time."""
        action, address, size = entry["action"], entry.get("addr"), entry.get("size")
        if action == "alloc":
            self.remove(address)
        elif action == "free_completed":
            self.add(address, UNKNOWN, size)
        elif action == "segment_alloc":
            del self.segments[address]
            self.starts.remove(address)
        elif action == "segment_free":
            self.segments[address] = size
            bisect.insort(self.starts, address)

    def pieces(self, start):
        """(address, bytes, requested or None for a gap) of a segment, in order, without holes."""
        out, place, end = [], start, start + self.segments[start]
        for address in self.order[bisect.bisect_left(self.order, start):bisect.bisect_left(self.order, end)]:
            size, requested, room = self.live[address]
            if size is UNKNOWN:
                size = rounded(requested)
                if size > SMALL and room - size <= SMALL:
                    size = room
            out += self.gap(start, place, address)
            out.append((address, size, requested))
            place = address + size
        return out + self.gap(start, place, end)

    def gap(self, start, place, end):
        """In a segment of the small pool in parts that the small pool is asked for."""
        part = SMALL if self.segments[start] == STEP else max(1, end - place)
        return [(address, min(part, end - address), None) for address in range(place, end, part)]


def opening_size(size):
    """A request for which PyTorch takes a segment of that size."""
    return {STEP: UNIT, LARGE_SEGMENT: STEP}.get(size, size)


def opening_events(layout):
    """Events after which an allocator has this layout: all pieces laid in order, then the gaps given back."""
    events, gaps = [], []
    for start, size in sorted(layout.segments.items()):
        pieces = layout.pieces(start)
        events += [["segment", start, size], ["malloc", start, opening_size(size)], ["free", start]]
        events += [["malloc", address, bytes_] for address, bytes_, _ in pieces]
        for address, bytes_, requested in pieces:
            if requested is None:
                gaps.append(["free", address])
            elif requested != bytes_:
                events += [["free", address], ["malloc", address, requested]]
    return events + gaps


def complete(snapshot):
    devices = [index for index, trace in enumerate(snapshot["device_traces"]) if trace]
    if len(devices) != 1:
        raise ValueError(f"{len(devices)} devices have a history, not one")
    entries = snapshot["device_traces"][devices[0]]
    segments = [segment for segment in snapshot["segments"] if segment["device"] == devices[0]]
    if any(segment.get("is_expandable") for segment in segments):
        raise ValueError("its segments are expandable")
    if len({entry["stream"] for entry in entries if entry["action"] in VERBS}) > 1:
        raise ValueError("its events are of several streams")
    layout = Layout(segments)
    for entry in reversed(entries):
        layout.undo(entry)
    opening = opening_events(layout)
    events = [[VERBS[e["action"]], e["addr"]] + [e["size"]] * (e["action"] in ("alloc", "segment_alloc"))
              for e in entries if e["action"] in VERBS]
    sums = {"stage": "end"}
    for name, key in (("requested_bytes", "requested_size"), ("allocated_bytes", "allocated_size"),
                      ("reserved_bytes", "total_size")):
        sums[name] = sum(segment[key] for segment in segments) if all(key in s for s in segments) else None
    return {"about": {"opening_events": len(opening), "recorded_events": len(events),
                      "recorded_mallocs": sum(event[0] == "malloc" for event in events),
                      "recorded_segments": sum(event[0].startswith("segment") for event in events)},
            "events": opening + events + [["counters", sums]]}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        document = complete(snapshot_read(sys.argv[1]))
    except (KeyError, ValueError) as error:
        sys.exit(f"{sys.argv[1]}: cannot be made whole: {error!r}")
    json.dump(document, sys.stdout, separators=(",", ":"))
    print()


if __name__ == "__main__":
    main()
