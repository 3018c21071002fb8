// Files beside this one, as they stand in the program. CMake writes the source of them.
#pragma once

#include <string_view>

namespace weft::output {

extern const std::string_view kViewScript;   // view.js
extern const std::string_view kViewStyle;    // view.css
extern const std::string_view kPlotScript;   // uplot.min.js
extern const std::string_view kPlotStyle;    // uplot.min.css
extern const std::string_view kPlotLicence;  // UPLOT_LICENSE

}  // namespace weft::output
