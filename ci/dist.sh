#!/bin/sh
# A release archive: FOLDER/assay-VERSION.tar.gz with the sources of the commit that is checked out, and beside it its
# checksum. The same commit gives the same bytes, on any day and machine that has the same git and gzip. The archive has
# a file REVISION, from which a build without git knows what it is of (Makefile).
#
# usage: dist.sh FOLDER
# Exit code 2: there is no git, no repository, or what is checked out has changes that no commit has.
set -eu

folder=${1:?usage: dist.sh FOLDER}
refuse() {
    echo "dist.sh: $1" >&2
    exit 2
}
command -v git >/dev/null 2>&1 || refuse "git is missing, which knows what belongs to a release; install git"
[ -e .git ] || refuse "this is no clone; an archive is made from one"
changes=$(git status --porcelain --untracked-files=no) || refuse "git does not say what is here"
[ -z "$changes" ] || refuse "there are changes that no commit has; commit them, or put them away with git stash"

version=$(sed -n 's/^#define ASSAY_VERSION  *"\(.*\)"$/\1/p' harness/cli/command.h)
[ -n "$version" ] || refuse "harness/cli/command.h has no ASSAY_VERSION"
name=assay-$version
mkdir -p "$folder"
scratch=$(mktemp -d "$folder/dist-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
git describe --always | tr -cd 'A-Za-z0-9._/+\n-' >"$scratch/REVISION"
chmod 644 "$scratch/REVISION"
git -c tar.umask=0022 archive --format=tar --prefix="$name/" --add-file="$scratch/REVISION" -o "$scratch/tar" HEAD
gzip -9n "$scratch/tar"
mv "$scratch/tar.gz" "$folder/$name.tar.gz"
(cd "$folder" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
echo "$folder/$name.tar.gz: $(cat "$scratch/REVISION"), $(wc -c <"$folder/$name.tar.gz") bytes"
