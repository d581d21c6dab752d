#!/bin/sh
# A run that is killed at any moment loses no case that was finished, and the next one follows it.
. "$(dirname "$0")/../attack.sh"

suite=$root/suites/selftest.yaml
round=0
finished=0
while [ "$round" -lt "$rounds" ]; do
    "$assay" run "$suite" --device host --out folder >/dev/null 2>printed &
    victim=$!
    sleep "$(awk -v seed="$$$round" 'BEGIN { srand(seed); printf "%.3f", rand() * 0.8 }')"
    kill -9 "$victim" 2>/dev/null
    wait "$victim" 2>/dev/null
    [ ! -s folder/records.jsonl ] || {
        now=$(grep -c '"type": *"case".*}$' folder/records.jsonl)
        [ "$now" -ge "$finished" ] || fail "of $finished finished cases $now are left"
        finished=$now
    }
    whole folder
    round=$((round + 1))
done
"$assay" run "$suite" --device host --quiet --out folder >/dev/null 2>&1
[ "$(grep -c '"type": *"case".*}$' folder/records.jsonl)" -eq $((finished + 2)) ] ||
    fail "the run after the killed ones"
timeout 60 "$assay" report folder --format csv --exit-zero >said 2>&1 ||
    fail "the records of killed runs cannot be read"
