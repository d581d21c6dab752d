# fish completion of assay: asks the program itself what could stand at the cursor (assay completion words).

function __assay_words
    set -l typed (commandline --tokenize --current-process --cut-at-cursor)
    set -l current (commandline --current-token --cut-at-cursor)
    set -l program assay
    if command -sq -- $typed[1]; or test -x "$typed[1]"
        set program $typed[1]
    end
    # What is typed may lie in a quote that is still open.
    set current (string replace -r '^(--[^=]*=)?["\']' '$1' -- $current)
    set current (string replace -ra '\\\\(.)' '$1' -- $current)
    set -l answer ($program completion words -- $typed[2..] "$current" 2>/dev/null)
    set -l own $answer[1]
    set -l lead ''
    set -l path $current
    if string match -qr '^--[^=]*=' -- $current
        set lead (string match -r '^--[^=]*=' -- $current)
        set path (string replace -r '^--[^=]*=' '' -- $current)
    end
    switch "$own"
        case files
            printf "$lead%s\n" (__fish_complete_path "$path")
        case folders
            printf "$lead%s\n" (__fish_complete_directories "$path" '')
    end
    set -q answer[2]; and printf '%s\n' $answer[2..]
end

complete -c assay -f -a '(__assay_words)'
