#!/usr/bin/env bash
# PETSc through our plug-in: random products of every kind against PETSc's own on 1 to 4 processes; iterations of solvers of blocks, plain and
# with it; the row order and parts; what a wrong plug-in or a killed process does; valgrind; the example of many sources.  Needs a build with the plug-in; packages that are missing are installed where that is possible.
# usage: check_petsc.sh BUILD_DIR    exit status 69: PETSc cannot be had here        SPDX-License-Identifier: Apache-2.0
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -eq 1 ] && [ -x "$1/tools/tessera" ] || { sed -n '5s/^# //p' "$0" >&2; exit 64; }
build=$(cd "$1" && pwd)
where=$(mktemp -d)
trap 'rm -rf "$where"' EXIT
passed=0 failed=0

missing() { ! pkg-config --exists petsc || ! command -v mpicc >/dev/null || ! command -v mpirun >/dev/null; }
if missing && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends petsc-dev slepc-dev mpi-default-dev >"$where/log" 2>&1
fi
missing && { echo "no petsc.pc, mpicc or mpirun; on Debian: apt-get install petsc-dev mpi-default-dev" >&2; exit 69; }
[ -e "$build/adapters/petsc/libtessera_petsc.so" ] || { echo "$1 was configured before PETSc was there: meson setup --reconfigure" >&2; exit 69; }

# As many processes as wanted, on any machine, by anybody; waiting ones do not spin.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_hwloc_base_binding_policy=none OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
unset PETSC_OPTIONS

good() { passed=$((passed + 1)) && echo "ok: $1"; }
bad() { failed=$((failed + 1)) && echo "FAILED: $1" && tail -n 15 "$where/log" | cut -c1-200 | sed 's/^/    /'; }
# expect NAME TEXT COMMAND…: succeeds, and says so
expect() {
    local name=$1 text=$2
    shift 2
    if timeout 60 "$@" >"$where/log" 2>&1 && grep -q -- "$text" "$where/log"; then good "$name"; else bad "$name"; fi
}

# same NAME COMMAND…: prints what it prints without the plug-in, and products of it were ours
same() {
    local name=$1
    shift
    timeout 60 "$@" >"$where/plain" 2>&1
    if timeout 60 "${run[@]}" "$@" -tessera_view >"$where/log" 2>&1 && sed '/^Tessera .* in PETSc/,$d' "$where/log" | cmp -s - "$where/plain" &&
        grep -q "AIJ x dense .* computed" "$where/log"; then good "$name"; else bad "$name"; fi
}

# program NAME PKG_CONFIG_PATH SOURCE…
program() {
    # shellcheck disable=SC2046
    mpicc -O1 -g "${@:3}" -o "$where/$1" $(PKG_CONFIG_PATH=$2 pkg-config --cflags --libs petsc) \
        -Wl,-rpath,"$(PKG_CONFIG_PATH=$2 pkg-config --variable=libdir petsc)" -lm
}
products=$root/test/petsc/products.c sparse_products=$root/test/petsc/sparse_products.c
run=("$build/tools/tessera" run --petsc --)
chooser=$build/adapters/petsc/libtessera_petsc.so
program products '' "$products" || { echo "the test program does not compile" >&2; exit 1; }

for n in 1 2 3 4; do
    expect "every AIJ matrix, $n processes" " 0 wrong" "${run[@]}" mpirun -n $n "$where/products" -tessera_min_columns 1 -seed $n
done
for form in "-ours aijtessera" "-mat_seqaij_type seqaijtessera"; do
    # shellcheck disable=SC2086
    expect "$form, 2 processes" " 0 wrong" mpirun -n 2 "$where/products" -dll_append "$chooser" $form -tessera_min_columns 1
done
expect "a product is ours" "AIJ x dense .* computed" "${run[@]}" "$where/products" -tessera_view
expect "narrow ones are PETSc's" "left to PETSc: narrower" "${run[@]}" "$where/products" -tessera_view -tessera_min_columns 50
expect "events" "TesseraMult" "${run[@]}" "$where/products" -log_view
TESSERA_MODE=off expect "mode off" " 0 wrong" "${run[@]}" "$where/products" -tessera_min_columns 1

