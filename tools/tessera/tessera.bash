# Bash completion of the tessera command: commands and options are asked of the command itself.
# SPDX-License-Identifier: Apache-2.0

_tessera_options() { # COMMAND
    "$1" "${@:2}" --help 2>/dev/null | grep -oE -- '--[a-z][a-z0-9-]*=?' | sort -u
}

_tessera_commands() {
    "$1" --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^ *\([a-z]*\) .*/\1/p'
}

_tessera() {
    local tool=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} command='' word
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        [[ $word == -- && $command == run ]] && { compopt -o default; COMPREPLY=(); return; }
        [[ -z $command && $word != -* ]] && command=$word
    done
    if [[ -z $command ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_tessera_commands "$tool") --help --version" -- "$current")
    elif [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_tessera_options "$tool" "$command")" -- "$current")
        [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
    elif [[ $command == run ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$current")
        compopt -o default
    else
        mapfile -t COMPREPLY < <(compgen -f -X '!*.mtx?(.gz)' -- "$current"; compgen -d -S / -- "$current")
        compopt -o filenames
    fi
}
complete -F _tessera tessera
