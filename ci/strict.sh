#!/bin/sh
# The code for GPUs on an emulated GPU that is stricter than a real one: every access is looked at for races, and order,
# memory and time are such as no kernel may rely on. First every operation, then the test programs. Prints a table;
# `make strict` calls it.
#
# usage: strict.sh [--seconds N] [--seed N] [--share K/N] [--need-all] BUILD_FOLDER [OPERATION|PROGRAM...]
#   OPERATION, PROGRAM: SOFTMAX, test_emulated_order; all if none is named
#   --seconds N   begins nothing after that time. What is tried first changes with the seed, so that many short runs
#                 try all
#   --seed N      of the schedules (EMULATED_SEED); drawn and printed if it is not given
#   --share K/N   every N-th try, from the K-th on: N machines, or N nights, see all
#   --need-all    what had no time makes the answer 3
#   --limit N     seconds of one try; 600
#
# Exit status: 0 nothing is wrong with what was tried; 1 something is; 3 nothing was tried, or with --need-all not all;
# 99 something is missing here.
set -u

seconds=
seed=
share=1/1
limit=600
need_all=
while [ $# -gt 0 ]; do
    case $1 in
    --seconds) seconds=${2:?} && shift ;;
    --seed) seed=${2:?} && shift ;;
    --share) share=${2:?} && shift ;;
    --limit) limit=${2:?} && shift ;;
    --need-all) need_all=yes ;;
    [!-]*) break ;;
    *) echo "strict.sh: $1 is not known; see its first lines" >&2 && exit 99 ;;
    esac
    shift
done
build=${1:?}
shift

# The modes of operations, those that find most first. Words at once cost one run; by itself each has what the others
# hide. What decides there is an order, which is the same for small tensors, is asked of those alone: `races` has the
# products that the refusals of `all` keep from cuBLAS, `queue` a host that goes on while nothing runs.
operation_modes="all accesses schedules memory races queue"
# Those of programs. `newer` has an sm_90 for the first GPU, whose products go to other kernels than those of an sm_75;
# `four` has besides these two an sm_80 and an sm_120.
program_modes="order arena granules alignment latency one four newer fork"
memory="EMULATED_ALIGNMENT=256 EMULATED_GRANULES=1"
refusals="EMULATED_CUBLAS=workspace,unsupported:3,rows"
cudnn="EMULATED_CUDNN=9.19.0,unsupported:2,fails:5" # which leaves a part of the convolutions to our own kernels
words_of() {
    watched="ASSAY_PLUGIN_DIR=$build/tests/cuda_emulation/watched"
    case $1 in
    all) echo "$watched EMULATED_SEED=$seed EMULATED_QUEUE=1 $memory $refusals" ;;
    accesses) echo "ASSAY_PLUGIN_DIR=$build/tests/cuda_emulation/checked" ;;
    races) echo "$watched" ;;
    schedules) echo "EMULATED_SEED=$((seed + 1))" ;;
    memory) echo "EMULATED_ARENA=1 $memory $cudnn" ;;
    queue) echo "EMULATED_QUEUE=1" ;;
    order) echo "EMULATED_SEED=$((seed + 2)) EMULATED_QUEUE=1" ;;
    arena) echo "EMULATED_ARENA=1" ;;
    granules) echo "EMULATED_GRANULES=1" ;;
    alignment) echo "EMULATED_ALIGNMENT=256" ;;
    latency) echo "EMULATED_LATENCY=init:300,context:100,module:10" ;;
    one) echo "EMULATED_GPUS=1" ;;
    four) echo "EMULATED_GPUS=4" ;;
    newer) echo "EMULATED_FIRST=1" ;;
    fork) echo "EMULATED_FORK=1" ;;
    esac
}

# What the try MODE-THING runs.
command_of() {
    case $1 in
    *-test_*) echo "$build/tests/cuda_emulation/${1#*-}" ;;
    races-* | queue-*) echo "$build/tests/strict/strict --elements 4096 ${1#*-}" ;;
    *) echo "$build/tests/strict/strict ${1#*-}" ;;
    esac
}

# A try: leaves what was said, the exit status and the seconds, or nothing where there was no time.
if [ -n "${STRICT_FOLDER:-}" ]; then
    try=$build
    build=$STRICT_BUILD
    seed=$STRICT_SEED
    begun=$(date +%s)
    if [ -n "$STRICT_SECONDS" ] && [ $((begun - STRICT_BEGUN)) -ge "$STRICT_SECONDS" ]; then
        exit 0
    fi
    # shellcheck disable=SC2046
    env -u STRICT_FOLDER $(words_of "${try%%-*}") timeout "$STRICT_LIMIT" $(command_of "$try") \
        >"$STRICT_FOLDER/$try.said" 2>&1
    echo "$? $(($(date +%s) - begun))" >"$STRICT_FOLDER/$try.status"
    exit 0
fi

