#!/bin/sh
# The GPUs that a program started here could use: their compute capabilities without the point, one a line ("90"), or
# "unknown" for one that is there without a driver that says. Prints nothing if there is none, or if
# CUDA_VISIBLE_DEVICES hides all of them (set and empty, or -1), as the CUDA runtime reads it.
set -u

if [ "${CUDA_VISIBLE_DEVICES-all}" = '' ] || [ "${CUDA_VISIBLE_DEVICES-all}" = -1 ]; then
    exit 0
fi
# A driver without persistence takes seconds to answer, and a broken one for ever.
listed=$(timeout 20 nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
    sed -n 's/^\([0-9][0-9]*\)\.\([0-9]\)$/\1\2/p' | sort -un)
if [ -n "$listed" ]; then
    echo "$listed"
elif ls /dev/nvidia[0-9]* >/dev/null 2>&1 || timeout 20 nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
    echo unknown
fi
