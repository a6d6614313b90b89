#!/usr/bin/env bash
# Run the unchanged GraphBLAS programs of examples/ plain and through Tessera, and print a table.
# usage: [BUILD=build] tools/demo.sh [--karate-only] [GRAPH.mtx[.gz]]          SPDX-License-Identifier: Apache-2.0
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)

graphs="karate rmat:16"
file=""
for argument in "$@"; do
    case "$argument" in
    --karate-only) graphs=karate ;;
    -h | --help)
        sed -n '2,3s/^# //p' "$0"
        exit 0
        ;;
    -*)
        echo "demo: no option '$argument'; usage: tools/demo.sh [--karate-only] [GRAPH.mtx[.gz]]" >&2
        exit 2
        ;;
    *)
        [ -z "$file" ] || { echo "demo: one graph file, please" >&2; exit 2; }
        file=$argument
        ;;
    esac
done
if [ -n "$file" ]; then
    [ -f "$file" ] || { echo "demo: $file: no such file" >&2; exit 1; }
    [ -r "$file" ] || { echo "demo: $file: cannot be read" >&2; exit 1; }
    file=$(realpath "$file")
fi

cd "$root"
tools/scripts/install_deps.sh demo || exit 1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
quietly() { "$@" >"$log" 2>&1 || { cat "$log" >&2; echo "demo: '$*' failed" >&2; exit 1; }; }

export BUILD=${BUILD:-build}
[ -f "$BUILD/build.ninja" ] || { echo "Configuring $BUILD/ …"; quietly meson setup "$BUILD"; }
quietly meson configure "$BUILD" -Dtests=true
echo "Compiling …"
targets=$(python3 tools/scripts/demo.py --targets)
# shellcheck disable=SC2086
quietly meson compile -C "$BUILD" $targets
# shellcheck disable=SC2086
exec python3 tools/scripts/demo.py $graphs ${file:+"$file"}
