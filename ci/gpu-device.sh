# The GPU of ci/gpu.sh: which one is meant, its lock, a client that keeps its driver awake, and whether it can be used.
# Sourced, not run.
# shellcheck shell=sh disable=SC2034,SC2154

gpu=unknown # yes once a case was measured on it; no; faulty if it is there and could not be used
gpu_cause=unusable
gpu_why_not="the first case has not run"
gpu_name=
gpu_bytes=0
gpu_words=$device # the GPU as a person knows it
device_files=/dev # where the driver's are

# What a device is called in the name of its lock (--name), which needs no folder for locks, or the path of the lock;
# nothing if there is none, and $scratch/said says why.
lock_of() {
    ci/within.sh --print 30 "$build/assay" lock --device "$1" ${2:+"$2"} 2>"$scratch/said"
}

# From here on only the GPU that was asked for can be seen, whatever its number, and its number is 0: of the programs
# that run here not all take a number, and those of others count in other ways. If that does not lead to the same GPU
# (some drivers know no UUID of an instance), nothing is hidden.
gpu_isolate() {
    gpu_uuid=$(lock_of "$device" --name) && [ -n "$gpu_uuid" ] || return
    client_hold
    case $gpu_uuid in GPU-* | MIG-*) ;; *) return ;; esac
    visible_before=${CUDA_VISIBLE_DEVICES-unset}
    export CUDA_VISIBLE_DEVICES="$gpu_uuid"
    if [ "$(lock_of cuda:0 --name)" = "$gpu_uuid" ]; then
        gpu_words="$device ($gpu_uuid)"
        device=cuda:0
    elif [ "$visible_before" = unset ]; then
        unset CUDA_VISIBLE_DEVICES
        echo "$gpu_uuid does not lead to $device; the other GPUs stay visible"
    else
        CUDA_VISIBLE_DEVICES=$visible_before
        echo "$gpu_uuid does not lead to $device; the other GPUs stay visible"
    fi
}

# The lock for the whole run: all that is started has descriptor 8, and so the lock. Returns 3 if another run has it.
gpu_lock() {
    [ -n "$gpu_uuid" ] || return 0
    lock_path=$(lock_of "$device") && [ -n "$lock_path" ] && { command exec 8<"$lock_path"; } 2>/dev/null || {
        echo "no lock is held: $(sed -n 's/^assay: //p' "$scratch/said" | tail -n 1)"
        return 0
    }
    part_end_ms=$((part_end_ms + wait_seconds * 1000))
    limited "$build/assay" lock --device "$device" --fd 8 --wait-device "$wait_seconds" --out "$out" 2>"$scratch/said"
    lock_code=$?
    cat "$scratch/said"
    clock_begin # nobody's minutes go by while another run has the GPU
    part_end_ms=$(part_end_of "$part")
    [ "$lock_code" -eq 3 ] || return 0
    exec 8<&-
    return 3
}

# Where persistence mode is off, the driver forgets a GPU whenever the last process closes its device file, and takes
# seconds to know it again. One that sleeps holds the file open for as long as the run lasts: it has no context and
# occupies nothing. Nothing is held if it cannot be told which file is the GPU's.
client_hold() {
    minor=$(ci/within.sh --print 20 nvidia-smi -q -i "$gpu_uuid" 2>/dev/null |
        sed -n 's/^ *Minor Number *: *\([0-9][0-9]*\) *$/\1/p')
    file=$device_files/nvidia$minor
    case $minor in
    '' | *[!0-9]*)
        set -- "$device_files"/nvidia[0-9]*
        [ $# -eq 1 ] || return 0
        file=$1
        ;;
    esac
    [ -r "$file" ] && [ -w "$file" ] || return 0
    (
        unset TMPDIR # or it would be taken for one that was left behind
        exec sleep $((run_seconds_maximum + 60)) <>"$file" 3>&- 8<&- 9<&-
    ) &
    echo $! >"$scratch/client"
    echo "process $! holds $file open"
}

