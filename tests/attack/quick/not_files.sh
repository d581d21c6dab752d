#!/bin/sh
# What is no regular file, wherever a file is read: a pipe that nobody writes to is not waited for, a device without an
# end is not read, and a folder is told as one. Each with its message; nothing is written.
. "$(dirname "$0")/../attack.sh"

mkfifo pipe
mkdir -p folder zero
ln -s /dev/zero zero/link

# told MESSAGE: all that the last command said.
told() {
    [ "$(cat said)" = "assay: $1" ] || fail "not said alone: $1"
}

json="is not a regular file; name a file of JSON, and save what a pipe yields as one"
for path in "$work/pipe" "$work/folder" /dev/zero; do
    expect 2 "$assay" replay "$path"
    told "$path: $json"
    expect 2 "$assay" place tiny-gpt2 --check "$path"
    told "$path: $json"
    expect 2 "$assay" plan "$path"
    said "$path: is not a regular file; name a suite file"
    [ "$path" = "$work/folder" ] && continue # a folder may hold what is asked for, and the next commands look
    expect 2 "$assay" estimate "$path"
    told "'$path' is no regular file; write the path of a config.json"
    expect 2 "$assay" run "$root/suites/selftest.yaml" --constants "$path" --device host --out made
    said "$path: $json"
    [ ! -e made ] || fail "a folder for a run that cannot be"
done

# The files that are looked for in a folder: a pipe, a device and a folder in their place.
for name in config.json model.safetensors model.safetensors.index.json model.gguf index.json; do
    for kind in pipe zero folder; do
        mkdir -p "$kind-$name"
        case $kind in
        pipe) mkfifo "pipe-$name/$name" ;;
        zero) ln -s /dev/zero "zero-$name/$name" ;;
        folder) mkdir "folder-$name/$name" ;;
        esac
    done
done
for kind in pipe zero folder; do
    at=$kind-config.json
    for question in "estimate $at" "weights $at" "synth $at --out made" "offload $at --to made" \
        "place $at --max-memory cpu=1GB"; do
        # shellcheck disable=SC2086
        expect 2 "$assay" $question
        told "'$at/config.json' is no regular file and leads to none; put the model's config.json in its place"
    done
    at=$kind-model.safetensors
    expect 2 "$assay" load "$at" --model tiny-gpt2 --max-memory cpu=1GB
    told "$at/model.safetensors: is not a regular file; put the file of the checkpoint in its place"
    at=$kind-index.json
    expect 2 "$assay" offload tiny-gpt2 --check "$at"
    told "$at/index.json: is not a regular file"
done
for name in model.safetensors model.safetensors.index.json model.gguf; do
    expect 2 "$assay" estimate "pipe-$name/$name"
    told "'pipe-$name/$name' is no regular file; write the path of a config.json"
done
for name in model.safetensors model.safetensors.index.json; do
    expect 2 "$assay" load "pipe-$name/$name" --model tiny-gpt2 --max-memory cpu=1GB
    told "pipe-$name/$name: is not a regular file; put the file of the checkpoint in its place"
done
[ ! -e made ] || fail "something was written"
