# The parts of ci/gpu.sh that measure and test: each a function that prints into the log, leaves a remark and returns an
# exit code of the project (0 pass, 1 fail, 3 inconclusive, 77 skipped, 99 a fault). Sourced, not run.
# shellcheck shell=sh disable=SC2034,SC2154

fresh_constants=
noting= # on a class of GPU that results/reference has not: an option of run

# ---- suites ----

# What a run of cases has come to, in "$scratch/judged": how many cases are good, how many failed on their own account,
# how many found no memory, how many had no time, how many were disturbed, and by whom.
records_judge() {
    awk -v quote='"' '
        function text_after(key,    at, rest) {
            at = index($0, key)
            rest = substr($0, at + length(key))
            return at ? substr(rest, 1, index(rest, quote) - 1) : ""
        }
        /"type": "case"/ {
            count[text_after("\"status\": \"")]++
            if (index($0, "\"validity\": {\"valid\": false")) {
                disturbed++
                if (reason == "") {
                    reason = text_after("\"valid\": false, \"reasons\": [\"")
                }
            }
        }
        END {
            printf "%d %d %d %d %d %s\n", count["ok"], count["fail"] + count["error"], count["oom"], count["timeout"],
                disturbed, reason
        }' "$1" >"$scratch/judged" 2>/dev/null
}

# The code of a run of cases ($1) with what its records say: a GPU that somebody else used has judged nobody, and time
# that is up does not hide what failed before. A case without memory is a failure, since --fitting has said that it
# fits; one that was ended by the limit of its own is a slow GPU's, and had no time. The records are those of $2.
run_code() {
    records_judge "$2"
    good=0 failed=0 refused=0 late=0 disturbed=0 disturber=''
    read -r good failed refused late disturbed disturber <"$scratch/judged"
    [ "${good:-0}" -eq 0 ] || measured_note
    [ "$gpu" = yes ] || disturbed=0
    case $1 in
    0 | 1 | 3) ;;
    *) return "$1" ;;
    esac
    [ "${failed:-0}" -eq 0 ] || {
        : >"$scratch/cause"
        return 1
    }
    [ "${disturbed:-0}" -eq 0 ] || {
        : >"$scratch/cause"
        cause disturbed "$disturber"
        return 3
    }
    [ "$1" -ne 3 ] || [ "${refused:-0}" -eq 0 ] || {
        : >"$scratch/cause"
        return 1
    }
    [ "$1" -ne 3 ] || [ "${late:-0}" -eq 0 ] || cause time
    return "$1"
}

# $1: suite file; $2: tag; $3: constants, if the repository has none of this device. The printed summary is in
# $scratch/printed and in the log.
suite_measure() {
    fitting=
    [ "$gpu" != yes ] || fitting=--fitting # what this GPU has not the memory for is skipped
    COLUMNS=100 limited "$build/assay" run "$1" --device "$target" --filter "$2" --out "$scratch/run-$part-$2" \
        --records-only ${fitting:+"$fitting"} ${noting:+"$noting"} ${3:+--constants "$3"} \
        >"$scratch/printed" 2>&1
    measure_code=$?
    cat "$scratch/printed"
    cat "$scratch/printed" >>"$scratch/suites-printed"
    run_code "$measure_code" "$scratch/run-$part-$2/records.jsonl"
    measure_code=$?
    noted=$((noted + $(cat "$scratch/run-$part-$2/records.jsonl" 2>/dev/null | grep -c 'beyond calibrated-gpu')))
    records_keep
    return "$measure_code"
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

new='no GPU of this class is in results/reference yet, so the folder is worth sending (docs/GPU.md)'

suite_part() {
    gpu_ask || return
    codes='' counts='' noted=0
    for tag in $(suite_tags "$suites/$1"); do
        suite_measure "$suites/$1" "$tag" "$fresh_constants"
        codes="$codes $?"
        counted=$(sed -n 's/; beyond calibrated-gpu.*//; s/^\([0-9]* cases\{0,1\}: .*\)/\1/p' "$scratch/printed" |
            tail -n 1)
        counts="$counts${counts:+; }$tag: ${counted:-no case ended: $(tail -n 1 "$scratch/printed")}"
    done
    remark "$counts$([ ! -s "$scratch/remark" ] || printf '; %s' "$(cat "$scratch/remark")")$(
        sed -n 's/^disturbed	/; disturbed: /p' "$scratch/cause")"
    # shellcheck disable=SC2086
    code=$(worst_of $codes)
    [ "$noted" -gt 0 ] || return "$code"
    remark "$(cat "$scratch/remark"); not judged in $noted of them: bytes beyond those of other GPUs; $new"
    [ "$code" -eq 0 ] || return "$code"
    cause unjudged
    return 3
}

