#!/bin/sh
# Types lines into a shell that runs in a terminal, each with the tabulator behind it, and prints what then stood in the
# line: typed.sh PROGRAM bash|zsh LINE... In a folder of its own; looks into no settings of the user.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
ASSAY=$(realpath "$1")
shell=$2
shift 2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin" "$scratch/zdot" "$scratch/work" "$scratch/work/a folder"
ln -s "$ASSAY" "$scratch/bin/assay"
: >"$scratch/work/suite of mine.yaml"
cp "$here/typed.zsh" "$scratch/zdot/.zshrc"
cd "$scratch/work"
export ASSAY ASSAY_FOLDER="$scratch/bin" SEEN="$scratch/seen" READY="$scratch/ready"
export ZDOTDIR="$scratch/zdot" HOME="$scratch" TERM=dumb
: >"$SEEN"
: >"$READY"
case $shell in
bash) start="bash --noprofile --rcfile '$here/typed.bash' -i" ;;
zsh) start="zsh -i" ;;
*) echo "typed.sh: $shell is not known" >&2 && exit 2 ;;
esac
# Waits until the file has so many lines: what is typed while the shell does not read, the terminal would edit itself.
seen() {
    tries=0
    until [ "$(wc -l <"$1" 2>/dev/null || echo 0)" -ge "$2" ] || [ $((tries += 1)) -gt 600 ]; do
        sleep 0.05
    done
    sleep 0.1
}
{
    seen "$READY" 1
    count=0
    for line; do
        printf '%s\t\024' "$line"
        seen "$SEEN" $((count += 1))
        printf '\025'
    done
    printf 'exit\n'
} | script -qec "$start" /dev/null >"$scratch/screen" 2>&1 || true
cat "$SEEN"
