#!/bin/sh
# Is a release archive whole? Makes it twice (the bytes must be the same), unpacks it where there is no git, builds it
# there without CUDA, asks the program for its revision, runs a few tests, and installs into a folder.
#
# usage: dist-check.sh FOLDER [TEST...]      TEST: as tests/base/test_text (default: a few that need no GPU)
# Exit code 0: it is; 1: it is not; 2: no archive can be made (dist.sh says why).
set -eu

folder=${1:?usage: dist-check.sh FOLDER [TEST...]}
shift
[ $# -gt 0 ] || set -- tests/base/test_text tests/base/test_json tests/suite/test_suite tests/cli/test_command_line \
    tests/ci/test_makefile
ci/dist.sh "$folder"
archive=$(ls "$folder"/assay-*.tar.gz)
name=$(basename "$archive" .tar.gz)
before=$(cat "$archive.sha256")
ci/dist.sh "$folder" >/dev/null
[ "$before" = "$(cat "$archive.sha256")" ] || { echo "dist-check.sh: two archives of one commit differ" >&2; exit 1; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Git is as good as not there: whoever calls it is told what a shell says of a missing command, and noted.
mkdir "$scratch/bin"
printf '#!/bin/sh\necho "$@" >>"%s/asked"\necho "git: not found" >&2\nexit 127\n' "$scratch" >"$scratch/bin/git"
chmod +x "$scratch/bin/git"
tar -xzf "$archive" -C "$scratch"
revision=$(cat "$scratch/$name/REVISION")
PATH=$scratch/bin:$PATH
export PATH
unset MAKEFLAGS MAKELEVEL # of the make that calls this script
cd "$scratch/$name"
programs=
for test; do
    [ -e "$test.c" ] || { echo "dist-check.sh: the archive has no $test.c" >&2; exit 1; }
    programs="$programs build/$test"
done
# shellcheck disable=SC2086
make -s CUDA=no all $programs
said=$(build/assay version)
case $said in
"assay ${name#assay-} ($revision)") ;;
*) echo "dist-check.sh: the program says '$said', not revision $revision" >&2; exit 1 ;;
esac
# shellcheck disable=SC2086
ASSAY_PROGRAM=build/assay ci/run-tests.sh build $programs
make -s CUDA=no install DESTDIR="$scratch/installed" PREFIX=/usr >/dev/null
"$scratch/installed/usr/bin/assay" estimate gpt2 >/dev/null
[ ! -e "$scratch/asked" ] || sed 's/^/dist-check.sh: note: something asked git: /' "$scratch/asked" | sort -u
echo "dist-check.sh: $archive builds without git, and says $said"