part_load() { suite_part load-gpu.yaml; }
part_overhead() { suite_part inference-overhead-gpu.yaml; }
part_adam() { suite_part adam-gpu.yaml; }
part_generate() { suite_part generate-gpu.yaml; }

# The constants of the device, from the records of $scratch/run-calibrate; returns the code of what made them.
constants_make() {
    limited "$build/assay" calibrate "$scratch/run-calibrate" --output "$scratch/constants.json" \
        >>"$scratch/printed" 2>&1 || return
    cat "$scratch/constants.json"
    slug=$(record_text slug "$scratch/constants.json")
    # Those of results/reference hold under the same driver, and on a host for as many threads.
    grep '"threads"\|"driver"\|"runtime"' "$scratch/constants.json" >"$scratch/same"
    which="the constants of $slug"
    if [ ! -f "results/reference/$slug/constants.json" ]; then
        fresh_constants=$scratch/constants.json
        which="these, as there are no constants of $slug"
        [ -f "results/reference/$slug/records.jsonl" ] || noting=--note-calibrated
    elif grep -qvxFf "results/reference/$slug/constants.json" "$scratch/same"; then
        fresh_constants=$scratch/constants.json
        which="these, as the constants of $slug are of another driver, runtime or number of threads"
    fi
    case_count=$(grep -c '"type": *"case"' "$scratch/run-calibrate/records.jsonl")
    remark "$case_count cases; predictions take $which"
}

part_calibrate() {
    gpu_ask || return
    if ! "$build/assay" calibrate --help >/dev/null 2>&1; then
        remark "this program does not calibrate"
        return 77
    fi
    COLUMNS=100 limited "$build/assay" run "$suites/calibrate.yaml" --device "$target" --out "$scratch/run-calibrate" \
        --records-only >"$scratch/printed" 2>&1
    run_code "$?" "$scratch/run-calibrate/records.jsonl"
    code=$?
    [ "$code" -ne 0 ] || {
        constants_make
        code=$?
    }
    cat "$scratch/printed"
    [ "$code" -eq 0 ] || [ -s "$scratch/remark" ] || remark "no constants: $(calibrate_why_not)"
    records_keep
    return "$code"
}

# What disturbed it, else the last line that was printed.
calibrate_why_not() {
    if grep -q '^disturbed' "$scratch/cause"; then
        echo "disturbed: $disturber"
    else
        tail -n 1 "$scratch/printed"
    fi
}

# What the driver counted in all that was measured, in this part and before. What was disturbed, and cases that failed,
# are told by their own parts.
records_ask() {
    [ "$gpu" = yes ] && "$build/assay" assumptions --help >/dev/null 2>&1 || return 0
    COLUMNS=200 limited "$build/assay" assumptions "$out" >"$scratch/assumed" 2>&1
    cat "$scratch/assumed"
    wrong=$(sed -n '/^otherwise: cases: /d; s/^otherwise: //p' "$scratch/assumed" | head -n 1)
    [ -n "$wrong" ] || {
        assumed_note
        return 0
    }
    remark "assumptions are wrong, the first: $wrong; $(cat "$scratch/remark")"
    return 1
}

