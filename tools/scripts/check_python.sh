#!/usr/bin/env bash
# python-graphblas's own tests, plain, through Tessera as it is, and with everything that we can compute forced to the CPU: all must end alike.
# usage: check_python.sh BUILD_DIR [PYTEST ARGUMENT…]     (needs pip and a network)          SPDX-License-Identifier: Apache-2.0
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
[ $# -ge 1 ] && [ -x "$1/tools/tessera" ] || { sed -n '3s/^# //p' "$0" >&2; exit 64; }
tool=$(realpath "$1/tools/tessera")
shift
where=$(mktemp -d)
trap 'rm -rf "$where"' EXIT
cd "$where"

# As docs/quickstart.md says.
sed -n '/^```sh network/,/^```/p' "$root/docs/quickstart.md" | grep -E '^(python3 -m venv|pip install)' >install
# shellcheck disable=SC1091
. ./install >log 2>&1 && pip install -q pytest >>log 2>&1 || { tail -5 log >&2; echo "check_python: cannot install (no pip, no network?)" >&2; exit 69; }

# Its tests draw backend and mode by chance, unless pytest has these options.
cat >settled.py <<'PY'
def pytest_addoption(parser):
    for name, value in (("randomly", False), ("backend", "suitesparse"), ("blocking", False), ("record", False), ("mapnumpy", False), ("runslow", True)):
        parser.addoption("--" + name, default=value)
PY

# outcome COMMAND…: the line of totals, without the time.  One test, which fails with NumPy 1.26, leaves memory that plain python aborts on.
outcome() {
    PYTHONPATH=. "$@" -m pytest -q -p settled --pyargs graphblas.tests -k "not test_subarray_dtypes" "${arguments[@]}" 2>&1 | tee last | tail -1 |
        sed 's/ in [0-9.]*s.*//'
}
arguments=("$@")
plain=$(outcome python)
echo "plain:  $plain"
for options in --mode=auto '--mode=cpu --min-work=0'; do
    # shellcheck disable=SC2086
    ours=$(outcome "$tool" run $options -- python)
    echo "$options: $ours"
    [ -n "$plain" ] && [ "$plain" = "$ours" ] || { tail -30 last >&2; exit 1; }
done
