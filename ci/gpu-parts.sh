# The parts of ci/gpu.sh: each a function that prints into the log, leaves a remark and returns an exit code of the
# project (0 pass, 1 fail, 3 inconclusive, 77 skipped, 99 a fault). Sourced, not run.
# shellcheck shell=sh disable=SC2034,SC2154

gpu=unknown # yes once a case was measured on it; no; faulty if it is there and could not be used
gpu_why_not="the first case has not run"
gpu_name=
gpu_bytes=0
fresh_constants=

# ---- build ----

# $1 behind what LD_LIBRARY_PATH has, for all that is run from here on.
library_folder_add() {
    case :${LD_LIBRARY_PATH:-}: in *":$1:"*) return ;; esac
    export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$1"
}

# A machine with a torch need not have a toolkit: the cuBLAS of torch serves if the loader and the plug-in find none.
cublas_of_torch_add() {
    name=$(grep -aom 1 'libcublas\.so\.[0-9]*' "$build/libassay_cuda.so" 2>/dev/null | head -n 1)
    if [ -z "$name" ] || [ -e "${CUDA_HOME:-/usr/local/cuda}/lib64/$name" ] ||
        { ldconfig -p 2>/dev/null || /sbin/ldconfig -p 2>/dev/null; } | grep -qF "$name "; then
        return
    fi
    path=$("$python" -c 'import glob, sys, sysconfig
print(*glob.glob(sysconfig.get_path("purelib") + "/nvidia/*/lib/" + sys.argv[1])[:1])' "$name" 2>/dev/null)
    [ -z "$path" ] || library_folder_add "${path%/*}"
}

# Says why nothing can be built here; prints nothing if all is there.
build_why_not() {
    if [ -n "$prebuilt" ]; then
        echo "$prebuilt"
    elif ! command -v make >/dev/null 2>&1 || ! command -v "${CC:-cc}" >/dev/null 2>&1; then
        echo "no make or no compiler here"
    else
        make -s info | sed -n 's/^\([a-z]*\.h\) .*missing.*/the header \1 is not here/p' | head -n 1
    fi
}

gpu_is_visible() {
    [ -n "$(ci/gpu-here.sh)" ]
}

plugin_words() {
    if [ -f "$build/libassay_cuda.so" ]; then
        echo "the CUDA plug-in is there$(sed 's/ / sm_/g; s/^/, for sm_/' "$build/cuda/architectures" 2>/dev/null)"
    else
        echo "there is no CUDA plug-in"
    fi
}

part_build() {
    why_not=$(build_why_not)
    built=no
    if [ -n "$why_not" ]; then
        if ! "$build/assay" --version; then
            remark "$why_not, and nothing that was built in $build"
            return 99
        fi
        remark "not built: $why_not; $build as it was carried along, $(plugin_words)"
        built=yes
        return 0
    fi
    if gpu_is_visible; then # for it, if its driver says what it is
        limited env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s all tests
    else
        limited env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s CUDA=no all tests
    fi
    code=$?
    [ "$code" -eq 3 ] || remark "$(plugin_words)"
    [ "$code" -ne 0 ] || built=yes
    [ "$code" -eq 0 ] || [ "$code" -eq 3 ] || remark "the build failed: $(grep 'error:\|Error' "$log" | tail -n 1)"
    case $code in 0 | 3) return "$code" ;; *) return 99 ;; esac
}

# ---- suites ----

# The first text of this name in a file of records.
record_text() {
    sed -n 's/.*"'"$1"'": *"\([^"]*\)".*/\1/p' "$2" | head -n 1
}

# $1: suite file; $2: tag; $3: constants, if the repository has none of this device. The printed summary is in
# $scratch/printed and in the log.
suite_measure() {
    COLUMNS=100 limited "$build/assay" run "$1" --device "$target" --filter "$2" --out "$scratch/run-$part-$2" \
        --records-only --quiet ${3:+--constants "$3"} >"$scratch/printed" 2>&1
    measure_code=$?
    cat "$scratch/printed"
    cat "$scratch/printed" >>"$scratch/suites-printed"
    records_keep
    return "$measure_code"
}

part_device() {
    cublas_of_torch_add
    mkdir "$scratch/device"
    limited "$build/assay" run suites/selftest.yaml --filter right --device "$device" --out "$scratch/device" \
        --records-only --quiet >"$scratch/printed" 2>&1
    code=$?
    cat "$scratch/printed"
    grep '"type": *"case"' "$scratch/device/records.jsonl" >"$scratch/device-case"
    gpu_name=$(sed -n 's/.*"device": *{[^}]*"name": *"\([^"]*\)".*/\1/p' "$scratch/device-case" | head -n 1)
    gpu_bytes=$(sed -n 's/.*"device": *{[^}]*"total_bytes": *\([0-9]*\).*/\1/p' "$scratch/device-case" | head -n 1)
    reason=$(record_text reason "$scratch/device-case")
    # A GPU that the program cannot open (a plug-in of other sources, an old driver) is no reason to skip.
    [ "$code" -ne 77 ] || ! gpu_is_visible || code=3
    case $code in
    0) gpu=yes gpu_why_not='' target=$device ;;
    77) gpu=no gpu_why_not="no GPU: $reason" target=host ;;
    *) gpu=faulty gpu_why_not="the GPU cannot be used: ${reason:-its first case was not measured}" target=host ;;
    esac
    [ -n "$tier" ] || { [ "$gpu" = yes ] && tier=gpu; } || tier=host
    remark "${gpu_why_not:-$device: $gpu_name}$([ "$gpu" = faulty ] || echo "; tier $tier on $target")"
    environment_write
    slice_begin
    [ "$gpu" != no ] || [ "$need_gpu" = no ] || code=3
    return "$code"
}

