#!/usr/bin/env bash
# Make tessera-….whl: pip install ./tessera-….whl
# usage: make_wheel.sh [OUTPUT_FOLDER [MESON_OPTION…]]     (the folder: ., a build lies in build-wheel)     SPDX-License-Identifier: Apache-2.0
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
output=$(realpath "${1:-.}")
[ $# -eq 0 ] || shift
build=$root/build-wheel
where=$(mktemp -d)
trap 'rm -rf "$where"' EXIT
again=
[ ! -f "$build/build.ninja" ] || again=--reconfigure
# shellcheck disable=SC2015
meson setup $again "$build" "$root" --prefix=/usr --libdir=lib -Dtests=false "$@" >"$where/log" && ninja -C "$build" >"$where/log" &&
    DESTDIR=$where/root meson install -C "$build" --no-rebuild >"$where/log" || { tail -5 "$where/log" >&2; exit 1; }
for file in "$where"/root/usr/lib/libtessera.so "$where"/root/usr/lib/libtessera-core.so.0 "$where"/root/usr/lib/tessera/*.so "$where/root/usr/bin/tessera"; do
    strip --strip-unneeded "$(realpath "$file")"
done
"$root/tools/scripts/make_wheel.py" "$where/root/usr" "$("$where/root/usr/bin/tessera" --version | sed 's/[^0-9.]//g')" "$output"
