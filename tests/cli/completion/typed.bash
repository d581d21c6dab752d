# For an interactive bash in a terminal of its own (bash --rcfile): completes assay, and on ^T writes the line as it
# stands into the file SEEN. typed.sh types into it.
bind 'set bell-style none'
bind 'set page-completions off'
bind 'set completion-query-items 0'
eval "$("$ASSAY" completion bash)"
PATH=$ASSAY_FOLDER:$PATH
see() { printf '%s\n' "$READLINE_LINE" >>"$SEEN"; }
bind -x '"\C-t": see'
PROMPT_COMMAND='echo >>"$READY"'
