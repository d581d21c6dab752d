#!/bin/sh
# Takes away each barrier, wait, fence, bound check, device setting and fallback of the code for GPUs, one at a time
# (ci/mutants.awk), and asks the strict emulation whether it notices (tests/mutants/judge.c). One plug-in is all
# mutants, each place of them asks which it is (tests/mutants/mutant.h), so that nothing is compiled twice; and only
# those trials are asked in which the mutant makes a difference at its place, the quickest first. Works in a copy below
# build/, never in the tree. Verdicts are kept in tests/mutants/verdicts.tsv with a checksum of the file that was
# mutated and with what noticed it: what has one of the file as it is now is not tried again, so that this can be ended,
# and begun elsewhere; of a file that has changed, what noticed is asked first.
#
# usage: mutate.sh [--seconds N] [--only PATTERN] [--work FOLDER] [--share K/N] [--whole N] [--again] [--table]
#   --seconds N      begins no mutant after that time
#   --only PATTERN   mutants whose line of the list has that (grep -E)
#   --work FOLDER    of the copy; build/mutants if it is not given. Those who work at the same time need one each
#   --share K/N      every N-th mutant, from the K-th on
#   --whole N        how many seconds all trials that reach a mutant have; 600
#   --again          also those that have a verdict
#   --table          tries nothing: writes tests/mutants/MUTANTS.md of the verdicts and of reasons.tsv beside it, where
#                    those that are of other sources do not count
#
# Exit status: 0 every mutant was noticed or has a reason why it need not be; 1 one was not noticed and has none; 3 some
# have not been tried; 99 something here does not work.
set -u

cd "$(dirname "$0")/.." || exit 99
root=$PWD
seconds=
only=.
work=$root/build/mutants
share=1/1
whole=600
again=
table_only=
while [ $# -gt 0 ]; do
    case $1 in
    --seconds) seconds=${2:?} && shift ;;
    --only) only=${2:?} && shift ;;
    --work) work=${2:?} && shift ;;
    --share) share=${2:?} && shift ;;
    --whole) whole=${2:?} && shift ;;
    --again) again=yes ;;
    --table) table_only=yes ;;
    *) echo "mutate.sh: $1 is not known; see its first lines" >&2 && exit 2 ;;
    esac
    shift
done
began=$(date +%s)
mkdir -p "$work" && work=$(cd "$work" && pwd) || exit 99
tab=$(printf '\t')
copy=$work/copy
# FILE, TEXT, WHICH, KIND, LINE, VERDICT, what was said, SUM of the file, QUESTION that noticed
verdicts=$root/tests/mutants/verdicts.tsv
plugins=build/tests/cuda_emulation
judge=build/tests/mutants/judge
few=400       # trials that are asked first
each_file=100 # numbers; tests/mutants/mutant.h has room for 160 files
touch "$verdicts"

