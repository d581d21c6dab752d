#!/bin/sh
# A report whose output lies elsewhere changes nothing in the folder that it reads, with gnuplot or without.
. "$(dirname "$0")/../attack.sh"

cp -r "$reference" folder
sums folder >before
mkdir empty
for path in "$PATH" "$work/empty"; do
    for options in "" --league "--rule 1.2"; do
        records=folder
        case $options in --league) records=folder/league ;; --rule*) records=folder/weights-rule ;; esac
        # shellcheck disable=SC2086
        expect 0 env PATH="$path" "$assay" report "$records" $options --format html --output "$work/page.html"
        same folder before
        # shellcheck disable=SC2086
        expect 0 env PATH="$path" "$assay" report "$records" $options --format html
        same folder before
    done
done
# Beside the records the plots are replaced, and no file of before is gone.
find folder -type f | LC_ALL=C sort >names
expect 0 env PATH="$work/empty" "$assay" report folder --format html --output folder/report.html
said "gnuplot is not installed"
find folder -type f | LC_ALL=C sort >now
[ -z "$(comm -23 names now)" ] || fail "gone: $(comm -23 names now)"
cmp -s "$reference/plots/accuracy.svg" folder/plots/accuracy.svg || fail "an image was lost without gnuplot"
