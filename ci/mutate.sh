#!/bin/sh
# Takes away each barrier, wait, fence, bound check, device setting and fallback of the code for GPUs, one at a time
# (ci/mutants.awk), and asks the strict emulation whether it notices (tests/mutants/judge.c). Works in a copy below
# build/, never in the tree; what has a verdict there is not tried again, so that it can be ended and begun anew.
#
# usage: mutate.sh [--seconds N] [--only PATTERN] [--work FOLDER] [--table]
#   --seconds N      begins no mutant after that time
#   --only PATTERN   mutants whose line of the list has that (grep -E)
#   --work FOLDER    of the copy and the verdicts; build/mutants if it is not given
#   --table          tries nothing: writes tests/mutants/MUTANTS.md from the verdicts and from tests/mutants/reasons.tsv
#
# Exit status: 0 every mutant was noticed or has a reason why it need not be; 1 one was not noticed and has none; 3 some
# have not been tried; 99 something here does not work.
set -u

cd "$(dirname "$0")/.." || exit 99
root=$PWD
seconds=
only=.
work=$root/build/mutants
table_only=
while [ $# -gt 0 ]; do
    case $1 in
    --seconds) seconds=${2:?} && shift ;;
    --only) only=${2:?} && shift ;;
    --work) work=${2:?} && shift ;;
    --table) table_only=yes ;;
    *) echo "mutate.sh: $1 is not known; see its first lines" >&2 && exit 2 ;;
    esac
    shift
done
began=$(date +%s)
tab=$(printf '\t')
copy=$work/copy
verdicts=$work/verdicts.tsv # FILE, TEXT, WHICH, KIND, LINE, VERDICT, what was said
plugin=build/tests/cuda_emulation/watched/libassay_cuda.so
judge=build/tests/mutants/judge
device_tests=$(printf 'build/tests/cuda_emulation/test_emulated_%s ' placement refused_products faults)
mkdir -p "$work" || exit 99
touch "$verdicts"

sources() {
    ls harness/kernels/*.cu harness/kernels/body*.h harness/kernels/launch_*.h harness/device/cuda/*.cu \
        harness/device/cuda/cuda_*.c
}

# KIND FILE LINE WHICH TEXT BECOMES; bound checks, which are many, last.
list() {
    for source in $(sources); do awk -f ci/mutants.awk "$source"; done | grep -E "$only" >"$work/all.tsv"
    for kind in barrier fence wait device fallback bound; do grep "^$kind$tab" "$work/all.tsv"; done
}

# The operations that go through $1: of a .cu file, as the table names its launches.
operations_of() {
    case $1 in
    *product_kernels.cu) echo MATMUL CONVOLUTION CONVOLUTION_BACKWARD_INPUT CONVOLUTION_BACKWARD_WEIGHT ;;
    *body_attention_bias.h | *launch_attention_bias.cu) echo ATTENTION_BIAS_GRADIENT POSITION_BUCKETS ;;
    *body_attention*backward.h) echo ATTENTION_BACKWARD ;;
    *body_attention*.h | *launch_attention_decode.cu) echo ATTENTION ;;
    *body_tile.h | *launch_attention*) echo ATTENTION ATTENTION_BACKWARD ;;
    *.h) for unit in $units; do operations_of "$unit"; done | sort -u ;;
    *)
        sed -n 's/^const char \*\(launch_[a-z_0-9]*\)(.*/\1/p' "$1" | while read -r launch; do
            # A row may have several lines.
            tr -d '\\\n' <harness/kernels/operation.h | sed 's/KERNEL(/\n&/g' |
                sed -n "s/^KERNEL(\([A-Z_0-9]*\),.* $launch).*/\1/p"
        done
        ;;
    esac
}

