// `weft explain`: what each model assumes, what it leaves out, and the sources of its numbers.
//
// A registered model says so in its registration, other topics in topics_*.cpp. A test holds both to it: every registered name
// has a text, and every file with a "Model:" comment is named by one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/model_text.h"
#include "sim/core/profile.h"
#include "sim/network/gpu_spec.h"

namespace weft::output {

struct Explanation {
  std::vector<std::string> names;  // that a user may ask for
  std::string_view summary;        // one line
  ModelText text;
  std::vector<std::string> family;  // first names of the models that share the text, its own among them
  std::vector<std::string> files;   // the code that says the same, relative to sim/
};
// Registered models by kind and name, then topics.
[[nodiscard]] std::span<const Explanation> explanations();

// Each line once that the texts of these names leave out; a name without a text adds none.
[[nodiscard]] std::vector<std::string> simplifications_of(const std::vector<std::string>& names);

// The text on a registered name, a topic ("flow", "nccl", "simplifications", ...), a parameter's key, or the path of a group of
// parameters, or a word of the glossary, in upper or lower case; at most about 110 columns wide. `profile` adds the value
// there. ConfigError with the nearest name.
[[nodiscard]] std::string explain(const std::string& thing, const Profile* profile = nullptr);

// Lists what explain() knows beside registered models and parameters: topics, then words of the field, a line each.
[[nodiscard]] std::string explained_topics();

// Lists the values that a profile sets, their sources, and the errors it showed and where.
[[nodiscard]] std::string explain_profile(const Profile& profile);

// Lists the figures of a GPU's data sheet with their sources.
[[nodiscard]] std::string explain_gpu(const net::GpuSpec& gpu);

// Everything that explain() knows, in byte order.
[[nodiscard]] std::vector<std::string> explained_names();

}  // namespace weft::output