[ -x "$build/tests/strict/strict" ] || {
    echo "strict.sh: $build/tests/strict/strict is missing; make strict builds it" >&2
    exit 99
}
seed=${seed:-$(($(date +%s) % 1000000))}
folder=$(mktemp -d) || exit 99
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM HUP

# The programs that a mode concerns. Not those that say the words themselves. Conformance is what the modes of
# operations have, and is run where they do not come: on one GPU, with the models' mixtures of dtypes, in worker
# processes. What ends ci/gpu.sh while it waits has limits in seconds, which a slow GPU must not touch.
programs_of() {
    but='strict\|races\|schedules\|gpu_ends'
    case $1 in
    newer | fork) ;; # of the former what names no architecture
    granules | latency) but="$but\|conformance" ;;
    *) but="$but\|conformance\|gpu_script\|gpu_verdicts" ;;
    esac
    for source in tests/cuda_emulation/test_emulated_*.c; do
        program=${source##*/}
        program=${program%.c}
        [ ! -x "$build/tests/cuda_emulation/$program" ] || echo "$program"
    done | grep -v "^test_emulated_\($but\)\$" | case $1 in
    newer) grep 'conformance$\|gradients$\|models$\|sequence$\|memory$\|refusal$' ;;
    *) cat ;;
    esac
}
operations=$(sed -n 's/^ *\(KERNEL\|PRODUCT\)(\([A-Z][A-Z_0-9]*\),.*/\2/p' harness/kernels/operation.h)

# The things of a mode, among those that were named.
things_of() {
    case " $operation_modes " in
    *" $1 "*) echo "$operations" ;;
    *) programs_of "$1" ;;
    esac | if [ -n "$named" ]; then grep -x "$(echo "$named" | sed 's/ /\\|/g')"; else cat; fi
}
named=$*
modes="$operation_modes $program_modes"
[ -e "$build/tests/cuda_emulation/checked" ] || modes=$(echo "$modes" | sed 's/accesses //')
tries() {
    for mode in $modes; do
        for thing in $(things_of "$mode"); do echo "$mode-$thing"; done |
            awk -v seed="$seed" 'BEGIN { srand(seed) } { print rand() "\t" $0 }' | sort | cut -f 2
    done | awk -v share="$share" 'BEGIN { split(share, of, "/") } NR % of[2] == of[1] % of[2]'
}
tries >"$folder/tries"

STRICT_FOLDER=$folder STRICT_BUILD=$build STRICT_SEED=$seed STRICT_SECONDS=$seconds
STRICT_BEGUN=$(date +%s) STRICT_LIMIT=$limit
ASSAY_PLUGIN_DIR=$build/tests/cuda_emulation # of the modes that name none
export STRICT_FOLDER STRICT_BUILD STRICT_SEED STRICT_SECONDS STRICT_BEGUN STRICT_LIMIT ASSAY_PLUGIN_DIR
xargs <"$folder/tries" -n 1 -P "$(nproc)" "$0"

printf '%-10s %6s %6s %6s %8s %8s  %s\n' mode right wrong "not tried" trials seconds words
failed_of_all=0
for mode in $modes; do
    total=$(grep -c "^$mode-" "$folder/tries")
    [ "$total" -gt 0 ] || continue
    right=$(cat "$folder/$mode"-*.status 2>/dev/null | grep -c '^0 ')
    tried=$(cat "$folder/$mode"-*.status 2>/dev/null | grep -c .)
    spent=$(cat "$folder/$mode"-*.status 2>/dev/null | awk '{ sum += $2 } END { print sum + 0 }')
    trials=$(cat "$folder/$mode"-*.said 2>/dev/null | awk '/^[0-9]+ trials$/ { sum += $1 } END { print sum + 0 }')
    printf '%-10s %6d %6d %9d %8d %8d  %s\n' "$mode" "$right" $((tried - right)) $((total - tried)) "$trials" "$spent" \
        "$(words_of "$mode")"
    failed_of_all=$((failed_of_all + tried - right))
done
total_of_all=$(grep -c . "$folder/tries")
tried_of_all=$(cat "$folder"/*.status 2>/dev/null | grep -c .)
for status in "$folder"/*.status; do
    if [ ! -e "$status" ] || grep -q '^0 ' "$status"; then continue; fi
    try=${status##*/}
    try=${try%.status}
    echo
    words=$(words_of "${try%%-*}")
    case $words in ASSAY_PLUGIN_DIR=*) ;; *) words="$words ASSAY_PLUGIN_DIR=$ASSAY_PLUGIN_DIR" ;; esac
    echo "$try: exit $(cut -d ' ' -f 1 "$status"). Again: env $words $(command_of "$try")"
    grep -v '^\[ *\(RUN\|OK\) \|^[0-9]* trials$' "${status%.status}.said" | head -n 20
done
if [ "$failed_of_all" -gt 0 ]; then
    exit 1
elif [ "$tried_of_all" -eq 0 ]; then
    echo "no time for anything"
    exit 3
elif [ -n "$need_all" ] && [ "$tried_of_all" -lt "$total_of_all" ]; then
    exit 3
fi
