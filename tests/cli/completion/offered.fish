# Prints what fish offers for each line: offered.fish PROGRAM LINE...
set -x PATH (dirname $argv[1]) $PATH
$argv[1] completion fish | source
for line in $argv[2..]
    echo "== $line"
    complete -C "$line" | string replace -r '\t.*' ''
end
