#!/usr/bin/env bash
# Makes the Debian packages and the tarball of a release in build/packages.
#
#   tools/package.sh
#
# The tarball holds the libraries that a bare Debian 12 lacks, and runs from any folder. It is gzip, as such a machine has no xz.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/steps.sh

step "packages" tools/install_deps.sh --package
build=build/package
step "configure" cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 \
  -DCMAKE_INSTALL_PREFIX=/usr -DWEFT_DEVELOPER_MODE=OFF -DWEFT_PYTHON=OFF -DWEFT_SOURCE_CONFIGS=OFF
step "build" cmake --build "$build" --parallel "$(nproc)"

out=$PWD/build/packages
rm -rf "$out" && mkdir -p "$out"
step "Debian packages" cpack --config "$build/CPackConfig.cmake" -G DEB -B "$out"
rm -rf "$out/_CPack_Packages"

version=$(sed -n 's/^project(Weft VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=weft-$version-linux-$(uname -m)
step "install" cmake --install "$build" --component weft --strip --prefix "$out/$name"
mkdir -p "$out/$name/lib/weft"
# The C library and the loader stay the system's.
ldd "$build/bin/weft" | awk '$2 == "=>" && $3 ~ /^\// {print $3}' |
  grep -vE '/(libc|libm|libdl|libpthread|librt|libresolv)\.so' | xargs -I{} cp -L {} "$out/$name/lib/weft/"
step "tarball" tar -C "$out" -czf "$out/$name.tar.gz" "$name"
rm -rf "${out:?}/$name"
ls -l "$out"
total
