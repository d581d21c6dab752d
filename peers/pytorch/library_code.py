#!/usr/bin/env python3
"""Writes how many bytes the kernels of PyTorch's libraries are: what a driver loads that loads modules eagerly.

usage: library_code.py CUOBJDUMP SITE_PACKAGES TARGET... >> library_code.jsonl

CUOBJDUMP takes the modules of a target (sm_80) out of a library. Of each, the sections that lie in memory are added up:
code, constants and variables, without shared memory, which takes none. SITE_PACKAGES is that of an installed PyTorch;
its release is read from torch/version.py, and no library is loaded. One line for each library and target that has modules.
"""
import argparse
import json
import re
import struct
import subprocess
import tempfile
from pathlib import Path

# By what makes a program load them: CUDA's first use, the first product, the first convolution.
PARTS = {
    "torch": ("torch/lib/libtorch_cuda.so", "nvidia/nccl/lib/libnccl.so.*"),
    "products": ("nvidia/*/lib/libcublas.so.*", "nvidia/*/lib/libcublasLt.so.*"),
    "convolutions": ("nvidia/cudnn/lib/libcudnn_ops*.so.*", "nvidia/cudnn/lib/libcudnn_cnn*.so.*",
                     "nvidia/cudnn/lib/libcudnn_engines_precompiled.so.*"),
}
SECTION_ALLOC = 2  # SHF_ALLOC


def module_bytes(path):
    """The bytes of one module that lie in memory, of an ELF file."""
    data = path.read_bytes()
    if data[:4] != b"\x7fELF":
        return 0
    table, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * size) for i in range(count)]
    total = 0
    for section in sections:
        start = sections[names][4] + section[0]
        name = data[start:data.index(b"\0", start)].decode()
        if section[2] & SECTION_ALLOC and not name.startswith(".nv.shared"):
            total += section[5]
    return total


def library_lines(cuobjdump, site_packages, target):
    version = re.search(r"__version__ = '([^'+]+)", (site_packages / "torch/version.py").read_text()).group(1)
    for part, patterns in PARTS.items():
        for library in sorted(path for pattern in patterns for path in site_packages.glob(pattern)):
            with tempfile.TemporaryDirectory() as folder:
                subprocess.run([cuobjdump, "-arch", target, "-xelf", "all", library.resolve()], cwd=folder,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
                modules = list(Path(folder).iterdir())
                if modules:
                    yield {"type": "code", "torch": version, "target": target, "part": part, "library": library.name,
                           "module_count": len(modules), "code_bytes": sum(map(module_bytes, modules))}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cuobjdump")
    parser.add_argument("site_packages", type=Path)
    parser.add_argument("targets", nargs="+")
    options = parser.parse_args()
    for target in options.targets:
        for line in library_lines(options.cuobjdump, options.site_packages, target):
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
