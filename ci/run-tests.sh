#!/bin/sh
# Runs test programs and sums up what cmocka says of them, in the order given. A program that crashes, hangs, runs
# nothing, or leaves something in its own folder, which TMPDIR names, counts as one failed test. Before the last line,
# programs that took more than TEST_BUSY_S (5) seconds of processors are named. The last line is "N passed, N failed, N
# skipped"; the exit status is 1 if anything failed.
#
# usage: run-tests.sh BUILD_FOLDER PROGRAM...
# Where several run at once, those of ci/long-tests.txt begin first, so that none of them runs alone at the end.
# TEST_TIMEOUT_S: seconds of one program. TEST_BUDGET_S: seconds of them all; programs that would begin later get a line
# "late", and the exit status is 3 if nothing failed. TEST_JOBS: how many programs at once; 1 by default, because those
# that find a GPU measure it. TERM, INT and HUP end the programs that are at work, too: what had ended is reported, the
# others are lines "cut", and the exit status is 128 and the signal.
set -u

grace_s=5 # until what does not heed TERM is killed; who ends this script with `timeout -k` gives it more

limit_s=${TEST_TIMEOUT_S:-300}
budget_s=${TEST_BUDGET_S:-}

log_of() {
    printf '%s/tests/logs/%s.log' "$build" "$(echo "${1#"$build"/tests/}" | tr / -)"
}

# A program of several that run at once: its output into its log, and last its exit status, or "late", beside it.
# `timeout` makes a process group of its own, which no signal to ours reaches: it gets the signal and passes it on.
one_stop() {
    trap '' INT TERM HUP # it may come twice, and once is waited for
    stopping=yes
    [ -z "$child" ] || kill -TERM "$child" 2>/dev/null
}

if [ "$1" = --one ]; then
    build=$2
    log=$(log_of "$3")
    if [ -n "$budget_s" ] && [ $(($(date +%s) - TEST_BEGUN_S)) -ge "$budget_s" ]; then
        status=late
    else
        child='' stopping='' own=''
        trap 'rm -rf "$own" "$log.pid"' EXIT
        trap one_stop INT TERM HUP
        echo $$ >"$log.pid" # before the look at the mark, which is made before these files are looked for
        [ ! -e "$build/tests/logs/stopped" ] || exit 0
        own=$(mktemp -d "${TMPDIR:-/tmp}/assay-own-XXXXXX") || exit 99
        TMPDIR=$own timeout -k "$grace_s" "$limit_s" "$3" >"$log" 2>&1 &
        child=$!
        [ -z "$stopping" ] || one_stop
        wait "$child"
        status=$?
        if [ -n "$stopping" ]; then
            wait "$child"
            exit 0
        fi
        times >"$log.times"
        left=$(ls -A "$own")
        if [ "$status" -eq 0 ] && [ -n "$left" ]; then
            echo "left behind in TMPDIR: $left" >>"$log"
            status=1
        fi
    fi
    echo "$status" >"$log.part" && mv "$log.part" "$log.status"
    exit 0
fi

build=$1
# Plug-ins of hwloc (libhwloc-plugins) bring libraries that keep memory and are gone when leaks are counted, so that no
# suppression can name them. What they would find is not tested.
case $build in */san) export HWLOC_PLUGINS_PATH=/nonexistent ;; esac
shift
rm -rf "$build/tests/logs"
mkdir -p "$build/tests/logs" || exit 99
# Threads that sleep while they wait, as in `assay run`: spinning ones take the cores from the others.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"

# No test asks a hub on the network; those that ask one of their own on loopback say so.
export HF_HUB_OFFLINE=1

# Sums the numbers of cmocka's lines "[  WHAT  ] N test(s)". From 1.1.7 on the group's name and a colon stand before N.
count_of() {
    sed -n "s/^\[ *$1 *\] \(.*: \)\{0,1\}\([0-9][0-9]*\) test(s).*/\2/p" "$2" |
        awk '{ sum += $1 } END { print sum + 0 }'
}

