#!/bin/sh
# Where there is no room, each file is the old one, whole, or the new one, whole, and the exit code says that something
# is missing. The room is a limit on the size of a file, so that nobody needs to mount anything; long/full_disk.sh does
# that.
. "$(dirname "$0")/../attack.sh"

records folder
"$assay" report folder --format html --output folder/report.html >said 2>&1 || fail "a plain report"
"$assay" calibrate "$reference/calibrate" --output constants.json >said 2>&1 || fail "a plain calibration"
"$assay" explain gpt2 --mode infer --batch 1 --seq 16 --folded stacks >said 2>&1 || fail "plain stacks"
mkdir kept && cp -r folder constants.json stacks kept
sums kept/folder >before
for blocks in 0 1 2 4 8 16; do
    for command in "report folder --format html --output folder/report.html" \
        "report folder --format csv --output folder/report.html" \
        "calibrate $reference/calibrate --output constants.json" \
        "explain gpt2 --mode infer --batch 1 --seq 16 --folded stacks"; do
        # shellcheck disable=SC2086
        (ulimit -f "$blocks" && exec timeout 60 "$assay" $command) >/dev/null 2>&1
        code=$?
        [ "$code" -lt 126 ] || fail "exit code $code with room for $blocks blocks: $command"
        whole folder
        [ "$code" -eq 0 ] || continue
        rm -rf folder constants.json stacks
        cp -r kept/folder kept/constants.json kept/stacks .
    done
done
(ulimit -f 0 && exec timeout 60 "$assay" report folder --format html --output folder/report.html) >said 2>&1
[ $? -eq 2 ] || fail "no room at all is not told by the exit code"
same folder before
cmp -s constants.json kept/constants.json || fail "constants.json was cut"
cmp -s stacks kept/stacks || fail "the stacks were cut"
