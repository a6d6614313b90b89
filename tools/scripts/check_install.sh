#!/usr/bin/env bash
# Install a build into an empty directory and use what is there.
# usage: check_install.sh BUILD_DIR          SPDX-License-Identifier: Apache-2.0
set -eu
build=$(cd "$1" && pwd)
where=$(mktemp -d)
trap 'rm -rf "$where"' EXIT

fail() {
    echo "check_install: $*" >&2
    exit 1
}

DESTDIR=$where meson install -C "$build" --no-rebuild >"$where/log" || fail "meson install: $(tail -5 "$where/log")"
find_one() { find "$where" -path "$where/*$1" | head -1; }

for file in /include/tessera/tessera.h /include/tessera/backend.h /pkgconfig/tessera.pc /bin/tessera /libtessera.so \
    /man1/tessera.1 /man5/tessera.conf.5 /bash-completion/completions/tessera /tessera/libtessera_suitesparse.so \
    /doc/tessera/README.md /doc/tessera/docs/quickstart.md /doc/tessera/docs/tool.md; do
    [ -n "$(find_one "$file")" ] || fail "$file is not installed"
done
# Every page that an installed page links to is installed beside it.
pages=$(dirname "$(find_one /doc/tessera/README.md)")
while read -r page link; do
    [ -e "$(dirname "$page")/$link" ] || fail "${page#"$where"} links to $link, which is not installed"
done < <(grep -oE '\]\([A-Za-z0-9_./-]+\.(md|svg|png)' -r "$pages" --include=*.md | sed 's/:](/ /')
# Nothing that only a debugger reads.
while read -r file; do
    readelf -S "$file" | grep -q '\.debug_info' && fail "${file#"$where"} is not stripped"
done < <(find "$where" -type f \( -name '*.so*' -o -path '*/bin/tessera' \))
# One copy of the engine, whose kernels are the names in its tables; the doors link to it.
engines=$(grep -rlF masked_dot_csr "$where" --include='*.so*' | xargs -n1 realpath | sort -u)
[ "$(basename "$engines")" = "libtessera-core.so.${engines##*.so.}" ] || fail "not one library with the engine: $engines"
library=$(find_one /libtessera.so)
replacement=$(find_one /libgraphblas.so.7)
[ -n "$replacement" ] || fail "the replacement directory is not installed"

soname() { readelf -d "$1" | sed -n 's/.*SONAME.*\[\(.*\)\].*/\1/p'; }
[ "$(soname "$replacement")" = libgraphblas.so.7 ] || fail "$replacement has SONAME $(soname "$replacement")"
readelf -d "$library" | grep -qi cuda && fail "libtessera needs CUDA"

# Programs compiled and run against the installed files only: the native interface, and GraphBLAS linked behind Tessera.
pc=$(dirname "$(find_one /pkgconfig/tessera.pc)")
compile() { # NAME PACKAGE: from standard input
    local flags
    flags=$(PKG_CONFIG_PATH=$pc PKG_CONFIG_SYSROOT_DIR=$where pkg-config --cflags --libs "$2") || fail "$2.pc"
    # shellcheck disable=SC2086
    cc -Wall -Werror -x c - -o "$where/$1" $flags -Wl,-rpath,"$(dirname "$library")" || fail "$2.pc: cannot link with $flags"
    "$where/$1" || fail "$1 linked with $flags does not run"
}
compile native tessera <<'C'
#include <stdio.h>
#include <tessera/tessera.h>
int main(void) { return puts(tsr_version()) < 0 || tsr_set_option("no such name", "1") != TSR_INVALID_VALUE; }
C
compile core tessera-core <<'C'
#include <tessera/tessera.h>
int main(void) { return tsr_version() == 0; }
C
readelf -d "$where/core" | grep -q 'NEEDED.*libtessera-core.so.0' || fail "tessera-core.pc links another library"
compile ahead tessera-graphblas <<'C'
#include <GraphBLAS.h>
int main(void) { return GrB_init(GrB_NONBLOCKING) != GrB_SUCCESS || GrB_PLUS_FP32 == NULL || GrB_finalize() != GrB_SUCCESS; }
C
readelf -d "$where/ahead" | grep NEEDED | head -1 | grep -q libtessera || fail "linked ahead, libtessera is not the first library"

# What programs link to keeps its meaning: the version of the symbols.
readelf --dyn-syms -W "$where/core" | grep -q 'tsr_version@TESSERA_1' || fail "libtessera-core has no symbol versions"

