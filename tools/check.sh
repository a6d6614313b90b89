#!/usr/bin/env bash
# Build (in build-check and others beside it) and run the whole suite; the last line reads "N passed, N failed", the one before it tells
# the seconds of each part, and says so when they are more than the budget.
# usage: tools/check.sh [--keep]   (--keep: keep the sanitizer and clang builds)     SPDX-License-Identifier: Apache-2.0
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1
case "${1:-}" in
'' | --keep) ;;
*)
    echo "usage: tools/check.sh [--keep]" >&2
    exit 2
    ;;
esac
tools/scripts/install_deps.sh check || exit 1
# A cache finds what another folder of this tree has compiled; CI may keep CCACHE_DIR from run to run.
if command -v ccache >/dev/null; then export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1; else export CCACHE_DISABLE=1; fi

passed=0 failed=0 began=$SECONDS
budget=${CHECK_BUDGET:-900} # seconds on two idle cores; a slow machine is no failure
parts="" part_began=$SECONDS
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

say() { printf '[%4d s] %s\n' $((SECONDS - began)) "$*"; }
# part NAME: what has run since the last one
part() {
    parts+="${parts:+, }$1 $((SECONDS - part_began))"
    part_began=$SECONDS
}
good() { passed=$((passed + 1)) && say "ok: $1"; }
bad() {
    failed=$((failed + 1)) && say "FAILED: $1"
    tail -n 40 "$2" | sed 's/^/    /'
}

# step NAME COMMAND…: one check that passes or fails as a whole
step() {
    local name=$1
    shift
    if "$@" >"$logs/step" 2>&1; then good "$name"; else bad "$name" "$logs/step"; return 1; fi
}

# configure DIR ARGUMENTS…: a build directory with exactly these options
configure() {
    local dir=$1
    shift
    if [ -f "$dir/build.ninja" ]; then meson setup --reconfigure "$dir" "$@"; else meson setup "$dir" "$@"; fi
}

build() {
    local dir=$1
    shift
    step "$dir: configure" configure "$dir" "$@" && say "$dir: compiling" && step "$dir: compile" ninja -C "$dir"
}

# optional NAME STATUS LOG: what could not be had here (69) is said, and is no failure
optional() {
    case $2 in
    0) good "$1" ;;
    69) say "$1: not run ($(tail -n 1 "$3"))" ;;
    *) bad "$1" "$3"; return 1 ;;
    esac
}

# Needs packages from a network.
another_graphblas() {
    tools/scripts/check_graphblas.sh build-check >"$logs/step" 2>&1
    optional "another major version of GraphBLAS" $? "$logs/step" ||
        tools/scripts/count_tests.py build-graphblas*/meson-logs/*.json 2>&1 >/dev/null | tail -n 60 | sed 's/^/    /'
}

# Either takes one core: pages and installed files in front, PETSc and MPI behind.
one_core_each() {
    tools/check_petsc.sh build-check >"$logs/petsc" 2>&1 &
    local petsc=$!
    step "installed files" tools/scripts/check_install.sh build-check
    step "docs" tools/scripts/check_docs.py build-check && grep "not run" "$logs/step" | cut -c1-150 | sed 's/^/    /'
    BUILD=build-check step "demo on the karate club" tools/demo.sh --karate-only
    wait $petsc
    optional "PETSc" $? "$logs/petsc"
}

# tests NAME DIR ARGUMENTS of meson test…: compile what they need, run them; every single test counts
tests() {
    local name=$1 dir=$2 totals good_ bad_ skipped
    shift 2
    say "$name: running"
    rm -f "$dir"/meson-logs/*.json
    meson test -C "$dir" --print-errorlogs "$@" >"$logs/tests" 2>&1
    if ! totals=$(tools/scripts/count_tests.py "$dir"/meson-logs/*.json 2>"$logs/failures"); then
        bad "$name: did not run" "$logs/tests"
        return
    fi
    read -r good_ bad_ skipped <<<"$totals"
    passed=$((passed + good_)) failed=$((failed + bad_))
    say "$name: $good_ passed, $bad_ failed, $skipped skipped"
    [ "$bad_" -eq 0 ] || tail -n 120 "$logs/failures" | sed 's/^/    /'
}

# programs DIR SUITE…: names of the suites' tests that are compiled programs, one on a line
programs() {
    meson introspect --tests "$1" | python3 -c "import json, sys
for test in json.load(sys.stdin):
    if 'python' not in test['cmd'][0] and any(s.split(':')[1] in sys.argv[1:] for s in test['suite']):
        print(test['name'])" "${@:2}"
}

step "layers" tools/scripts/check_layers.py

# Lines of the source for valgrind, sanitizers and traces; what a debugger wants beside them takes a third of the compiler's time.
options=-Dc_args=-g1
# Machine code of GPUs is looked at on a GPU (tools/gpu-check.sh); here it has to compile, which is a third of the work without its optimizer.
if build build-check $options -Dwerror=true -Dgpu_archs=90+PTX -Dnvcc_args=-Xcicc,-O0; then
    part compile
    step "calls" tools/scripts/check_layers.py build-check
    tests "all suites" build-check
    part suites
    one_core_each
    part "installed files, docs, PETSc"
    another_graphblas
    part "another GraphBLAS"
    # One OpenMP thread: valgrind runs one at a time anyway, and waiting ones would spin.
    mapfile -t names < <(programs build-check unit)
    OMP_NUM_THREADS=1 tests "valgrind" build-check -t 20 \
        --wrapper "valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite" "${names[@]}"
    part valgrind
fi

export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
for kind in address,undefined thread; do
    dir=build-${kind%%,*}
    # Emulated CUDA kernels run under sanitizers too (-Db_sanitize=… -Dcuda=enabled), but compiling them takes a quarter of an hour.
    if [ $kind = thread ]; then suites=threads optimize=0; else suites="unit kernels fuzz" optimize=1; fi
    step "$dir: configure" configure "$dir" $options -Dcuda=disabled -Doptimization=$optimize -Db_lundef=false -Db_sanitize=$kind || continue
    # libgomp is not instrumented: its barriers are invisible to ThreadSanitizer, which then reports every parallel loop.
    [ $kind = thread ] && export OMP_NUM_THREADS=1
    # shellcheck disable=SC2086
    mapfile -t names < <(programs "$dir" $suites)
    tests "$kind sanitizer" "$dir" -t 5 "${names[@]}"
    part "${kind%%,*} sanitizer"
done
unset OMP_NUM_THREADS
# clang, for its warnings and its fuzzers.
if CC=clang build build-clang $options -Dcuda=disabled -Dwerror=true -Doptimization=0 -Dfuzzers=true; then
    for parser in "mm 30000" "config 100000" "model 100000"; do # the same inputs every time: what passes once passes again
        read -r parser runs <<<"$parser"
        mkdir -p "$logs/$parser"
        step "fuzz $parser" build-clang/test/fuzz/fuzz_$parser -seed=1 -runs=$runs -artifact_prefix="$logs/" "$logs/$parser" \
            test/fuzz/corpus_$parser
    done
fi
part "clang, fuzzers"

if [ "${1:-}" != --keep ] && [ "$failed" -eq 0 ]; then rm -rf build-address build-thread build-clang build-graphblas*; fi
say "done"
took=$((SECONDS - began))
[ "$took" -le "$budget" ] || echo "WARNING: $took s are more than the budget of $budget s on two idle cores"
echo "seconds on $(nproc) cores: $parts"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