# Products of two sparse matrices: patterns and values, in every form, whatever algorithm PETSc would take; by themselves where they pay.
if program sparse '' "$sparse_products" 2>"$where/log"; then
    expect "sparse products, PETSc's" " 0 wrong" "$where/sparse"
    for form in "-tessera_rebind" "-ours seqaijtessera" "-other seqaijtessera" "-mat_seqaij_type seqaijtessera"; do
        # shellcheck disable=SC2086
        expect "sparse products, $form" " 0 wrong" "$where/sparse" -dll_append "$chooser" $form -tessera_sparse always
    done
    always=("${run[@]}" "$where/sparse" -few -tessera_view -tessera_sparse)
    expect "sparse products are ours" "AIJ' x AIJ x AIJ .* computed" "${always[@]}" always
    expect "small ones are PETSc's" "AIJ x AIJ .* no gain expected" "${always[@]}" auto
    expect "an algorithm that was chosen" "AIJ x AIJ .* its algorithm was chosen" "${always[@]}" always -matmatmult_via heap
else
    bad "sparse products compile"
fi
if program pays '' "$root"/bench/petsc_sparse_products.c "$root"/bench/petsc_matrices.c 2>"$where/log"; then
    pays=("$where/pays" -dll_append "$chooser" -turns 1 -side 12 -scale 9 -tessera_view)
    expect "sparse products of graphs are ours" "AIJ x AIJ .* computed" "${pays[@]}"
    expect "... and those of meshes PETSc's" "AIJ x AIJ  *1 left to PETSc: no gain expected" "${pays[@]}"
else
    bad "sparse products of the benchmark compile"
fi

# Solvers take as many iterations as without.
slepc=() && pkg-config --exists slepc && slepc=(-DWITH_SLEPC)
# shellcheck disable=SC2046
if mpicc -O1 "${slepc[@]}" "$root/test/petsc/solvers.c" -o "$where/solvers" $(pkg-config --cflags --libs ${slepc:+slepc} petsc) -lm 2>"$where/log"; then
    for n in 1 2 3; do
        same "iterations, $n processes" mpirun -n $n "$where/solvers"
    done
    order=("${run[@]}" "$where/solvers" -mat_ordering_type tessera -tessera_parts 4)
    expect "a row order" "order tessera: a permutation" "${order[@]}"
    expect "rows that travel, by our order" "^  tessera  *[0-9]* rows.* 1\.[0-9]* of its share of rows, 1\.[0-9]* of entries" "${order[@]}"
    expect "rows that travel, by PETSc's" "^  rcm  *[0-9]* rows" "${order[@]}"
else
    bad "solvers compile"
fi

# Parts: few rows travel, as many as the plug-in says, and the same parts from any number of processes.
# shellcheck disable=SC2046
mpicc -O1 "$root/test/petsc/partition.c" -o "$where/partition" $(pkg-config --cflags --libs petsc) -lm 2>"$where/log" || bad "partition compiles"
parts=(-mat_partitioning_type tessera -mat_partitioning_view)
timeout 60 "${run[@]}" "$where/partition" "${parts[@]}" >"$where/log" 2>&1
read -r rows before < <(sed -n 's/^ *Tessera: \([0-9]*\) rows travel, \([0-9]*\) with.*/\1 \2/p' "$where/log")
if [ -n "$rows" ] && [ $((3 * rows)) -lt "$before" ]; then good "parts save rows"; else bad "parts save rows"; fi
line=$(tail -n 1 "$where/log")
expect "parts of an adjacency" "^$rows rows travel, parts are bounded, " "${run[@]}" "$where/partition" "${parts[@]}" -adjacency
for n in 2 3; do
    expect "the same parts from $n processes" "^$line\$" "${run[@]}" mpirun -n $n "$where/partition" "${parts[@]}"
done

# As many rows travel as the model says: each of two matrices is multiplied twice.
model() { "$root/tools/scripts/scale_model.py" --graph "$1" --cut rows --parts "$2" --json | sed 's/.*"rows_received": \([0-9]*\).*/\1/'; }
# shellcheck disable=SC2046
if mpicc -O1 "$root"/bench/petsc_products.c "$root"/bench/petsc_matrices.c -o "$where/rows" $(pkg-config --cflags --libs petsc) -lm 2>"$where/log"; then
    for n in 2 3 4; do
        rows=$((2 * ($(model mesh:12 $n) + $(model rmat:8 $n))))
        expect "rows of the model, $n processes" "that travelled between processes: $rows\$" \
            mpirun -n $n "$where/rows" -side 12 -scale 8 -widths 8 -turns 1 -dll_append "$chooser" -tessera_view
    done
