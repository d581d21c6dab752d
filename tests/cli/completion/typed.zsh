# For an interactive zsh in a terminal of its own (as $ZDOTDIR/.zshrc): the same as typed.bash.
path=($ASSAY_FOLDER $path)
autoload -Uz compinit
compinit -u -D
unsetopt beep list_beep auto_menu auto_param_slash
setopt no_list_ambiguous
eval "$("$ASSAY" completion zsh)"
see() { print -r -- "$BUFFER" >>$SEEN }
zle -N see
bindkey '^T' see
zle-line-init() { print >>$READY }
zle -N zle-line-init