sources() {
    ls harness/kernels/*.cu harness/kernels/body*.h harness/kernels/launch_*.h harness/device/cuda/*.cu \
        harness/device/cuda/cuda_*.c
}

file_sum() {
    cksum <"$1" | cut -d ' ' -f 1
}

# Numbers of a file stay when there are others: what was compiled of it is right as it is.
first_of() {
    grep -q -F -x "$1" "$work/numbered" 2>/dev/null || echo "$1" >>"$work/numbered"
    echo $(($(grep -n -F -x "$1" "$work/numbered" | cut -d : -f 1) * each_file))
}

# KIND FILE LINE WHICH TEXT NUMBER SUM; bound checks, which are many, last.
list() {
    for source in $(sources); do
        awk -v first="$(first_of "$source")" -f ci/mutants.awk "$source" | sed "s/\$/$tab$(file_sum "$source")/"
    done | grep -E "$only" >"$work/all.tsv"
    for kind in device fallback barrier fence wait bound; do
        awk -F "$tab" -v kind="$kind" '$1 == kind' "$work/all.tsv"
    done
}

# The tests that say more of a mutant of the kind $1 in the file $2 than operations do.
tests_of() {
    case $1-$2 in
    device-*.c) echo test_emulated_placement test_emulated_visible test_emulated_placed_cases test_emulated_faults ;;
    fallback-*.c) echo test_emulated_refused_products test_emulated_faults ;;
    fallback-* | bound-*) echo test_checked_ids test_checked_counts ;; # a slower way moves more
    esac
}

programs() {
    for like in device-.c fallback-.c fallback-.cu; do tests_of "${like%-*}" "${like#*-}"; done |
        tr ' ' '\n' | sort -u | sed "s|^|$plugins/|"
}

# The sources with a choice at each place.
choices_write() {
    for source in $(sources); do
        {
            # Everybody else's C is as it was.
            case $source in *.c) echo '#define MUTANTS_CHOSEN' ;; esac
            echo '#include "tests/mutants/mutant.h"'
            echo "#line 1 \"$source\""
            awk -v first="$(first_of "$source")" -v choices=1 -f ci/mutants.awk "$source"
        } >"$1/$source"
    done
    cp tests/mutants/mutant.cpp "$1/tests/cuda_emulation/emulated/mutant.cpp"
}

# What is as it was keeps its time, and what was made of it.
copy_update() {
    rm -rf "$work/fresh"
    mkdir -p "$copy" "$work/fresh" || return 1
    git ls-files -z -- . ':!results' ':!peers' ':!docs' ':!tests/mutants/*.tsv' ':!*.md' |
        tar -c --null -T - | tar -x -C "$work/fresh" || return 1
    choices_write "$work/fresh"
    (cd "$copy" && find . -path ./build -prune -o -type f -print) | while read -r file; do
        [ -e "$work/fresh/$file" ] || rm "$copy/$file"
    done
    (cd "$work/fresh" && find . -type f) | while read -r file; do
        cmp -s "$work/fresh/$file" "$copy/$file" && continue
        mkdir -p "$copy/${file%/*}" && mv "$work/fresh/$file" "$copy/$file" && touch "$copy/$file"
    done
    # shellcheck disable=SC2046
    (cd "$copy" && make -s CUDA=no WERROR= "$plugins/libassay_cuda.so" "$plugins/watched/libassay_cuda.so" \
        "$plugins/checked/libassay_cuda.so" "$judge" $(programs))
}

# Which mutants each trial reaches, of the plug-in that nobody watches.
reached_make() {
    sum=$(cd "$copy" && cat "$judge" "$plugins/libassay_cuda.so" "$plugins/watched/libassay_cuda.so" | cksum)
    if [ "$(cat "$work/reached.sum" 2>/dev/null)" != "$sum" ]; then
        rm -rf "$work/reached" "$work/right"
        echo "$sum" >"$work/reached.sum"
    fi
    mkdir -p "$work/reached" "$work/right"
    for operation in $(sed -n 's/^ *\(KERNEL\|PRODUCT\)(\([A-Z][A-Z_0-9]*\),.*/\2/p' harness/kernels/operation.h); do
        [ ! -e "$work/reached/$operation" ] || continue
        (cd "$copy" && MUTANTS_REACHED="$work/notes" ASSAY_PLUGIN_DIR="$copy/$plugins" \
            timeout --foreground 1200 "$judge" --reach "$operation" </dev/null >"$work/reach.log" 2>&1)
        grep -E "^$operation( [0-9]+)+\$" "$work/reach.log" >"$work/reached/$operation"
    done
}

