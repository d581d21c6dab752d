#!/bin/sh
# Installs what building and testing need, on Debian 12 and 13 and on Ubuntu 24.04. Says nothing if all is there; prints
# the packages before it installs any; uses sudo only when not root; never asks. On another system it names what is
# missing. It fails only if the build cannot go on.
#
# usage: install-deps.sh [--all | --needed]
#   --all      the tools of the static checks and of tests/cuda_emulation too, shells that tests complete in,
#              and a browser that they look at pages with
#   --needed   only print the packages without which nothing can be built
set -u

all=no
needed=no
case "${1:-}" in
--all) all=yes ;;
--needed) needed=yes ;;
"") ;;
*) echo "install-deps.sh: unknown option '$1'; there are --all and --needed" >&2; exit 2 ;;
esac

has_command() {
    command -v "$1" >/dev/null 2>&1
}

has_header() {
    printf '#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <setjmp.h>\n#include <%s>\n' "$1" |
        "${CC:-cc}" -fsyntax-only -x c - >/dev/null 2>&1
}

has_library() {
    { ldconfig -p 2>/dev/null || /sbin/ldconfig -p 2>/dev/null; } | grep -q "$1"
}

# Sets missing (without these nothing can be built) and wanted (without these a part is left out) to package names.
probe() {
    missing=
    wanted=
    has_command "${CC:-cc}" || missing="$missing gcc libc6-dev"
    has_command make || missing="$missing make"
    has_header hwloc.h || missing="$missing libhwloc-dev"
    has_header jansson.h || missing="$missing libjansson-dev"
    has_header yaml.h || missing="$missing libyaml-dev"
    has_header sqlite3.h || missing="$missing libsqlite3-dev"
    has_header cmocka.h || missing="$missing libcmocka-dev"
    has_library 'libopenblas\.so\.0' || wanted="$wanted libopenblas0-pthread"
    has_header curl/curl.h || wanted="$wanted libcurl4-openssl-dev"
    has_command gnuplot || wanted="$wanted gnuplot-nox"
    if [ "$all" = yes ]; then
        has_command "${CXX:-g++}" || wanted="$wanted g++"
        has_command clang || wanted="$wanted clang"
        has_command cppcheck || wanted="$wanted cppcheck"
        has_command zsh || wanted="$wanted zsh"
        has_command fish || wanted="$wanted fish"
        has_command mandoc || wanted="$wanted mandoc"
        # Ubuntu has a snap in its place, which is no package.
        grep -qs '^ID=debian' /etc/os-release && ! has_command chromium && wanted="$wanted chromium"
        has_command clang-format-14 || wanted="$wanted clang-format-14"
    fi
}

install_packages() {
    root=
    if [ "$(id -u)" -ne 0 ]; then
        if ! has_command sudo; then
            echo "install-deps.sh: not root and no sudo; as root: apt-get install $*" >&2
            return 1
        fi
        root="sudo -n"
    fi
    export DEBIAN_FRONTEND=noninteractive
    # sudo drops the environment, so the variable goes through env
    $root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2 ||
        echo "install-deps.sh: the package lists could not be renewed; going on with those that are here" >&2
    # shellcheck disable=SC2068
    $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $@ >&2
}

probe
if [ "$needed" = yes ]; then
    echo "${missing# }"
    exit 0
fi
if [ -z "$missing$wanted" ]; then
    exit 0
fi
if has_command apt-get; then
    echo "install-deps.sh: installing$missing$wanted" >&2
    # shellcheck disable=SC2086
    install_packages $missing $wanted
    probe
else
    echo "install-deps.sh: this is neither Debian nor Ubuntu; install what these packages of theirs" \
        "hold:$missing$wanted" >&2
fi
if [ -n "$wanted" ]; then
    echo "install-deps.sh: still missing, a part is left out:$wanted (make info says which)" >&2
fi
if [ -n "$missing" ]; then
    echo "install-deps.sh: cannot build without$missing" >&2
    exit 1
fi
