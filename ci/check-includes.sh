#!/bin/sh
# Checks the floors of the house: an include points down, an outside library comes in through its one
# door, and only harness/cli prints or exits. Reads files; compiles nothing.
#
# usage: check-includes.sh [ROOT]      exit 1 and a line FILE:LINE: cause; remedy for each breach
set -u

rules=$(cd "$(dirname "$0")" && pwd)/check-includes.awk
root=${1:-.}
cd "$root" || exit 2
files=$(find harness models tests \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) 2>/dev/null | sort)
if [ -z "$files" ]; then
    echo "check-includes.sh: no sources below $root; give the root of the repository" >&2
    exit 2
fi

# shellcheck disable=SC2086
exec awk -f "$rules" $files
