#include "sim/collectives/busiest_link.h"

#include <algorithm>
#include <cmath>

namespace weft::coll {

BusiestLink::BusiestLink(const net::Machine& machine) : machine_{machine} {
  before_.reserve(machine.topology.link_count());
  for (std::size_t i = 0; i < machine.topology.link_count(); ++i) before_.push_back(carried(LinkId::from_index(i)));
}

BusiestLink::Carried BusiestLink::carried(LinkId link) const {
  return {machine_.fabric.wire_bytes(link), machine_.fabric.counters(ResourceId{link.value()}).busy};
}

Duration BusiestLink::least_time(Duration window) const {
  double most = 0;
  for (std::size_t i = 0; i < before_.size(); ++i) {
    const LinkId link = LinkId::from_index(i);
    const Carried now = carried(link);
    most = std::max(most, machine_.fabric.utilization(link, now.bytes - before_[i].bytes, now.busy - before_[i].busy, window));
  }
  return Duration::from_ps(std::llround(most * static_cast<double>(window.ps())));
}

}  // namespace weft::coll
