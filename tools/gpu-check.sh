#!/usr/bin/env bash
# Build, test and measure on a machine with a GPU, what matters most first; a short table comes last.
# usage: tools/gpu-check.sh [--packages DIR] [--matrices DIR] [--out DIR] [--quick] [--tests-only | --bench-only | --only STEP,…]
#   --packages DIR   unpacked Debian packages of GraphBLAS, cmocka and inih (dpkg -x), where the system has none
#   --matrices DIR   *.mtx.gz to measure beside the generated matrices
#   --out DIR        where results go (default: build-gpu/results); records there are added to, so that steps can be run one by one;
#                    bench/record.py keep TOPIC FILE copies one to its place in bench/results
#   --quick          tests and bench only, the drop-in door on a small graph
#   --only STEP,…    tests, bench, sanitizers, drop-in, sparse, pipelines, widths, masked, orders
# A step that takes longer than it should is stopped; what it has written stays.
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2317 # steps are called by name
set -u
asked=("$@")
cd "$(dirname "$0")/.." || exit 1
packages='' matrices='' out=build-gpu/results quick='' steps=tests,bench,sanitizers,drop-in,sparse,pipelines,widths,masked,orders
while [ $# -gt 0 ]; do
    case "$1" in
    --packages) packages=$(realpath "$2") && shift ;;
    --matrices) matrices=$2 && shift ;;
    --out) out=$2 && shift ;;
    --quick) quick=1 steps=tests,bench,drop-in ;;
    --tests-only) steps=tests,sanitizers ;;
    --bench-only) steps=bench,drop-in,sparse,pipelines,widths,masked,orders ;;
    --only) steps=$2 && shift ;;
    *) sed -n '2,11s/^# //p' "$0" >&2 && exit 2 ;;
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
names = {'bench_gpu', 'bench_masked', 'bench_products', 'bench_spgemm', 'tessera', 'tessera_cuda', 'tessera_suitesparse', 'tessera_cusparse'}
for target in introspect('--targets'):
    file = target['filename'][0].split('/build-gpu/')[1]
    example = target['type'] == 'executable' and file.startswith('examples/')
    if target['id'] in ids or example or (target['name'] in names and 'emulated' not in file):
        print(file)
END
}
say "compiling for sm_$archs"
# shellcheck disable=SC2046
ninja -C build-gpu $(needed) >"$out/compile.log" 2>&1 || { grep -E "error|FAILED" "$out/compile.log" | head -30; exit 1; }

sanitize_one() { # tool test
    local tool=$1 test=$2 options=() arguments=(--count=12)
    case $test in
    test_csr | test_masked | test_sddmm) arguments+=(--semirings=0) ;;
    test_panel_semirings) arguments=(1) ;;
    test_sparse_products_gpu) arguments=(1 1 'test_transposed*') ;;
    test_convert) [ "$tool" = racecheck ] && arguments=(--count=3) ;; # the seventh has 2 million rows
    test_order) [ "$tool" = racecheck ] && arguments=(--count=6) ;;   # twelve take a minute beside others
    esac
    # test_primitives makes calls that must fail.
    [ "$tool" = memcheck ] && options=(--report-api-errors no)
    if timeout 60 compute-sanitizer --tool "$tool" "${options[@]}" --error-exitcode 9 "build-gpu/test/cuda/$test" "${arguments[@]}" \
        >"$out/$tool-$test.log" 2>&1; then
        echo "$tool $test: clean"
    else
        echo "$tool $test: FAILED" && grep -E "=====|rror" "$out/$tool-$test.log" | head -8
        return 1
    fi
}
bench=build-gpu/bench/cuda
narrow=narrow-csr,narrow-panel-64,narrow-bmat-8,narrow-me-bcrs,narrow-hrpb-16 # TF32 by FP16 kernels
gpu() { "$bench/bench_gpu" --json "$record" "$@"; }

