# The folder of ci/gpu.sh: at most eight files of its own, small ones, of one machine and one state of the sources.
# Sourced.
# shellcheck shell=sh disable=SC2154

kept_files='records.jsonl truth.jsonl compare.txt conformance.txt timing.tsv environment.txt log.txt summary.txt'
kept_bytes_maximum=6291456
log_bytes_maximum=2097152
copies_maximum=5
copy_mark=COPY

# Refuses a folder with files of others in it, and one that another run writes to.
folder_open() {
    mkdir -p "$out" 2>/dev/null || usage_fail "$out cannot be made; choose another folder with --out"
    for path in "$out"/* "$out"/.[!.]*; do
        [ -e "$path" ] || continue
        case " $kept_files " in
        *" ${path##*/} "*) ;;
        *) usage_fail "$path is none of this script's files; choose another folder with --out" ;;
        esac
    done
    { command exec 9<"$out"; } 2>/dev/null || usage_fail "$out cannot be read"
    ! command -v flock >/dev/null 2>&1 || flock -n 9 ||
        usage_fail "another run writes to $out; wait for it, or choose another folder with --out"
    case $slice in
    all | suites) measured_keep || exit 2 ;;
    peers) [ ! -s "$out/truth.jsonl" ] || measured_keep || exit 2 ;;
    esac
    [ "$slice" = all ] && folder_empty
    { : >>"$out/timing.tsv" && : >>"$log"; } 2>/dev/null || usage_fail "$out cannot be written to"
}

# Earlier measurements are not removed: a copy of the folder stays beside it. A machine's minutes may not come again,
# and a run without a GPU must not remove the results of a run with one.
measured_keep() {
    [ -s "$out/records.jsonl" ] || [ -s "$out/truth.jsonl" ] || return 0
    aside=$out.$(date -u '+%Y%m%dT%H%M%SZ')
    while [ -e "$aside" ]; do aside=$aside-2; done
    { mkdir "$aside" && cp -p "$out"/* "$aside"; } 2>/dev/null || {
        rm -rf "$aside"
        echo "gpu.sh: what was measured before cannot be kept in $aside; make room, or choose another folder with" \
            "--out" >&2
        return 1
    }
    {
        echo "a copy that ci/gpu.sh made; it goes when there are $copies_maximum newer ones of its device, unless a" \
            "file in it changes or joins it"
        copy_sums "$aside"
    } >"$aside/$copy_mark"
    echo "gpu.sh: what was measured before is kept in $aside" >&2
    copies_prune
}

# shellcheck disable=SC2086
copy_sums() {
    (cd "$1" && cksum $kept_files 2>/dev/null)
}

# Whether a folder is a copy of ours as it was made: its name, its mark, and no file changed, added or taken away.
is_own_copy() {
    name=${1#"$out".}
    case $name in
    [0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]T[0-9][0-9][0-9][0-9][0-9][0-9]Z*) ;;
    *) return 1 ;;
    esac
    [ -d "$1" ] && [ ! -L "$1" ] && [ -f "$1/$copy_mark" ] || return 1
    for path in "$1"/* "$1"/.[!.]*; do
        [ -e "$path" ] || [ -L "$path" ] || continue
        [ -f "$path" ] && [ ! -L "$path" ] || return 1
        case " $kept_files $copy_mark " in *" ${path##*/} "*) ;; *) return 1 ;; esac
    done
    [ "$(tail -n +2 "$1/$copy_mark")" = "$(copy_sums "$1")" ]
}

# The device that a folder's figures are of.
device_of() {
    head -n 1 "$1/environment.txt" 2>/dev/null | cut -d , -f 1
}

# The newest copies of each device stay, and so does each copy that somebody has touched. A run without a GPU takes
# nothing away from those with one. Names sort by time.
copies_prune() {
    own_count=0
    for copy in "$out".[0-9]*Z*; do
        if is_own_copy "$copy" && [ "$(device_of "$copy")" = "$(device_of "$aside")" ]; then
            own_count=$((own_count + 1))
        fi
    done
    for copy in "$out".[0-9]*Z*; do
        [ "$own_count" -gt "$copies_maximum" ] || return 0
        is_own_copy "$copy" && [ "$(device_of "$copy")" = "$(device_of "$aside")" ] || continue
        for name in $kept_files "$copy_mark"; do rm -f "$copy/$name"; done
        rmdir "$copy" && echo "gpu.sh: $copy is removed; $copies_maximum newer ones of its device are kept" >&2
        own_count=$((own_count - 1))
    done
}

