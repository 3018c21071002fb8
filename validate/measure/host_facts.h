// The host's facts about itself without CUDA, for the header of a file.
#pragma once

#include "json_line.h"
#include "plan.h"

namespace weft::measure {

// Adds kernel, processor, memory and NICs; the host's name if `with_name`.
void add_host_facts(JsonObject& machine, bool with_name);
// Names of RDMA devices that sysfs knows.
[[nodiscard]] std::vector<std::string> rdma_devices();
// NCCL_* of this process's environment, by name.
[[nodiscard]] Environment nccl_environment();
// UTC, "2026-01-31T12:00:00Z".
[[nodiscard]] std::string utc_now();

}  // namespace weft::measure
