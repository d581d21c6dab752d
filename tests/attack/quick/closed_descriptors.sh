#!/bin/sh
# Without standard input, output or error nothing is written to a file that took their numbers.
. "$(dirname "$0")/../attack.sh"

suite=$root/suites/selftest.yaml
"$assay" run "$suite" --filter right --device host --quiet --out folder >/dev/null 2>&1 || fail "a plain run"
cp folder/records.jsonl first
timeout 60 "$assay" run "$suite" --filter right --device host --out folder <&- >/dev/null 2>&-
timeout 60 "$assay" run "$suite" --filter right --device host --out folder <&- >&- 2>&-
timeout 60 "$assay" run "$suite" --filter right --device host --out folder >&- 2>/dev/null
head -c "$(wc -c <first)" folder/records.jsonl | cmp -s - first || fail "the first run has changed"
grep -v '^{.*}$' folder/records.jsonl >strange && fail "lines that are no records: $(head -n 1 strange)"
expect 0 "$assay" report folder --format csv
for closed in '<&-' '>&-' '2>&-' '<&- >&-' '<&- 2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
    rm -f page.html
    eval "timeout 60 \"\$assay\" report folder --format html --output page.html $closed"
    [ -s page.html ] || fail "no page with $closed"
done
whole folder
