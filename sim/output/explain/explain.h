// The texts of `weft explain`: each model's assumptions, what it leaves out, and the sources of its numbers.
//
// The texts are data (explain_texts*.cpp) and say what the heads of the source files say under "Model:"; a test holds both to
// it: every registered name has a text, and every file with a "Model:" comment is named by one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/profile.h"

namespace weft::output {

struct ModelText {
  std::vector<std::string_view> names;       // registered names and general topics that it explains
  std::string_view title;                    // one line
  std::string_view assumes;                  // how it is modelled
  std::vector<std::string_view> leaves_out;  // each one line of `weft explain simplifications`
  std::vector<std::string_view> sources;     // papers, specifications, the project's reference notes
  std::vector<std::string_view> files;       // the code that says the same, relative to sim/
};
[[nodiscard]] std::span<const ModelText> model_texts();

// The text on a registered name, a topic ("flow", "nccl", "simplifications", ...), a parameter's key, or the path of a group of
// parameters, at most about 110 columns wide. `profile` adds the value there. ConfigError with the nearest name.
[[nodiscard]] std::string explain(const std::string& thing, const Profile* profile = nullptr);

// Lists the values that a profile sets, their sources, and the errors it showed and where.
[[nodiscard]] std::string explain_profile(const Profile& profile);

// Everything that explain() knows, in byte order.
[[nodiscard]] std::vector<std::string> explained_names();

}  // namespace weft::output
