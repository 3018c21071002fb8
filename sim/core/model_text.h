// A model's own words about itself: what it assumes, what it leaves out, whom it cites. They stand in the model's registration
// and nowhere else; `weft explain` prints them.
//
//   .model = {.assumes = "Every CNP cuts the rate by alpha/2.",
//             .leaves_out = {"dcqcn: losses do not slow a sender"},
//             .sources = {"Zhu et al., SIGCOMM 2015", "models/network §3.1"}}
//
// Models of one family share a ModelText of their header, which then has a title.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace weft {

// Some lines that are known when the program is compiled; an empty one ends them.
struct TextLines {
  std::array<std::string_view, 12> lines = {};

  [[nodiscard]] constexpr auto begin() const { return lines.begin(); }
  [[nodiscard]] constexpr auto end() const { return std::find(lines.begin(), lines.end(), std::string_view{}); }
  [[nodiscard]] constexpr bool empty() const { return lines.front().empty(); }
};

struct ModelText {
  std::string_view title = {};    // one line on the family; one model alone has its registration's summary
  std::string_view assumes = {};  // how it is modelled
  TextLines leaves_out = {};      // each a line of `weft explain simplifications`, which names the model first
  TextLines sources = {};         // papers, specifications, measurements, sections of docs/models
  TextLines files = {};           // other code that belongs to it, relative to sim/
};

}  // namespace weft
