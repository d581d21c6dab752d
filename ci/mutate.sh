#!/bin/sh
# Takes away each barrier, wait, fence, bound check, device setting and fallback of the code for GPUs, one at a time
# (ci/mutants.awk), and asks the strict emulation whether it notices (tests/mutants/judge.c). Works in a copy below
# build/, never in the tree. Verdicts are kept in tests/mutants/verdicts.tsv with a checksum of the file that was
# mutated: what has one of the file as it is now is not tried again, so that this can be ended, and begun elsewhere.
#
# usage: mutate.sh [--seconds N] [--only PATTERN] [--work FOLDER] [--share K/N] [--whole N] [--table]
#   --seconds N      begins no mutant after that time
#   --only PATTERN   mutants whose line of the list has that (grep -E)
#   --work FOLDER    of the copy; build/mutants if it is not given. Those who work at the same time need one each
#   --share K/N      every N-th mutant, from the K-th on
#   --whole N        how many seconds conformance has for a mutant that small trials did not notice; 600
#   --table          tries nothing: writes tests/mutants/MUTANTS.md of the verdicts and of reasons.tsv beside it, and
#                    leaves verdicts out that are of other sources
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
table_only=
while [ $# -gt 0 ]; do
    case $1 in
    --seconds) seconds=${2:?} && shift ;;
    --only) only=${2:?} && shift ;;
    --work) work=${2:?} && shift ;;
    --share) share=${2:?} && shift ;;
    --whole) whole=${2:?} && shift ;;
    --table) table_only=yes ;;
    *) echo "mutate.sh: $1 is not known; see its first lines" >&2 && exit 2 ;;
    esac
    shift
done
began=$(date +%s)
mkdir -p "$work" && work=$(cd "$work" && pwd) || exit 99
tab=$(printf '\t')
copy=$work/copy
verdicts=$root/tests/mutants/verdicts.tsv # FILE, TEXT, WHICH, KIND, LINE, VERDICT, what was said, SUM of the file
plugins=build/tests/cuda_emulation
judge=build/tests/mutants/judge
few=3000 # elements of the trials that are asked first
touch "$verdicts"

sources() {
    ls harness/kernels/*.cu harness/kernels/body*.h harness/kernels/launch_*.h harness/device/cuda/*.cu \
        harness/device/cuda/cuda_*.c
}

file_sum() {
    cksum <"$1" | cut -d ' ' -f 1
}

# KIND FILE LINE WHICH TEXT BECOMES SUM; bound checks, which are many, last.
list() {
    for source in $(sources); do
        awk -f ci/mutants.awk "$source" | sed "s/\$/$tab$(file_sum "$source")/"
    done | grep -E "$only" >"$work/all.tsv"
    for kind in device fallback barrier fence wait bound; do grep "^$kind$tab" "$work/all.tsv"; done
}

# The operations that go through $1: of a .cu file, as the table names its launches.
operations_of() {
    case $1 in
    *product_kernels.cu | *column_kernels.cu)
        sed -n 's/^ *PRODUCT(\([A-Z][A-Z_0-9]*\),.*/\1/p' harness/kernels/operation.h
        ;;
    *attention_bias.*) echo ATTENTION_BIAS_GRADIENT POSITION_BUCKETS ;;
    *body_attention*backward.h) echo ATTENTION_BACKWARD ;;
    *launch_attention_decode.cu | *body_attention_core_decode.h | *body_attention_core_forward.h) echo ATTENTION ;;
    *body_attention* | *body_tile.h | *launch_attention*) echo ATTENTION ATTENTION_BACKWARD ATTENTION_BIAS_GRADIENT ;;
    *launch_grouped_core.cu) echo GROUPED_MATMUL ;;
    *.h) for unit in $2; do operations_of "$unit"; done | sort -u ;;
    *)
        sed -n 's/^const char \*\(launch_[a-z_0-9]*\)(.*/\1/p' "$1" | while read -r launch; do
            # A row may have several lines.
            { tr -d '\\\n' <harness/kernels/operation.h && echo; } | sed 's/KERNEL(/\n&/g' |
                sed -n "s/^KERNEL(\([A-Z_0-9]*\),.* $launch).*/\1/p"
        done
        ;;
    esac
}

