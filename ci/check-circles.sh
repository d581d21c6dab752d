#!/bin/sh
# Files of one folder call and include one way: if a calls b, nothing that b needs calls a. Calls are what the
# compiler made of them: the symbols that an object file has, and those that it leaves to others (tables of functions
# count as calls). Circles between folders are the affair of check-includes.sh. Circles that stand may go through the
# files that ci/check-circles.awk lists, with the reason.
#
# usage: check-circles.sh [--count] [ROOT [OBJECTS]]
#
# OBJECTS has the object files in the folders of their sources; without it they are built (make all). Exit 1 and a line
# FILE:1: cause; remedy for each circle; --count: how many circles each folder has, listed ones too.
set -u

rules=$(cd "$(dirname "$0")" && pwd)/check-circles.awk
counting=0
[ "${1:-}" != --count ] || { counting=1; shift; }
root=${1:-.}
cd "$root" || exit 2
if [ $# -lt 2 ]; then
    log=$(mktemp) || exit 2
    make -s all CUDA=no >"$log" 2>&1 || { cat "$log"; rm -f "$log"; exit 2; }
    rm -f "$log"
fi
objects=${2:-build/obj}
files=
for file in $(cd "$objects" && find harness models -name '*.o' 2>/dev/null | sort); do
    [ ! -e "${file%.o}.c" ] || files="$files $file" # else of a source that is gone
done
if [ -z "$files" ]; then
    echo "check-circles.sh: no object files below $objects; give the folder that has harness/ and models/" >&2
    exit 2
fi

{
    # shellcheck disable=SC2086
    (cd "$objects" && nm -A -g $files) | awk '
        {
            at = index($0, ".o:")
            count = split(substr($0, at + 3), part, /[ \t]+/)
            print (part[count - 1] == "U" ? "uses" : "has"), substr($0, 1, at) "c", part[count]
        }'
    find harness models -name '*.h' 2>/dev/null | sort | xargs awk '
        /^[ \t]*#[ \t]*include[ \t]*"/ {
            target = $0
            sub(/^[^"]*"/, "", target)
            sub(/".*/, "", target)
            print "includes", FILENAME, target
        }'
} | awk -v counting="$counting" -f "$rules"
