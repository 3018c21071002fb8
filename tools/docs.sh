#!/usr/bin/env bash
# Builds the documentation site in build/site/html from the documents of the project and from what the program prints.
# A warning, a dead link among them, is an error.
#
#   tools/docs.sh [WEFT]   the program; build/weft if not given
set -euo pipefail
cd "$(dirname "$0")/.."
weft=$(realpath "${1:-build/weft}")

tools/install_deps.sh --docs
source=build/site/source
rm -rf "$source" && mkdir -p "$source"
# Links, so that a document finds its neighbours and the files it names where they are in a checkout.
for entry in README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md CITATION.cff LICENSE .ci docs configs validate sim tests plots tools python; do
  ln -s "$PWD/$entry" "$source/$entry"
done
cp docs/site/index.md.in "$source/index.md"
docs/site/pages.py "$weft" "$source/reference"
docs/site/notebooks.py "$source/notebook_pages"
sphinx-build -q -W --keep-going -j auto -c docs/site -d build/site/trees -b html "$source" build/site/html
echo "docs: build/site/html/index.html"
