#!/usr/bin/env python3
"""Ask one GPU and one PyTorch for what no formula gives: contexts, workspaces, choices of kernels. JSON lines.

    python3 peers/pytorch/probe.py [--out FILE] [--only REGEX] [--device cuda|cpu] [--list]

Each section runs in a fresh process; what it is about stands in the file that it is taken from. --out is a new file, and
is written a line at a time. A combination that PyTorch refuses is a line with its error; exit 1 says that a section
itself broke, 77 that there is no GPU. --device cpu rehearses: the operators run, what a device would say is null.
"""
import argparse
import json
import re
import sys

import torch

import probe_constants
import probe_context
import probe_convolution
import probe_library
import probe_networks
import probe_operators
from fresh_process import in_child
from peer_models import library_versions
from truth_meter import device_ask

# (name, its lines on a device, whether it needs a GPU to say anything), the least replaceable first
SECTIONS = (("context", probe_constants.context_lines, True), ("workspace", probe_constants.workspace_lines, True),
            ("library", probe_library.library_lines, False), ("operators", probe_operators.operator_lines, True),
            ("convolution", probe_convolution.convolution_lines, True),
            ("attention", probe_operators.attention_lines, True),
            ("other convolutions", probe_convolution.other_convolution_lines, True),
            ("reductions", probe_operators.reduction_lines, True),
            ("driver's memory", probe_context.driver_lines, True),
            ("context programs", probe_context.program_lines, True),
            ("more operators", probe_operators.more_operator_lines, True),
            *((f"network {setting}", probe_networks.network_section(setting), True) for setting in probe_networks.SETTINGS))
SECTION_SECONDS = 180


def section(lines, device, emit):
    for line in lines(device):
        emit(line)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out")
    parser.add_argument("--only", default="", help="regular expression on the section")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


def main():
    options = parse()
    chosen = [row for row in SECTIONS if re.search(options.only, row[0])]
    if options.list:
        print("\n".join(name for name, _, _ in chosen))
        return 0
    device = device_ask(options.device)
    if device is None:
        print("probe.py: no CUDA device; only the section 'library' can be asked", file=sys.stderr)
        chosen = [row for row in chosen if not row[2]]
    sink = open(options.out, "x", encoding="utf-8") if options.out else sys.stdout

    def write(line):
        sink.write(json.dumps(line, separators=(",", ":")) + "\n")
        sink.flush()

    write({"type": "run", **library_versions(), "cuda": torch.version.cuda, "device": device})
    broken = False
    for name, lines, _ in chosen:
        verdict, found = in_child(lambda emit: section(lines, options.device, emit), SECTION_SECONDS)
        for line in found:
            write(line)
        if verdict != "ok":
            write({"type": "section", "name": name, "error": verdict})
            broken = True
        refused = sum("error" in line for line in found)
        print(f"{name}: {verdict}, {len(found)} lines, {refused} refused", file=sys.stderr, flush=True)
    return 1 if broken else 77 if device is None else 0


if __name__ == "__main__":
    sys.exit(main())
