"""Sphinx configuration of the documentation site; tools/docs.sh calls it.

The source folder holds links to the folders of the project, so that links between its documents work as they do in a checkout, and
`reference/`, which pages.py writes from the program.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

project = "Weft"
author = "the Weft project"
project_copyright = "the Weft project, Apache-2.0"
html_title = "Weft"

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
source_suffix = {".md": "markdown"}
root_doc = "index"
include_patterns = ["index.md", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "docs/models/*.md",
                    "docs/tutorials/*.md", "configs/README.md", "configs/studies/README.md", "configs/studies/*/README.md", "validate/README.md",
                    "validate/measured/README.md", "validate/published/*.md", "validate/serving/README.md", "sim/README.md", "tests/data/h200x4/README.md",
                    "tests/data/nccl_golden/README.md", "reference/*.md", "notebook_pages/*.md"]
nitpicky = True
suppress_warnings = ["misc.highlighting_failure"]  # a block may be a piece of a file

html_theme = "furo"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
smartquotes = False  # options begin with two hyphens
