#!/usr/bin/env bash
# Installs the Debian packages that Weft is built from. Asks apt-get only if something is missing.
#
#   tools/install_deps.sh             what building, running and testing take
#   tools/install_deps.sh --run-only  what building and running the program take, without the tests
#   tools/install_deps.sh --python    what `pip install .` takes
#   tools/install_deps.sh --package   what tools/package.sh takes: dpkg-shlibdeps, and `file` for it
#   tools/install_deps.sh --docs     what the documentation site takes
#   tools/install_deps.sh --dev       all of it and what the other presets and the plots take
set -euo pipefail

build=(g++ cmake ninja-build git pkg-config libyaml-cpp-dev libfmt-dev libspdlog-dev libcli11-dev libboost-dev
  nlohmann-json3-dev libpugixml-dev libnlopt-dev libnlopt-cxx-dev libsqlite3-dev zlib1g-dev)
python=(python3 python3-dev pybind11-dev python3-pybind11 python3-setuptools python3-wheel python3-pip python3-venv)
test=(libgtest-dev libgmock-dev libbenchmark-dev python3-jsonschema python3-yaml)
package=(dpkg-dev file)
docs=(python3 python3-sphinx python3-myst-parser furo)
develop=(clang-19 clang-tidy-19 clang-format libclang-rt-19-dev gcovr python3-matplotlib valgrind libopenmpi-dev openmpi-bin)

case "${1:-}" in
  "") packages=("${build[@]}" "${python[@]}" "${test[@]}") ;;
  --run-only) packages=("${build[@]}") ;;
  --python) packages=("${build[@]}" "${python[@]}") ;;
  --package) packages=("${build[@]}" "${package[@]}") ;;
  --docs) packages=("${docs[@]}") ;;
  --dev) packages=("${build[@]}" "${python[@]}" "${test[@]}" "${develop[@]}") ;;
  *)
    sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "install_deps: no apt-get here; what is needed are the counterparts of: ${packages[*]}" >&2
  exit 0  # configuring will name what is really missing
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed* ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  echo "install_deps: all ${#packages[@]} packages are here"
  exit 0
fi

root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "install_deps: not root and no sudo; as root: apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  root=(sudo)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "install_deps: installing ${missing[*]}"
apt() {
  if ! "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 "$@" </dev/null >"$log" 2>&1; then
    cat "$log" >&2
    echo "install_deps: apt-get $1 failed" >&2
    return 1
  fi
}
# A source of packages that does not answer need not be one that holds ours: whether it matters, installing tells.
apt update || echo "install_deps: going on with the lists there are" >&2
apt install -y --no-install-recommends "${missing[@]}"
