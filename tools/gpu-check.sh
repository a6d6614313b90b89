#!/usr/bin/env bash
# Build, test and measure on a machine with a GPU; a short table comes last.
# usage: tools/gpu-check.sh [--packages DIR] [--matrices DIR] [--out DIR] [--quick] [--tests-only | --bench-only]
#   --packages DIR   unpacked Debian packages of GraphBLAS, cmocka and inih (dpkg -x), where the system has none
#   --matrices DIR   *.mtx.gz to measure beside the generated matrices
#   --out DIR        where results go (default: build-gpu/results)
#   --quick          N = 128 only, no sanitizers
# SPDX-License-Identifier: Apache-2.0
set -u
cd "$(dirname "$0")/.." || exit 1
packages='' matrices='' out=build-gpu/results quick='' tests=1 bench=1
while [ $# -gt 0 ]; do
    case "$1" in
    --packages) packages=$(realpath "$2") && shift ;;
    --matrices) matrices=$2 && shift ;;
    --out) out=$2 && shift ;;
    --quick) quick=1 ;;
    --tests-only) bench='' ;;
    --bench-only) tests='' ;;
    *) sed -n '2,8s/^# //p' "$0" >&2 && exit 2 ;;
    esac
    shift
done
mkdir -p "$out"
began=$SECONDS status=0
say() { printf '[%4d s] %s\n' $((SECONDS - began)) "$*"; }

if [ -n "$packages" ]; then
    lib=$packages/usr/lib/$(gcc -dumpmachine)
    export CPATH=$packages/usr/include LIBRARY_PATH=$lib LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$packages
fi
archs=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
[ -n "$archs" ] || { echo "no GPU: nvidia-smi names none" >&2; exit 1; }
if [ ! -f build-gpu/build.ninja ]; then
    meson setup build-gpu -Dcuda=enabled -Dgpu_archs="$archs" >"$out/configure.log" 2>&1 || { tail -20 "$out/configure.log"; exit 1; }
fi
# What the tests of suite "gpu" and the benchmarks need, and no more.
needed() {
    python3 - <<'END'
import json, subprocess
def introspect(what):
    return json.loads(subprocess.run(['meson', 'introspect', what, 'build-gpu'], capture_output=True, check=True, text=True).stdout)
ids = {d for t in introspect('--tests') if any(s.endswith(':gpu') for s in t['suite']) for d in t['depends']}
names = {'bench_gpu', 'bench_masked', 'bench_products', 'tessera', 'tessera_cuda', 'tessera_suitesparse', 'tessera_cusparse'}
for target in introspect('--targets'):
    if target['id'] in ids or (target['name'] in names and 'emulated' not in target['filename'][0]):
        print(target['filename'][0].split('/build-gpu/')[1])
END
}
say "compiling for sm_$archs"
# shellcheck disable=SC2046
ninja -C build-gpu $(needed) >"$out/compile.log" 2>&1 || { grep -E "error|FAILED" "$out/compile.log" | head -30; exit 1; }

sanitize_one() { # tool test
    local count=(--count=12)
    case $2 in
    test_csr | test_masked | test_sddmm) count=(--count=12 --semirings=0) ;;
    test_panel_semirings) count=(1) ;;
    esac
    # test_primitives makes calls that must fail.
    [ "$1" = memcheck ] && set -- "$1" "$2" --report-api-errors no
    if timeout 150 compute-sanitizer --tool "$1" "${@:3}" --error-exitcode 9 "build-gpu/test/cuda/$2" "${count[@]}" >"$out/$1-$2.log" 2>&1; then
        echo "$1 $2: clean"
    else
        echo "$1 $2: FAILED" && grep -E "=====|rror" "$out/$1-$2.log" | head -8
        return 1
    fi
}
sanitize() {
    export -f sanitize_one && export out
    for tool in memcheck racecheck; do
        (cd build-gpu/test/cuda && ls -p | grep -E '^test_[a-z_]*$' | grep -vE '_emulated|plugin') | sed "s/^/$tool /"
    done | xargs -P 4 -L 1 bash -c 'sanitize_one "$@"' _ || status=1
}
if [ -n "$tests" ]; then
    say "tests"
    meson test -C build-gpu --no-rebuild --suite gpu --num-processes 4 --print-errorlogs >"$out/tests.log" 2>&1 || status=1
    grep -E "^ *[0-9]+/[0-9]+|^Ok|^Fail|^Skip|seed|rror" "$out/tests.log" | tail -40
    [ -n "$quick" ] || { say "sanitizers" && sanitize; }
fi
if [ -n "$bench" ]; then
    record=$out/gpu.jsonl
    commit=$(git describe --always --dirty --abbrev=12 2>/dev/null || cat COMMIT 2>/dev/null || echo unknown)
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1 | awk -F', ' -v date="$(date -u +%FT%TZ)" -v commit="$commit" \
        '{printf "{\"gpu\":\"%s\",\"driver\":\"%s\",\"date\":\"%s\",\"commit\":\"%s\"}\n", $1, $2, date, commit}' >"$record"
    gpu() { build-gpu/bench/cuda/bench_gpu --json "$record" --budget 60 "$@" || status=1; }
    say "benchmark, N = 128, every kernel"
    gpu --matrix all --kernel csr,panel-32,panel-64,bmat-8,bmat-16,me-bcrs,me-tcf,hrpb-16,hrpb-32 --repeats 20
    gpu --matrix all --n 1 --kernel csr --math exact,fp64
    [ -n "$quick" ] || gpu --matrix periphery,mesh-tail --n 32,128 --kernel csr,me-bcrs,hrpb-16,bmat-16,panel-32,hybrid --repeats 1 --no-peers
    say "benchmark, shuffled ids"
    gpu --matrix reddit,protein,products --shuffle 1 --math exact --kernel csr,panel-32,panel-64 --reorder none,auto --repeats 1 --no-peers
    say "unchanged GraphBLAS programs, R-MAT 20"
    # Not "auto": that starts CUDA only when products have lost as much time without it as the start takes.
    TESSERA_MODE=gpu TESSERA_PLUGIN_DIR=$PWD/build-gpu/backends/cuda python3 bench/run.py --program build-gpu/bench/bench_products \
        --library build-gpu/src/graphblas/libtessera.so --grid gpu --scale "$([ -n "$quick" ] && echo 16 || echo 20)" --turns 3 \
        --output "$out/drop-in.json" | tee "$out/drop-in.txt" || status=1
    say "masked products"
    rm -f "$out/masked.jsonl"
    build-gpu/bench/cuda/bench_masked --matrix rmat20,reddit,protein,ddi,products,web --what triangles,support --order given,degree \
        --budget 60 --json "$out/masked.jsonl" || status=1
    build-gpu/bench/cuda/bench_masked --matrix all --what sddmm --n 32,128 --math exact,tf32 --budget 60 --json "$out/masked.jsonl" || status=1
    if [ -z "$quick" ]; then
        some=csr,panel-32,bmat-16,me-bcrs files=()
        say "benchmark, other widths"
        gpu --matrix all --n 8,32,512 --kernel $some --budget 25 --repeats 1
        [ -n "$matrices" ] && for f in "$matrices"/*.mtx.gz; do files+=(--file "$f"); done
        say "benchmark, real matrices"
        [ -z "$matrices" ] || gpu "${files[@]}" --n 32,128 --kernel $some --budget 10 --repeats 1
    fi
    python3 bench/cuda/table.py --details "$record" >"$out/table.txt"
    head -40 "$out/table.txt"
fi
say "done, status $status"
exit $status
