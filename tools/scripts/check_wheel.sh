#!/usr/bin/env bash
# Make the wheel, install it into a clean environment beside python-graphblas, run test/python.
# usage: check_wheel.sh [MESON_OPTION…]     (needs pip and a network)          SPDX-License-Identifier: Apache-2.0
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
where=$(mktemp -d)
trap 'rm -rf "$where"' EXIT
wheel=$("$root/tools/make_wheel.sh" "$where" "$@")
python3 -m venv "$where/env"
"$where/env/bin/pip" install -q "$wheel" scipy python-graphblas==2025.2.0 suitesparse-graphblas==9.4.5.0 >"$where/log" 2>&1 ||
    { tail -5 "$where/log" >&2; echo "check_wheel: cannot install (no pip, no network?)" >&2; exit 69; }
cd "$where"
env/bin/python "$root/test/python/test_wheel.py"
