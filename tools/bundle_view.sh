#!/usr/bin/env bash
# Fetches uPlot, which draws the curves of `weft view`, from the npm registry, and puts its bundle and licence where the program
# takes them from. Building Weft needs no npm: what this writes is checked in.
#
#   tools/bundle_view.sh            writes the files anew
#   tools/bundle_view.sh --check    compares them with the package
set -euo pipefail
cd "$(dirname "$0")/.."
version=1.6.32
into=sim/output/view

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && npm pack --silent "uplot@$version" >/dev/null && tar xzf "uplot-$version.tgz")
copy() {
  if [[ ${check:-} ]]; then
    cmp "$work/package/$1" "$into/$2"
  else
    cp "$work/package/$1" "$into/$2"
  fi
}
[[ ${1:-} == --check ]] && check=1
copy dist/uPlot.iife.min.js uplot.min.js
copy dist/uPlot.min.css uplot.min.css
copy LICENSE UPLOT_LICENSE
echo "bundle_view: uPlot $version"
