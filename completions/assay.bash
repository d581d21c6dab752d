# bash completion of assay: takes the line apart as bash shows it to functions, and asks the program itself what could
# stand at the cursor (assay completion words). Needs no other completion to be installed.

# Takes quotes and backslashes out of $1: into unquoted; the quote that is still open, or nothing, into opened.
_assay_unquote()
{
    local typed=$1 letter
    local -i i
    unquoted='' opened=''
    for ((i = 0; i < ${#typed}; i++)); do
        letter=${typed:i:1}
        if [[ $opened == "'" && $letter != "'" ]]; then
            unquoted+=$letter
        elif [[ $letter == \\ && ($opened != '"' || ${typed:i+1:1} == [\"\\\$\`]) ]]; then
            i+=1
            unquoted+=${typed:i:1}
        elif [[ -n $opened && $letter == "$opened" ]]; then
            opened=''
        elif [[ -z $opened && $letter == [\"\'] ]]; then
            opened=$letter
        else
            unquoted+=$letter
        fi
    done
}

# The words of the line up to the cursor, into typed: bash has cut them at every = and :, which COMP_WORDBREAKS has.
_assay_typed_words()
{
    local rest=${COMP_LINE:0:COMP_POINT} trimmed word
    local -i i
    typed=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        trimmed=${rest#"${rest%%[![:space:]]*}"}
        word=${COMP_WORDS[i]}
        if ((i == COMP_CWORD)); then
            word=$trimmed
        fi
        if ((i == 0)) || [[ $trimmed != "$rest" ]]; then
            typed+=("$word")
        else
            typed[${#typed[@]} - 1]+=$word
        fi
        rest=${trimmed#"$word"}
    done
}

# How many bytes of the unquoted word bash leaves as they are, into kept: up to the open quote, else up to the last
# character at which it cuts words.
_assay_kept()
{
    local before=$1 quote=$2 unquoted opened
    if [[ -n $quote ]]; then
        before=${before%"$quote"*}
    else
        local breaks=''
        [[ $COMP_WORDBREAKS == *:* ]] && breaks+=':'
        [[ $COMP_WORDBREAKS == *=* ]] && breaks+='='
        if [[ -n $breaks && $before == *["$breaks"]* ]]; then
            before=${before%"${before##*["$breaks"]}"}
        else
            before=''
        fi
    fi
    _assay_unquote "$before"
    kept=${#unquoted}
}

# Adds what stands behind the kept bytes of $1, as it must be written in the open quote $2.
_assay_reply()
{
    local word=${1:kept} quote=$2 written
    case $quote in
    '"')
        written=${word//\\/\\\\}
        written=${written//\"/\\\"}
        written=${written//\$/\\\$}
        written=${written//\`/\\\`}
        ;;
    "'") written=${word//\'/\'\\\'\'} ;;
    *)
        printf -v written '%q' "$word"
        [[ $word == \~/* ]] && written=\~/$(printf '%q' "${word#\~/}")
        ;;
    esac
    COMPREPLY+=("$written")
}

# Files, or folders alone ($1: "files" or "folders"), that begin with the rest of $2; $3: the open quote.
_assay_files()
{
    local lead='' path=$2 found
    if [[ $path == --*=* ]]; then
        lead=${path%%=*}=
        path=${path#*=}
    fi
    while IFS= read -r found; do
        [[ -d ${found/#\~\//$HOME/} ]] && found+=/
        _assay_reply "$lead$found" "$3"
    done < <(if [[ $1 == folders ]]; then compgen -d -- "$path"; else compgen -f -- "$path"; fi)
}

_assay()
{
    local program=${1/#\~\//$HOME/} own line unquoted opened quote current
    local -a typed=() plain=()
    local -i kept=0 i
    COMPREPLY=()
    type -P -- "$program" >/dev/null || program=assay
    _assay_typed_words
    for ((i = 1; i < ${#typed[@]}; i++)); do
        _assay_unquote "${typed[i]}"
        plain+=("$unquoted")
    done
    current=$unquoted quote=$opened
    _assay_kept "${typed[${#typed[@]} - 1]}" "$quote"
    {
        IFS= read -r own
        while IFS= read -r line; do
            _assay_reply "${line%%$'\t'*}" "$quote"
        done
    } < <("$program" completion words -- "${plain[@]}" 2>/dev/null)
    [[ $own == files || $own == folders ]] && _assay_files "$own" "$current" "$quote"
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=:/] ]]; then
        compopt -o nospace 2>/dev/null
    fi
    return 0
}

complete -F _assay assay
