#!/bin/sh
# Times `assay estimate` as a whole process: start, read, answer, end. The smallest of several runs counts, because all
# that other processes do can only add to it. Limits: 20 ms for bert-base-cased, 50 ms for any model of the catalogue.
#
# usage: bench.sh PROGRAM      exit 1 where a limit is passed
set -u

program=$1
repeat=9
late=0

# Prints the smallest wall time in microseconds of a command.
smallest_us() {
    smallest=
    i=0
    while [ "$i" -lt "$repeat" ]; do
        begin=$(date +%s%N)
        "$@" >/dev/null || return 1
        end=$(date +%s%N)
        spent=$(((end - begin) / 1000))
        if [ -z "$smallest" ] || [ "$spent" -lt "$smallest" ]; then
            smallest=$spent
        fi
        i=$((i + 1))
    done
    echo "$smallest"
}

measure() {
    limit_us=$1
    shift
    spent_us=$(smallest_us "$program" "$@") || {
        echo "bench.sh: $program $* failed" >&2
        exit 1
    }
    verdict=ok
    if [ "$spent_us" -gt "$limit_us" ]; then
        verdict=LATE
        late=1
    fi
    echo "$spent_us $limit_us" |
        awk -v what="$*" -v verdict="$verdict" '{ printf "%-4s %8.2f ms of %3d ms  %s\n", verdict, $1 / 1000, $2 / 1000, what }'
}

measure 20000 estimate bert-base-cased
measure 20000 estimate bert-base-cased --mode train --batch 8 --seq 512
for config in $(find models/catalogue -name config.json | sort); do
    name=${config#models/catalogue/}
    measure 50000 estimate "${name%/config.json}"
done
exit $late
