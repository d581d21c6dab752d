#!/bin/sh
# Every attack, with many random moments each: the quick ones of `make test` and the long ones. Minutes to an hour.
#
# usage: nightly.sh [ROUNDS]      200 where nothing is said; ASSAY_PROGRAM names another program than build/assay
# exit code 1, and what was found, where an attack succeeded
set -u

here=$(cd "$(dirname "$0")" && pwd) || exit 99
ATTACK_ROUNDS=${1:-200}
export ATTACK_ROUNDS
case $ATTACK_ROUNDS in '' | *[!0-9]*)
    echo "nightly.sh: '$ATTACK_ROUNDS' is not a number of rounds; write 200" >&2
    exit 2
    ;;
esac
failed=
for attack in "$here"/quick/*.sh "$here"/long/*.sh; do
    name=${attack#"$here"/}
    said=$(sh "$attack" 2>&1)
    case $? in
    0) echo "ok   $name" ;;
    77) echo "skip $name: ${said#skip: }" ;;
    *)
        echo "FAIL $name"
        echo "$said" | sed 's/^/    /'
        failed="$failed $name"
        ;;
    esac
done
[ -z "$failed" ] || { echo "succeeded:$failed" >&2; exit 1; }
