// Reports of the parts of other processes at the end of a run, for the process that answers for all of them (parted_fabric.h).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/network/fabric.h"
#include "sim/network/packet_probe.h"

namespace weft::net {

struct PartReports {
  std::vector<ResourceCounters> counters;  // by link, of those that begin elsewhere
  std::vector<PortCounters> begins;        // the same
  std::vector<PortCounters> ends;          // by link, of those that end elsewhere and begin in another part
  std::vector<FlowCounters> sources;       // by flow, of those that begin elsewhere
  std::vector<std::int64_t> delivered;     // bytes on the wire, by flow, of those that end elsewhere
  std::vector<PauseRecord> pauses;
  FabricTotals totals;
  std::uint64_t hops = 0;
  bool any_paused = false;
};

}  // namespace weft::net
