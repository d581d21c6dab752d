#!/bin/sh
# A report that is killed at any moment leaves whole files, and nothing beside them.
. "$(dirname "$0")/../attack.sh"

needed gnuplot
records folder
expect 0 "$assay" report folder --format html --output folder/report.html
round=0
while [ "$round" -lt "$rounds" ]; do
    "$assay" report folder --format html --output folder/report.html >/dev/null 2>&1 &
    victim=$!
    sleep "$(awk -v seed="$$$round" 'BEGIN { srand(seed); printf "%.3f", rand() * 1.2 }')"
    kill -9 "$victim" 2>/dev/null
    wait "$victim" 2>/dev/null
    whole folder
    round=$((round + 1))
done
expect 0 "$assay" report folder --format html --output folder/report.html
whole folder
