#!/bin/sh
# A folder that somebody sent, with links in it: nothing outside it is written, and the links stay.
. "$(dirname "$0")/../attack.sh"

suite=$root/suites/selftest.yaml
run() {
    expect "$1" "$assay" run "$suite" --filter right --device host --quiet --out "$2"
}
echo precious >outside
cksum outside >before

records images
mkdir images/plots
for name in accuracy anatomy overhead timeline; do
    ln -s "$work/outside" "images/plots/$name.svg.part"
    ln -s "$work/outside" "images/plots/$name.png.part"
done
expect 0 "$assay" report images --format html --output images/report.html
ln -sf "$work/outside" images/plots/accuracy.tsv
expect 2 "$assay" report images --format html --output images/report.html
said "images/plots/accuracy.tsv: is a symbolic link"

mkdir appended
ln -s "$work/outside" appended/records.jsonl
run 2 appended
said "appended/records.jsonl: is a symbolic link"

# Before anything is measured.
for name in report.md report.html; do
    mkdir "with-$name"
    ln -s "$work/outside" "with-$name/$name"
    run 2 "with-$name"
    said "with-$name/$name: is a symbolic link"
    [ ! -e "with-$name/records.jsonl" ] || fail "measured before the link was seen"
done
cksum outside | diff before - || fail "a file outside was written"

# The user's own: a folder that is a link, and an output that is one.
mkdir scratch
ln -s scratch results
run 0 results
[ -s scratch/report.html ] || fail "a link to the folder is not followed"
ln -s scratch/page.html page.html
expect 0 "$assay" report results --format html --output page.html
[ -L page.html ] && [ -s scratch/page.html ] || fail "the link that was named as output is gone"
whole scratch
