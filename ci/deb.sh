#!/bin/sh
# A Debian package of what `make install PREFIX=/usr DESTDIR=TREE` has put into TREE, which is changed for it:
# FOLDER/assay_VERSION_ARCHITECTURE.deb, for the release of Debian or Ubuntu that this is, whose libraries the program
# was linked with. dpkg-shlibdeps says which packages it depends on; OpenBLAS, which is opened at run time, is
# added. The CUDA plug-in is in it if it was built; it loads the driver at run time, and the package depends on none.
#
# usage: deb.sh TREE FOLDER      called by `make deb`
# DEBFULLNAME, DEBEMAIL: who stands in it as the maintainer.
# Exit code 2: a tool is missing.
set -eu

tree=$1 folder=$2
for tool in dpkg-deb dpkg-shlibdeps dpkg gzip strip md5sum; do
    command -v "$tool" >/dev/null 2>&1 || {
        echo "deb.sh: $tool is missing; as root: apt-get install dpkg-dev binutils" >&2
        exit 2
    }
done
version=$(sed -n 's/^#define ASSAY_VERSION  *"\(.*\)"$/\1/p' harness/cli/command.h)
architecture=$(dpkg --print-architecture)
maintainer="${DEBFULLNAME:-The developers of assay} <${DEBEMAIL:-assay@assay.invalid}>"
# The time of the commit, or of the sources: the package does not depend on when it was made.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y harness/cli/command.h)}
export SOURCE_DATE_EPOCH
# Of two commits that are no release apt takes the later for newer; before the release they are older than it.
if [ -e .git ] && commit=$(git rev-parse --short HEAD 2>/dev/null) &&
    ! git describe --exact-match --tags --match "v$version" >/dev/null 2>&1; then
    sign=$(git rev-parse -q --verify "refs/tags/v$version" >/dev/null && echo + || echo '~')
    version=$version${sign}git$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M%S).$commit
fi
umask 022
docs=$tree/usr/share/doc/assay

# Debian's own places and forms: the completion of zsh, compressed pages and changes, the licence as "copyright".
mkdir -p "$tree/usr/share/zsh/vendor-completions"
mv "$tree/usr/share/zsh/site-functions/_assay" "$tree/usr/share/zsh/vendor-completions/_assay"
rmdir "$tree/usr/share/zsh/site-functions"
gzip -9n "$tree"/usr/share/man/man1/*.1
rm -f "$docs/LICENSE"
mv "$docs/CHANGELOG.md" "$docs/NEWS.md"
cat >"$docs/copyright" <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: assay

Files: *
Copyright: 2026 the developers of assay
License: Apache-2.0

License: Apache-2.0
 Licensed under the Apache License, Version 2.0; you may not use this software
 except in compliance with the License.
 .
 On Debian systems the text of the Apache License, Version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
END
gzip -9n >"$docs/changelog.gz" <<END
assay ($version) unstable; urgency=medium

  * What changed is in NEWS.md beside this file.

 -- $maintainer  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
END
strip --strip-unneeded --remove-section=.comment --remove-section=.note "$tree/usr/bin/assay"
set -- "$tree/usr/bin/assay"
plugin=$tree/usr/lib/assay/libassay_cuda.so
with="The plug-in for NVIDIA GPUs is not in this package."
if [ -e "$plugin" ]; then
    strip --strip-unneeded "$plugin"
    set -- "$@" -e "$plugin"
    with="With the plug-in for NVIDIA GPUs; driver and cuBLAS are looked for at run time."
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/debian" "$tree/DEBIAN"
printf 'Source: assay\n\nPackage: assay\nArchitecture: any\n' >"$scratch/debian/control"
linked=$(for file; do [ "$file" = -e ] || realpath "$file"; done |
    (cd "$scratch" && xargs dpkg-shlibdeps -O --ignore-missing-info) | sed -n 's/^shlibs:Depends=//p')
cat >"$tree/DEBIAN/control" <<END
Package: assay
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -k -s --exclude=DEBIAN "$tree" | cut -f 1)
Depends: libopenblas0-pthread | libopenblas0, $linked
Recommends: gnuplot-nox | gnuplot, libcurl4 | libcurl4t64
Section: science
Priority: optional
Homepage: https://assay.invalid/
Description: memory footprints of neural networks, predicted and measured
 assay predicts how many bytes a model occupies when it is loaded, run and
 trained, builds the same network, measures it, and reports how far each
 prediction was off, cause by cause. It knows PyTorch's allocator and models of
 the Hugging Face hub, and estimates for GPUs that are not there.
 .
 $with
END
(cd "$tree" && find usr -type f | LC_ALL=C sort | xargs -d '\n' md5sum >DEBIAN/md5sums)
package=$folder/assay_${version}_$architecture.deb
mkdir -p "$folder"
dpkg-deb --root-owner-group -Zxz --build "$tree" "$package" >/dev/null
echo "$package: $(wc -c <"$package") bytes; $(dpkg-deb -f "$package" Depends)"