# What `assay assumptions` has noted of a GPU of a class of its own joins the remark.
assumed_note() {
    ! tr -s ' \n' ' ' <"$scratch/assumed" | grep -q 'no GPU of this class is in results/reference yet' ||
        remark "$(cat "$scratch/remark"); noted: $(
            sed -n 's/^noted: \([a-z]*\): .*/\1/p' "$scratch/assumed" | paste -sd ' '
        ); $new"
}

part_repeat() {
    suite_part repeat-gpu.yaml
    code=$?
    records_ask || code=$(worst_of "$code" 1)
    "$build/assay" report "$out" --format md --exit-zero | sed -n '/^## Spread over/,/^## [^S]/s/^- //p' |
        tr -d '\134' | tee "$scratch/spread"
    return "$code"
}

# ---- tests ----

# The assumptions about NVIDIA's software that all figures rest on, asked of this GPU.
part_assumptions() {
    gpu_ask || return
    if [ "$gpu" = no ]; then
        remark "$gpu_why_not"
        return 77
    elif [ ! -f "$suites/assumptions.yaml" ] || ! "$build/assay" assumptions --help >/dev/null 2>&1; then
        remark "there are no suite and no program that ask them"
        return 77
    fi
    limited "$build/assay" assumptions --device "$target" --suite "$suites/assumptions.yaml" --filter quick \
        --out "$scratch/assumptions" --quiet >"$scratch/assumed" 2>&1
    code=$?
    cat "$scratch/assumed"
    run_code "$code" "$scratch/assumptions/records.jsonl"
    code=$?
    words=$(sed -n 's/^assay: assumptions: //p' "$scratch/assumed" | tail -n 1)
    [ -s "$scratch/remark" ] || remark "${words:-$(grep -c '^holds: ' "$scratch/assumed") of them hold}"
    assumed_note
    return "$code"
}

# Where cuDNN computes convolutions, our own kernels are asked only what it declines: once more, without it. Whether it
# is at work stands in environment.txt, as `assay doctor` said.
conformance_without_cudnn() {
    grep -q '^ *ok  *cuDNN ' "$out/environment.txt" || return 0
    conformed=$(cat "$scratch/remark")
    for operation in CONVOLUTION CONVOLUTION_BACKWARD_INPUT CONVOLUTION_BACKWARD_WEIGHT; do
        ASSAY_CUDNN=no ASSAY_CONFORMANCE_OPERATION=$operation ASSAY_TEST_DEVICE=$device limited "$program" --table \
            >"$scratch/without" 2>&1 && continue
        without_code=$?
        { echo "without cuDNN (ASSAY_CUDNN=no):" && cat "$scratch/without"; } | tee -a "$out/conformance.txt"
        if [ "$without_code" -eq 3 ]; then
            rm -f "$scratch/cause"
            remark "$conformed; no time for convolutions without cuDNN"
            return 0
        fi
        remark "without cuDNN: $(tail -n 1 "$scratch/without")"
        return "$without_code"
    done
    remark "$conformed; without cuDNN convolutions conform too"
}

