#!/bin/sh
# The static checks, all of them even if one fails; the exit status is 1 if any did. CHECKED_OBJECTS: see
# check-warnings.sh.
set -u

failed=
step() {
    name=$1
    shift
    if output=$("$@" 2>&1); then
        echo "ok   $name"
    else
        echo "FAIL $name"
        echo "$output" | sed 's/^/    /'
        failed="$failed $name"
    fi
}

sources() {
    find harness models tests \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) | sort
}

# Releases of clang-format differ in what they make of the same settings; 14 is the one of Debian 12.
format_check() {
    format=$(command -v clang-format-14 || command -v clang-format) || {
        echo "clang-format is missing; run ci/install-deps.sh --all"
        return 1
    }
    sources | xargs -n 100 -P "$(nproc)" "$format" --dry-run -Werror
}

cppcheck_run() {
    command -v cppcheck >/dev/null 2>&1 || {
        echo "cppcheck is missing; run ci/install-deps.sh --all"
        return 1
    }
    # readdir is unsafe only if threads share one DIR; its replacement readdir_r is deprecated
    cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
        --library=posix --library=gnu --suppress=missingIncludeSystem --suppress=readdirCalled -D_GNU_SOURCE -I. \
        -j "$(nproc)" harness models
}

step "include direction, doors and calls" ci/check-includes.sh
step "lengths" ci/check-lengths.sh
step "circles of calls and includes" ci/check-circles.sh
step "format" format_check
step "warnings of gcc and clang" ci/check-warnings.sh "${CHECKED_OBJECTS:-}"
step "cppcheck" cppcheck_run
[ -z "$failed" ]