else
    bad "the products of the benchmark compile"
fi

# Other kinds of PETSc, where they are installed: theirs is taken, or politely none.
for pc in /usr/lib/petscdir/*/*/lib/pkgconfig; do
    case $pc in
    */petsc64*real*) program wide "$pc" "$products" 2>"$where/log" && program wide_sparse "$pc" "$sparse_products" 2>"$where/log" &&
        expect "64-bit indices" " 0 wrong" "${run[@]}" mpirun -n 2 "$where/wide" -tessera_min_columns 1 &&
        expect "64-bit indices, sparse products" " 0 wrong" "${run[@]}" "$where/wide_sparse" -tessera_sparse always &&
        expect "a plug-in for 32-bit indices" "not for 3.* 64-bit; not used" \
            "$where/wide" -dll_append "$(echo "$build"/adapters/petsc/libtessera_petsc_*_real_int32.so)" ;;
    esac
done
# A plug-in for another width than that of this PETSc, whatever is installed.
adapter=("$root"/adapters/petsc/[!c]*.c) # all but choose.c
# shellcheck disable=SC2046
if mpicc -w -O0 -shared -fPIC -DPETSC_USE_64BIT_INDICES=1 -DTSR_PETSC_ENTRY=PetscDLLibraryRegister_wide -I"$root/include" $(pkg-config --cflags petsc) \
    "${adapter[@]}" "$build/libtessera-core.so" -Wl,-rpath,"$build" -o "$where/libwide.so" 2>"$where/log"; then
    expect "a plug-in of another width" "for PETSc 3.*64-bit indices, not for 3.*32-bit; not used" "$where/products" -few -dll_append "$where/libwide.so"
    expect "... changes nothing" " 0 wrong" "$where/products" -few -dll_append "$where/libwide.so" -tessera_rebind
else
    bad "a plug-in of another width compiles"
fi
# A plug-in that lacks its library, and no plug-in for this PETSc.
mkdir "$where/alone" && cp "$chooser" "$where/alone"
expect "no plug-in for this PETSc" "no plug-in was built for PETSc" "$where/products" -dll_append "$where/alone/libtessera_petsc.so"
cp "$build"/adapters/petsc/libtessera_petsc_*_real_int32.so "$where/alone" && sed -i 's/libtessera-core/libtessera-gone/' "$where"/alone/libtessera_petsc_*.so
expect "a missing library" "libtessera-gone.*cannot open" "$where/products" -dll_append "$where/alone/libtessera_petsc.so"

# examples/mpi: the same answer from any number of processes, plain and through Tessera.
if mpicc -O1 "$root/examples/mpi/sources.c" -o "$where/sources" -lgraphblas -lm 2>"$where/log"; then
    for what in betweenness pagerank; do
        answer=$("$where/sources" $what 8 2>/dev/null)
        for n in 2 3; do
            expect "$what by $n processes" "^$answer\$" mpirun -n $n "$where/sources" $what 8
        done
        expect "$what through Tessera" "^$answer\$" mpirun -n 2 "$build/tools/tessera" run --device=local --mode=cpu --min-work=0 -- "$where/sources" $what 8
    done
fi

# A process that dies ends the job within seconds, and with an error.
began=$SECONDS
timeout 60 "${run[@]}" mpirun -n 2 "$where/products" -die 1 >"$where/log" 2>&1
status=$?
if [ $status -ne 0 ] && [ $status -ne 124 ] && [ $((SECONDS - began)) -lt 30 ]; then good "a killed process"; else bad "a killed process"; fi

if command -v valgrind >/dev/null; then
    expect "valgrind" " 0 wrong" "${run[@]}" valgrind -q --error-exitcode=99 \
        "$where/products" -tessera_min_columns 1 -few
    expect "valgrind, sparse products" " 0 wrong" "${run[@]}" valgrind -q --error-exitcode=99 "$where/sparse" -tessera_sparse always -few
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
