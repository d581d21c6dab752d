#!/bin/sh
# Does a package install, run and go without a trace? In a fresh Debian of this release that mmdebstrap makes from this
# machine's own package sources: installs it with what it depends on, asks for an estimate, the manual page and the
# completion, measures a case on the host as a user that is not root, and purges it again.
#
# usage: deb-trial.sh PACKAGE.deb
# Exit code 0: it does; 1: it does not; 77: mmdebstrap is missing, this is not root, or no sources can be reached.
set -eu

package=$(realpath "${1:?usage: deb-trial.sh PACKAGE.deb}")
skip() {
    echo "skip: $1"
    exit 77
}
command -v mmdebstrap >/dev/null 2>&1 || skip "mmdebstrap is missing; as root: apt-get install mmdebstrap"
[ "$(id -u)" -eq 0 ] || skip "a folder to chroot into is made by root alone"
# shellcheck disable=SC1091
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
scratch=$(mktemp -d)
trap 'umount "$scratch/root/proc" 2>/dev/null; rm -rf --one-file-system "$scratch"' EXIT
root=$scratch/root

if command -v lintian >/dev/null 2>&1; then
    lintian --fail-on error --suppress-tags "${LINTIAN_SUPPRESS:-bogus-mail-host}" "$package" || exit 1
    echo "ok   lintian has no errors"
else
    echo "note lintian is missing; as root: apt-get install lintian"
fi

# As apt has them here, in either of its forms.
{
    [ ! -s /etc/apt/sources.list ] || cat /etc/apt/sources.list
    cat /etc/apt/sources.list.d/*.list 2>/dev/null || true
} >"$scratch/one.list"
set --
[ ! -s "$scratch/one.list" ] || set -- "$scratch/one.list"
for file in /etc/apt/sources.list.d/*.sources; do
    [ ! -e "$file" ] || set -- "$@" "$file"
done
mmdebstrap --quiet --variant=minbase --include=man-db,bash-completion "$release" "$root" "$@" \
    >"$scratch/log" 2>&1 || {
    tail -n 5 "$scratch/log"
    skip "no $release could be made of this machine's package sources"
}
mount -t proc proc "$root/proc"
cp -r /etc/apt/apt.conf.d /etc/apt/sources.list.d "$root/etc/apt/" # proxies and mirrors of this machine
rm -f "$root/etc/apt/apt.conf.d"/docker*
cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
inside() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive \
        chroot "$root" "$@"
}
inside apt-get update -qq >"$scratch/log" 2>&1 || skip "the package sources cannot be reached from the new Debian"
failed=
try() {
    name=$1
    shift
    if "$@" >"$scratch/out" 2>&1; then
        echo "ok   $name"
    else
        echo "FAIL $name"
        sed 's/^/    /' "$scratch/out" | tail -n 15
        failed=yes
    fi
}
has() {
    pattern=$1
    shift
    if "$@" >"$scratch/said" 2>&1 && grep -q -- "$pattern" "$scratch/said"; then
        return 0
    fi
    cat "$scratch/said"
    return 1
}
user() {
    inside setpriv --reuid=1000 --regid=1000 --clear-groups env HOME=/tmp "$@"
}
traces() {
    inside find / -xdev \( -path /proc -o -path /sys -o -path /var/log -o -path /var/cache -o -path /root/assay.deb \
        -o -path /var/lib/apt \) -prune -o -name '*assay*' -print
}

cp "$package" "$root/root/assay.deb"
try "it installs with what it depends on" inside apt-get install -y -qq --no-install-recommends /root/assay.deb
try "assay version" has "^assay $(dpkg-deb -f "$package" Version | sed 's/[~+].*//')" user assay version
try "assay estimate gpt2" has "474.70 MB\|Total Size" user assay estimate gpt2
try "assay estimate on a GPU that is not there" has "replay" user assay estimate gpt2 --mode train --on 'RTX 4090'
try "assay doctor finds OpenBLAS" has "OpenBLAS" user sh -c 'assay doctor; test $? -le 3'
try "a case is measured on the host" has "1 ok" user sh -c \
    'cd /tmp && assay run suites/quick.yaml --device host --filter "timm/resnet50*/load/*" --out night --records-only'
try "its records make a page" has "resnet50" user sh -c 'cd /tmp && assay report night --format md'
try "man assay" has "ASSAY_DATA_DIR" inside sh -c 'man assay | cat'
try "man assay-run" has "wait.device" inside sh -c 'man assay-run | cat'
# shellcheck disable=SC2016
try "bash completes" has "suites/quick.yaml" inside bash -c '. /usr/share/bash-completion/bash_completion
    _completion_loader assay; COMP_WORDS=(assay run suites/qui) COMP_CWORD=2 COMP_LINE="assay run suites/qui"
    COMP_POINT=20; _assay assay; echo "${COMPREPLY[@]}"'
rm -rf "$root/tmp/night" "$root/tmp/.cache"
try "it is purged" inside dpkg --purge assay
left=$(traces)
if [ -n "$left" ]; then
    echo "FAIL purging left:"
    echo "$left"
    failed=yes
else
    echo "ok   purging left nothing"
fi
[ -z "$failed" ]