# The trials that reach the mutant $1: of each variant of each operation one, the quickest first, then another.
places_of() {
    cat "$work"/reached/* | awk -v number="$1" '{
        for (k = 6; k <= NF; k++) if ($k == number) print $1, $2, $3, $4, $5
    }' | LC_ALL=C sort -s -n -k 5,5 |
        awk '{ turn = variants[$1, $4]++; print turn, operations[$1, turn]++, $0 }' |
        LC_ALL=C sort -s -n -k 1,1 -k 2,2 | cut -d ' ' -f 3-
}

# Exit status of the judge of the plug-in $1 as mutant $2, $3 seconds; standard input: trials.
ask() {
    (cd "$copy" && MUTANT="$2" EMULATED_SEED=1 ASSAY_PLUGIN_DIR="$copy/$plugins/$1" timeout --foreground "$3" \
        "$judge" --trials) >"$work/judge.log" 2>&1
}

# Whether the plug-in $1 does the trial $2 well where nobody has touched it.
untouched_is_right() {
    note="$work/right/$1 $2"
    if [ ! -e "$note" ]; then
        echo "$2" | ask "$1" -1 600
        echo $? >"$note"
    fi
    [ "$(cat "$note")" = 0 ]
}

# PLUGIN TRIALS SECONDS, of mutant $number; exit status 0 where that decides.
question() {
    cp "$2" "$work/left.txt"
    while [ -s "$work/left.txt" ]; do
        ask "$1" "$number" "$3" <"$work/left.txt"
        status=$?
        [ "$status" -ne 0 ] || return 1
        # A plug-in of other sources, say.
        [ "$status" -ne 2 ] || { cat "$work/judge.log" >&2 && exit 99; }
        place=$(sed -n 's/^at //p' "$work/judge.log" | tail -n 1)
        if [ "$status" -eq 124 ] || [ -z "$place" ]; then
            untold="$untold $1"
            return 1
        fi
        said=$(grep -m 1 -o 'a race: .*\|threads wait for.*' "$work/judge.log" ||
            grep -v '^at ' "$work/judge.log" | grep -m 1 ':')
        if untouched_is_right "$1" "$place"; then
            verdict=caught
            by="$1 $place"
            case $status in
            1) ;;
            3) said="${place%% *} has no end" ;;
            *) said="${place%% *} ends with status $status; $said" ;;
            esac
            return 0
        fi
        said=
        # On with those behind it.
        sed "1,/^$place\$/d" "$work/left.txt" >"$work/behind.txt"
        mv "$work/behind.txt" "$work/left.txt"
    done
    return 1
}

# What the test $1 says.
test_question() {
    if [ ! -e "$work/right/$1" ]; then
        (cd "$copy" && timeout --foreground 600 "$plugins/$1" >"$work/right/$1.log" 2>&1)
        echo $? >"$work/right/$1"
    fi
    (cd "$copy" && MUTANT=$number timeout --foreground 600 "$plugins/$1" >"$work/judge.log" 2>&1) && return 1
    if [ "$(cat "$work/right/$1")" = 0 ]; then
        verdict=caught
        by="test $1"
        said="$1: $(grep -m 1 'FAILED' "$work/judge.log")"
        return 0
    fi
    untold="$untold $1"
    return 1
}

# What noticed it last time.
known_judge() {
    case $known in
    '') return 1 ;;
    'test '*) test_question "${known#test }" ;;
    *)
        # Where there is such a trial yet.
        place=${known#* }
        operation=${place%% *}
        grep -q "^${place% *} " "$work/reached/$operation" 2>/dev/null || return 1
        echo "$place" >"$work/known.txt"
        question "${known%% *}" "$work/known.txt" 300
        ;;
    esac
}

# The trials that reach it, with the plug-ins that say something of the kind $1: few of them, then all, for as
# long as they may take.
trials_judge() {
    # Beyond their tensors only one of them looks.
    order=watched
    [ "$1" != bound ] || order='watched checked'
    for plugin in $order; do question "$plugin" "$2" "$3" && return; done
    return 1
}

# $1: FILE, $2: KIND. Leaves a verdict, what was said, and by whom.
mutant_judge() {
    places_of "$number" >"$work/places.txt"
    head -n "$few" "$work/places.txt" >"$work/few.txt"
    tail -n +$((few + 1)) "$work/places.txt" >"$work/rest.txt"
    tests=$(tests_of "$2" "$1")
    verdict=survived
    known_judge && return
    trials_judge "$2" "$work/few.txt" 300 && return
    trials_judge "$2" "$work/rest.txt" "$whole" && return
    for test in $tests; do test_question "$test" && return; done
    if [ -n "$untold" ]; then
        said="no whole answer of $(echo "$untold" | tr ' ' '\n' | sort -u | xargs)"
    elif [ ! -s "$work/places.txt" ]; then
        said="no trial reaches it"
    else
        said="$(($(wc -l <"$work/places.txt"))) trials reach it"
    fi
}

is_tried() {
    awk -F "$tab" -v file="$1" -v which="$2" -v sum="$3" '
        $1 == file && $2 == ENVIRON["text"] && $3 == which && $8 == sum { found = 1 }
        END { exit !found }' "$verdicts"
}

# What noticed the mutant, in whatever state its file was.
known_of() {
    awk -F "$tab" -v file="$1" -v which="$2" '
        $1 == file && $2 == ENVIRON["text"] && $3 == which { known = $9 }
        END { print known }' "$verdicts"
}

all_try() {
    copy_update || exit 99
    reached_make
    list >"$work/list.tsv"
    awk -v share="${share%/*}" -v of="${share#*/}" 'NR % of == share % of' "$work/list.tsv" >"$work/share.tsv"
    while IFS="$tab" read -r kind file line which text number sum; do
        export text
        [ -z "$again" ] && is_tried "$file" "$which" "$sum" && continue
        [ -z "$seconds" ] || [ $(($(date +%s) - began)) -lt "$seconds" ] || return
        known=$(known_of "$file" "$which")
        verdict=
        said=
        by=
        untold=
        mutant_judge "$file" "$kind" </dev/null
        printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$file" "$text" "$which" "$kind" "$line" "$verdict" \
            "$(echo "$said" | tr '\t\n' '  ' | cut -c 1-240)" "$sum" "$by" >>"$verdicts"
        echo "$verdict: $file:$line ($which): $text"
    done <"$work/share.tsv"
}

