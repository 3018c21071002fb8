// Reads the way that a flow names for itself: `via: [leaf0, spine3]`, or `route:` with every device between its ends.
#pragma once

#include "sim/core/config/params.h"
#include "sim/network/routing/named_way.h"
#include "sim/workloads/workload.h"

namespace weft::work {

// The devices; their ends are checked below.
[[nodiscard]] net::NamedWay read_way(ParamReader& item, const WorkloadContext& context);
// Takes the flow's ends off the list, and reports where no such way leads from one to the other. False: it reported.
bool check_way(ParamReader& item, const WorkloadContext& context, const FlowItem& flow, net::NamedWay& way);

}  // namespace weft::work