client_release() {
    [ ! -e "$scratch/client" ] || kill "$(cat "$scratch/client")" 2>/dev/null
    rm -f "$scratch/client"
}

# The first text of this name in a file of records.
record_text() {
    sed -n 's/.*"'"$1"'": *"\([^"]*\)".*/\1/p' "$2" | head -n 1
}

# Opens the device and measures one small case. Returns the project's code.
first_case() {
    mkdir "$scratch/device"
    limited "$build/assay" run suites/selftest.yaml --filter right --device "$device" --out "$scratch/device" \
        --records-only >"$scratch/printed" 2>&1
    first_code=$?
    cat "$scratch/printed"
    grep '"type": *"case"' "$scratch/device/records.jsonl" >"$scratch/device-case" 2>/dev/null
    gpu_name=$(sed -n 's/.*"device": *{[^}]*"name": *"\([^"]*\)".*/\1/p' "$scratch/device-case" | head -n 1)
    gpu_bytes=$(sed -n 's/.*"device": *{[^}]*"total_bytes": *\([0-9]*\).*/\1/p' "$scratch/device-case" | head -n 1)
    gpu_target=$(sed -n 's/.*"device": *{[^}]*"target": *"\([^"]*\)".*/\1/p' "$scratch/device-case" | head -n 1)
    reason=$(record_text reason "$scratch/device-case")
    [ -n "$reason" ] || reason=$(sed -n 's/^assay: //p' "$scratch/printed" | tail -n 1)
    return "$first_code"
}

gpu_refuse() {
    gpu=faulty gpu_cause=$1 gpu_why_not="$2: $3" target=host
    cause "$1" "$3"
}

# CUDA's libraries may take a minute from a slow disk, once; a driver that hangs takes longer than anybody waits.
gpu_is_late() {
    : >"$scratch/cause"
    gpu_refuse time "the GPU had no time" "its first case was not over after $limit_seconds s; start it again, or with \
--seconds $((seconds + 300)); if that is no better, 'assay doctor' says what is wrong"
}

part_device() {
    gpu_uuid=''
    libraries_of_torch_add
    gpu_isolate
    if gpu_lock; then
        first_case
        code=$?
        # A GPU that the program cannot open (a plug-in of other sources, an old driver) is no reason to skip.
        [ "$code" -ne 77 ] || [ -z "$gpus_here" ] || code=3
        case $code,$reason in
        0,*) gpu=yes gpu_why_not='' target=$device ;;
        77,*) gpu=no gpu_why_not="no GPU: $reason" target=host ;;
        3,*' is taken by '*) gpu_refuse busy "the GPU is busy" "$reason" ;;
        3,*)
            if grep -q '^time' "$scratch/cause"; then
                gpu_is_late
            else
                gpu_refuse unusable "the GPU cannot be used" "${reason:-its first case was not measured}"
            fi
            ;;
        *)
            gpu_refuse unusable "the GPU cannot be used" "${reason:-its first case was not measured}"
            [ "$code" -ne 1 ] || echo "gpu	" >"$scratch/cause"
            ;;
        esac
    else
        code=3
        gpu_refuse busy "the GPU is busy" "$(sed -n 's/^assay: //p' "$scratch/said" | tail -n 1)"
    fi
    [ -n "$tier" ] || { [ "$gpu" = yes ] && tier=gpu; } || tier=host
    remark "${gpu_why_not:-$gpu_words: $gpu_name}$([ "$gpu" = faulty ] || echo "; tier $tier on $target")"
    environment_write
    slice_begin
    echo "$gpu" >"$scratch/gpu"
    if [ "$gpu" = no ] && [ "$need_gpu" = yes ]; then
        cause absent
        code=3
    fi
    return "$code"
}

# 0 or the code for which nothing is measured, with its reason.
gpu_ask() {
    [ "$gpu" = faulty ] || return 0
    remark "not measured: ${gpu_why_not%%:*}"
    cause "$gpu_cause"
    return 3
}

# The same for what is tried although a case could not be measured: nothing is while another run measures.
gpu_is_free() {
    [ "$gpu_cause" != busy ] || gpu_ask
}
