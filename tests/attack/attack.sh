# What every attack begins with: a folder of its own, short words for what it expects. Sourced by the scripts of quick/
# and long/.
# shellcheck shell=sh
#
#   $assay    the program, by its full path        $root    the repository
#   $work     an empty folder, removed at the end  $rounds  how often a random moment is tried: few in `make test`, many
#             by night
#
# A script ends with 0 where everything held, 77 (skip "why") where it could not be tried, 1 (fail "what") otherwise.
set -u

root=$(cd "$(dirname "$0")/../../.." && pwd) || exit 99
assay=${ASSAY_PROGRAM:-build/assay}
case $assay in /*) ;; *) assay=$root/$assay ;; esac
rounds=${ATTACK_ROUNDS:-5}
reference=$root/results/reference/host-intel-r-xeon-r-processor
work=$(mktemp -d "${TMPDIR:-/tmp}/assay-attack-XXXXXX") || exit 99
trap 'chmod -R u+rwx "$work" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
cd "$work" || exit 99
export HF_HUB_OFFLINE=1 COLUMNS=100 OMP_WAIT_POLICY=passive

fail() {
    echo "FAIL: $*"
    [ ! -s "$work/said" ] || sed 's/^/    /' "$work/said"
    exit 1
}

skip() {
    echo "skip: $*"
    exit 77
}

needed() {
    command -v "$1" >/dev/null 2>&1 || skip "there is no $1"
}

# expect CODE COMMAND...: runs it with both outputs into $work/said, for 60 s at the most.
expect() {
    wanted=$1
    shift
    timeout -k 5 60 "$@" >"$work/said" 2>&1 </dev/null
    code=$?
    [ "$code" -ne 124 ] || fail "still running after 60 s: $*"
    [ "$code" -eq "$wanted" ] || fail "exit code $code instead of $wanted: $*"
}

# said WORDS: the last command printed them.
said() {
    grep -qF -- "$1" "$work/said" || fail "not said: $1"
}

# The files and links of a folder, with their sums: what a command that must change nothing is held against.
sums() {
    (cd "$1" && find . -type f -exec cksum {} + && find . -type l -exec ls -d {} + && find . ! -type f ! -type l) |
        LC_ALL=C sort
}

# same FOLDER FILE: the sums are those of before, which `sums FOLDER >FILE` has kept.
same() {
    sums "$1" | diff "$2" - >"$work/said" || fail "$1 has changed"
}

# records FOLDER: records with something for every plot, and nothing else. The run of the reference machine, at most 12
# cases of it.
records() {
    mkdir -p "$1" && { head -n 13 "$reference/records.jsonl" && tail -n 1 "$reference/records.jsonl"; } |
        sed 's/"selected_count": [0-9]*/"selected_count": 0/' >"$1/records.jsonl" # none of what is left out is missing
}

# Every image and page in a folder is whole, and nothing else lies there that a writer has left.
whole() {
    for file in $(find "$1" -name '*.svg'); do
        [ "$(tail -c 8 "$file" | tr -d ' \n')" = "</svg>" ] || [ "$(tail -n 2 "$file" | tr -d '\n ')" = "</svg>" ] ||
            fail "$file is cut short"
    done
    for file in $(find "$1" -name '*.png'); do
        [ "$(tail -c 8 "$file" | head -c 4)" = IEND ] || fail "$file is cut short"
    done
    for file in $(find "$1" -name '*.html'); do
        [ "$(tail -n 1 "$file")" = "</html>" ] || fail "$file is cut short"
    done
    left=$(find "$1" -name '*.part*' -o -name '.assay-*')
    [ -z "$left" ] || fail "left behind: $left"
}
