#!/usr/bin/env bash
# Build the drop-in door for another SuiteSparse:GraphBLAS and run its tests: the door, random programs plain and through Tessera, the
# specification, the examples.
# usage: check_graphblas.sh PREFIX     (PREFIX/include/GraphBLAS.h, PREFIX/lib/libgraphblas.so with a SONAME libgraphblas.so.<major>)
# SPDX-License-Identifier: Apache-2.0
set -eu
cd "$(dirname "$0")/.."
[ $# -eq 1 ] && [ -f "$1/include/GraphBLAS.h" ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 64; }
prefix=$(realpath "$1")
major=$(sed -n 's/^#define GxB_IMPLEMENTATION_MAJOR *//p' "$prefix/include/GraphBLAS.h" | tr -d ' ')
build=build-graphblas$major
[ -f "$build/build.ninja" ] || meson setup "$build" -Dcuda=disabled -Dgraphblas_prefix="$prefix" >/dev/null
export LD_LIBRARY_PATH=$prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
ninja -C "$build"
meson test -C "$build" --no-rebuild --suite door --suite dropin --suite spec --suite examples --print-errorlogs