# 0 or the code for which nothing is measured, with its reason.
gpu_ask() {
    [ "$gpu" = faulty ] || return 0
    remark "not measured: the GPU cannot be used"
    return 3
}

# The worst of several codes: a fault before usage before a failure before what is open; skipped only if all are.
worst_of() {
    for severity in 99 2 1 3 0; do
        case " $* " in *" $severity "*)
            echo "$severity"
            return
            ;;
        esac
    done
    echo 77
}

# The tags that are measured; those for GPUs of 80 GB only if there is such a GPU (they report 79 GiB and more).
tier_tags() {
    echo "$tier"
    [ "$tier" = host ] || [ "${gpu_bytes:-0}" -lt 84000000000 ] || echo gpu-large
}

# The tags of which a suite has cases. If it has none, or cannot be read, all of them: the run then says what is wrong.
suite_tags() {
    had_tags=
    for tag in $(tier_tags); do
        "$build/assay" plan "$1" --filter "$tag" --ids >/dev/null 2>&1
        [ $? -eq 2 ] || had_tags="$had_tags $tag"
    done
    echo "${had_tags:-$(tier_tags)}"
}

suite_part() {
    gpu_ask || return
    codes='' counts=''
    for tag in $(suite_tags "$suites/$1"); do
        suite_measure "$suites/$1" "$tag" "$fresh_constants"
        codes="$codes $?"
        counted=$(sed -n 's/^\([0-9]* cases\{0,1\}: .*\)/\1/p' "$scratch/printed" | tail -n 1)
        counts="$counts${counts:+; }$tag: ${counted:-no case ended: $(tail -n 1 "$scratch/printed")}"
    done
    remark "$counts$([ ! -s "$scratch/remark" ] || printf '; %s' "$(cat "$scratch/remark")")"
    # shellcheck disable=SC2086
    return "$(worst_of $codes)"
}

part_load() { suite_part load-gpu.yaml; }
part_overhead() { suite_part inference-overhead-gpu.yaml; }
part_adam() { suite_part adam-gpu.yaml; }
part_generate() { suite_part generate-gpu.yaml; }

part_calibrate() {
    gpu_ask || return
    if ! "$build/assay" calibrate --help >/dev/null 2>&1; then
        remark "this program does not calibrate"
        return 77
    fi
    COLUMNS=100 limited "$build/assay" run "$suites/calibrate.yaml" --device "$target" --out "$scratch/calibration" \
        --records-only --quiet >"$scratch/printed" 2>&1
    code=$?
    [ "$code" -ne 0 ] || {
        limited "$build/assay" calibrate "$scratch/calibration" --output "$scratch/constants.json" \
            >>"$scratch/printed" 2>&1
        code=$?
    }
    cat "$scratch/printed"
    if [ "$code" -eq 0 ]; then
        cat "$scratch/constants.json"
        slug=$(record_text slug "$scratch/constants.json")
        # Those of a host hold for as many threads.
        grep '"threads"' "$scratch/constants.json" >"$scratch/threads"
        grep -qsxFf "$scratch/threads" "results/reference/$slug/constants.json" ||
            fresh_constants=$scratch/constants.json
        case_count=$(grep -c '"type": *"case"' "$scratch/calibration/records.jsonl")
        which=$([ -z "$fresh_constants" ] || echo "these, as there are no ")
        remark "$case_count cases; predictions take ${which}constants of $slug"
    elif [ ! -s "$scratch/remark" ]; then
        remark "no constants: $(tail -n 1 "$scratch/printed")"
    fi
    [ ! -d "$scratch/calibration" ] || mv "$scratch/calibration" "$scratch/run-calibrate"
    records_keep
    return "$code"
}

part_repeat() {
    suite_part repeat-gpu.yaml
    code=$?
    "$build/assay" report "$out" --format md --exit-zero | sed -n '/^## Spread over/,/^## [^S]/s/^- //p' |
        tr -d '\134' | tee "$scratch/spread"
    return "$code"
}

# ---- tests ----

part_conformance() {
    program=$build/tests/conformance/test_conformance
    if [ ! -x "$program" ]; then
        remark "$program is not built"
        return 77
    fi
    limited "$program" --table >"$out/conformance.txt"
    code=$?
    tail -n 1 "$out/conformance.txt"
    [ "$code" -eq 3 ] ||
        remark "devices: $(grep -c '^[a-z]*[:0-9]*: .*Largest error' "$out/conformance.txt"). $(
            tail -n 1 "$out/conformance.txt"
        )"
    return "$code"
}

