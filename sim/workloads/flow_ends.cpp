#include "sim/workloads/flow_ends.h"

#include <utility>

namespace weft::work {

std::vector<net::PathEnds> flow_ends(const Workload& workload, net::Router& router) {
  std::vector<net::PathEnds> all;
  all.reserve(workload.flows.size());
  for (std::size_t i = 0; i < workload.flows.size(); ++i) {
    const FlowItem& flow = workload.flows[i];
    const FlowOptions& options = workload.options_of(flow);
    net::PathEnds ends{flow.from, flow.to, {i}};
    if (options.read) std::swap(ends.source, ends.destination);
    if (options.way.stated()) ends.key.named_way = router.add_named_way(flow.from, flow.to, options.way, i);
    all.push_back(ends);
  }
  return all;
}

}  // namespace weft::work
