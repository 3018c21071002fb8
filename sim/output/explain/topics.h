// Topics of `weft explain` that are no registered model: fidelities, commands, concepts. A registered model's text stands in
// its registration. Private to explain.
#pragma once

#include <vector>

#include "sim/core/model_text.h"

namespace weft::output {

struct Topic {
  TextLines names;  // the first is its own, the others lead here too
  ModelText text;   // with a title
};

[[nodiscard]] std::vector<Topic> network_topics();
[[nodiscard]] std::vector<Topic> collectives_topics();
[[nodiscard]] std::vector<Topic> workloads_topics();
[[nodiscard]] std::vector<Topic> planning_topics();

}  // namespace weft::output
