# What ci/gpu.sh prints last: a table of the parts, what is wrong, one line with the result. Sourced, not run.
# shellcheck shell=sh disable=SC2154

terminal_columns() {
    columns=
    [ ! -t 3 ] || columns=$(stty size <&3 2>/dev/null | cut -d ' ' -f 2)
    case ${columns:-${COLUMNS:-100}} in
    *[!0-9]* | 0*) echo 100 ;;
    *) echo "${columns:-${COLUMNS:-100}}" ;;
    esac
}

# Rows of the table. Remarks are folded in their column, or into lines of their own if their column is too narrow.
parts_table() {
    awk -F '\t' -v width="$1" '
        BEGIN {
            beside = width >= 70
            indent = beside ? 34 : 2
            printf "%-5s %-11s %8s %6s%s\n", "", "part", "seconds", "limit", (beside ? "  remark" : "")
        }
        {
            printf "%-5s %-11s %8s %6s%s", $3, $2, $5, $6, (beside ? "  " : "\n  ")
            fold($7, width - indent, sprintf("\n%" indent "s", ""))
            printf "\n"
        }
        function fold(text, room, gap,    words, count, i, used) {
            count = split(text, words, " ")
            for (i = 1; i <= count; i++) {
                if (used > 0 && used + 1 + length(words[i]) > room) {
                    printf "%s", gap
                    used = 0
                }
                printf "%s%s", (used > 0 ? " " : ""), words[i]
                used += length(words[i]) + (used > 0 ? 1 : 0)
            }
        }' "$out/timing.tsv"
}

# Cases that did not end well, and tests that failed, with their first reason; the first ones, and how many there are.
failures_list() {
    {
        awk '/^(fail|error|oom|timeout) / { print; getline; print }' "$scratch/suites-printed"
        grep '^FAIL ' "$scratch/tests-printed"
    } 2>/dev/null >"$scratch/failures"
    [ -s "$scratch/failures" ] || return 0
    echo
    echo "What went wrong:"
    head -n 20 "$scratch/failures" | fold -s -w "$1"
    lines=$(wc -l <"$scratch/failures")
    [ "$lines" -le 20 ] || echo "[... $((lines - 20)) more lines like these, all in $log ...]"
}

section() {
    [ -s "$2" ] || return 0
    echo
    echo "$1"
    fold -s -w "$3" <"$2"
}

# How far the replay was off, quantity by quantity, over all records of the folder.
accuracy_make() {
    [ -s "$out/records.jsonl" ] || return 0
    "$build/assay" report "$out" --format md --exit-zero 2>/dev/null | tr -d '\134' | awk -F ' *[|] *' '
        $2 == "replay" && $4 + 0 > 0 {
            printf "%-18s %3d cases, median %s, worst %s%s\n", $3, $4, $5, $6, ($6 ~ /^[+-]0.00 / ? "" : ": " $7)
        }' >"$scratch/accuracy"
}

result_line() {
    echo "$(verdict_words "$worst"); exit code $worst after $(total_seconds) s; $out"
}

summary_print() {
    { head -n 1 "$out/environment.txt" 2>/dev/null || echo "no device was asked"; } | fold -s -w "$1"
    echo
    parts_table "$1"
    section "Replay, (predicted - measured) / measured:" "$scratch/accuracy" "$1"
    section "Fresh processes of one case, highest less lowest:" "$scratch/spread" "$1"
    section "PyTorch (old) and ours (new):" "$scratch/agreement" "$1"
    failures_list "$1"
    echo
    awk -F '\t' '
        $1 == 77 { printf "%s%s", (n++ ? ", " : "skipped, for the reasons above: "), $2 }
        END { if (n) print "" }' \
        "$scratch/codes" | fold -s -w "$1"
    result_line
}

finish() {
    trap '' INT TERM HUP
    client_release
    worst=$(verdict_code)
    log_shorten
    accuracy_make
    : >"$out/summary.txt" # it counts among the files
    folder_check && [ ! -e "$scratch/keep" ] || worst=99
    summary_print 100 >"$out/summary.txt"
    summary_print "$(terminal_columns)" >&3
    exit "$worst"
}