step_tests() {
    meson test -C build-gpu --no-rebuild --suite gpu --num-processes 8 --print-errorlogs >"$out/tests.log" 2>&1
    local ended=$?
    grep -E "^ *[0-9]+/[0-9]+|^Ok|^Fail|^Skip|seed|rror" "$out/tests.log" | tail -40
    return "$ended"
}
step_sanitizers() {
    for tool in racecheck memcheck; do
        find build-gpu/test/cuda -maxdepth 1 -type f -executable -name 'test_*' ! -name '*_emulated' ! -name 'test_plugin*' \
            -printf "$tool %f\n" | sort
    done | xargs -P "$(($(nproc) < 8 ? $(nproc) : 8))" -L 1 bash -c 'sanitize_one "$@"' _
}
step_bench() {
    gpu --matrix all --kernel csr,panel-32,panel-64,bmat-8,bmat-16,me-bcrs,me-tcf,hrpb-16,$narrow --repeats 20 --budget 40 &&
        gpu --matrix all --n 1 --kernel csr --math exact,fp64 --repeats 20 --budget 40
}
# Not "auto": that starts CUDA only when products have lost as much time without it as the start takes.  Operands and results in host
# memory: what stays on the GPU between calls is measured by whole programs.
step_drop_in() {
    TESSERA_MODE=gpu TESSERA_DISABLE=residency TESSERA_PLUGIN_DIR=$PWD/build-gpu/backends/cuda python3 bench/run.py --program build-gpu/bench/bench_products \
        --library build-gpu/src/graphblas/libtessera.so --grid gpu --scale "$([ -n "$quick" ] && echo 16 || echo 20)" --turns 2 \
        --output "$out/drop-in.jsonl" | tee "$out/drop-in.txt"
    return "${PIPESTATUS[0]}"
}
# Sparse times sparse: gpu for what the GPU takes, auto for what a program gets that has just begun.
step_sparse() {
    local files=()
    [ -n "$matrices" ] && files=("$matrices"/*.mtx.gz)
    TESSERA_PLUGIN_DIR=$PWD/build-gpu/backends/cuda python3 bench/spgemm.py --program build-gpu/bench/bench_spgemm \
        --library build-gpu/src/graphblas/libtessera.so --threads "$(nproc)" --calls 5 --turns 1 --mode gpu,auto --output "$out/sparse.jsonl" \
        rmat16 mesh2d mesh27 "${files[@]}" >"$out/sparse.log" 2>&1
    local ended=$?
    python3 bench/spgemm.py --markdown "$out/sparse.jsonl" && return "$ended"
}
step_pipelines() {
    TESSERA_PLUGIN_DIR=$PWD/build-gpu/backends/cuda python3 bench/pipelines.py --programs build-gpu/examples \
        --library build-gpu/src/graphblas/libtessera.so --modes gpu,auto --scale 20 --output "$out/pipelines.jsonl" | tee "$out/pipelines.txt"
    return "${PIPESTATUS[0]}"
}
step_widths() {
    local best=csr:exact+fp16+fp64,panel:exact+fp16+fp64,me-bcrs:exact+fp16,hrpb-16:tf32+fp16+fp64,bmat-16:tf32+fp64
    gpu --matrix all --n 32,256,512,8 --kernel "$best,$narrow" --budget 25 --repeats 1
}
step_masked() {
    python3 bench/record.py header masked/1 tools/gpu-check.sh --only masked >"$out/masked.jsonl" &&
        "$bench/bench_masked" --matrix rmat20,reddit,protein,ddi,products,web --what triangles,support --order given,degree --budget 30 \
            --json "$out/masked.jsonl" &&
        "$bench/bench_masked" --matrix all --what sddmm --n 32,128 --math exact,tf32 --budget 30 --json "$out/masked.jsonl"
}
step_orders() {
    local both='--math exact --reorder none,auto --repeats 1 --no-peers --budget 20' files=()
    [ -n "$matrices" ] && for f in "$matrices"/*.mtx.gz; do files+=(--file "$f"); done
    # shellcheck disable=SC2086
    gpu --matrix reddit,protein,products --shuffle 1 --kernel csr,panel $both &&
        { [ -z "$matrices" ] || gpu "${files[@]}" --shuffle 0,1 --n 128 --kernel csr,panel,me-bcrs $both; } &&
        gpu --matrix periphery,mesh-tail --n 32,128 --kernel csr,me-bcrs,hrpb-16,bmat-16,panel-32,hybrid --repeats 1 --no-peers --budget 20 &&
        { [ -z "$matrices" ] || gpu "${files[@]}" --n 32,128 --kernel csr,panel,bmat-16,me-bcrs,hrpb-16 --budget 10 --repeats 1; }
}

record=$out/gpu.jsonl
[ -s "$record" ] || python3 bench/record.py header spmm/1 tools/gpu-check.sh "${asked[@]}" >"$record" || exit 1
declare -A limit=([tests]=90 [bench]=120 [sanitizers]=110 [drop-in]=120 [sparse]=150 [pipelines]=180 [widths]=90 [masked]=60 [orders]=70)
export -f sanitize_one gpu step_tests step_sanitizers step_bench step_drop_in step_sparse step_pipelines step_widths step_masked step_orders
export out record bench quick matrices narrow
for step in ${steps//,/ }; do
    [ -n "${limit[$step]:-}" ] || { echo "no step $step" >&2 && exit 2; }
    say "$step"
    timeout "${limit[$step]}" bash -c "step_${step//-/_}"
    ended=$?
    [ $ended -eq 0 ] || { status=1 && say "$step: $([ $ended -eq 124 ] && echo "stopped after ${limit[$step]} s" || echo "FAILED")"; }
done
if grep -q '"matrix"' "$record"; then
    python3 bench/cuda/table.py --details "$record" >"$out/table.txt"
    python3 bench/cuda/table.py --best --generated "$record"
    python3 bench/cuda/table.py --orders "$record"
fi
say "done, status $status"
exit $status