# The .cu files that are to be compiled anew for a mutant of $1: of those that include it three at most, the smallest.
units_of() {
    case $1 in
    *.cu) echo "$1" ;;
    *.c) ;;
    *body.h | *body_row.h | *body_rows.h) echo harness/kernels/launch_rows.cu ;;
    *) grep -l " $1\( \|:\|$\)" "$copy"/build/watched/harness/*/*.d "$copy"/build/watched/harness/*/*/*.d 2>/dev/null |
        xargs -r ls -Sr | head -n 3 | sed "s|$copy/build/watched/||; s|\.d$||" ;;
    esac
}

# What is built in the tree need not be built again.
copy_make() {
    mkdir -p "$copy/build" || return 1
    for part in emulated watched obj libassay.a; do
        [ ! -e "build/$part" ] || cp -pr "build/$part" "$copy/build/" || return 1
    done
    git ls-files -z -- . ':!results' ':!peers' ':!docs' | tar -c --null -T - | tar -x -C "$copy" || return 1
    # shellcheck disable=SC2086
    (cd "$copy" && make -s CUDA=no WERROR= "$plugin" "$judge" &&
        mkdir -p build/kept && cp -pr build/watched build/emulated build/kept/)
}

# The plug-in with the line of the mutant in $1 as it becomes; $units: what is to be compiled.
mutant_build() {
    awk -v at="$2" 'NR == at { print ENVIRON["becomes"]; next } { print }' "$root/$1" >"$1" || return 1
    case $1 in
    *.h)
        changed=
        for unit in $units; do changed="$changed -W $unit"; done
        # shellcheck disable=SC2086
        make -s CUDA=no -o "$1" $changed "$plugin"
        ;;
    *) make -s CUDA=no "$plugin" ;;
    esac
}

# All is as it was, its times included.
mutant_undo() {
    cp -p "$root/$1" "$1"
    case $1 in *.c) cp -p "build/kept/emulated/$1.o" "build/emulated/$1.o" ;; esac
    for unit in $units; do
        cp -p "build/kept/watched/$unit.o" "build/watched/$unit.o"
        cp -p "build/kept/emulated/$unit.cpp" "build/emulated/$unit.cpp"
    done
}

# Exit status of what is asked: 0 nothing was noticed, 2 no answer.
mutant_judge() {
    export EMULATED_SEED=1 ASSAY_PLUGIN_DIR="$copy/${plugin%/*}"
    case $1 in
    *.c)
        # shellcheck disable=SC2086
        make -s CUDA=no WERROR= $device_tests || return 2
        for program in $device_tests; do
            timeout --foreground 900 "$program" || return 1
        done
        ;;
    *)
        operations=$(cd "$root" && operations_of "$1")
        # shellcheck disable=SC2086
        timeout --foreground 900 "$judge" $operations
        ;;
    esac
}

# $1: FILE, $2: LINE, $becomes: the line as it becomes. Leaves a verdict and what was said.
mutant_try() {
    cd "$copy" || return 1
    echo "$1" >"$work/present"
    units=$(units_of "$1")
    if ! mutant_build "$1" "$2" >"$work/make.log" 2>&1; then
        verdict="not built"
        said=$(grep -m 1 'error' "$work/make.log")
    else
        mutant_judge "$1" >"$work/judge.log" 2>&1
        status=$?
        case $status in
        0) verdict=survived ;;
        2) verdict="not judged" ;;
        *) verdict=caught ;;
        esac
        said=$(grep -m 1 -o 'a race: .*\|threads wait for.*' "$work/judge.log" || grep -m 1 ':' "$work/judge.log")
        [ "$status" -lt 124 ] || said="ended by a signal or by time ($status)"
    fi
    mutant_undo "$1"
    : >"$work/present"
}

is_tried() {
    grep -qF "$1$tab$2$tab$3$tab" "$verdicts"
}

all_try() {
    # A copy of other sources would be built of both.
    [ "$(cat "$work/revision" 2>/dev/null)" = "$(git rev-parse HEAD)" ] || rm -rf "$copy" "$work/present"
    [ -e "$copy/build/kept" ] || copy_make || exit 99
    git rev-parse HEAD >"$work/revision"
    # Somebody may have ended the last one amid a mutant.
    present=$(cat "$work/present" 2>/dev/null)
    [ -z "$present" ] || (cd "$copy" && units=$(units_of "$present") && mutant_undo "$present")
    list >"$work/list.tsv"
    while IFS="$tab" read -r kind file line which text becomes; do
        export becomes
        is_tried "$file" "$text" "$which" && continue
        [ -z "$seconds" ] || [ $(($(date +%s) - began)) -lt "$seconds" ] || return
        (
            mutant_try "$file" "$line" </dev/null || exit 99
            printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$file" "$text" "$which" "$kind" "$line" "$verdict" \
                "$(echo "$said" | tr '\t\n' '  ' | cut -c 1-240)" >>"$verdicts"
            echo "$verdict: $file:$line: $text"
        ) || exit 99
    done <"$work/list.tsv"
}

# The committed page: how many of each kind, who was not noticed and why, and all of them.
page_write() {
    echo "# Mutants of the code for GPUs"
    echo
    echo "Made by \`ci/mutate.sh --table\`; see tests/mutants/README.md. Each row takes one thing away from one line."
    awk -F "$tab" -v OFS="$tab" '
        function cell(text) { gsub(/\|/, "\\|", text); return text }
        FILENAME ~ /reasons\.tsv$/ { kind_of_reason[$1, $2, $3] = $4; reason[$1, $2, $3] = $5; next }
        FILENAME ~ /verdicts\.tsv$/ { verdict[$1, $2, $3] = $6; said[$1, $2, $3] = $7; next }
        {
            key = $2 SUBSEP $5 SUBSEP $4
            is = key in verdict ? verdict[key] : "not tried"
            count[$1, is]++
            kinds[$1]
            why = is == "survived" ? (key in reason ? kind_of_reason[key] ": " reason[key] : "open") : said[key]
            line = "| " $2 ":" $3 " (" $4 ") | `" cell($5) "` | " $1 " | " is " | " cell(why) " |"
            if (is == "survived") survivors = survivors line "\n"
            all = all line "\n"
        }
        END {
            many = split("caught,survived,not built,not judged,not tried", answers, ",")
            print "\n| kind | caught | survived | not built | not judged | not tried |\n|---|---|---|---|---|---|"
            for (kind in kinds) {
                printf "| %s |", kind
                for (k = 1; k <= many; k++) printf " %d |", count[kind, answers[k]]
                print ""
            }
            head = "| where (which of the same text, part) | what | kind | verdict | why, or what was said |"
            head = head "\n|---|---|---|---|---|"
            print "\n## Survivors\n\n" head "\n" survivors
            printf "## All\n\n%s\n%s", head, all
        }' tests/mutants/reasons.tsv "$verdicts" "$work/list.tsv"
}

[ -n "$table_only" ] || all_try
list >"$work/list.tsv"
page=$work/MUTANTS.md
page_write >"$page"
[ "$only" != . ] || [ -z "$table_only" ] || cp "$page" tests/mutants/MUTANTS.md
sed '/^## All/,$d' "$page"
if grep -q '| survived | open' "$page"; then
    exit 1
elif grep -q '| not tried |' "$page"; then
    exit 3
fi
exit 0
