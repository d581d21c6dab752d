#!/bin/sh
# Makes docs/REFERENCE.md and the table and plots in README.md from results/reference/*/records.jsonl alone: a new
# folder there is shown without further changes. The plots lie beside the records. docs/LEAGUE.md likewise,
# from the records in the folders league (of suites/league.yaml) and weights-rule of a device.
#
# usage: reference.sh             write the page, the README's part and the plots
#        reference.sh --check     write nothing; exit 1 and the difference if a file would change
#        reference.sh --add DIR   take the records of a folder of ci/gpu.sh into the folder of their device, then write
#        --assay PROGRAM, --root DIR before these: another program (build/assay), another repository
set -u

root=$(cd "$(dirname "$0")/.." && pwd) || exit 99
columns_awk=$root/ci/table-columns.awk # of this repository, whichever is written
assay=
mode='write'
added=
while [ $# -gt 0 ]; do
    case $1 in
    --check) mode=check ;;
    --add | --assay | --root)
        [ -n "${2:-}" ] || { echo "reference.sh: $1 needs a value" >&2; exit 2; }
        case $1 in
        --add) added=$(cd "$2" && pwd) || exit 2 ;;
        --assay) assay=$(cd "$(dirname "$2")" && pwd)/${2##*/} || exit 2 ;;
        --root) root=$2 ;;
        esac
        shift
        ;;
    *) echo "reference.sh: unknown option '$1'; use --check, --add DIR, --assay PROGRAM or --root DIR" >&2; exit 2 ;;
    esac
    shift
done
cd "$root" || exit 2
assay=${assay:-$root/build/assay}
"$assay" --version >/dev/null 2>&1 || { echo "reference.sh: $assay does not run; build it with make" >&2; exit 2; }
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
export COLUMNS=110
plots='accuracy overhead'

# A copy that takes the place of the file only when it is whole: a full disk or a kill leaves the old one.
file_replace() {
    beside=$(mktemp "$(dirname "$2")/.assay-XXXXXXXX") &&
        cat "$1" >"$beside" && chmod "$(printf '%o' $((0666 & ~0$(umask))))" "$beside" && mv -f "$beside" "$2" && return
    rm -f "$beside"
    echo "reference.sh: $2 cannot be written; what was there is as it was" >&2
    exit 2
}

# Puts what a function prints into the file $1, whole or not at all: printf and awk do not always say that the disk is
# full, but the last line shows it.
file_make() {
    made_file=$1
    shift
    { "$@" && echo whole; } >"$made_file.part" && [ "$(tail -n 1 "$made_file.part")" = whole ] &&
        sed '$d' "$made_file.part" >"$made_file" && return
    echo "reference.sh: ${made_file##*/} cannot be made in $work; nothing of it was written" >&2
    exit 2
}

# Text of a member in the first line of records that has it, within the object of another member if $3 names one.
member() {
    sed -n 's/.*'"${3:+\"$3\": *{[^\}]*}"'"'"$1"'": *"\([^"]*\)".*/\1/p' "$2" | head -n 1
}

# As device_slug of harness/record/constants.h has it.
slug_of() {
    kind=$(member kind "$1" device)
    name=$(member name "$1" device)
    [ "$kind" != cuda ] || kind=
    printf '%s %s' "$kind" "$name" | LC_ALL=C tr '[:upper:]' '[:lower:]' |
        LC_ALL=C tr -cs '[:lower:][:digit:]' '-' | sed 's/^-*//; s/-*$//'
}

if [ -n "$added" ]; then
    slug=$(slug_of "$added/records.jsonl")
    [ -n "$slug" ] || {
        echo "reference.sh: no case of $added/records.jsonl has a device; was anything measured?" >&2
        exit 2
    }
    revision=$(member revision "$added/records.jsonl" tool)
    git cat-file -e "${revision:-none}^{commit}" 2>/dev/null || {
        echo "reference.sh: $added/records.jsonl was measured by revision ${revision:-(none)}, which this repository" \
            "does not have, so nobody could measure it again; commit what was measured, and measure it anew" >&2
        exit 2
    }
    mkdir -p "results/reference/$slug" || exit 2
    file_replace "$added/records.jsonl" "results/reference/$slug/records.jsonl"
    echo "results/reference/$slug/records.jsonl"
fi

# "median / worst" of an estimator and a quantity, from the table of the Markdown report; "-" if it has none.
error_words() {
    tr -d '\134' <"$1" | awk -F ' *[|] *' -v estimator="$2" -v quantity="$3" '
        $2 == estimator && $3 == quantity && $4 + 0 > 0 { print $5 " / " $6; found = 1 }
        END { if (!found) print "-" }'
}

