#!/bin/sh
# Compiles every C file with gcc (fully, because some warnings come from the optimiser) and with clang (syntax), each
# with all our warnings as errors. The CUDA plug-in's C files only if CUDA's headers are here.
#
# usage: check-warnings.sh [OBJECTS]   OBJECTS: of a build with WERROR=1, which has the same flags: what it has compiled
#                                      since the file was changed is not compiled by gcc again
set -u

flags=$(mktemp)
trap 'rm -f "$flags"' EXIT
cat >"$flags" <<'END'
-std=c11 -D_GNU_SOURCE -I. -O2 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
-Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror -DASSAY_DATADIR=\"/usr/local/share/assay\"
END
files=$(find harness models tests -name '*.c' | sort)
cuda=${CUDA_HOME:-/usr/local/cuda}/include
if [ -e "$cuda/cuda_runtime_api.h" ]; then
    echo "-isystem $cuda" >>"$flags"
else
    files=$(echo "$files" | grep -v '^harness/device/cuda/')
fi

# Those that gcc has not compiled as $1/FILE.o.
left_of() {
    same=$([ "$(cc --version 2>/dev/null | sed '1s/^[^ ]*//')" = "$(gcc --version | sed '1s/^[^ ]*//')" ] && echo yes)
    echo "$files" | while read -r file; do
        object=$1/${file%.c}.o
        if [ -z "$same" ] || [ -z "$1" ] || [ ! -e "$object" ] || [ -n "$(find "$file" -newer "$object")" ]; then
            echo "$file"
        fi
    done
}

# usage: compile_all COMPILER FLAG...
compile_all() {
    if ! command -v "$1" >/dev/null 2>&1; then
        echo "check-warnings.sh: $1 is missing; run ci/install-deps.sh --all" >&2
        return 1
    fi
    echo "$files" | xargs -P "$(nproc)" -I FILE "$@" "@$flags" FILE
}

failed=0
all=$files
files=$(left_of "${1:-}")
[ -z "$files" ] || compile_all gcc -fopenmp -c -o /dev/null || failed=1
files=$all
# clang checks syntax without -fopenmp, whose headers need not be here; the pragmas are then unknown to it
compile_all clang -fsyntax-only -Wno-unknown-pragmas || failed=1
exit $failed