# The examples of the native interface, by pkg-config and by CMake.
examples=$(cd "$(dirname "$0")/../../examples/native" && pwd)
prefix=$(dirname "$(dirname "$(find_one /bin/tessera)")")
core_flags="$(PKG_CONFIG_PATH=$pc PKG_CONFIG_SYSROOT_DIR=$where pkg-config --cflags --libs tessera-core) -Wl,-rpath,$(dirname "$library")"
example() { # NAME COMMAND…
    local name=$1
    shift
    # shellcheck disable=SC2086
    "$@" -Wall -Wextra -Werror "$examples/$name" -o "$where/example" $core_flags -lm || fail "examples/native/$name does not compile"
    "$where/example" >"$where/log" || fail "examples/native/$name: $(cat "$where/log")"
}
example spmm.c cc
example attention.c cc
example complex.c cc
example gcn.c cc
example cpp.cpp c++ -std=c++17
example layers.cpp c++ -std=c++17
example product.cpp c++ -std=c++17
if command -v gfortran >/dev/null; then
    for program in fortran layers product; do
        (cd "$where" && example "$program.f90" gfortran -std=f2008 -J "$where" "$(find_one /tessera/tessera.f90)") || exit 1
    done
else
    echo "check_install: no gfortran, the examples of Fortran are not tried"
fi
if command -v cmake >/dev/null; then
    cmake -S "$examples" -B "$where/cmake" -DCMAKE_PREFIX_PATH="$prefix" >"$where/log" && cmake --build "$where/cmake" >"$where/log" ||
        fail "cmake: $(tail -5 "$where/log")"
    for program in spmm attention complex gcn cpp layers product fortran layers_fortran product_fortran; do
        [ ! -x "$where/cmake/$program" ] || "$where/cmake/$program" >"$where/log" || fail "$program of CMake: $(cat "$where/log")"
    done
else
    echo "check_install: no cmake, find_package(tessera) is not tried"
fi

# An unchanged GraphBLAS program through each form of the drop-in.
program=$build/examples/triangles
[ -x "$program" ] || fail "$program is missing"
expect_45() { grep -qx 'triangles 45' || fail "$1: wrong answer"; }
LD_PRELOAD=$library "$program" karate | expect_45 "preloaded"
LD_LIBRARY_PATH=$(dirname "$replacement") "$program" karate | expect_45 "replacement"
LD_LIBRARY_PATH=$(dirname "$replacement") ldd "$program" | grep -q "$replacement" || fail "the replacement is not what is loaded"
"$(find_one /bin/tessera)" run -- "$program" karate | expect_45 "tessera run"

# Packed, unpacked elsewhere and used by somebody who is not root.
"$(dirname "$0")"/../make_tarball.sh "$build" "$where/tessera.tar.gz" >/dev/null || fail "make_tarball.sh"
mkdir "$where/opt" && tar -C "$where/opt" -xzf "$where/tessera.tar.gz" && chmod -R go+rX "$where"
cp "$program" "$where/triangles"
root=$(echo "$where"/opt/tessera-*)
as_user() { if [ "$(id -u)" -eq 0 ]; then setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/ "$@"; else "$@"; fi; }
as_user "$root/bin/tessera" run -- "$where/triangles" karate | expect_45 "unpacked, tessera run"
as_user "$root/bin/tessera" run --replace -- "$where/triangles" karate | expect_45 "unpacked, replacement"
said=$(as_user "$root/bin/tessera" run --replace -- "$(command -v true)" 2>&1)
[ "$said" = "tessera: --replace changed nothing: true loaded no libgraphblas" ] || fail "unpacked, a replacement that does nothing says: $said"
as_user "$root/bin/tessera" info --json | grep -q "\"library\": \"$root/" || fail "unpacked, another library is found"
plugin=$(find "$root" -path '*/tessera/libtessera_cuda.so' -type f)
for folder in ${plugin:+"${plugin%/*}"/graphblas[0-9]*}; do
    [ "$folder/tessera/libtessera_cuda.so" -ef "$plugin" ] || fail "unpacked, $folder has no plug-in beside it"
done
unpacked=$(dirname "$(find "$root" -name tessera.pc)")
[ "$(PKG_CONFIG_PATH=$unpacked pkg-config --variable=prefix tessera | xargs realpath)" = "$root" ] || fail "unpacked, tessera.pc"

# Taken away again, nothing stays; a tarball made in between changes nothing about that.
DESTDIR=$where/again meson install -C "$build" --no-rebuild >"$where/log"
"$(dirname "$0")"/../make_tarball.sh "$build" "$where/second.tar.gz" >/dev/null || fail "make_tarball.sh after an install"
ninja -C "$build" uninstall >"$where/log" 2>&1 || fail "uninstall: $(tail -5 "$where/log")"
mkdir -p "$where/again"
left=$(find "$where/again" -type f -o -type l | head -3)
[ -z "$left" ] || fail "uninstall left $left"
echo "installed files: ok"