overview_make() {
    echo '| device | measured | cases | replay: allocated | replay: footprint | accelerate: total |'
    echo '|---|---|---:|---:|---:|---:|'
    for folder in results/reference/*/; do
        [ -f "$folder/records.jsonl" ] || continue
        slug=$(basename "$folder")
        printf '| [%s](%s#%s) | %s | %s | %s | %s | %s |\n' \
            "$(member name "$folder/records.jsonl" device)" "$1" "$slug" \
            "$(member started "$folder/records.jsonl" | cut -c 1-10)" \
            "$(sed -n 's/.*; \([0-9]* cases\{0,1\}: [^.]*\)\. Binary.*/\1/p' "$work/$slug.md")" \
            "$(error_words "$work/$slug.md" replay 'allocated peak')" \
            "$(error_words "$work/$slug.md" replay footprint)" \
            "$(error_words "$work/$slug.md" accelerate total)"
    done
}

# Small, side by side, each a link to its device. Nothing if no device has a plot.
overview_plots() {
    for folder in results/reference/*/; do
        slug=$(basename "$folder")
        [ ! -f "$folder/plots/accuracy.tsv" ] ||
            printf '[<img src="%splots/accuracy.svg" width="380" alt="%s: %s">](docs/REFERENCE.md#%s)\n' \
                "$folder" "predicted against measured" "$slug" "$slug"
    done
}

# The pages of a plot that a folder has: NAME, NAME-2, or NAME-MODEL.
plot_pages() {
    for page in "$1/$2.tsv" "$1/$2"-*.tsv; do
        [ ! -f "$page" ] || basename "$page" .tsv
    done
}

# The part of a Markdown report from a heading to the next one, without both.
report_section() {
    awk -v heading="$2" '/^## / { on = index($0, heading) == 4; next } on' "$1" | sed '/./,$!d'
}

device_section() {
    folder=results/reference/$1
    records=$folder/records.jsonl
    driver=$(member driver "$records" device)
    word=driver
    [ "$(member kind "$records" device)" != host ] || word=kernel
    printf '\n## %s\n\n' "$1"
    printf '%s, measured %s by %s%s. ' "$(member name "$records" device)" "$(member started "$records" | cut -c 1-10)" \
        "assay $(member version "$records" tool)" "${driver:+, $word $driver}"
    printf 'Kept in [%s](../%s):' "$folder" "$folder"
    for path in "$folder"/*; do
        case $path in */plots) ;; *) printf ' [%s](../%s)' "${path##*/}" "$path" ;; esac
    done
    printf '.\n\n%s\n\n' "How far each estimator was off, (predicted - measured) / measured:"
    report_section "$work/$1.md" "Accuracy per estimator" | grep '^|'
    for plot in $plots; do
        plot_pages "$folder/plots" "$plot" | while read -r page; do
            printf '\n![%s](../%s/plots/%s.svg)\n' "$plot" "$folder" "$page"
        done
    done
    printf '\nEvery case:\n\n```text\n'
    "$assay" report "$folder" --format summary --exit-zero | sed '/^Peak of allocated/,/^$/d'
    printf '```\n'
    if grep -q '^## Spread over' "$work/$1.md"; then
        printf '\nFresh processes of one case, highest less lowest:\n\n'
        report_section "$work/$1.md" "Spread over" | grep '^- '
    fi
}