# Names of files that stay.
folder_empty() {
    for name in $kept_files; do
        case " $* " in *" $name "*) ;; *) rm -f "$out/$name" ;; esac
    done
}

source_words() {
    words=$("$build/assay" --version 2>/dev/null)
    case $words in
    *'('*) ;; # it says its revision itself
    *)
        commit=$(git rev-parse --short HEAD 2>/dev/null) && words="$words, commit $commit"
        [ -z "$commit" ] || git diff --quiet HEAD 2>/dev/null || words="$words with changes"
        ;;
    esac
    echo "${words:-unknown sources}"
}

environment_write() {
    where="${gpu_name:-no GPU}, $(source_words), tier $tier on $target"
    # What an earlier slice measured elsewhere, or of other sources, does not stand beside this.
    if [ -s "$out/environment.txt" ] && [ "$(head -n 1 "$out/environment.txt")" != "$where" ]; then
        measured_keep 2>&3 || exit 2
        folder_empty log.txt timing.tsv
        grep '	build	' "$out/timing.tsv" >"$scratch/timing"
        cat "$scratch/timing" >"$out/timing.tsv"
        echo "the folder was of something else; its results are not in it any more"
    fi
    {
        echo "$where"
        date -u '+%Y-%m-%d %H:%M:%S UTC'
        uname -srm
        [ -z "$gpu_why_not" ] || echo "$gpu_why_not"
        echo
        ci/within.sh 20 "$build/assay" hardware
        echo
        COLUMNS=100 ci/within.sh 20 "$build/assay" doctor --device "$device"
        echo
        facts=index,name,driver_version,vbios_version,memory.total,memory.used,mig.mode.current,ecc.mode.current
        ci/within.sh 20 nvidia-smi --query-gpu="$facts,compute_mode,persistence_mode,clocks.max.sm,power.limit" \
            --format=csv 2>&1
        nvcc --version 2>/dev/null | tail -n 2
        echo
        ci/within.sh --print 60 "$python" -c '
import sys, torch, transformers
print("python", sys.version.split()[0], "torch", torch.__version__, "cuda", torch.version.cuda,
      "transformers", transformers.__version__)' 2>&1 | tail -n 1
        echo
        env | grep -E '^(LD_LIBRARY_PATH|(CUDA|CUBLAS|CUDNN|NVIDIA|PYTORCH|TORCH|OMP|OPENBLAS|ASSAY)_[A-Z_]*)=' | sort
    } >"$scratch/environment"
    cat "$scratch/environment" >"$out/environment.txt"
}

# What a slice makes it makes anew; the files of the other slices stay.
# shellcheck disable=SC2034
slice_begin() {
    case $slice in
    tests) rm -f "$out/conformance.txt" ;;
    suites) rm -f "$out/records.jsonl" "$out/compare.txt" ;;
    peers)
        rm -f "$out/truth.jsonl" "$out/compare.txt"
        [ -s "$out/records.jsonl" ] || suites_too=yes
        ;;
    esac
}

# Records of finished runs join those of the folder, one run after the other. A run without room there stays outside:
# half a run would make the whole file unreadable.
records_keep() {
    for records in "$scratch"/run-*/records.jsonl; do
        [ -f "$records" ] || continue
        had_bytes=$(cat "$out/records.jsonl" 2>/dev/null | wc -c)
        if cat "$records" >>"$out/records.jsonl"; then
            rm -r "${records%/*}"
        else
            truncate -s "$had_bytes" "$out/records.jsonl"
            [ -e "$scratch/keep" ] ||
                echo "gpu.sh: no room in $out; the records of a run stay in ${records%/*}" >&2
            : >"$scratch/keep"
        fi
    done
}

log_shorten() {
    [ "$(wc -c <"$log")" -gt "$log_bytes_maximum" ] || return 0
    {
        head -c $((log_bytes_maximum / 2)) "$log"
        printf '\n[... the middle of the log is left out: it was larger than %s bytes ...]\n' "$log_bytes_maximum"
        tail -c $((log_bytes_maximum / 2)) "$log"
    } >"$scratch/log"
    cat "$scratch/log" >"$log"
}

# At most eight files, small enough to be sent anywhere.
folder_check() {
    count=$(find "$out" -mindepth 1 | wc -l)
    bytes=$(find "$out" -type f -exec cat {} + | wc -c)
    if [ "$count" -gt 8 ] || [ "$bytes" -gt "$kept_bytes_maximum" ]; then
        echo "gpu.sh: $out has $count files of $bytes bytes; 8 of $kept_bytes_maximum are the most" >&2
        return 1
    fi
}