# The tests that say more of a mutant of the kind $1 in the file $2 than operations do.
tests_of() {
    case $1-$2 in
    device-*.c) echo test_emulated_placement test_emulated_visible test_emulated_placed_cases test_emulated_faults ;;
    fallback-*.c) echo test_emulated_refused_products test_emulated_faults ;;
    fallback-* | bound-*) echo test_checked_ids test_checked_counts ;; # a slower way moves more
    esac
}

# The .cu files that $1 is part of, those first that are soonest compiled.
units_of() {
    case $1 in
    *.cu) echo "$1" ;;
    *.c) ;;
    *)
        # First who uses most of it.
        case $1 in
        *body.h | *body_row.h | *body_rows.h) echo harness/kernels/launch_rows.cu ;;
        *body_tile.h | *body_attention_backward.h) echo harness/kernels/launch_attention.cu ;;
        *body_*) ls "$(echo "$1" | sed 's/body_\(.*\)\.h$/launch_\1.cu/')" 2>/dev/null ;;
        esac
        (cd "$copy/build/kept/watched" && grep -l " $1\( \|:\|$\)" harness/*/*.d harness/*/*/*.d |
            sed 's/\.d$/.o/' | xargs -r ls -Sr | sed 's/\.o$//')
        ;;
    esac | awk '!seen[$0]++'
}

# What the copy is made of.
sources_sum() {
    git ls-files -- Makefile ci/plugin.map ci/nvcc-trial.sh harness models tests ':!tests/mutants/*.tsv' ':!*.md' |
        xargs cat 2>/dev/null | cksum
}

copy_make() {
    rm -rf "$copy" "$work/right"
    mkdir -p "$copy" "$work/right" || return 1
    git ls-files -z -- . ':!results' ':!peers' ':!docs' | tar -c --null -T - | tar -x -C "$copy" || return 1
    # Objects of the same sources need not be made again.
    for part in emulated watched obj libassay.a; do
        [ ! -e "build/$part" ] || cp -pr --parents "build/$part" "$copy" || return 1
    done
    programs=$(for like in device-.c fallback-.c fallback-.cu; do tests_of "${like%-*}" "${like#*-}"; done |
        tr ' ' '\n' | sort -u | sed "s|^|$plugins/|")
    # shellcheck disable=SC2086
    (cd "$copy" && make -s CUDA=no WERROR= "$plugins/watched/libassay_cuda.so" "$plugins/checked/libassay_cuda.so" \
        "$judge" $programs && mkdir -p build/kept && cp -pr build/watched build/emulated "$plugins/watched" \
        "$plugins/checked" "$plugins/libassay_cuda.so" $programs build/kept/)
}

mutant_write() {
    awk -v at="$2" 'NR == at { print ENVIRON["becomes"]; next } { print }' "$root/$1" >"$1"
}

# The plug-ins with $1 as it is now; $units: what is to be compiled of it.
mutant_build() {
    case $1 in
    *.h)
        changed=
        for unit in $units; do changed="$changed -W $unit"; done
        # shellcheck disable=SC2086
        make -s CUDA=no -o "$1" $changed "$plugins/watched/libassay_cuda.so" "$plugins/checked/libassay_cuda.so"
        ;;
    *.cu) make -s CUDA=no "$plugins/watched/libassay_cuda.so" "$plugins/checked/libassay_cuda.so" ;;
    *) make -s CUDA=no "$plugins/libassay_cuda.so" ;;
    esac >"$work/make.log" 2>&1 && return
    verdict="not built"
    said=$(grep -m 1 'error' "$work/make.log")
    return 1
}

# All is as it was, its times included.
mutant_undo() {
    cp -p "$root/$1" "$1"
    case $1 in
    *.c) cp -p "build/kept/emulated/$1.o" "build/emulated/$1.o" && cp -p build/kept/libassay_cuda.so "$plugins" ;;
    esac
    for unit in $(units_of "$1"); do
        cp -p "build/kept/watched/$unit.o" "build/watched/$unit.o"
        cp -p "build/kept/emulated/$unit.cpp" "build/emulated/$unit.cpp"
    done
}

# Exit status of the judge, of the plug-in $2 in the folder $1: trials of $3 elements at most, or all if that is 0, of
# the operation $4; $5 seconds.
ask() {
    size=
    [ "$3" = 0 ] || size="--elements $3"
    # shellcheck disable=SC2086
    EMULATED_SEED=1 ASSAY_PLUGIN_DIR="$copy/$1/$2" timeout --foreground "$5" "$judge" $size "$4"
}

# Whether the same question is answered well by what nobody has touched.
untouched_is_right() {
    note=$work/right/$1-$2-$3
    if [ ! -e "$note" ]; then
        ask build/kept "$1" "$2" "$3" 600 >"$note.log" 2>&1
        echo $? >"$note"
    fi
    [ "$(cat "$note")" = 0 ]
}

# PLUGIN ELEMENTS OPERATION SECONDS; exit status 0 where that decides.
question() {
    ask "$plugins" "$@" >"$work/judge.log" 2>&1
    status=$?
    [ "$status" -ne 0 ] || return 1
    # The smallest trials take seconds; others may just be long.
    if { [ "$status" -eq 124 ] && [ "$2" != "$few" ]; } || ! untouched_is_right "$@"; then
        untold="$untold $3"
        return 1
    fi
    verdict=caught
    said=$(grep -m 1 -o 'a race: .*\|threads wait for.*' "$work/judge.log" || grep -m 1 ':' "$work/judge.log")
    case $status in
    124) said="$3 has no end" ;;
    1) ;;
    *) said="$3 ends with status $status; $said" ;;
    esac
}

# What small trials say of $operations.
trials_judge() {
    for elements in $few 12000; do
        for plugin in watched checked; do
            for operation in $operations; do
                question "$plugin" "$elements" "$operation" 60 && return
            done
        done
    done
}

# What all of conformance says of them, for a mutant of the kind $1.
whole_judge() {
    ends=$(($(date +%s) + whole))
    # Beyond their tensors only one of them looks.
    order=watched
    [ "$1" != bound ] || order='checked watched'
    for plugin in $order; do
        for operation in $operations; do
            left=$((ends - $(date +%s)))
            if [ "$left" -le 0 ]; then
                untold="$untold $operation"
            elif question "$plugin" 0 "$operation" "$left"; then
                return
            fi
        done
    done
}

# What $tests say.
tests_judge() {
    for test in $tests; do
        if [ ! -e "$work/right/$test" ]; then
            timeout --foreground 600 "build/kept/$test" >"$work/right/$test.log" 2>&1
            echo $? >"$work/right/$test"
        fi
        timeout --foreground 600 "$plugins/$test" >"$work/judge.log" 2>&1 && continue
        if [ "$(cat "$work/right/$test")" = 0 ]; then
            verdict=caught
            said="$test: $(grep -m 1 'FAILED' "$work/judge.log")"
            return
        fi
        untold="$untold $test"
    done
}

mutant_judge() {
    tests=$(tests_of "$2" "$1")
    operations=
    case $1 in *.c) ;; *) operations=$(cd "$root" && operations_of "$1" "$units" | sort -u) ;; esac
    if [ -z "$operations$tests" ] && [ -n "$units_left" ]; then
        verdict=survived
        return
    elif [ -z "$operations$tests" ]; then
        verdict="not judged"
        said="no operation or test is known to use it"
        return
    fi
    verdict=survived
    trials_judge
    # What is left to be compiled says more.
    [ -z "$units_left" ] || return
    [ "$verdict" != survived ] || tests_judge
    [ "$verdict" != survived ] || whole_judge "$2"
    [ "$verdict" != survived ] || [ -z "$untold" ] ||
        said="no whole answer for $(echo "$untold" | tr ' ' '\n' | sort -u | xargs)"
}

# $1: FILE, $2: LINE, $3: KIND, $becomes: the line as it becomes. Leaves a verdict and what was said.
mutant_try() {
    cd "$copy" || return 1
    echo "$1" >"$work/present" || return 1
    untold=
    all_units=$(units_of "$1")
    mutant_write "$1" "$2"
    # Small trials of one of those that include a header often say enough.
    units=$(echo "$all_units" | head -n 1)
    units_left=$(echo "$all_units" | tail -n +2)
    mutant_build "$1" && mutant_judge "$1" "$3"
    if [ "$verdict" = survived ] && [ -n "$units_left" ]; then
        units=$units_left
        units_left=
        mutant_build "$1" && mutant_judge "$1" "$3"
    fi
    mutant_undo "$1"
    : >"$work/present"
}

is_tried() {
    awk -F "$tab" -v file="$1" -v which="$2" -v sum="$3" '
        $1 == file && $2 == ENVIRON["text"] && $3 == which && $8 == sum { found = 1 }
        END { exit !found }' "$verdicts"
}

# The list, those first whose units are small together; in the order of the kinds where they are the same.
cheap_first() {
    cut -f 2 "$work/list.tsv" | sort -u | while read -r file; do
        bytes=$(units_of "$file" | sed "s|.*|$copy/build/kept/watched/&.o|" | xargs -r cat | wc -c)
        printf '%s\t%d\n' "$file" "$bytes"
    done >"$work/costs.tsv"
    awk -F "$tab" -v OFS="$tab" 'NR == FNR { cost[$1] = $2; next } { print cost[$2], $0 }' "$work/costs.tsv" \
        "$work/list.tsv" | LC_ALL=C sort -s -n -k 1,1 | cut -f 2-
}

all_try() {
    # A copy of other sources would be built of both.
    [ "$(cat "$work/sources" 2>/dev/null)" = "$(sources_sum)" ] || rm -rf "$copy" "$work/present"
    [ -e "$copy/build/kept" ] || copy_make || exit 99
    sources_sum >"$work/sources"
    # Somebody may have ended the last one amid a mutant.
    present=$(cat "$work/present" 2>/dev/null)
    [ -z "$present" ] || (cd "$copy" && mutant_undo "$present")
    list >"$work/list.tsv"
    cheap_first | awk -v share="${share%/*}" -v of="${share#*/}" 'NR % of == share % of' >"$work/share.tsv"
    while IFS="$tab" read -r kind file line which text becomes sum; do
        export becomes text
        is_tried "$file" "$which" "$sum" && continue
        [ -z "$seconds" ] || [ $(($(date +%s) - began)) -lt "$seconds" ] || return
        (
            verdict=
            said=
            mutant_try "$file" "$line" "$kind" </dev/null || exit 99
            printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$file" "$text" "$which" "$kind" "$line" "$verdict" \
                "$(echo "$said" | tr '\t\n' '  ' | cut -c 1-240)" "$sum" >>"$verdicts"
            echo "$verdict: $file:$line ($which): $text"
        ) || exit 99
    done <"$work/share.tsv"
}

# Of each mutant that is in the list, the last verdict on the file as it is.
verdicts_tidy() {
    awk -F "$tab" '
        NR == FNR { wanted[$2, $5, $4, $7]; next }
        ($1, $2, $3, $8) in wanted { row[$1, $2, $3] = $0 }
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
[ "$only" != . ] || [ -z "$table_only" ] || verdicts_tidy
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
