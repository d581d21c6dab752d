#!/bin/sh
# Whether every CUDA kernel can be launched on every architecture: the registers of a thread, in steps of 8, times the
# threads of its largest launch are at most 65,536, and its own shared memory is at most 48 KiB. What ptxas says; needs
# nvcc, no GPU. A kernel's largest launch is its __launch_bounds__; one without them is launched with 256 threads at
# most, which is held against the sources: row_lanes() may give 1024.
#
# Compiling takes minutes, so what was said of a file is kept in CACHE until the file, a header or nvcc changes.
#
# usage: check-registers.sh [--budget SECONDS] [ROOT [CACHE]]
# exit 1 and a line for each breach; 3 if the time ended before the last file, which is said; 77 if nvcc is missing
set -u

budget=86400
[ "${1:-}" = --budget ] && { budget=$2; shift 2; }
root=${1:-.}
cd "$root" || exit 2
cache=${2:-build/registers}
nvcc=$(command -v "${NVCC:-nvcc}" || command -v /usr/local/cuda/bin/nvcc) || {
    echo "check-registers.sh: skipped, nvcc was not found on PATH or in /usr/local/cuda/bin"
    exit 77
}
mkdir -p "$cache" || exit 2
end=$(($(date +%s) + budget))

# Of the architectures that the plug-in is built for, those that this nvcc knows.
offered=$("$nvcc" --list-gpu-code 2>/dev/null | sed 's/sm_//g')
gencode=
for arch in ${CHECK_ARCHS:-75 80 86 89 90 100 120}; do
    for known in $offered; do
        [ "$arch" != "$known" ] || gencode="$gencode -gencode arch=compute_$arch,code=sm_$arch"
    done
done
[ -n "$gencode" ] || {
    echo "check-registers.sh: $nvcc knows none of the architectures; it offers:"
    echo "$offered"
    exit 1
}

# What a report depends on besides its file.
common=$({ cat harness/*/*.h harness/device/cuda/*.h; "$nvcc" --version; echo "$gencode"; } | cksum)

# Leaves FILE.report, what ptxas said, with "bound KERNEL THREADS" lines for those that have launch bounds.
report_make() {
    work=$(mktemp -d) || exit 2
    # shellcheck disable=SC2086 # words
    "$nvcc" -O2 -I. $gencode -Xptxas -v --keep --keep-dir "$work" -fatbin -o "$work/out.fatbin" "$1" \
        >"$work/report" 2>&1 || {
        cat "$work/report"
        rm -rf "$work"
        return 1
    }
    awk '/\.entry/ { name = $0; sub(/.*\.entry /, "", name); sub(/[( ].*/, "", name) }
         /^\.maxntid/ { sub(/,.*/, "", $2); print "bound", name, $2 }' "$work"/*.ptx >>"$work/report" 2>/dev/null
    mv "$work/report" "$2"
    rm -rf "$work"
}

report_judge() {
    awk -v file="$1" '
        $1 == "bound" { bound[$2] = $3 }
        /Compiling entry function/ { split($0, part, "\047"); kernel = part[2]; arch = part[4] }
        /Used [0-9]+ registers/ {
            count++
            kernels[count] = kernel
            archs[count] = arch
            registers[count] = $0
            sub(/.*Used /, "", registers[count])
            registers[count] += 0
            shared[count] = 0
            if ($0 ~ / bytes smem/) {
                sub(/ bytes smem.*/, "")
                shared[count] = $NF
            }
        }
        END {
            for (k = 1; k <= count; k++) {
                threads = kernels[k] in bound ? bound[kernels[k]] : 256
                each = int((registers[k] + 7) / 8) * 8
                if (each * threads > 65536) {
                    print file ": " kernels[k] " on " archs[k] ": " registers[k] " registers for each of " threads \
                        " threads are more than 65536; give it __launch_bounds__ or smaller launches"
                    bad = 1
                }
                if (shared[k] > 49152) {
                    print file ": " kernels[k] " on " archs[k] ": " shared[k] " bytes of shared memory of its own; " \
                        "49152 are the most"
                    bad = 1
                }
            }
            if (count == 0) {
                print file ": ptxas says nothing of a kernel"
                bad = 1
            }
            exit bad
        }' "$2"
}

# Kernels that are launched with row_lanes() and have no launch bounds.
unbounded_print() {
    sed -n 's/^.*[^a-z0-9_]\([a-z][a-z0-9_]*\)<<<.*row_lanes(.*/\1/p' "$1" | sort -u | while read -r kernel; do
        [ "$kernel" = kernel ] || # a parameter
            grep -q "\(ROW_KERNEL_FUNCTION\|__launch_bounds__([A-Z0-9_]*)\) $kernel(" "$1" ||
            echo "$1: $kernel is launched with row_lanes(), up to 1024 threads; make it a ROW_KERNEL_FUNCTION"
    done
}

failed=0
late=
checked=0
for file in harness/kernels/*.cu harness/device/cuda/*.cu; do
    grep -q __global__ "$file" || grep -q 'ROW_KERNEL\|ROW_MEMORY_KERNEL' "$file" || continue
    unbounded=$(unbounded_print "$file")
    [ -z "$unbounded" ] || { echo "$unbounded"; failed=1; }
    report=$cache/$(basename "$file" .cu).report
    key=$({ echo "$common"; cat "$file"; } | cksum)
    if [ "$(cat "$report.key" 2>/dev/null)" != "$key" ] || [ ! -f "$report" ]; then
        [ "$(date +%s)" -lt "$end" ] || {
            late="$late $file"
            continue
        }
        rm -f "$report.key"
        report_make "$file" "$report" || {
            failed=1
            continue
        }
        echo "$key" >"$report.key"
    fi
    report_judge "$file" "$report" || failed=1
    checked=$((checked + 1))
done
[ -z "$late" ] || echo "check-registers.sh: no time for$late; run it again, what was compiled is kept"
names=$(echo "$gencode" | sed 's/ -gencode arch=compute_[0-9]*,code=/ /g')
echo "check-registers.sh: $checked files checked for$names"
[ "$failed" = 0 ] || exit 1
[ -z "$late" ] || exit 3
