#!/usr/bin/env bash
# Brings back faults that Weft had (tests/invariants/mutations), one at a time, and shows that an invariant finds each.
#
#   tools/mutation_check.sh COPY                 all of them
#   tools/mutation_check.sh COPY NAME ...        those named
#
# COPY is a copy of the project with a build folder, as `cp -a` makes it: its sources are changed and restored, its program is
# built anew for each. BUILD names the build folder in it (build/dev).
set -euo pipefail
if (($# == 0)); then
  sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
cd "$1"
shift
build=${BUILD:-build/dev}
patches=tests/invariants/mutations
names=("$@")
((${#names[@]})) || mapfile -t names < <(cd "$patches" && ls ./*.patch | sed 's,^\./,,; s/\.patch$//')
applied=
restore() { [[ -z $applied ]] || git apply -R "$applied"; }
trap restore EXIT

# Whether a property holds, and what is said where it does not.
holds() {
  python3 tests/invariants/invariants_test.py . "$build/bin/weft" --only "$1" --work "$build/mutation_files"
}
make_weft() { cmake --build "$build" --target weft > "$build/mutation.log" || { tail -20 "$build/mutation.log" && exit 1; }; }

make_weft
for property in $(cd "$patches" && sed -sn '1s/:.*//p' "${names[@]/%/.patch}" | sort -u); do
  if ! found=$(holds "$property"); then
    echo "mutation_check: $property does not hold without a fault: it can show none" >&2
    grep -A2 FAILED <<< "$found" >&2
    exit 1
  fi
done
missed=0
for name in "${names[@]}"; do
  patch=$patches/$name.patch
  property=$(sed -n '1s/:.*//p' "$patch")
  git apply "$patch"
  applied=$patch
  make_weft
  if found=$(holds "$property"); then
    echo "MISSED  $name: $(sed -n 1p "$patch")"
    missed=1
  else
    echo "caught  $name: $(sed -n 1p "$patch")"
    grep -m1 -A2 FAILED <<< "$found" | sed 's/^/          /'
  fi
  git apply -R "$patch"
  applied=
done
make_weft
exit $missed
