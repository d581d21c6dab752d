#!/bin/sh
# All that one GPU can show, in one command that needs no network and, once everything is built, takes at most eight
# minutes: conformance, tests, the suites in a GPU tier, calibration, the spread of fresh processes, sanitizer, PyTorch
# beside them. It says what did not fit into the time. Without a GPU it runs to its end on the host tier and says what
# was skipped. Manual: docs/GPU.md.
#
# usage: gpu.sh [--slice tests|suites|peers] [--out DIR] [--python PROGRAM] [--device cuda:N] [--seconds N]
#               [--build-seconds N] [--wait-device SECONDS] [--tier host|gpu] [--need-gpu] [--need-all]
#               [--build DIR] [--suites DIR]
#   --seconds N     of the measurements (480); the build has --build-seconds of its own (as many as the cores need)
#   --wait-device   how long to wait for a GPU that another run has (0)
#   --need-gpu      no GPU is exit code 3 and not a reason to skip
#   --need-all      what had no time is exit code 3, even if all that ran is well
#   --build DIR     take the programs of DIR and build nothing
#   --suites DIR    another folder with the suite files
# Exit code: that of the worst part: 0 what was measured passes, 1 a part failed, 2 usage, 3 inconclusive, 77 all was
# skipped, 99 a fault.
set -u

# Slice, part, seconds of its own. What a part leaves unspent is there for those after it. What no GPU is needed for
# comes last. The build's seconds are not among those of the run.
parts='all build 0
all device 60
suites assumptions 40
tests conformance 60
tests tests 60
suites calibrate 15
suites load 25
suites overhead 25
suites adam 25
suites generate 25
suites repeat 10
tests sanitizer 15
peers pytorch 85
peers compare 5
tests host 30'

usage_fail() {
    echo "gpu.sh: $1" >&2
    exit 2
}

# $2 if it is a number of seconds; 0 is one for a wait.
number_of() {
    case $2 in
    0) [ "$1" = --wait-device ] && echo 0 && return ;;
    *[!0-9]* | 0* | ??????*) ;;
    *)
        echo "$2"
        return
        ;;
    esac
    usage_fail "$1 '$2' is no number of seconds"
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
slice=all out=results/gpu python=python3 device=cuda:0 seconds=480 tier='' need_gpu=no need_all=no build=''
suites=suites build_seconds='' wait_seconds=0
while [ $# -gt 0 ]; do
    case $1 in
    --need-gpu | --need-all)
        [ "$1" = --need-gpu ] && need_gpu=yes || need_all=yes
        shift
        continue
        ;;
    --slice | --out | --python | --device | --tier | --build | --suites) ;;
    --seconds | --build-seconds | --wait-device) ;;
    *) usage_fail "unknown option '$1'; the options stand at the top of ci/gpu.sh" ;;
    esac
    [ -n "${2:-}" ] || usage_fail "$1 needs a value"
    case $1 in
    --slice) slice=$2 ;;
    --out) out=$(from_root "$2") ;;
    --python) case $2 in */*) python=$(from_root "$2") ;; *) python=$2 ;; esac ;;
    --device) device=$2 ;;
    --seconds) seconds=$(number_of "$1" "$2") || exit 2 ;;
    --build-seconds) build_seconds=$(number_of "$1" "$2") || exit 2 ;;
    --wait-device) wait_seconds=$(number_of "$1" "$2") || exit 2 ;;
    --tier) tier=$2 ;;
    --build) build=$(from_root "$2") ;;
    --suites) suites=$(from_root "$2") ;;
    esac
    shift 2
done
case $slice in all | tests | suites | peers) ;; *) usage_fail "--slice '$slice' is none of tests, suites, peers" ;; esac
case $tier in '' | host | gpu) ;; *) usage_fail "--tier '$tier' is neither host nor gpu" ;; esac
case ${device#cuda:} in '' | *[!0-9]*) usage_fail "--device '$device' is not cuda:N" ;; esac
prebuilt=${build:+"--build was given"}
build=${build:-build}
cd "$root" || exit 99
scratch=$(mktemp -d) || exit 99
trap '[ -e "$scratch/keep" ] || rm -rf "$scratch"' EXIT # else it is all that is left of a run
: >"$scratch/measured"
log=$out/log.txt
export ASSAY_DATA_DIR="$root" HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
. ci/gpu-time.sh
. ci/gpu-folder.sh
. ci/gpu-build.sh
. ci/gpu-device.sh
. ci/gpu-parts.sh
. ci/gpu-peers.sh
. ci/gpu-verdict.sh
. ci/gpu-summary.sh

[ -n "$build_seconds" ] || build_seconds=$(build_seconds_of "$(cores_here)")
run_seconds_maximum=$((build_seconds + wait_seconds + seconds + 60))

# All parts, and the end; in a process of its own, because what hangs in a driver may hang a shell that waits for it.
# TMPDIR names this run to all that it starts.
run_all() {
    export TMPDIR="$scratch"
    trap interrupted INT TERM HUP
    gpus_here=$(ci/gpu-here.sh)
    while read -r part_slice part _; do
        ! part_wanted "$part_slice" "$part" || part_run "$part_slice" "$part" </dev/null
    done <<LIST
$parts
LIST
    finish
}

# Until then the process has ended ($1: seconds from now), or not.
runner_await() {
    until_s=$(($(date +%s) + $1))
    while kill -0 "$runner" 2>/dev/null; do
        [ "$(date +%s)" -lt "$until_s" ] || return 1
        sleep 0.2
    done
}

# The hard end: whatever hangs, there is a verdict, of what was measured until then. $1: what stands beside the part.
runner_give_up() {
    trap '' INT TERM HUP
    kill -KILL "$runner" 2>/dev/null
    export TMPDIR="$scratch"
    left_behind_end >>"$log" 2>&1
    : >"$scratch/cause"
    rest_note stuck "$1" "$1"
    finish
}

# Ctrl-C, or the end of a lease. The shell that was started in the background does not get the first of these itself.
runner_stop() {
    kill -TERM "$runner" 2>/dev/null
    until_s=$(($(date +%s) + 45))
}

folder_open
[ ! -d "$build/lib" ] || library_folder_add "$(cd "$build/lib" && pwd)" # what the machine has not installed
exec 3>&1 # a signal finds the script inside a part, whose output is the log's
run_all &
runner=$!
trap runner_stop INT TERM HUP
if ! runner_await "$run_seconds_maximum"; then
    kill -TERM "$runner" 2>/dev/null
    runner_await 45 || runner_give_up "not ended: the script was to be over by now"
fi
wait "$runner"
code=$?
[ "$code" -le 128 ] || runner_give_up "the script was ended by signal $((code - 128))"
exit "$code"
