#!/bin/sh
# Files under 500 lines, functions under 70, and every .c and .h file opens with a comment that says what it is.
# A function runs from the brace in the first column to the brace that closes it there, plus its first line.
#
# usage: check-lengths.sh [ROOT]      exit 1 and a line FILE:LINE: cause; remedy for each breach
set -u

root=${1:-.}
cd "$root" || exit 2
files=$(find harness models tests \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) 2>/dev/null | sort)
if [ -z "$files" ]; then
    echo "check-lengths.sh: no sources below $root; give the root of the repository" >&2
    exit 2
fi

# shellcheck disable=SC2086
exec awk '
    FNR == 1 {
        opened = 0
        if ($0 !~ /^\/\*/) {
            breach("the file does not open with a comment; say what it is and what it is not")
        }
    }
    FNR == 500 { breach("500 lines or more; split the file by what it is about") }
    /^[{]/ { opened = FNR }
    /^[}]/ && opened {
        if (FNR - opened + 2 >= 70) {
            breach("a function of " FNR - opened + 2 " lines ends here; 69 are the most")
        }
        opened = 0
    }
    function breach(text) {
        printf "%s:%d: %s\n", FILENAME, FNR, text
        breaches++
    }
    END { exit breaches > 0 }
' $files
