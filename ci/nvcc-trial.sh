#!/bin/sh
# Why an nvcc cannot build the CUDA plug-in, in one line; prints nothing if it can. Compiles and links a kernel of one
# line with what the plug-in includes and links: an old toolkit, one without cuBLAS (conda, runtime packages) and one
# that does not know the host's compiler are each found here, before hundreds of sources are compiled.
#
# usage: nvcc-trial.sh NVCC INCLUDE CC...   INCLUDE: the folder of the toolkit's headers
# Exit code: 0 either way, 2 usage.
set -u

oldest=12
[ $# -ge 3 ] || {
    echo "usage: nvcc-trial.sh NVCC INCLUDE CC..." >&2
    exit 2
}
nvcc=$1 include=$2
shift 2
work=$(mktemp -d) || exit 0
trap 'rm -rf "$work"' EXIT

# What make and a shell may be given: one line, no quotes.
say() {
    printf '%s' "$1" | tr -c 'A-Za-z0-9 ._/:,()=+-' ' ' | cut -c 1-240
    echo
    exit 0
}

# The first line in which a compiler complains.
complaint() {
    grep -m 1 -i 'error\|cannot\|not found\|unsupported' "$1" || head -n 1 "$1"
}

release=$("$nvcc" --version 2>/dev/null | sed -n 's/.*release \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
major=${release% *}
if [ -n "$release" ] && [ "$major" -lt "$oldest" ]; then
    say "$nvcc is of CUDA $major.${release#* }, and the plug-in needs $oldest.0 or newer"
fi
for header in cuda_runtime_api.h cublas_v2.h cublasLt.h; do
    [ -e "$include/$header" ] || say "$nvcc has no $header in $include: install the headers of its cuBLAS \
(libcublas-dev), or give NVCC= another one"
done
printf '#include <cuda_runtime_api.h>\n#include <cublas_v2.h>\n#include <cublasLt.h>\n' >"$work/trial.c"
timeout 60 "$@" -fsyntax-only -isystem "$include" "$work/trial.c" >"$work/log" 2>&1 ||
    say "$* does not take the headers of $include: $(complaint "$work/log")"
printf '__global__ void trial(int *to)\n{\n    *to = 1;\n}\n' >"$work/trial.cu"
timeout 120 "$nvcc" -O0 -shared -cudart static -Xcompiler -fPIC -o "$work/trial.so" "$work/trial.cu" \
    >"$work/log" 2>&1 || say "$nvcc does not compile a kernel: $(complaint "$work/log")"
