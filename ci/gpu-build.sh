# The build of ci/gpu.sh: what is missing is installed or named, and what can be built is built. It has a limit of its
# own, since it takes as long as there are cores, and only the first time. Sourced, not run.
# shellcheck shell=sh disable=SC2034,SC2154

tests_why_not=
emulated_why_not= # the same of tests/cuda_emulation alone

# The cores that this process may use: those of its affinity, and not more than its container is given time for.
cores_here() {
    cores=$(nproc 2>/dev/null || echo 1)
    quota=$(awk '$1 + 0 > 0 { print int(($1 + $2 - 1) / $2) }' /sys/fs/cgroup/cpu.max 2>/dev/null)
    [ -z "$quota" ] || [ "$quota" -ge "$cores" ] || cores=$quota
    echo "$cores"
}

# What is needed takes some 600 seconds of one core: half as much again, and what is not shared among cores. The tests
# of the emulated GPU come last, in what is left: no GPU needs them.
build_seconds_of() {
    echo $((120 + 900 / $1))
}

# $1 behind what LD_LIBRARY_PATH has, for all that is run from here on.
library_folder_add() {
    case :${LD_LIBRARY_PATH:-}: in *":$1:"*) return ;; esac
    export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$1"
}

# A machine with a torch need not have a toolkit: the libraries of torch serve if the loader and the plug-in find none.
# cuDNN brings a cublasLt, which must be that of the plug-in's CUDA.
libraries_of_torch_add() {
    cublas=$(grep -aom 1 'libcublas\.so\.[0-9]*' "$build/libassay_cuda.so" 2>/dev/null | head -n 1)
    [ -n "$cublas" ] || return 0
    library_of_torch_add "$cublas"
    library_of_torch_add libcudnn_graph.so.9 "/nvidia_cudnn_cu${cublas##*.}-*"
}

# $1: the name of its file. $2: what must be there for it, beside nvidia/.
library_of_torch_add() {
    if [ -e "${CUDA_HOME:-/usr/local/cuda}/lib64/$1" ] ||
        { ldconfig -p 2>/dev/null || /sbin/ldconfig -p 2>/dev/null; } | grep -qF "$1 "; then
        return
    fi
    path=$(ci/within.sh --print 20 "$python" -c 'import glob, sys, sysconfig
base = sysconfig.get_path("purelib")
found = glob.glob(base + "/nvidia/*/lib/" + sys.argv[1])
print(*found[:1] if glob.glob(base + sys.argv[2]) else [])' "$1" "${2:-}" 2>/dev/null)
    [ -z "$path" ] || library_folder_add "${path%/*}"
}

# A make of its own, whatever make this script was started by.
make_plainly='env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s'

# The packages without which nothing can be built, and without which no test can; empty if all is there.
packages_missing() {
    ci/install-deps.sh --needed
}

# Says why nothing can be built here; prints nothing if all is there, but for what only tests need.
build_why_not() {
    if [ -n "$prebuilt" ]; then
        echo "$prebuilt"
        return
    fi
    lacking=$(packages_missing)
    case " $lacking " in
    *' make '* | *' gcc '* | *' libhwloc-dev '* | *' libjansson-dev '* | *' libyaml-dev '* | *' libsqlite3-dev '*)
        echo "$lacking missing; as root: apt-get install $lacking"
        ;;
    esac
}

plugin_words() {
    if [ -f "$build/libassay_cuda.so" ]; then
        echo "the CUDA plug-in is there$(sed 's/ / sm_/g; s/^/, for sm_/' "$build/cuda/architectures" 2>/dev/null)"
    elif [ -n "$prebuilt" ] || [ -z "$gpus_here" ]; then
        echo "there is no CUDA plug-in"
    else # make says what nvcc lacks
        echo "there is no CUDA plug-in: $($make_plainly info 2>/dev/null | sed -n 's/^CUDA plug-in  *no: //p')"
    fi
}

# What was carried along serves where nothing can be built. $1: why not.
build_take() {
    if ! "$build/assay" --version; then
        remark "$1; and there is nothing that was built in $build"
        [ -n "$prebuilt" ] && return 99
        cause missing
        return 3
    fi
    remark "not built: $1; $build as it was carried along, $(plugin_words)"
    built=yes
}

# $1: the exit code of a make; $2: what it was to build. The project's code for it.
make_judge() {
    case $1 in
    0) return 0 ;;
    3) remark "$(cat "$scratch/remark"); start it again: make goes on where it was" ;;
    *) remark "$2 failed: $(grep 'error:\|Error\|\*\*\*' "$log" | tail -n 1)" ;;
    esac
    [ "$1" -eq 3 ] && return 3
    return 99
}

# At most five minutes, since a network that is not there need not say so.
packages_install() {
    rest_ms=$part_end_ms
    soon_ms=$(($(elapsed_ms) + 300000))
    [ "$soon_ms" -ge "$part_end_ms" ] || part_end_ms=$soon_ms
    limited ci/install-deps.sh
    part_end_ms=$rest_ms
    : >"$scratch/remark"
    : >"$scratch/cause"
}

part_build() {
    built=no
    [ -n "$prebuilt" ] || [ -z "$(packages_missing)" ] || packages_install
    why_not=$(build_why_not)
    if [ -n "$why_not" ]; then
        build_take "$why_not"
        return
    fi
    cuda=
    [ -n "$gpus_here" ] || cuda=CUDA=no # else for it, if its driver says what it is
    limited $make_plainly $cuda all
    make_judge "$?" "the build" || return
    built=yes
    lacking=$(packages_missing)
    if [ -n "$lacking" ]; then
        tests_why_not="no tests are built; as root: apt-get install $lacking"
        remark "$(plugin_words); $tests_why_not"
        return 0
    fi
    tests_why_not="the tests are not built"
    limited $make_plainly $cuda EMULATION=no tests
    make_judge "$?" "the build of the tests" || return
    tests_why_not=
    emulated_why_not="the tests of the emulated GPU are not built"
    limited $make_plainly $cuda tests
    make_judge "$?" "the build of the tests of the emulated GPU"
    emulated_code=$?
    case $emulated_code in
    0) emulated_why_not='' ;;
    3) emulated_why_not="$emulated_why_not: $(cat "$scratch/remark")" ;;
    *) return "$emulated_code" ;;
    esac
    : >"$scratch/cause"
    remark "$(plugin_words)${emulated_why_not:+; $emulated_why_not}"
}

# 77 if there are no tests of these sources; those of others may lie there.
tests_ask() {
    [ -n "$tests_why_not" ] || return 0
    remark "$tests_why_not"
    return 77
}
