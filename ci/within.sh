#!/bin/sh
# Runs a command for so many seconds at the most, and is back soon after them, whatever becomes of the command: one that
# hangs in a driver need not heed even SIGKILL, and who waits for it hangs, too. TERM, INT and HUP are passed on.
#
# usage: within.sh [--print] SECONDS COMMAND [WORD...]
#   --print  print what the command has printed when it is over, for `$(...)`, which waits for all that hold its pipe
# Exit code: that of the command; 124 or 137 if its time was over and it was ended; 119 if it could not be ended.
set -u

grace_s=10 # from TERM to KILL
after_s=5  # from KILL until it is given up

printed=
if [ "$1" = --print ]; then
    printed=$(mktemp) || exit 99
    trap 'rm -f "$printed"' EXIT
    shift
fi
limit_s=$1
shift
if [ -n "$printed" ]; then
    timeout -k "$grace_s" "$limit_s" "$@" >"$printed" &
else
    timeout -k "$grace_s" "$limit_s" "$@" &
fi
child=$!
last_s=$(($(date +%s) + limit_s + grace_s + after_s))

# shellcheck disable=SC2317
pass_on() {
    trap '' INT TERM HUP
    kill -TERM "$child" 2>/dev/null
    soon_s=$(($(date +%s) + grace_s + after_s))
    [ "$soon_s" -ge "$last_s" ] || last_s=$soon_s
}
trap pass_on INT TERM HUP

# Not `wait`, which has no limit. The shell takes note of a child that has ended while it runs `sleep`.
pause=0.02 rounds=0
while kill -0 "$child" 2>/dev/null; do
    if [ "$(date +%s)" -ge "$last_s" ]; then
        kill -KILL "$child" 2>/dev/null # it may be stopped, which no timer of its own ends
        sleep 0.2
        if kill -0 "$child" 2>/dev/null; then
            echo "within.sh: process $child ($1) does not end" >&2
            exit 119
        fi
        break
    fi
    rounds=$((rounds + 1))
    [ "$rounds" -lt 30 ] || pause=0.2
    sleep "$pause"
done
wait "$child"
code=$?
[ -z "$printed" ] || cat "$printed"
exit "$code"
