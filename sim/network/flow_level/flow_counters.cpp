// The flow fabric's counters.
#include <fmt/format.h>

#include <algorithm>

#include "sim/core/error.h"
#include "sim/network/flow_level/flow_fabric.h"

namespace weft::net {

ResourceCounters FlowFabric::counters(ResourceId resource) const {
  const ResourceState& state = resources_[bundle(resource).index()];
  ResourceCounters counters{static_cast<double>(state.counted.byte_parts) / kPartsOfByte, state.counted.busy,
                            state.counted.transfers};
  if (state.live > 0) counters.busy += simulator_.now() - state.busy_since;
  for (const Entry& entry : state.flows) {
    if (!is_on_its_way(entry)) continue;
    const Flow& flow = flows_[entry.flow];
    if (flow.shadow) continue;
    const double moved = static_cast<double>(flow.bytes) - bytes_left(flow) - flow.before;
    for_each_usage(flow.footprint, [&](std::uint32_t met, double usage) {
      if (met == bundle(resource).value()) counters.bytes += usage * moved;
    });
  }
  return counters;
}

void FlowFabric::mark_counters() {
  WEFT_CHECK(is_idle());
  marked_.resize(resources_.size());
  std::ranges::transform(resources_, marked_.begin(), &ResourceState::counted);
}

void FlowFabric::repeat_counted(std::int64_t times) {
  WEFT_CHECK(is_idle() && marked_.size() == resources_.size());
  for (std::size_t r = 0; r < resources_.size(); ++r) {
    Counted& counted = resources_[r].counted;
    counted.byte_parts += (counted.byte_parts - marked_[r].byte_parts) * times;
    counted.busy += (counted.busy - marked_[r].busy) * times;
    counted.transfers += (counted.transfers - marked_[r].transfers) * static_cast<std::uint64_t>(times);
  }
}

void FlowFabric::check_conservation() const {
  if (live_ == 0 && totals_.posted == totals_.delivered + totals_.aborted) return;
  throw InternalError(fmt::format("transfers not conserved: {} posted, {} delivered, {} aborted, {} live", totals_.posted,
                                  totals_.delivered, totals_.aborted, live_));
}

}  // namespace weft::net