part_conformance() {
    tests_ask && gpu_is_free || return
    program=$build/tests/conformance/test_conformance
    if [ ! -x "$program" ]; then
        remark "$program is not built"
        return 77
    fi
    ASSAY_TEST_DEVICE=$device limited "$program" --table >"$out/conformance.txt" 2>"$scratch/said"
    code=$?
    cat "$scratch/said"
    tail -n 1 "$out/conformance.txt"
    # A table of the host alone says nothing of the GPU.
    [ "$code" -ne 0 ] || { [ "$gpu" = yes ] && ! grep -q '^cuda:.*Largest error' "$out/conformance.txt"; } ||
        measured_note
    [ "$code" -ne 3 ] || [ -s "$scratch/remark" ] || remark "$(tail -n 1 "$scratch/said")"
    # The wrong operations have lines "NAME on DEVICE" below the tables.
    [ "$code" -ne 1 ] || ! grep -q ' on host' "$out/conformance.txt" || grep -q ' on cuda' "$out/conformance.txt" ||
        cause host
    [ -s "$scratch/remark" ] ||
        remark "devices: $(grep -c '^[a-z]*[:0-9]*: .*Largest error' "$out/conformance.txt"). $(
            tail -n 1 "$out/conformance.txt"
        )"
    [ "$code" -ne 0 ] || conformance_without_cudnn || code=$?
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
    case $source in
    tests/cuda_emulation/*)
        echo 4
        return
        ;;
    tests/ci/*) # they hide the GPU from what they start
        echo 3
        return
        ;;
    esac
    if grep -qs 'device_open[a-z_]*("cuda\|test_gpu()' "$source"; then
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
    ASSAY_PROGRAM=$build/assay ASSAY_TEST_DEVICE=$device TEST_JOBS=$jobs TEST_BUDGET_S=$(seconds_left) \
        limited ci/run-tests.sh "$build" "$@" >>"$scratch/printed" 2>&1
    echo $? >>"$scratch/test-codes"
}

# $1: ranks; $2: how many programs at once. Runs them, and judges what they printed.
tests_part() {
    : >"$scratch/printed"
    : >"$scratch/test-codes"
    tests_run "$1" "$2"
    if [ ! -s "$scratch/test-codes" ]; then
        remark "no test program of this kind is built in $build/tests"
        return 77
    fi
    code=$(cat "$scratch/test-codes")
    cat "$scratch/printed"
    grep -v '^[0-9]* passed, [0-9]* failed, [0-9]* skipped$' "$scratch/printed" >>"$scratch/tests-printed"
    ! grep -q '^ok  .* [1-9][0-9]* passed' "$scratch/printed" || measured_note
    remark "$(sed 's/$/: /' "$scratch/remark")$(awk '
        /^(ok  |FAIL) / { done++ }
        /^(cut |late) / { left++; if (left <= 3) names = names " " substr($2, 1, length($2) - 1) }
        /^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { passed += $1; failed += $3; skipped += $5 }
        END {
            printf "%d passed, %d failed, %d skipped", passed, failed, skipped
            more = left > 3 ? " ...; log.txt names them" : ""
            if (left > 0) printf "; %d of %d programs had no time:%s%s", left, done + left, names, more
        }' "$scratch/printed")"
    [ "$code" -eq 3 ] || return "$code"
    grep -q '^FAIL ' "$scratch/printed" || {
        cause time
        return 3
    }
    : >"$scratch/cause"
    return 1
}

# Programs that open a GPU, one after the other, because some of them measure.
part_tests() {
    tests_ask && gpu_is_free || return
    tests_part 12 1
}

# All others, last, since no GPU is needed for what they show: several at once, on half of the cores, because they have
# threads of their own. Those of the emulated GPU see all of it, and what is built of them only in part is not run.
part_host() {
    tests_ask || return
    visible_here=${CUDA_VISIBLE_DEVICES-unset}
    cores=$(cores_here)
    unset CUDA_VISIBLE_DEVICES
    ranks=34
    [ -z "$emulated_why_not" ] || ranks=3
    tests_part "$ranks" $(((cores + 1) / 2))
    code=$?
    if [ -n "$emulated_why_not" ]; then
        remark "$(cat "$scratch/remark"); $emulated_why_not"
        case $code in 0 | 77) cause time && code=3 ;; esac
    fi
    [ "$visible_here" = unset ] || export CUDA_VISIBLE_DEVICES="$visible_here"
    [ "$code" -ne 1 ] || [ "$gpu" = no ] || cause host
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
        --records-only >"$scratch/printed" 2>&1
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
        measured_note
    else # what the tool itself could not do is no fault of the program
        [ -s "$scratch/remark" ] || remark "compute-sanitizer came to no summary: $(tail -n 1 "$scratch/printed")"
        return 3
    fi
    return "$code"
}