page_make() {
    cat <<'TEXT'
# Reference results

Made by `ci/reference.sh` from [results/reference](../results/reference), one section for each device that was
measured, and nothing by hand; a test compares it with the records. `make gpu` measures, and
`ci/reference.sh --add results/gpu` adds what it measured. Errors are (predicted - measured) / measured: their median,
with signs, and the worst one. [NUMBERS.md](NUMBERS.md) says what each figure means.

TEXT
    overview_make ''
    for folder in results/reference/*/; do
        [ ! -f "$folder/records.jsonl" ] || device_section "$(basename "$folder")"
    done
}

readme_make() {
    table=$work/overview awk '
        /^<!-- end of the reference results -->/ { inside = 0 }
        !inside { print }
        /^<!-- reference results, made by ci\/reference.sh -->/ {
            inside = 1
            while ((getline line < ENVIRON["table"]) > 0) print line
        }' README.md
}

# Writes a file, or says how it differs. Images differ between releases of gnuplot, their data do not.
settle() {
    if [ "$mode" = write ]; then
        file_replace "$1" "$2"
    elif ! diff -u "$2" "$1"; then
        echo "reference.sh: $2 is not made from the records; run ci/reference.sh"
        failed=yes
    fi
}

# One folder of a device with records of its own, $1, as a section of docs/LEAGUE.md. $2: its Markdown report, $3: its
# plot.
league_section() {
    made_words=Measured
    ! grep -q '"basis": "replayed"\|"device": {[^}]*"kind": "meta"' "$1/records.jsonl" ||
        made_words='Measured and replayed'
    printf '\n## %s: %s\n\n%s %s, kept in [%s](../%s/records.jsonl).\n\n' "$(sed -n '1s/^# //p' "$2")" \
        "$(member name "$1/records.jsonl" device)" "$made_words" \
        "$(member started "$1/records.jsonl" | cut -c 1-10)" "$1" "$1"
    printf '![%s](../%s/plots/%s.svg)\n' "$3" "$1" "$3"
    sed '1d; s/^##/###/' "$2"
}

league_page() {
    cat <<'TEXT'
# The league of estimators

Made by `ci/reference.sh` from the records under [results/reference](../results/reference) and nothing by hand; a test
compares it with them. `build/assay run suites/league.yaml --device auto --out DIR` measures the cases,
`build/assay report DIR --league` ranks, and `build/assay report DIR --rule 1.2` compares inference with a multiple
of the weights (`suites/weights-rule.yaml`). What each figure means is in [NUMBERS.md](NUMBERS.md).
TEXT
    cat "$1"
}

# The Markdown report of a folder into $2.md, and its plots beside its records. $3: the plots; what follows: more
# options.
report_make() {
    folder=$1 made=$2 names=$3
    shift 3
    [ $# -gt 0 ] || set -- --exit-zero # what a case came to is in the page
    "$assay" report "$folder" "$@" --format md --plots "$made" --output "$made.md" >"$work/notes" 2>&1 ||
        { cat "$work/notes" >&2; exit 2; }
    mkdir -p "$folder/plots"
    for name in $names; do
        plot_pages "$made" "$name"
    done >"$work/pages"
    while read -r name; do
        [ "$mode" = check ] || [ -s "$made/$name.svg" ] || { cat "$work/notes" >&2; exit 2; }
    done <"$work/pages"
    while read -r name; do
        settle "$made/$name.tsv" "$folder/plots/$name.tsv"
        [ "$mode" = check ] || file_replace "$made/$name.svg" "$folder/plots/$name.svg"
        [ -s "$folder/plots/$name.svg" ] || { echo "reference.sh: $folder/plots/$name.svg is missing"; failed=yes; }
    done <"$work/pages"
    [ "$mode" = check ] || pages_drop
}

# Removes pages that the report no longer has, once the others are written.
pages_drop() {
    for name in $names; do
        plot_pages "$folder/plots" "$name" | while read -r page; do
            grep -qxF "$page" "$work/pages" || rm -f "$folder/plots/$page.tsv" "$folder/plots/$page.svg"
        done
    done
}

# The league over all cases, of each device that has one, for README.md.
league_overview() {
    for made in "$work"/*-league.md; do
        [ -f "$made" ] || continue
        slug=$(basename "$made" -league.md)
        printf '\nHow estimators compare on %s, over %s (%s: by mode and family). %s\n\n' \
            "$(member name "results/reference/$slug/league/records.jsonl" device)" \
            "$(report_section "$made" "All cases" | sed -n '1s/;.*//p')" '[docs/LEAGUE.md](docs/LEAGUE.md)' \
            'The median of |error| decides the rank; estimators marked few or part answer too few cases to have one.'
        report_section "$made" "All cases" | awk -v columns=9 -f "$columns_awk"
        common_count=$(report_section "$made" "All cases" | sed -n '1s/.* answer \([0-9]*\) of them.*/\1/p')
        printf '\n%s %s %s %s\n\n' \
            'Bias is the mean error with its sign; under is the share of cases that were predicted too small.' \
            "Common is the median over the $common_count cases" \
            'that every ranked estimator answers, so that nobody gains by easy cases.' \
            '`assay estimators` says what each estimator is.'
        printf '%s %s\n' 'Baselines are marked \*. They are no published rules, but what somebody would predict after' \
            'measuring other cases. A cleverer rule should do better.'
        echo
        report_section "$made" "How to read it" | grep '^- '
    done
}

overview_whole() {
    overview_make docs/REFERENCE.md
    [ ! -s "$work/thumbnails" ] || { echo; cat "$work/thumbnails"; }
    league_overview
}

failed=
for path in results/reference/*/; do
    [ -f "$path/records.jsonl" ] || continue
    report_make "${path%/}" "$work/$(basename "$path")" "$plots"
done
for part in league weights-rule; do
    case $part in league) option=--league plot=league ;; *) option=--rule=1.2 plot=rule ;; esac
    for path in results/reference/*/"$part"; do
        [ -f "$path/records.jsonl" ] || continue
        made=$work/$(basename "${path%/*}")-$part
        report_make "$path" "$made" "$plot" "$option"
        file_make "$work/part" league_section "$path" "$made.md" "$plot"
        cat "$work/part" >>"$work/parts" || exit 2
    done
done
if [ -s "$work/parts" ]; then
    file_make "$work/league" league_page "$work/parts"
    settle "$work/league" docs/LEAGUE.md
fi
file_make "$work/page" page_make
file_make "$work/thumbnails" overview_plots
file_make "$work/overview" overview_whole
file_make "$work/readme" readme_make
settle "$work/page" docs/REFERENCE.md
settle "$work/readme" README.md
[ -z "$failed" ]
