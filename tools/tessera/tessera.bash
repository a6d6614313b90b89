# Bash completion of the tessera command: commands, options and their values are asked of the command itself.
# SPDX-License-Identifier: Apache-2.0

_tessera_help() { # TOOL [COMMAND]: one option on a line
    ARGP_HELP_FMT=rmargin=400 "$@" --help 2>/dev/null
}

_tessera_options() { # TOOL COMMAND
    _tessera_help "$@" | grep -oE -- '--[a-z][a-z0-9-]*=?' | sort -u
}

_tessera_commands() {
    _tessera_help "$1" | sed -n '/^Commands:/,/^$/s/^ *\([a-z]*\) .*/\1/p'
}

# The words that an option may have, if its help is a list of them; "FILE" where it is a file.
_tessera_values() { # TOOL COMMAND --OPTION
    local text
    text=$(_tessera_help "$1" "$2" | sed -nE "s/^ .*$3=([A-Za-z.|]+) +(.*)/\1 \2/p" | head -n 1)
    case $text in
    FILE* | *'a file name'*) echo FILE; return ;;
    esac
    text=$(sed -E 's/^[A-Z.|]+ //; s/^a list of //; s/\([^)]*\)//g; s/ or /, /; s/ +$//' <<<"$text")
    [[ $text =~ ^[a-z0-9:_-]+(,\ [a-z0-9:_-]+)+$ ]] && echo "${text//,/}"
}

_tessera_complete_value() { # TOOL COMMAND --OPTION WORD: after a comma the next one of a list
    local values before=''
    values=$(_tessera_values "$1" "$2" "$3")
    if [[ $values == FILE ]]; then
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$4")
        return
    fi
    [[ $4 == *,* ]] && before=${4%,*},
    mapfile -t COMPREPLY < <(compgen -P "$before" -W "$values" -- "${4##*,}")
}

_tessera() {
    local tool=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} command='' option='' word
    COMPREPLY=()
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        [[ $word == -- && $command == run ]] && { compopt -o default; return; }
        [[ -z $command && $word != -* ]] && command=$word
    done
    # Readline takes "=" for a word of its own.
    if [[ $current == = ]]; then
        option=${COMP_WORDS[COMP_CWORD-1]} current=''
    elif ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[COMP_CWORD-1]} == = ]]; then
        option=${COMP_WORDS[COMP_CWORD-2]}
    fi
    if [[ -z $command ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_tessera_commands "$tool") --help --version" -- "$current")
    elif [[ $option == --* ]]; then
        _tessera_complete_value "$tool" "$command" "$option" "$current"
    elif [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_tessera_options "$tool" "$command")" -- "$current")
        [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
    elif [[ $command == run ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$current")
        compopt -o default
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$current" | grep -E '\.mtx(\.gz)?$'; compgen -d -S / -- "$current")
        compopt -o filenames
    fi
}
complete -F _tessera tessera
