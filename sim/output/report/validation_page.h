// A validation as a page that a person reads, and as Markdown: errors first, then every kind of measurement against what was
// predicted, the profile and where its values come from, and how to make the page again. Training points are marked everywhere.
#pragma once

#include <iosfwd>

#include "sim/output/validation_output.h"

namespace weft::output {

// One file that needs nothing else (html_page.h).
void write_validation_page(std::ostream& out, const ValidationOutput& output);
// Summaries, provenance and how to make it again; GitHub's tables.
void write_validation_markdown(std::ostream& out, const ValidationOutput& output);

}  // namespace weft::output
