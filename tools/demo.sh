#!/usr/bin/env bash
# Run the unchanged GraphBLAS programs of examples/ plain and through Tessera, and print a table.
# usage: [BUILD=build] tools/demo.sh [--karate-only] [--cpu] [--html=PAGE.html] [GRAPH.mtx[.gz]]
#   --html=PAGE.html  the same as one page with pictures        --cpu  leave a GPU out (its kernels take ten minutes to compile)
# SPDX-License-Identifier: Apache-2.0
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)

fail() { echo "demo: $1" >&2; exit "${2:-1}"; }

usage() { sed -n '2,4s/^# //p' "$root/tools/demo.sh"; }

# A Matrix Market file?  Said at once, not after compiling.
check_graph() {
    [ -e "$1" ] || fail "$1: no such file"
    [ ! -d "$1" ] || fail "$1: a directory, not a file"
    [ -r "$1" ] || fail "$1: cannot be read"
    [ "$(zcat -f -- "$1" 2>/dev/null | head -c 14)" = '%%MatrixMarket' ] || fail "$1: not a Matrix Market file (.mtx or .mtx.gz)"
}

graphs="karate rmat:16 communities:30000:16" file="" page="" gpu=auto
for argument in "$@"; do
    case "$argument" in
    --karate-only) graphs=karate ;;
    --cpu) gpu=no ;;
    --html=?*) page=$(realpath -m -- "${argument#--html=}") ;;
    -h | --help) usage; exit 0 ;;
    -*) fail "no option '$argument'; usage: tools/demo.sh [--karate-only] [--cpu] [--html=PAGE.html] [GRAPH.mtx[.gz]]" 2 ;;
    *)
        [ -z "$file" ] || fail "one graph file, please" 2
        file=$argument
        ;;
    esac
done
if [ -n "$file" ]; then
    check_graph "$file"
    file=$(realpath -- "$file")
fi
if [ -n "$page" ]; then
    [ -d "$(dirname -- "$page")" ] || fail "$page: no such folder"
    [ ! -d "$page" ] || fail "$page: a directory, not a file"
fi

cd "$root"
tools/scripts/install_deps.sh demo || exit 1
export BUILD=${BUILD:-build}
if [ ! -f "$BUILD/build.ninja" ]; then
    cuda=disabled
    if [ $gpu = auto ] && command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q ^GPU; then cuda=auto; fi
    log=$(mktemp)
    echo "Configuring $BUILD/ (CUDA kernels: $cuda)"
    meson setup "$BUILD" -Dtests=false -Ddebug=false -Ddoors=auto -Dcuda=$cuda >"$log" 2>&1 || { cat "$log" >&2; fail "'meson setup' failed"; }
    rm -f "$log"
fi
# shellcheck disable=SC2086
exec python3 tools/scripts/demo.py ${page:+--html="$page"} $graphs ${file:+"$file"}
