#!/bin/sh
# A checkpoint appears whole or not at all: no room, errors of the disk and kills leave the folder as it was, and
# hostile paths are refused. The room is a limit on the size of a file, and a library that is loaded before the system's
# (where there is a compiler) and says "no space left" after so many bytes.
# shellcheck disable=SC2086 # $mixtral is several words
. "$(dirname "$0")/../attack.sh"

# Built with sanitizers the program wants their runtime first; the library that says "no space left" may come before it.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"

synth() {
    wanted=$1
    shift
    expect "$wanted" "$assay" synth tiny-mixtral --max-shard-size 40KB "$@"
}

# The folder has a whole checkpoint, by our own reader.
complete() {
    expect 0 "$assay" weights "$1"
    [ -f "$1/config.json" ] || fail "$1 has no config.json"
}

# No file at all, or the whole of it.
whole_or_nothing() {
    left=$(find "$1" -name '.assay-*' 2>/dev/null)
    [ -z "$left" ] || fail "left behind: $left"
    if [ -f "$1/model.safetensors.index.json" ]; then
        complete "$1"
    else
        [ -z "$(find "$1" -type f 2>/dev/null)" ] || fail "half of a checkpoint: $(find "$1" -type f)"
    fi
}

synth 0 --out good
complete good

# No room: the folders that were made go too.
for blocks in 0 1 8 40 70; do
    (ulimit -f "$blocks" && exec timeout 60 "$assay" synth tiny-mixtral --max-shard-size 40KB --out none/at/all) \
        >said 2>&1
    code=$?
    if [ "$code" -eq 0 ]; then
        complete none/at/all
        rm -rf none
        continue
    fi
    [ "$code" -eq 2 ] || fail "exit code $code with room for $blocks blocks"
    [ "$blocks" -eq 0 ] || said "cannot be written" # with 0 nothing can be said either
    [ ! -e none ] || fail "a folder is left with room for $blocks blocks"
done

# No room for what is to replace another checkpoint: that one stays.
cp -r good kept
sums kept >before
(ulimit -f 8 && exec timeout 60 "$assay" synth tiny-mixtral --max-shard-size 40KB --seed 9 --force --out kept) \
    >said 2>&1
[ $? -eq 2 ] || fail "no room is not told by the exit code"
same kept before

# The disk says no in the middle of a file, or when it is to keep it.
if command -v cc >/dev/null 2>&1; then
    cat >full.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
static long taken;
static long limit(const char *name) { const char *text = getenv(name); return text ? atol(text) : -1; }
ssize_t write(int file, const void *bytes, size_t count)
{
    ssize_t (*real)(int, const void *, size_t) = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    struct stat facts;
    if (limit("ROOM") >= 0 && fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && file > 2) {
        if (taken >= limit("ROOM")) { errno = ENOSPC; return -1; }
        if ((long)count > limit("ROOM") - taken) count = (size_t)(limit("ROOM") - taken);
        taken += (long)count;
    }
    return real(file, bytes, count);
}
int fsync(int file)
{
    static long calls;
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    if (limit("FSYNCS") >= 0 && calls++ >= limit("FSYNCS")) { errno = EIO; return -1; }
    return real(file);
}
int statvfs(const char *path, struct statvfs *facts)
{
    int (*real)(const char *, struct statvfs *) = (int (*)(const char *, struct statvfs *))dlsym(RTLD_NEXT, "statvfs");
    int code = real(path, facts);
    if (limit("FREE") >= 0) { facts->f_bavail = (fsblkcnt_t)limit("FREE"); facts->f_frsize = 1; }
    return code;
}
C
    cc -shared -fPIC -o full.so full.c -ldl 2>said || fail "the library does not compile"
    mixtral="synth tiny-mixtral --precision bf16"
    for room in 0 100 703 1000 40000 75000 104000; do
        expect 2 env LD_PRELOAD="$work/full.so" ROOM="$room" "$assay" $mixtral --max-shard-size 40KB --out full_"$room"
        said "No space left on device"
        [ ! -e full_"$room" ] || fail "something is left with room for $room bytes"
    done
    for calls in 0 1 3 4; do
        expect 2 env LD_PRELOAD="$work/full.so" FSYNCS="$calls" "$assay" $mixtral --max-shard-size 40KB \
            --out sync_"$calls"
        said "Input/output error"
        [ ! -e sync_"$calls" ] || fail "something is left after $calls files"
    done
    # What does not fit is not begun, and both numbers are told.
    expect 2 env LD_PRELOAD="$work/full.so" FREE=100000 "$assay" $mixtral --out little
    said "the checkpoint takes"
    said "97.66 KiB are free there"
    [ ! -e little ] || fail "a folder is left where there was no room"
    expect 0 env LD_PRELOAD="$work/full.so" FREE=100000 "$assay" $mixtral --zero --out little
    expect 2 env LD_PRELOAD="$work/full.so" ROOM=40000 "$assay" synth tiny-mixtral --max-shard-size 40KB --seed 9 \
        --force --out kept
    same kept before
fi

# Killed at any moment.
round=0
while [ "$round" -lt "$rounds" ]; do
    "$assay" synth distilgpt2 --max-shard-size 60MB --out killed >/dev/null 2>&1 &
    victim=$!
    sleep "$(awk -v seed="$$$round" 'BEGIN { srand(seed); printf "%.3f", rand() * 0.4 }')"
    kill -9 "$victim" 2>/dev/null
    wait "$victim" 2>/dev/null
    whole_or_nothing killed
    rm -rf killed
    round=$((round + 1))
done

# Paths of somebody else.
echo precious >outside
mkfifo pipe
mkdir trap
ln -s "$work/outside" trap/model.safetensors
sums . | grep -v -e said -e 'all$' >all
expect 2 "$assay" synth tiny-llama --out outside
said "outside: cannot be made: Not a directory"
expect 2 "$assay" synth tiny-llama --out outside/below
said "Not a directory"
expect 2 "$assay" synth tiny-llama --out pipe
said "Not a directory"
expect 2 "$assay" synth tiny-llama --out ""
expect 2 "$assay" synth tiny-llama --out "$(printf '%05000d' 0)"
expect 2 "$assay" synth tiny-llama --out "$(printf 'a/%.0s' $(seq 3000))"
expect 2 "$assay" synth tiny-llama --out trap
said "is not empty"
expect 2 "$assay" synth tiny-llama --force --out trap
said "trap/model.safetensors: is a symbolic link"
expect 2 "$assay" synth tiny-llama --out /dev/null
sums . | grep -v -e said -e 'all$' | diff all - >said || fail "something has changed"
[ "$(cat outside)" = precious ] || fail "a file outside was written"

# A folder of their own that is a link is theirs to name; one with blanks and odd letters is a folder like others.
mkdir elsewhere
ln -s elsewhere link
expect 0 "$assay" synth tiny-llama --out link
complete elsewhere
expect 0 "$assay" synth tiny-llama --out "a folder/of 'odd' \"letters\" $(printf '\033[31m')"
complete "a folder/of 'odd' \"letters\" $(printf '\033[31m')"
