#!/usr/bin/env bash
# Pack a build into a tarball that works in any folder and without root: unpack it, run bin/tessera.
# usage: make_tarball.sh BUILD_DIR [FILE.tar.gz]          SPDX-License-Identifier: Apache-2.0
set -eu
build=$(cd "$1" && pwd)
option() { meson introspect --buildoptions "$build" | python3 -c "import json, sys
print(next(o['value'] for o in json.load(sys.stdin) if o['name'] == '$1'))"; }
version=$(meson introspect --projectinfo "$build" | python3 -c "import json, sys; print(json.load(sys.stdin)['version'])")
name=tessera-$version-$(uname -m)
file=$(realpath -m "${2:-$name.tar.gz}")
where=$(mktemp -d)
trap 'rm -rf "$where"' EXIT

# What `ninja uninstall` deletes is what the last install wrote down: packing must not replace that.
list=$build/meson-logs/install-log.txt
if [ -f "$list" ]; then cp -p "$list" "$where/list"; fi
restore() { if [ -f "$where/list" ]; then cp -p "$where/list" "$list"; else rm -f "$list"; fi; rm -rf "$where"; }
trap restore EXIT

DESTDIR=$where/root meson install -C "$build" --no-rebuild --strip >"$where/log" || { tail -5 "$where/log" >&2; exit 1; }
mv "$where/root$(option prefix)" "$where/$name"
for pc in "$where/$name/$(option libdir)"/pkgconfig/*.pc; do
    up=$(realpath --relative-to="$(dirname "$pc")" "$where/$name")
    sed -i "s|^prefix=.*|prefix=\${pcfiledir}/$up|" "$pc"
done
# The plug-in is looked for beside each library only.
for folder in "$where/$name/$(option libdir)"/tessera/graphblas[0-9]*; do
    [ -e "$folder/../libtessera_cuda.so" ] || continue
    mkdir "$folder/tessera" && ln -s ../../libtessera_cuda.so "$folder/tessera/"
done
tar -C "$where" --owner=0 --group=0 --sort=name -czf "$file" "$name"
echo "$file"
