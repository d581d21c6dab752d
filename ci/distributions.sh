#!/bin/sh
# Does what README says work on a bare system? debootstrap makes the smallest system of each distribution, with git and
# make and no more, this repository is cloned into it as it was committed, and README's two commands, `make run` and
# `make test`, run there as root. CUDA is not in it, and neither are the tools of `ci/install-deps.sh --all`.
#
# usage: distributions.sh [OPTION...] [NAME...]      as root
#   NAME           bookworm (Debian 12), trixie (Debian 13), noble (Ubuntu 24.04). Default: the two of Debian, or that
#                  of Ubuntu, as the package sources of this machine are
#   --folder DIR   for the logs, DIR/NAME-run.log and DIR/NAME-test.log, and the systems, of 2 GB each while they are at
#                  work (default: build/distributions)
#   --mirror URL   where packages come from; default: where apt takes those of this machine from
#   --keep         leave the systems: DIR/NAME
# TEST_JOBS, TEST_TIMEOUT_S: as of ci/run-tests.sh.
# Exit code 0: both commands passed in all of them; 1: they did not; 2: nothing can be tried here, which is said.
# All runs in namespaces of its own: when they end, and this script ends them whatever ends it but SIGKILL, no process
# and no mount is left. Then the system is removed.
set -u

root=$(cd "$(dirname "$0")/.." && pwd) || exit 2
refuse() {
    echo "distributions.sh: $1" >&2
    exit 2
}

folder=$root/build/distributions
mirror=
keep=
while [ $# -gt 0 ]; do
    case $1 in
    --folder | --mirror)
        [ -n "${2:-}" ] || refuse "$1 needs a value"
        case $1 in
        --folder) folder=$2 ;;
        --mirror) mirror=$2 ;;
        esac
        shift
        ;;
    --keep) keep=yes ;;
    -*) refuse "unknown option '$1'; use --folder DIR, --mirror URL or --keep" ;;
    *) break ;;
    esac
    shift
done
for name; do
    case $name in
    bookworm | trixie | noble) ;;
    *) refuse "unknown distribution '$name'; there are bookworm, trixie and noble" ;;
    esac
done
[ "$(id -u)" -eq 0 ] || refuse "only root can make a system and change into it; run it with sudo"
for program in debootstrap unshare git; do
    command -v "$program" >/dev/null 2>&1 ||
        refuse "$program is missing; as root: apt-get install debootstrap util-linux git"
done
unshare --mount --pid --fork -- true 2>/dev/null ||
    refuse "this machine lets nobody make namespaces and mounts; in a container it takes docker run --privileged"
# shellcheck disable=SC1091
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
if [ -z "$mirror" ]; then
    # shellcheck disable=SC2016
    mirror=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        awk -v release="$release" '$1 == release && $2 == "main" { print $3; exit }')
    [ -n "$mirror" ] || refuse "apt has no sources of '$release' here; name a mirror with --mirror URL"
fi
case $mirror in
*ubuntu*) [ $# -gt 0 ] || set -- noble ;;
*) [ $# -gt 0 ] || set -- bookworm trixie ;;
esac
mkdir -p "$folder" || refuse "the folder $folder cannot be made"
folder=$(cd "$folder" && pwd)
for name; do
    [ ! -e "$folder/$name" ] || refuse "$folder/$name is there already; remove it, or choose another with --folder DIR"
done

child=
system=
clear_away() {
    # Processes that end with the namespaces may need a moment.
    for _ in 1 2 3 4 5; do
        [ -n "$system" ] && [ -z "$keep" ] && [ -e "$system" ] || return
        rm -rf --one-file-system "$system" 2>/dev/null || sleep 1
    done
}
# shellcheck disable=SC2317
stop() {
    trap '' INT TERM HUP
    [ -z "$child" ] || kill -KILL "$child" 2>/dev/null # with it goes all that it has begun
    exit "$1"
}
trap clear_away EXIT
trap 'stop 130' INT
trap 'stop 143' TERM
trap 'stop 129' HUP

# A command in namespaces of its own; in the background, so that a signal need not wait for it.
apart() {
    unshare --mount --pid --fork --kill-child -- "$@" </dev/null &
    child=$!
    wait "$child"
    code=$?
    child=
    return "$code"
}

# debootstrap leaves out some files that an installed system has, and the proxies of this machine.
system_make() {
    include=git,make
    case $mirror in https:*) include=$include,ca-certificates ;; esac # or apt could not ask it
    set -- "$1" "$system" "$mirror"
    [ "$1" != noble ] || set -- --components=main,universe "$@" gutsy # the script of all of Ubuntu
    apart debootstrap --force-check-gpg --variant=minbase "--include=$include" "$@" || return
    echo "127.0.0.1 localhost" >"$system/etc/hosts"
    apt-config dump 2>/dev/null | grep '^Acquire::https*::.*[Pp]roxy' >"$system/etc/apt/apt.conf.d/90proxy"
    printf '[safe]\n\tdirectory = *\n' >"$system/gitconfig" # somebody else's clone, as under sudo
    GIT_CONFIG_GLOBAL=$system/gitconfig git clone -q "file://$root" "$system/root/assay" && rm "$system/gitconfig"
}

# $1: of make. Nothing of this environment reaches it but what says how tests are run.
# shellcheck disable=SC2016
inside() {
    apart sh -c '
        mount -t proc proc "$1/proc" && mount -t sysfs -o ro sysfs "$1/sys" &&
            mount -t devpts -o newinstance,ptmxmode=0666 devpts "$1/dev/pts" || exit
        exec chroot "$1" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
            ${TEST_JOBS:+"TEST_JOBS=$TEST_JOBS"} ${TEST_TIMEOUT_S:+"TEST_TIMEOUT_S=$TEST_TIMEOUT_S"} \
            sh -c "cd /root/assay && make $2"' sh "$system" "$1"
}

# $1: the distribution; $2: run or test; $3: a pattern of the line that sums up. Says how it went.
try() {
    log=$folder/$1-$2.log
    began_s=$(date +%s)
    inside "$2" >"$log" 2>&1
    code=$?
    summary=$(grep -E "$3" "$log" | tail -n 1)
    took="$((($(date +%s) - began_s) / 60)) min"
    if [ "$code" -eq 0 ] && [ -n "$summary" ]; then
        echo "ok   $1: make $2: $summary ($took)"
        return
    fi
    echo "FAIL $1: make $2: exit code $code${summary:+, $summary} ($took); $log ends with"
    { grep '^FAIL ' "$log"; tail -n 10 "$log"; } | sed 's/^/    /'
    return 1
}

revision=$(git -c safe.directory="$root" -C "$root" describe --always --dirty |
    sed 's/-dirty$/ (without what is not committed)/')
passed=0
for name; do
    system=$folder/$name
    echo "made $name of $mirror: $system, with revision $revision"
    good=yes
    if system_make "$name" >"$folder/$name-system.log" 2>&1; then
        try "$name" run '^[0-9]+ cases: ' || good=
        try "$name" test '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' || good=
    else
        echo "FAIL $name: no system could be made; $folder/$name-system.log ends with"
        tail -n 10 "$folder/$name-system.log" | sed 's/^/    /'
        good=
    fi
    clear_away
    [ -z "$good" ] || passed=$((passed + 1))
done
echo "$passed of $# distributions: make run and make test pass from bare"
[ "$passed" -eq $# ]
