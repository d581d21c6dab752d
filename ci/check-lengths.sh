#!/bin/sh
# Lines within 120 columns, files under 500 lines, functions under 70, and every .c and .h file opens with a comment
# that says what it is. A function runs from the brace in the first column to the brace that closes it there, plus its
# first line. Columns are characters of UTF-8: of C, C++, CUDA, shell, awk, make and the suites, not of Markdown and
# data. A file's name without its extension stands in one folder of harness/ and models/ only: a source and its headers
# lie side by side, and no two things have one name.
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
lined=$(find Makefile ci harness models peers tests \( -name Makefile -o -name '*.[ch]' -o -name '*.cu' -o \
    -name '*.cuh' -o -name '*.cpp' -o -name '*.sh' -o -name '*.awk' \) 2>/dev/null | sort
    find .ci .github suites \( -name '*.yaml' -o -name '*.yml' \) 2>/dev/null | sort)
status=0

# In the C locale every awk counts bytes; those that go on with a character are taken out.
# shellcheck disable=SC2086
LC_ALL=C awk '
    length($0) > 120 {
        line = $0
        gsub(/[\200-\277]/, "", line)
        if (length(line) > 120) {
            printf "%s:%d: a line of %d columns; 120 are the most\n", FILENAME, FNR, length(line)
            breaches++
        }
    }
    END { exit breaches > 0 }
' $lined || status=1

# shellcheck disable=SC2086
awk '
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
' $files || status=1

# shellcheck disable=SC2086
printf '%s\n' $files | awk -F / '
    $1 == "harness" || $1 == "models" {
        name = $NF
        sub(/[.][^.]*$/, "", name)
        folder = substr($0, 1, length($0) - length($NF) - 1)
        if (!(name in home)) {
            home[name] = folder
        } else if (home[name] != folder) {
            printf "%s:1: %s has a file of this name too; give one of them a name that says what sets it apart\n",
                $0, home[name]
            breaches++
        }
    }
    END { exit breaches > 0 }
' || status=1
exit "$status"