# Without programs of an earlier state of the sources, which make does not remove.
test_is_current() {
    [ -f "$1" ] && [ -x "$1" ] && { [ -n "$prebuilt" ] || [ -f "${1#"$build"/}.c" ]; }
}

# What a test program has to do with a GPU, as a digit to sort by: 1 opens one itself; 2 names one, or asks for `auto`,
# so that commands of the program may open it; 3 does neither; 4 has the emulated one. Its source says so; one without a
# source may do anything.
test_rank() {
    source=${1#"$build"/}.c
    case $source in tests/cuda_emulation/*)
        echo 4
        return
        ;;
    esac
    if grep -qs 'device_open[a-z_]*("cuda' "$source"; then
        echo 1
    elif [ ! -f "$source" ] || grep -q '"cuda\(:[0-9]*\)\{0,1\}"\|"auto"' "$source"; then
        echo 2
    else
        echo 3
    fi
}

# The current test programs of these ranks, a line each. The operations have had a part of their own.
tests_list() {
    for program in "$build"/tests/*/test_*; do
        [ "$program" != "$build/tests/conformance/test_conformance" ] && test_is_current "$program" || continue
        rank=$(test_rank "$program")
        case $rank in [$1]) printf '%s %s\n' "$rank" "$program" ;; esac
    done | sort -s -k 1,1n | cut -d ' ' -f 2-
}

# $1: ranks; $2: how many at once. What they print joins $scratch/printed; their exit code joins $scratch/test-codes.
tests_run() {
    tests_list "$1" >"$scratch/tests"
    set -- "$2"
    while IFS= read -r program; do
        set -- "$@" "$program"
    done <"$scratch/tests"
    jobs=$1
    shift
    [ $# -gt 0 ] || return 0
    ASSAY_PROGRAM=$build/assay TEST_JOBS=$jobs TEST_BUDGET_S=$(seconds_left) limited ci/run-tests.sh "$build" "$@" \
        >>"$scratch/printed" 2>&1
    echo $? >>"$scratch/test-codes"
}

# Programs that open a GPU come first, because they need it, and one after the other, because some of them measure.
# All others run several at once: on half of the cores, since the programs have threads of their own.
part_tests() {
    : >"$scratch/printed"
    : >"$scratch/test-codes"
    cores=$(nproc 2>/dev/null || echo 1)
    tests_run 12 1
    tests_run 34 $(((cores + 1) / 2))
    cat "$scratch/printed"
    grep -v '^[0-9]* passed, [0-9]* failed, [0-9]* skipped$' "$scratch/printed" >"$scratch/tests-printed"
    # shellcheck disable=SC2046
    code=$(worst_of $(cat "$scratch/test-codes"))
    if [ ! -s "$scratch/test-codes" ]; then
        remark "no test program is built in $build/tests"
        return 77
    fi
    remark "$(sed 's/$/: /' "$scratch/remark")$(awk '
        /^(ok  |FAIL) / { done++ }
        /^(cut |late) / { left++; if (left <= 3) names = names " " substr($2, 1, length($2) - 1) }
        /^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { passed += $1; failed += $3; skipped += $5 }
        END {
            printf "%d passed, %d failed, %d skipped", passed, failed, skipped
            more = left > 3 ? " ...; log.txt names them" : ""
            if (left > 0) printf "; %d of %d programs had no time:%s%s", left, done + left, names, more
        }' "$scratch/printed")"
    [ "$code" -ne 3 ] || ! grep -q '^FAIL ' "$scratch/printed" || code=1
    return "$code"
}

part_sanitizer() {
    gpu_ask || return
    sanitizer=$(command -v compute-sanitizer || command -v /usr/local/cuda/bin/compute-sanitizer)
    if [ -z "$sanitizer" ] || [ "$gpu" = no ]; then
        remark "${gpu_why_not:-compute-sanitizer was not found on PATH or in /usr/local/cuda/bin}"
        return 77
    fi
    limited "$sanitizer" --target-processes all "$build/assay" run suites/quick.yaml \
        --filter 'tiny-gpt2/train/*/adam-fused' --device "$target" --out "$scratch/sanitized" \
        --records-only --quiet >"$scratch/printed" 2>&1
    code=$?
    cat "$scratch/printed"
    found=$(sed -n 's/.*ERROR SUMMARY: \([0-9]*\) error.*/\1/p' "$scratch/printed" |
        awk '{ sum += $1 } END { if (NR) print sum }')
    if grep -q 'Device not supported' "$scratch/printed"; then
        remark "compute-sanitizer does not know this device"
        return 77
    elif [ -n "$found" ]; then
        remark "one training case under memcheck: $found errors"
        [ "$found" -eq 0 ] || return 1
    else # what the tool itself could not do is no fault of the program
        [ -s "$scratch/remark" ] || remark "compute-sanitizer came to no summary: $(tail -n 1 "$scratch/printed")"
        return 3
    fi
    return "$code"
}