passed=0
failed=0
skipped=0
late=0
report() {
    name=${1#"$build"/tests/}
    log=$(log_of "$1")
    while [ ! -e "$log.status" ] && [ ! -e "$ended" ]; do
        kill -0 $$ 2>/dev/null || exit 130
        sleep 0.05
    done
    if [ ! -e "$log.status" ] && [ -e "$stopped" ]; then
        echo "cut  $name: not finished when all were ended"
        return
    fi
    status=$(cat "$log.status" 2>/dev/null || echo 99)
    if [ "$status" = late ]; then
        echo "late $name: not begun, the $budget_s s of all tests are spent"
        late=$((late + 1))
        return
    fi
    [ -e "$log" ] || : >"$log"
    now_passed=$(count_of PASSED "$log")
    now_failed=$(count_of FAILED "$log")
    now_skipped=$(count_of SKIPPED "$log")
    reason=
    if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
        reason="ran longer than $limit_s s or was killed"
    elif [ "$status" -gt 128 ]; then
        reason="died from signal $((status - 128))"
    elif [ "$status" -ne 0 ] && [ "$now_failed" -eq 0 ]; then
        reason="exited with $status although no test failed"
    elif [ "$status" -eq 0 ] && [ $((now_passed + now_skipped)) -eq 0 ]; then
        reason="ran no test"
    fi
    if [ -n "$reason" ]; then
        now_failed=$((now_failed + 1))
    fi
    if [ "$now_failed" -gt 0 ]; then
        echo "FAIL $name: $now_failed failed${reason:+; it $reason}"
        sed 's/^/    /' "$log"
    else
        printf 'ok   %s: %d passed' "$name" "$now_passed"
        [ "$now_skipped" -eq 0 ] || printf ', %d skipped' "$now_skipped"
        echo
    fi
    passed=$((passed + now_passed))
    failed=$((failed + now_failed))
    skipped=$((skipped + now_skipped))
}

# The ten that took most of the processors, with what they started. `times` says "1m2.500000s 0m0.300000s".
busy_report() {
    for times in "$build"/tests/logs/*.times; do
        [ ! -e "$times" ] || tail -n 1 "$times" | tr 'ms' '  ' |
            awk -v name="$(basename "$times" .log.times)" '{ printf "%.1f %s\n", 60 * ($1 + $3) + $2 + $4, name }'
    done | sort -rn | head -n 10 | while read -r seconds name; do
        [ "${seconds%.*}" -lt "${TEST_BUSY_S:-5}" ] || echo "busy $(echo "$name" | sed 's:-:/:'): $seconds s"
    done
}

report_all() {
    for program in "$@"; do
        report "$program"
    done
    busy_report
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ] || exit 1
    [ "$late" -eq 0 ] || exit 3
    exit 0
}

# Whether a program is at work.
any_at_work() {
    for pid_file in "$build"/tests/logs/*.pid; do
        kill -0 "$(cat "$pid_file" 2>/dev/null || echo none)" 2>/dev/null && return
    done
    return 1
}

# $1: exit status. No further program begins, those at work are ended, what had ended is reported.
stop() {
    trap '' INT TERM HUP
    : >"$stopped"
    kill -TERM "$starter" 2>/dev/null
    for pid_file in "$build"/tests/logs/*.pid; do
        kill -TERM "$(cat "$pid_file" 2>/dev/null || echo none)" 2>/dev/null
    done
    while any_at_work; do sleep 0.05; done
    : >"$ended"
    wait "$reporter"
    exit "$1"
}

# In the background, so that a signal need not wait for the programs; what reports waits for one after the other.
ended=$build/tests/logs/ended
stopped=$build/tests/logs/stopped
TEST_BEGUN_S=$(date +%s)
export TEST_BEGUN_S
(
    trap '' INT TERM HUP
    report_all "$@"
) &
reporter=$!
starter=
trap 'stop 130' INT
trap 'stop 143' TERM
trap 'stop 129' HUP
long=$(dirname "$0")/long-tests.txt
[ "${TEST_JOBS:-1}" -gt 1 ] && [ -z "$budget_s" ] || long=/dev/null
given=$build/tests/logs/given
: >"$given"
[ $# -eq 0 ] || printf '%s\n' "$@" >"$given"
sed "s#^#$build/tests/#" "$long" |
    awk 'NR == FNR { given[$0]; next } ($0 in given) && !begun[$0]++' "$given" - "$given" |
    tr '\n' '\0' | xargs -0 -r -n 1 -P "${TEST_JOBS:-1}" "$0" --one "$build" &
starter=$!
wait "$starter"
: >"$ended"
wait "$reporter"
