#!/usr/bin/env bash
# The packages of tools/package.sh run from where they are unpacked, without an environment and away from the source: the tarball with
# no library from outside but the C library's, the Debian package's files beside each other. `docs/install.md` tells what a bare
# Debian 12 needs.
#
#   tests/package/bare.sh          makes the packages first
#   tests/package/bare.sh FOLDER   those that are there
set -euo pipefail
cd "$(dirname "$0")/../.."
packages=$(realpath -m "${1:-build/packages}")
(($#)) || tools/package.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

run() {
  echo "$1 --version: $(env -i "$1" --version)"
  env -i "$1" collective all_reduce --cluster h200x4 -b 1M -e 1M --json calls.json | grep -q all_reduce
  env -i "$1" view calls.json -o page.html
  grep -q '<canvas\|uPlot' page.html
}

mkdir "any folder"
tar -xzf "$packages"/weft-*-linux-*.tar.gz -C "any folder"
program=$(realpath "any folder"/weft-*/bin/weft)
run "$program"
outside=$(ldd "$program" | awk '$2 == "=>" {print $1, $3}' | grep -vF "$work" | grep -vE '^(libc|libm|libdl|libpthread|librt|libresolv)\.so' || true)
[[ -z $outside ]] || { echo "bare: the tarball takes libraries from outside: $outside" >&2 && exit 1; }

for package in "$packages"/*.deb; do dpkg-deb -x "$package" deb; done
run "$work/deb/usr/bin/weft"
echo "bare: the tarball and the Debian packages run where they are unpacked"
