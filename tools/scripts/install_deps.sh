#!/usr/bin/env bash
# Install the Debian packages that are missing; without root, print the one line to run and stop.
# usage: install_deps.sh demo|check          SPDX-License-Identifier: Apache-2.0
set -eu

packages="build-essential meson ninja-build pkg-config python3 libgraphblas-dev libinih-dev zlib1g-dev"
case "${1:-}" in
demo) ;;
check) packages="$packages ccache libcmocka-dev git clang libclang-rt-dev valgrind binutils librsvg2-bin chromium electric-fence python3-venv python3-dev gfortran cmake" ;;
*)
    echo "usage: install_deps.sh demo|check" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "Not a Debian system: make sure that these, or what your system calls them, are installed: $packages" >&2
    exit 0
fi

missing=""
for package in $packages; do
    status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
    [ "$status" = "install ok installed" ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
    echo "Some packages are missing. Run this, then start again:" >&2
    echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends$missing" >&2
    exit 1
fi
echo "Installing$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
# shellcheck disable=SC2086
apt-get install -y -q --no-install-recommends $missing
