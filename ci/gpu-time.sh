# The clock of ci/gpu.sh: which parts run, how long each may take, and what is noted of it. Sourced, not run.
# shellcheck shell=sh disable=SC2034,SC2154

run_started_ms=$(date +%s%3N)
started_ms=$run_started_ms # of what is measured: the build, and the wait for a GPU, have times of their own
child=
part_slice=all part=build limit_seconds=0
built=no
suites_too=no # slice peers: nothing is there that PyTorch could be held against, so the suites are measured first

elapsed_ms() {
    echo $(($(date +%s%3N) - started_ms))
}

total_seconds() {
    echo $((($(date +%s%3N) - run_started_ms) / 1000))
}

# The seconds of the run begin now.
clock_begin() {
    started_ms=$(date +%s%3N)
}

part_wanted() {
    case $slice:$1:$2 in
    all:* | *:all:*) ;;
    peers:suites:assumptions | peers:suites:calibrate | peers:suites:repeat) return 1 ;;
    peers:suites:*) [ "$suites_too" = yes ] ;;
    *) [ "$1" = "$slice" ] ;;
    esac
}

# Milliseconds from the start to the end of a part: what is left when those after it have had their own seconds, which
# are fewer if the whole run has less than the sum of them all. Without a GPU some need none.
part_end_of() {
    sum=0 after_ms=0 seen=no
    while read -r row_slice row_part row_seconds; do
        part_wanted "$row_slice" "$row_part" || continue
        case $gpu:$row_part in no:assumptions | no:sanitizer | no:pytorch | no:compare) continue ;; esac
        sum=$((sum + row_seconds))
        [ "$seen" = no ] || after_ms=$((after_ms + row_seconds * 1000))
        [ "$row_part" != "$1" ] || seen=yes
    done <<LIST
$parts
LIST
    [ "$sum" -le "$seconds" ] || after_ms=$((after_ms * seconds / sum))
    echo $((seconds * 1000 - after_ms))
}

# What stands in the table beside a part; the last call counts.
remark() {
    printf '%s\n' "$*" >"$scratch/remark"
}

# Why a part did not end well, in one word, and in a sentence that the result line has (gpu-verdict.sh); the first call
# counts.
cause() {
    [ -s "$scratch/cause" ] || [ -z "$1" ] || printf '%s\t%s\n' "$1" "${2:-}" | head -n 1 >"$scratch/cause"
}

seconds_left() {
    left_seconds=$(((part_end_ms - $(elapsed_ms)) / 1000))
    [ "$left_seconds" -gt 0 ] || left_seconds=1
    echo "$left_seconds"
}

# The processes of this run, but for the script itself: TMPDIR names the run to all that it starts, whatever group or
# session they make for themselves. Nothing if the kernel does not say, or hangs over one that a driver does not let go.
own_processes() {
    for path in $(env -u TMPDIR ci/within.sh --print 10 grep -lsaF "TMPDIR=$scratch" /proc/[0-9]*/environ); do
        path=${path%/environ}
        echo "${path#/proc/}"
    done
}

# "process 12 (assay), state D"
process_words() {
    sed -n 's/^\([0-9]*\) (\(.*\)) \([A-Za-z]\) .*/process \1 (\2), state \3/p' "/proc/$1/stat" 2>/dev/null
}

# Ends what a program has left behind, which would hold memory of the GPU while others are measured. What does not end
# is stuck in the kernel, and the GPU with it: nothing begins after it.
left_behind_end() {
    for signal in TERM KILL; do
        left=$(own_processes)
        [ -n "$left" ] || return 0
        for process in $left; do
            echo "left behind, and sent SIG$signal: $(process_words "$process")"
            kill "-$signal" "$process" 2>/dev/null
        done
        tries=15
        while [ "$tries" -gt 0 ] && [ -n "$(own_processes)" ]; do
            sleep 0.2
            tries=$((tries - 1))
        done
    done
    left=$(own_processes)
    [ -n "$left" ] || return 0
    for process in $left; do process_words "$process"; done | head -n 3 >"$scratch/stuck"
    cause stuck "$(paste -sd ';' "$scratch/stuck"), does not end on SIGKILL"
}

# Runs a program for as long as its part has; returns 3 if it had to end the program, and for the exit codes of assay
# that say why nothing is known (4 no GPU, 5 another run has it, 7 cases are missing): here the causes say it. The
# program runs in the background, so that a signal to the script need not wait for it. No process of it is left alive.
limited() {
    ci/within.sh "$(seconds_left)" "$@" 3>&- 9<&- &
    child=$!
    wait "$child"
    limited_code=$?
    child=
    left_behind_end >>"$log" 2>&1
    case $limited_code in
    119 | 124 | 137)
        remark "ended after its $limit_seconds s"
        cause time
        return 3
        ;;
    4 | 5 | 7) return 3 ;;
    esac
    return "$limited_code"
}

