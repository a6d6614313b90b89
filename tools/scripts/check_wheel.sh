#!/usr/bin/env bash
# Make the wheel, install it into clean environments beside python-graphblas and beside GraphBLAS 10, run test/python and whole programs.
# usage: check_wheel.sh [MESON_OPTION…]     (needs pip and a network)          SPDX-License-Identifier: Apache-2.0
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
where=$(mktemp -d)
trap 'rm -rf "$where"' EXIT
wheel=$("$root/tools/make_wheel.sh" "$where" "$@")
# environment NAME PACKAGE…
environment() {
    python3 -m venv "$where/$1"
    "$where/$1/bin/pip" install -q "$wheel" "${@:2}" >"$where/log" 2>&1 ||
        { tail -5 "$where/log" >&2; echo "check_wheel: cannot install (no pip, no network?)" >&2; exit 69; }
}
environment env scipy python-graphblas==2025.2.0 suitesparse-graphblas==9.4.5.0
environment env10 suitesparse-graphblas==10.5.1.1
cd "$where"
env/bin/python "$root/test/python/test_wheel.py"
env10/bin/python "$root/test/python/test_graphblas10.py"
"$root/bench/python_programs.py" --python env/bin/python --library "$(env/bin/python -m tessera info --library)" --scale 9 --turns 1 \
    --output "$where/programs.jsonl"
