#!/bin/sh
# The GPUs that a program started here could use: their compute capabilities without the point, one a line ("90"), or
# "unknown" for one that is there without a driver that says. Prints nothing if there is none, or if
# CUDA_VISIBLE_DEVICES hides all of them, as the CUDA runtime reads it: indices, whose order is NVML's under
# CUDA_DEVICE_ORDER=PCI_BUS_ID alone, beginnings of a UUID, or an instance ("MIG-..."); the first that is none of these
# ends the list, and one that is named twice leaves none.
set -u

here=${0%/*}
windows_tools=/usr/lib/wsl/lib
visible=${CUDA_VISIBLE_DEVICES-all}
case $visible in
'' | -*) exit 0 ;;
esac

# A driver without persistence takes seconds to answer, and a broken one for ever, whatever signal comes. In a Linux of
# Windows the tool need not be on PATH.
smi() {
    tool=$(command -v nvidia-smi || command -v "$windows_tools/nvidia-smi") || return
    "$here/within.sh" --print 20 "$tool" "$@" 2>/dev/null
}

# Lines "9.0, GPU-UUID" in; what is visible of them out. Indices into a mixture whose order is not known may mean any.
visible_print() {
    awk -F', *' -v list="$1" -v order="${CUDA_DEVICE_ORDER-}" '
        function board_of(text, k, found) {
            found = -1
            if (list !~ /^GPU-/) {
                return match(text, /^[ \t]*[+]?[0-9]+/) && substr(text, 1, RLENGTH) + 0 < count ? \
                    substr(text, 1, RLENGTH) + 0 : -1
            }
            for (k = 0; k < count && text ~ /^GPU-/; k++) {
                if (index(uuid[k], text) == 1) {
                    if (found >= 0) {
                        return -1
                    }
                    found = k
                }
            }
            return found
        }
        BEGIN { count = 0 }
        {
            capability[count] = $1
            uuid[count] = $2
            mixed = mixed || $1 != capability[0]
            count++
        }
        END {
            entries = split(list, entry, ",")
            for (i = 1; list != "all" && i <= entries && (board = board_of(entry[i])) >= 0; i++) {
                if (board in chosen) {
                    exit
                }
                chosen[board] = 1
                any = 1
            }
            all = list == "all" || (any && mixed && list !~ /^GPU-/ && order != "PCI_BUS_ID")
            for (k = 0; k < count; k++) {
                if (all || k in chosen) {
                    sub(/\./, "", capability[k])
                    print capability[k]
                }
            }
        }' | sort -un
}

listed=$(smi --query-gpu=compute_cap,uuid --format=csv,noheader | grep '^[0-9][0-9]*\.[0-9]')
if [ -n "$listed" ]; then
    case $visible in
    MIG-*) # stands for its GPU, which is listed above it
        visible=$(smi -L | awk -v name="(UUID: ${visible%%,*})" '
            /^GPU/ { board = $NF } index($0, name) { sub(/\)$/, "", board); print board; exit }')
        [ -n "$visible" ] || exit 0
        ;;
    esac
    echo "$listed" | visible_print "$visible"
elif ls /dev/nvidia[0-9]* >/dev/null 2>&1 || { [ -e /dev/dxg ] && [ -e "$windows_tools/libcuda.so.1" ]; } ||
    smi -L | grep -q '^GPU'; then
    echo unknown
fi
