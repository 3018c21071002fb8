// --memory, what a run is predicted to hold, and what it held.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "sim/scenario/memory_plan.h"

namespace weft::apps {

void add_memory_option(CLI::App& command, std::string& memory);
// Returns the limit that --memory states; none: it was not given.
[[nodiscard]] std::optional<std::uint64_t> memory_limit(const std::string& memory);

// "# memory predicted 1.20 GiB: ...\n"
[[nodiscard]] std::string predicted_line(const scenario::MemoryPlan& memory);
// "# memory held at most: ...; predicted / peak 0.96\n", after the run.
[[nodiscard]] std::string memory_line(const scenario::MemoryPlan& memory, std::size_t gpus);

}  // namespace weft::apps
