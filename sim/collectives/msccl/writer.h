// Writes a schedule as MSCCL XML (models/nccl §9.1), so that a built-in algorithm can be run by MSCCL, or changed by hand.
//
// A lane becomes a threadblock; where its steps have several peers, one for each peer it sends to and one it
// receives from, put in order by dependencies.
// All chunks of an MSCCL algorithm are of one size: here the largest that divides every offset and size of the schedule. So a
// schedule of a size that is cut evenly gives a short file, and one that is not may be impossible to say.
//
// A step that MSCCL cannot say is a ConfigError that names it. MSCCL has no several peers at once, work of a switch, empty
// messages, passing on without keeping or adding, or more than its limits.
#pragma once

#include <string>

#include "sim/collectives/call.h"
#include "sim/collectives/schedule.h"

namespace weft::coll {

struct MscclExport {
  std::string name = "weft";
  std::string protocol = "Simple";
};

// `call` is the one that the schedule was planned for.
[[nodiscard]] std::string export_msccl(const Schedule& schedule, const CollectiveCall& call, const MscclExport& options = {});

}  // namespace weft::coll
