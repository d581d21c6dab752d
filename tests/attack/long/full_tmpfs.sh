#!/bin/sh
# A disk that is really full, at many sizes: what run, report and calibrate leave. Mounts a tmpfs of its own, in a name
# space of its own where it may.
. "$(dirname "$0")/../attack.sh"

if [ "${ATTACK_INSIDE:-}" != yes ]; then
    ATTACK_INSIDE=yes
    export ATTACK_INSIDE
    unshare -rm true 2>/dev/null || skip "no name space for a mount of its own"
    unshare -rm sh "$root/tests/attack/long/full_tmpfs.sh"
    exit
fi
mkdir disk
records plain
"$assay" report plain --format html --output plain/report.html >/dev/null 2>&1 || fail "a plain report"
for kilobytes in 64 128 200 256 300 400 500 700 1000 1400 2000 3000; do
    mount -t tmpfs -o size=${kilobytes}k none disk 2>/dev/null || skip "no mount"
    records disk/folder 2>/dev/null
    cp -r plain/plots disk/folder/plots 2>/dev/null
    whole_before=yes
    cmp -s plain/records.jsonl disk/folder/records.jsonl || whole_before=no
    if [ "$whole_before" = yes ]; then
        rm -f disk/folder/report.html
        find disk -size 0 -delete
        find disk/folder/plots -type f 2>/dev/null | while read -r file; do
            cmp -s "$file" "plain/plots/${file##*/}" || rm "$file"
        done
        timeout 60 "$assay" report disk/folder --format html --exit-zero --output disk/folder/report.html >said 2>&1
        code=$?
        [ "$code" -eq 0 ] || [ "$code" -eq 2 ] || fail "exit code $code in $kilobytes KiB"
        [ "$code" -eq 2 ] || [ -s disk/folder/report.html ] || fail "no page and exit code 0 in $kilobytes KiB"
        whole disk/folder
        timeout 60 "$assay" run "$root/suites/selftest.yaml" --filter right --device host --quiet --out disk/folder \
            >said 2>&1
        [ $? -lt 126 ] || fail "the run died in $kilobytes KiB"
        expect 0 "$assay" report disk/folder --format csv --exit-zero
        whole disk/folder
    fi
    umount disk
done
