#!/usr/bin/env bash
# Own tests of Python packages, plain, through Tessera as it is, and with everything that we can compute forced to the CPU: each test
# must end alike.
# usage: check_python.sh BUILD_DIR [PACKAGE [PYTEST ARGUMENT…]]     (needs pip and a network)          SPDX-License-Identifier: Apache-2.0
# PACKAGE: python-graphblas (if none is given), suitesparse-graphblas (10), or graphblas-algorithms, with NetworkX's tests of what it dispatches
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
usage() { sed -n '4,5s/^# //p' "$0" >&2; exit 64; }
[ $# -ge 1 ] && [ -x "$1/tools/tessera" ] || usage
tool=$(realpath "$1/tools/tessera")
package=${2:-python-graphblas}
arguments=("${@:3}")

# The versions of each package's time: with later ones its own tests fail.
case $package in
python-graphblas)
    pins=(numpy==2.2.6 numba==0.61.2 scipy==1.15.3 pandas==2.2.3 networkx==3.4.2 awkward==2.8.1 sparse==0.16.0 matplotlib==3.10.1
        fast-matrix-market==1.7.6 pytest==8.3.5)
    tests=(graphblas.tests)
    ;;
suitesparse-graphblas)
    pins=(suitesparse-graphblas==10.5.1.1 numpy==2.2.6 scipy==1.15.3 pytest==8.3.5)
    tests=(suitesparse_graphblas.tests)
    ;;
graphblas-algorithms)
    pins=(graphblas-algorithms==2023.10.0 numpy==1.26.4 numba==0.59.1 scipy==1.11.4 pandas==2.1.4 networkx==3.2.1 setuptools==69.0.3 pytest==7.4.4)
    tests=(graphblas_algorithms.tests)
    dispatched=(networkx.algorithms.{centrality,components,link_analysis,operators,shortest_paths,traversal} networkx.linalg)
    for each in cluster core cuts dag efficiency isolate reciprocity regular simple_paths smetric structuralholes tournament triads; do
        dispatched+=("networkx.algorithms.tests.test_$each")
    done
    ;;
*) usage ;;
esac

where=$(mktemp -d)
trap 'rm -rf "$where"' EXIT
cd "$where"

# As docs/quickstart.md says; suitesparse-graphblas alone otherwise.
sed -n '/^```sh network/,/^```/p' "$root/docs/quickstart.md" | grep -E '^(python3 -m venv|pip install)' >install
[ "$package" != suitesparse-graphblas ] || sed -i '/^pip install/d' install
# shellcheck disable=SC1091
. ./install >log 2>&1 && pip install -q "${pins[@]}" >>log 2>&1 || { tail -5 log >&2; echo "check_python: cannot install (no pip, no network?)" >&2; exit 69; }

# python-graphblas's tests draw backend and mode by chance, unless pytest has these options; NetworkX's have an option of the same name.
cat >settled.py <<'PY'
import os


def pytest_addoption(parser):
    if "NETWORKX_TEST_BACKEND" not in os.environ:
        for name, value in (("randomly", False), ("backend", "suitesparse"), ("blocking", False), ("record", False), ("mapnumpy", False), ("runslow", True)):
            parser.addoption("--" + name, default=value)


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        with open(os.environ["ENDINGS"], "a", encoding="utf-8") as file:
            print(report.nodeid, report.when, report.outcome, file=file)
PY

# run NAME TEST… -- COMMAND…: the line of totals, without the time; how each test ended in the file NAME
run() {
    local name=$1 these=()
    shift
    while [ "$1" != -- ]; do these+=("$1"); shift; done
    rm -f "$name"
    PYTHONPATH=. ENDINGS=$where/$name OMP_WAIT_POLICY=passive "${@:2}" -m pytest -q -p settled --pyargs "${these[@]}" "${arguments[@]}" 2>&1 |
        tee last | tail -1 | sed 's/ in [0-9.]*s.*//'
    [ -s "$name" ] || { tail -30 last >&2; echo "check_python: no test ran" >&2; exit 1; }
}

# compare TEST…: plain and in both modes
compare() {
    local totals
    totals=$(run plain "$@" -- python)
    echo "plain:  $totals"
    for options in --mode=auto '--mode=cpu --min-work=0'; do
        # shellcheck disable=SC2086
        totals=$(run ours "$@" -- "$tool" run $options -- python)
        echo "$options: $totals"
        diff plain ours >&2 || { tail -30 last >&2; exit 1; }
    done
}
compare "${tests[@]}"
[ "$package" != graphblas-algorithms ] || NETWORKX_TEST_BACKEND=graphblas NETWORKX_FALLBACK_TO_NX=True compare "${dispatched[@]}"
