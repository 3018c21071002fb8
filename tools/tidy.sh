#!/usr/bin/env bash
# Runs clang-tidy on the C++ files that differ from the main branch, at most TIDY_SECONDS (180) long; `cmake --workflow --preset tidy`
# takes them all. On the main branch itself the last tag is compared with, or without one the commit before.
#
#   tools/tidy.sh           what differs, uncommitted changes too
#   tools/tidy.sh FILE ...  these
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/changes.sh

if ! command -v clang-tidy-19 >/dev/null; then
  echo "tidy: no clang-tidy-19 here (tools/install_deps.sh --dev): nothing was looked at"
  exit 0
fi

# The commit to compare with; empty where a shallow clone or an export holds none.
base() {
  local earlier
  earlier=$(branch_base)
  if [[ -z $earlier ]]; then earlier=$(git describe --tags --abbrev=0 HEAD^ 2>/dev/null) || earlier=HEAD^; fi
  git rev-parse --verify --quiet "$earlier^{commit}" 2>/dev/null || true
}

if (($#)); then
  files=("$@")
else
  commit=$(base)
  if [[ -z $commit ]]; then
    echo "tidy: no earlier commit here to compare with (no git, or a shallow clone): nothing was looked at"
    exit 0
  fi
  mapfile -t files < <(git diff --name-only --diff-filter=d "$commit" -- '*.cpp' '*.h')
  echo "tidy: ${#files[@]} C++ files differ from $(git log -1 --format='%h, %s' "$commit")"
fi
((${#files[@]})) || exit 0

# A header is read with the source file of its name. What this configuration does not compile (CUDA) is left out.
folder=build/tidy_changed
cmake --preset tidy -B "$folder" -DCMAKE_UNITY_BUILD=OFF >/dev/null
cmake --build "$folder" --target weft_version_strings >/dev/null 2>&1 || true
compiled=$(sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' "$folder/compile_commands.json")
sources=()
for file in "${files[@]}"; do
  source=${file%.h}
  source=${source%.cpp}.cpp
  if grep -qxF "$PWD/$source" <<<"$compiled" && [[ " ${sources[*]} " != *" $source "* ]]; then sources+=("$source"); fi
done

failed=0 looked=0
SECONDS=0
while ((looked < ${#sources[@]} && SECONDS < ${TIDY_SECONDS:-180})); do
  some=("${sources[@]:looked:$(nproc)}")
  printf '%s\n' "${some[@]}" | xargs -P "$(nproc)" -n 1 clang-tidy-19 -p "$folder" --quiet 2>/dev/null || failed=1
  looked=$((looked + ${#some[@]}))
done
echo "tidy: looked at $looked of ${#sources[@]} files in $SECONDS s"
((looked == ${#sources[@]})) || echo "tidy: no time for ${sources[*]:looked}"
exit "$failed"
