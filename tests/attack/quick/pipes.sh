#!/bin/sh
# Pipes where files are expected hold nothing up; pipes that the user names are written and read.
. "$(dirname "$0")/../attack.sh"

suite=$root/suites/selftest.yaml
mkfifo suite.yaml
expect 2 "$assay" plan ./suite.yaml
said "not a regular file"
mkdir piped
mkfifo piped/records.jsonl
for format in table html junit; do
    expect 2 "$assay" report piped --format "$format"
    said "piped/records.jsonl: is not a regular file"
done
expect 2 "$assay" compare piped piped
expect 2 "$assay" run "$suite" --filter right --device host --quiet --out piped
said "piped/records.jsonl: is not a regular file"
for name in report.md report.html; do
    mkdir "with-$name"
    mkfifo "with-$name/$name"
    expect 2 "$assay" run "$suite" --filter right --device host --quiet --out "with-$name"
    said "with-$name/$name: is not a regular file"
    [ ! -e "with-$name/records.jsonl" ] || fail "measured before the pipe was seen"
done

records folder
mkfifo pipe
timeout 60 cat pipe >read &
expect 0 "$assay" report folder --format csv --output pipe
wait $!
expect 0 "$assay" report folder --format csv --output file
cmp -s read file || fail "what came through a pipe is not what a file gets"
echo before >appended
timeout 60 "$assay" report folder --format csv --output /dev/stdout >>appended || fail "/dev/stdout"
echo before | cat - file | cmp -s - appended || fail "--output /dev/stdout does not append to what standard output is"
[ -e /dev/stdout ] || fail "/dev/stdout is gone"
command -v bash >/dev/null 2>&1 || exit 0
expect 0 bash -c '"$1" report <(cat folder/records.jsonl) --format csv --output >(cat >through)' bash "$assay"
for try in 1 2 3 4 5 6 7 8 9 10; do # bash does not wait for what >() started
    cmp -s through file && exit 0
    sleep 0.1
done
fail "what came through <() and >() is not what files get, after $try tries"
