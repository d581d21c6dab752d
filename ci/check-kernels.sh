#!/bin/sh
# The machine code of the CUDA kernels that move rows and of grouped products: no kernel keeps registers in memory, and
# those that have a form for packets of 16 bytes read them with one instruction. Compiles for one architecture; needs
# nvcc, no GPU.
#
# usage: check-kernels.sh [ROOT [ARCH]]      exit 1 and a line KERNEL: cause for each breach, 77 if nvcc is missing
set -u

root=${1:-.}
arch=${2:-90}
cd "$root" || exit 2
nvcc=$(command -v "${NVCC:-nvcc}" || command -v /usr/local/cuda/bin/nvcc) || {
    echo "check-kernels.sh: skipped, nvcc was not found on PATH or in /usr/local/cuda/bin"
    exit 77
}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# The assembler's report of each kernel, and the intermediate code, whose vector loads become single instructions.
file_check() {
    base=$(basename "$1" .cu)
    "$nvcc" -O2 -I. -arch="sm_$arch" -Xptxas -v --keep --keep-dir "$work" -cubin -o "$work/$base.cubin" "$1" \
        >"$work/$base.report" 2>&1 || {
        cat "$work/$base.report"
        return 1
    }
    awk -v file="$1" '
        /Compiling entry function/ { split($0, part, "\047"); kernel = part[2] }
        /bytes spill stores/ && ($0 !~ / 0 bytes spill stores, 0 bytes spill loads/) {
            print file ": " kernel ": keeps registers in memory:" $0
            bad = 1
        }
        END { exit bad }' "$work/$base.report" || return 1
    # Products of tiles read element by element; on tensor cores tiles are copied by packets, without registers.
    packet='ld\.global[a-z.]*\.v4\|st\.global[a-z.]*\.v4'
    case $base in
    launch_grouped_core) packet='cp\.async[a-z.]*  *\[[^]]*\], *\[[^]]*\], *16' ;;
    launch_grouped*) return ;;
    esac
    grep -q "$packet" "$work/$base.ptx" || {
        echo "$1: no access of 16 bytes; packets are read in pieces"
        return 1
    }
}

failed=0
# Not here: batch norm, which would rather let some 100 bytes of a lane go than read a channel twice; max pooling.
grouped="grouped grouped_core grouped_matmul grouped_convolution grouped_convolution_weight"
for name in ${CHECK_KERNELS:-rows sum top_k lookup copy element optimizer quantize $grouped}; do
    file_check "harness/kernels/launch_$name.cu" || failed=1
done
exit "$failed"
