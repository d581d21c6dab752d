#!/bin/sh
# Reports made at the same time in one folder are each what one alone would be.
. "$(dirname "$0")/../attack.sh"

needed gnuplot
records folder
expect 0 "$assay" report folder --format html --output folder/alone.html
sums folder/plots >before
turn=0
while [ "$turn" -lt $(((rounds + 3) / 4)) ]; do
    reports=
    for number in 1 2 3 4 5 6; do
        "$assay" report folder --format html --output "folder/page-$number.html" 2>"$work/errors-$number" &
        reports="$reports $!"
    done
    for report in $reports; do
        wait "$report" || fail "a report among others ended with $?"
    done
    for number in 1 2 3 4 5 6; do
        diff "folder/alone.html" "folder/page-$number.html" >said ||
            fail "page $number differs from that of a report alone"
    done
    same folder/plots before
    turn=$((turn + 1))
done
whole folder
