#!/bin/sh
# Compiles every C file with gcc (fully, because some warnings come from the optimiser) and with clang (syntax), each
# with all our warnings as errors. The CUDA plug-in's C files only where CUDA's headers are.
set -u

flags='-std=c11 -D_GNU_SOURCE -I. -O2 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
-Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror -DASSAY_DATADIR="/usr/local/share/assay"'
files=$(find harness models tests -name '*.c' | sort)
cuda=${CUDA_HOME:-/usr/local/cuda}/include
if [ -e "$cuda/cuda_runtime_api.h" ]; then
    flags="$flags -isystem $cuda"
else
    files=$(echo "$files" | grep -v '^harness/device/cuda/')
fi

failed=0
for compiler in gcc clang; do
    if ! command -v "$compiler" >/dev/null 2>&1; then
        echo "check-warnings.sh: $compiler is missing; run ci/install-deps.sh --all" >&2
        failed=1
        continue
    fi
    how='-fsyntax-only'
    [ "$compiler" = clang ] || how='-fopenmp -c -o /dev/null'
    # without -fopenmp clang would call the pragmas unknown
    [ "$compiler" = gcc ] || how="$how -Wno-unknown-pragmas"
    # shellcheck disable=SC2086
    echo "$files" | xargs -P "$(nproc)" -n 8 sh -c '
        compiler=$1; shift; flags=$1; shift; status=0
        for file in "$@"; do eval "$compiler $flags $file" || status=1; done
        exit $status' sh "$compiler" "$(echo $flags $how | sed "s/\"/\\\\\"/g")" || failed=1
done
exit $failed
