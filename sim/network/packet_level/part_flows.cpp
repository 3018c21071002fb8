#include "sim/network/packet_level/part_flows.h"

#include "sim/core/error.h"
#include "sim/network/packet_level/part_mail.h"

namespace weft::net {

PartFlows::PartFlows(const Router& router, const PacketSettings& settings, std::uint64_t seed,
                     const std::vector<Footprint>& flows)
    : footprints_{flows}, no_loads_(router.topology().link_count()), routes_{router, seed, &no_loads_} {
  routes_.draw_from("parts/paths");
  ends_.reserve(flows.size());
  ways_.reserve(flows.size());
  for (const Footprint& flow : flows) {
    WEFT_CHECK(flow.paths.size() == 1);
    add(router, settings, flow.paths[0]);
  }
}

void PartFlows::add(const Router& router, const PacketSettings& settings, const PathEnds& path) {
  const auto& [source, destination, key] = path;
  const bool inside = router.topology().host_of(source) == router.topology().host_of(destination);
  std::vector<NicWay> ways = router.nic_ways(source, destination, key);
  if (ways.empty()) ways.emplace_back();
  if (ways.size() > 1 || (!inside && settings.transport.queue_pairs > 1)) {
    throw CannotRunInParts("a flow has several queue pairs");
  }
  ways_.push_back(ways.front());
  const RouteId there = routes_.add({source, destination, {key.entropy, ways.front().nics}});
  FlowEnds ends{.to = {source, destination}, .route = {there, there}, .fixed = routes_.goes_back(there)};
  const bool answers = settings.transport.acks != AckMode::kNone || settings.transport.cnps != AckMode::kNone;
  if (!ends.fixed && !inside && answers) ends.back = ends.route[0] = routes_.add(routes_.back(there, key.entropy));
  ends_.push_back(ends);
  const std::vector<LinkId> links = routes_.sample(there);
  path_links_.insert(path_links_.end(), links.begin(), links.end());
  path_ends_.push_back(path_links_.size());
}

}  // namespace weft::net
