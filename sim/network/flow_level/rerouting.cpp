#include "sim/network/flow_level/rerouting.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/core/error.h"

namespace weft::net {
namespace {

// Below it a difference of two usages is the rounding of their sums.
constexpr double kNoUsage = 1e-9;

// With `times` as much of each resource as `part` uses; costs are the caller's.
void add(Footprint& to, Footprint part, double times) {
  part.paths.clear();
  for (Usage& usage : part.usages) usage.usage *= times;
  to.couple(part);
}

bool uses_any(const Footprint& footprint, std::span<const LinkId> links) {
  return std::ranges::any_of(footprint.usages, [&](const Usage& usage) {
    return std::ranges::any_of(links, [&](LinkId link) { return link.value() == usage.resource.value(); });
  });
}

}  // namespace

bool Rerouting::leaves_its_host(const Footprint& footprint) const {
  const Topology& topology = router_.topology();
  return std::ranges::any_of(footprint.paths, [&](const PathEnds& path) {
    return topology.host_of(path.source) != topology.host_of(path.destination);
  });
}

std::optional<Footprint> Rerouting::routed(const Footprint& footprint) const {
  Footprint sum;
  for (const PathEnds& path : footprint.paths) {
    try {
      sum.couple(router_.route(path.source, path.destination, path.key));
    } catch (const ConfigError&) {
      return std::nullopt;
    }
  }
  return sum;
}

void Rerouting::take_apart(FootprintId id) {
  Footprint rest = fabric_.footprint(id);
  const std::optional<Footprint> now = routed(rest);
  if (!now) return;
  add(rest, *now, -1);
  std::erase_if(rest.usages, [](const Usage& usage) { return usage.usage > -kNoUsage && usage.usage < kNoUsage; });
  if (std::ranges::any_of(rest.usages, [](const Usage& usage) { return usage.usage < 0; })) return;
  rest.latency = std::max(fabric_.footprint(id).latency - now->latency, Duration{});
  rests_.emplace(id, std::move(rest));
}

void Rerouting::set_link_state(std::span<const LinkId> links, bool up) {
  for (std::size_t i = 0; i < fabric_.footprint_count(); ++i) {
    const FootprintId id = FootprintId::from_index(i);
    const Footprint& footprint = fabric_.footprint(id);
    if (rests_.contains(id) || !leaves_its_host(footprint)) continue;
    if (up || uses_any(footprint, links)) take_apart(id);
  }
  for (const LinkId link : links) {
    router_.set_link_state(link, up);
    if (up) fabric_.restore(ResourceId{link.value()});
  }
  std::vector<std::pair<FootprintId, Footprint>> changed;
  for (const auto& [id, rest] : rests_) {
    std::optional<Footprint> now = routed(rest);
    if (!now) continue;
    Footprint made = rest;
    add(made, *now, 1);
    made.latency = rest.latency + now->latency;
    made.fill = now->fill;
    made.fill_packet = now->fill_packet;
    changed.emplace_back(id, std::move(made));
  }
  fabric_.replace(std::move(changed));
  if (up) return;
  for (const LinkId link : links) fabric_.fail(ResourceId{link.value()});
}

}  // namespace weft::net
