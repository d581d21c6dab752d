#!/bin/sh
# The code for GPUs on an emulated GPU that is stricter than a real one: every access is looked at for races, and order,
# memory and time are such as no kernel may rely on. Prints a table; `make strict` calls it.
#
# usage: strict.sh [--seconds N] [--seed N] [--need-all] BUILD_FOLDER [OPERATION...]    all if none is named
#   --seconds N   begins nothing after that time. What is tried first changes with the seed, so that many short runs
#                 try all
#   --seed N      of the schedules (EMULATED_SEED); drawn and printed if it is not given
#   --need-all    what had no time makes the answer 3
#
# Exit status: 0 nothing is wrong with what was tried; 1 something is; 3 nothing was tried, or with --need-all not all;
# 99 something is missing here.
set -u

seconds=
seed=
need_all=
while [ $# -gt 0 ]; do
    case $1 in
    --seconds) seconds=${2:?} && shift ;;
    --seed) seed=${2:?} && shift ;;
    --need-all) need_all=yes ;;
    [!-]*) break ;;
    *) echo "strict.sh: $1 is not known; see its first lines" >&2 && exit 99 ;;
    esac
    shift
done
build=${1:?}
shift

# The modes, those that find most first. Words at once cost one run; by itself each has what the others hide.
# EMULATED_ARENA stands alone, because it protects memory around each launch, which takes ten times as long.
memory="EMULATED_ALIGNMENT=256 EMULATED_GRANULES=1"
refusals="EMULATED_CUBLAS=workspace,unsupported:3,rows"
words_of() {
    watched="ASSAY_PLUGIN_DIR=$build/tests/cuda_emulation/watched"
    case $1 in
    all) echo "$watched EMULATED_SEED=$seed EMULATED_QUEUE=1 $memory $refusals" ;;
    accesses) echo "ASSAY_PLUGIN_DIR=$build/tests/cuda_emulation/checked" ;;
    races) echo "$watched" ;;
    schedules) echo "EMULATED_SEED=$((seed + 1))" ;;
    memory) echo "EMULATED_ARENA=1 $memory" ;;
    queue) echo "EMULATED_QUEUE=1" ;;
    esac
}
modes="all accesses races schedules queue memory"
[ -e "$build/tests/cuda_emulation/checked" ] || modes="all races schedules queue memory"

# A try, MODE-OPERATION: leaves what was said and the exit status, or nothing where there was no time.
if [ -n "${STRICT_FOLDER:-}" ]; then
    try=$build
    mode=${try%%-*}
    operation=${try#*-}
    build=$STRICT_BUILD
    seed=$STRICT_SEED
    if [ -n "$STRICT_SECONDS" ] && [ $(($(date +%s) - STRICT_BEGUN)) -ge "$STRICT_SECONDS" ]; then
        exit 0
    fi
    # shellcheck disable=SC2046
    env -u STRICT_FOLDER $(words_of "$mode") timeout 600 "$build/tests/mutants/judge" "$operation" \
        >"$STRICT_FOLDER/$try.said" 2>&1
    echo $? >"$STRICT_FOLDER/$try.status"
    exit 0
fi

[ -x "$build/tests/mutants/judge" ] || {
    echo "strict.sh: $build/tests/mutants/judge is missing; make strict builds it" >&2
    exit 99
}
seed=${seed:-$(($(date +%s) % 1000000))}
folder=$(mktemp -d) || exit 99
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM HUP

operations=$*
[ $# -gt 0 ] || operations=$(sed -n 's/^ *\(KERNEL\|PRODUCT\)(\([A-Z][A-Z_0-9]*\),.*/\2/p' harness/kernels/operation.h)
tries() {
    for mode in $modes; do
        for operation in $operations; do echo "$mode-$operation"; done |
            awk -v seed="$seed" 'BEGIN { srand(seed) } { print rand() "\t" $0 }' | sort | cut -f 2
    done
}

STRICT_FOLDER=$folder STRICT_BUILD=$build STRICT_SEED=$seed STRICT_SECONDS=$seconds STRICT_BEGUN=$(date +%s)
ASSAY_PLUGIN_DIR=$build/tests/cuda_emulation # of the modes that name none
export STRICT_FOLDER STRICT_BUILD STRICT_SEED STRICT_SECONDS STRICT_BEGUN ASSAY_PLUGIN_DIR
tries | xargs -n 1 -P "$(nproc)" "$0"

total=$(echo "$operations" | wc -w)
tried_of_all=0
failed_of_all=0
printf '%-10s %6s %6s %6s  %s\n' mode right wrong "not tried" words
for mode in $modes; do
    right=$(cat "$folder/$mode"-*.status 2>/dev/null | grep -c '^0$')
    tried=$(cat "$folder/$mode"-*.status 2>/dev/null | grep -c .)
    printf '%-10s %6d %6d %9d  %s\n' "$mode" "$right" $((tried - right)) $((total - tried)) "$(words_of "$mode")"
    tried_of_all=$((tried_of_all + tried))
    failed_of_all=$((failed_of_all + tried - right))
done
for status in "$folder"/*.status; do
    if [ ! -e "$status" ] || [ "$(cat "$status")" = 0 ]; then continue; fi
    try=${status##*/}
    try=${try%.status}
    echo
    words=$(words_of "${try%%-*}")
    case $words in ASSAY_PLUGIN_DIR=*) ;; *) words="$words ASSAY_PLUGIN_DIR=$ASSAY_PLUGIN_DIR" ;; esac
    echo "$try: exit $(cat "$status"). Again: env $words $build/tests/mutants/judge ${try#*-}"
    head -n 20 "${status%.status}.said"
done
if [ "$failed_of_all" -gt 0 ]; then
    exit 1
elif [ "$tried_of_all" -eq 0 ]; then
    echo "no time for anything"
    exit 3
elif [ -n "$need_all" ] && [ "$tried_of_all" -lt $((total * $(echo "$modes" | wc -w))) ]; then
    exit 3
fi
