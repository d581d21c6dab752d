#!/bin/sh
# PyTorch's records do not replace those that assay measured.
. "$(dirname "$0")/../attack.sh"

needed python3
cd "$root" || exit 99
lines=$(echo peers/pytorch/rehearsal-torch-*.jsonl)
records "$work/folder"
sums "$work/folder" >"$work/before"
expect 1 python3 peers/pytorch/truth_records.py "$lines" --out "$work/folder"
said "is not what this program wrote"
same "$work/folder" "$work/before"
expect 0 python3 peers/pytorch/truth_records.py "$lines" --out "$work/other"
expect 0 python3 peers/pytorch/truth_records.py "$lines" --out "$work/other"
[ "$(ls -A "$work/other")" = records.jsonl ] || fail "left behind: $(ls -A "$work/other")"