result_word() {
    case $1 in
    0) echo ok ;;
    1) echo FAIL ;;
    3) echo open ;;
    77) echo skip ;;
    *) echo FAULT ;;
    esac
}

# A line of timing.tsv in the place of the part's earlier one: slice, part, result, exit code, seconds, limit, remark.
# The lines stand in the order of the parts, whichever slice was run first.
part_note() {
    {
        awk -F '\t' -v part="$2" '$2 != part' "$out/timing.tsv"
        printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$(result_word "$3")" "$3" "$4" "$5" "$6"
    } >"$scratch/timing"
    printf '%s\n' "$parts" | awk -F '\t' '
        NR == FNR { line[$2] = $0; next }
        { split($0, row, " "); if (row[2] in line) print line[row[2]] }' "$scratch/timing" - >"$out/timing.tsv"
    printf '%s\t%s\t%s\n' "$3" "$2" "$(cat "$scratch/cause" 2>/dev/null)" >>"$scratch/codes"
    : >"$scratch/cause"
}

# Whether a part may begin; else its remark and its cause say why not.
part_may_begin() {
    if [ -s "$scratch/stuck" ]; then
        remark "not begun: the driver is stuck"
        cause stuck
    elif [ "$part_end_ms" -le "$begun_ms" ]; then
        limit_seconds=0
        remark "not begun: the $seconds s of the run are spent"
        cause time
    elif [ "$part" != build ] && [ "$built" = no ]; then
        remark "not begun: nothing is built of these sources"
        cause "$(awk -F '\t' '$2 == "build" { print $3 }' "$scratch/codes")"
    else
        return 0
    fi
    return 1
}

part_run() {
    part_slice=$1 part=$2
    begun_ms=$(elapsed_ms)
    part_end_ms=$(part_end_of "$part")
    [ "$part" != build ] || part_end_ms=$((begun_ms + build_seconds * 1000))
    limit_seconds=$(((part_end_ms - begun_ms) / 1000))
    part_started_ms=$(date +%s%3N)
    echo "$part_slice $part $limit_seconds" >"$scratch/now"
    : >"$scratch/remark"
    : >"$scratch/cause"
    if part_may_begin; then
        printf '\n==== %s, %s s at the most\n' "$part" "$limit_seconds" >>"$log"
        "part_$part" >>"$log" 2>&1
        code=$?
        left_behind_end >>"$log" 2>&1
        [ ! -s "$scratch/stuck" ] || [ "$code" -eq 1 ] || code=3
        [ "$code" -ne 1 ] || [ "$gpu" != yes ] || cause gpu
    else
        code=3
    fi
    case $code in 0 | 1 | 2 | 3 | 77) ;; *) code=99 ;; esac
    took=$(($(date +%s%3N) - part_started_ms))
    [ "$part" != build ] || clock_begin
    took=$((took / 1000)).$((took % 1000 / 100))
    text=$(tr '\t\n' '  ' <"$scratch/remark" | sed 's/ *$//')
    printf '==== %s: %s, exit code %s after %s s: %s\n' "$part" "$(result_word "$code")" "$code" "$took" "$text" \
        >>"$log"
    part_note "$part_slice" "$part" "$code" "$took" "$limit_seconds" "$text"
    printf '%-5s %-11s %6s s  %s\n' "$(result_word "$code")" "$part" "$took" "$text" >&2
}

# The part that was at work, and those that were not reached. $1: cause; $2: what stands beside the first; $3: the same
# for the result line, or nothing.
rest_note() {
    read -r now_slice now_part now_seconds <"$scratch/now" || return
    cause "$1" "${3:-}"
    grep -q "	$now_part	" "$scratch/codes" ||
        part_note "$now_slice" "$now_part" 3 "$(total_seconds).0" "$now_seconds" "$2"
    while read -r row_slice row_part _; do
        part_wanted "$row_slice" "$row_part" || continue
        : >"$scratch/cause"
        cause "$1"
        grep -q "	$row_part	" "$scratch/codes" ||
            part_note "$row_slice" "$row_part" 3 0.0 0 "not begun: ${2%%:*}"
    done <<LIST
$parts
LIST
}

# Ctrl-C, or the end of a lease: what is finished is kept, what is not is listed.
interrupted() {
    trap '' INT TERM HUP
    [ -z "$child" ] || kill -TERM "$child" 2>/dev/null
    [ -z "$child" ] || wait "$child"
    left_behind_end >>"$log" 2>&1
    records_keep
    : >"$scratch/cause"
    rest_note interrupted interrupted
    finish
}