# Of each mutant that is in the list, the last verdict on the file as it is; without one, the last on any, whose
# question is asked first.
verdicts_tidy() {
    awk -F "$tab" '
        NR == FNR { wanted[$2, $5, $4, $7]; known[$2, $5, $4]; next }
        !(($1, $2, $3) in known) { next }
        ($1, $2, $3, $8) in wanted { row[$1, $2, $3] = $0; present[$1, $2, $3] }
        !(($1, $2, $3) in present) { row[$1, $2, $3] = $0 }
        END { for (key in row) print row[key] }' "$work/list.tsv" "$verdicts" |
        LC_ALL=C sort -t "$tab" -k 1,1 -k 5,5n -k 3,3 >"$work/tidy.tsv"
    cat "$work/tidy.tsv" >"$verdicts"
}

# The committed page: how many of each kind, who was not noticed and why, and all of them.
page_write() {
    echo "# Mutants of the code for GPUs"
    echo
    echo "Made by \`ci/mutate.sh --table\`; see tests/mutants/README.md. Each row takes one thing away from one line."
    awk -F "$tab" -v OFS="$tab" '
        function cell(text) { gsub(/\|/, "\\|", text); return text }
        FILENAME ~ /reasons\.tsv$/ { kind_of_reason[$1, $2, $3] = $4; reason[$1, $2, $3] = $5; next }
        FILENAME ~ /verdicts\.tsv$/ { verdict[$1, $2, $3, $8] = $6; said[$1, $2, $3, $8] = $7; next }
        {
            key = $2 SUBSEP $5 SUBSEP $4
            now = key SUBSEP $7
            is = now in verdict ? verdict[now] : "not tried"
            count[$1, is]++
            kinds[$1]
            why = is == "survived" ? (key in reason ? kind_of_reason[key] ": " reason[key] : "open") : said[now]
            line = "| " $2 ":" $3 " (" $4 ") | `" cell($5) "` | " $1 " | " is " | " cell(why) " |"
            if (is == "survived") survivors = survivors line "\n"
            all = all line "\n"
        }
        END {
            many = split("caught,survived,not tried", answers, ",")
            print "\n| kind | caught | survived | not tried |\n|---|---|---|---|"
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
[ "$only" != . ] || [ -z "$table_only" ] || verdicts_tidy
page=$work/MUTANTS.md
page_write >"$page"
[ "$only" != . ] || [ -z "$table_only" ] || cp "$page" tests/mutants/MUTANTS.md
sed '/^## All/,$d' "$page"
if grep -q '^| harness.*| survived | open' "$page"; then
    exit 1
elif grep -q '^| harness.*| not tried |' "$page"; then
    exit 3
fi
exit 0
