#!/bin/sh
# All that one GPU can show, in one command of at most eight minutes that needs no network: build, tests, sanitizer,
# the suites in a GPU tier, calibration, the spread of fresh processes, PyTorch beside them. It says what did not fit
# into the time. Without a GPU it runs to its end on the host tier and says what was skipped. Manual: docs/GPU.md.
#
# usage: gpu.sh [--slice tests|suites|peers] [--out DIR] [--python PROGRAM] [--device cuda:N] [--seconds N]
#               [--tier host|gpu] [--need-gpu] [--build DIR] [--suites DIR]
#   --need-gpu      no GPU is exit code 3 and not a reason to skip
#   --build DIR     take the programs of DIR and build nothing
#   --suites DIR    another folder with the suite files
# Exit code: that of the worst part: 0 all pass, 1 a part failed, 2 usage, 3 inconclusive, 77 all was skipped, 99 a
# fault.
set -u

# Slice, part, seconds of its own. What a part leaves unspent is there for those after it.
parts='all build 120
all device 10
tests conformance 40
tests tests 60
tests sanitizer 15
suites calibrate 15
suites load 25
suites overhead 25
suites adam 25
suites generate 25
suites repeat 10
peers pytorch 105
peers compare 5'

usage_fail() {
    echo "gpu.sh: $1" >&2
    exit 2
}

# A path as seen from the root of the repository, in which all parts run.
from_root() {
    path=$1
    case $path in
    /*) ;;
    *) path=$PWD/$path ;;
    esac
    printf '%s\n' "${path#"$root"/}"
}

root=$(cd "$(dirname "$0")/.." && pwd) || exit 99
slice=all out=results/gpu python=python3 device=cuda:0 seconds=480 tier='' need_gpu=no build='' suites=suites
while [ $# -gt 0 ]; do
    if [ "$1" = --need-gpu ]; then
        need_gpu=yes
        shift
        continue
    fi
    case $1 in
    --slice | --out | --python | --device | --seconds | --tier | --build | --suites) ;;
    *) usage_fail "unknown option '$1'; the options stand at the top of ci/gpu.sh" ;;
    esac
    [ -n "${2:-}" ] || usage_fail "$1 needs a value"
    case $1 in
    --slice) slice=$2 ;;
    --out) out=$(from_root "$2") ;;
    --python) case $2 in */*) python=$(from_root "$2") ;; *) python=$2 ;; esac ;;
    --device) device=$2 ;;
    --seconds) seconds=$2 ;;
    --tier) tier=$2 ;;
    --build) build=$(from_root "$2") ;;
    --suites) suites=$(from_root "$2") ;;
    esac
    shift 2
done
case $slice in all | tests | suites | peers) ;; *) usage_fail "--slice '$slice' is none of tests, suites, peers" ;; esac
case $tier in '' | host | gpu) ;; *) usage_fail "--tier '$tier' is neither host nor gpu" ;; esac
case ${device#cuda:} in '' | *[!0-9]*) usage_fail "--device '$device' is not cuda:N" ;; esac
case $seconds in *[!0-9]* | 0* | ??????*) usage_fail "--seconds '$seconds' is no number of seconds" ;; esac
prebuilt=${build:+"--build was given"}
build=${build:-build}
cd "$root" || exit 99
scratch=$(mktemp -d) || exit 99
trap '[ "${room_is_missing:-no}" = yes ] || rm -rf "$scratch"' EXIT # else it is all that is left of a run
export TMPDIR="$scratch" # of what is ended before it has taken its own away
log=$out/log.txt
export ASSAY_DATA_DIR="$root" HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
. ci/gpu-time.sh
. ci/gpu-folder.sh
. ci/gpu-parts.sh
. ci/gpu-peers.sh
. ci/gpu-summary.sh

folder_open
[ ! -d "$build/lib" ] || library_folder_add "$(cd "$build/lib" && pwd)" # what the machine has not installed
exec 3>&1 # a signal finds the script inside a part, whose output is the log's
trap interrupted INT TERM HUP
while read -r part_slice part _; do
    ! part_wanted "$part_slice" "$part" || part_run "$part_slice" "$part" </dev/null
done <<LIST
$parts
LIST
finish
