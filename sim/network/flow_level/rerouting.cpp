#include "sim/network/flow_level/rerouting.h"

#include <algorithm>
#include <utility>
#include <vector>

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

}  // namespace

bool Rerouting::leaves_its_host(const Footprint& footprint) const {
  const Topology& topology = router_.topology();
  return std::ranges::any_of(footprint.paths, [&](const PathEnds& path) {
    return topology.host_of(path.source) != topology.host_of(path.destination);
  });
}

std::optional<Footprint> Rerouting::routed(const Footprint& footprint, bool once) const {
  Footprint all;
  for (const PathEnds& path : footprint.paths) {
    const std::optional<Footprint> one = router_.find_route(path.source, path.destination, path.key);
    if (!one) return std::nullopt;
    all.usages.insert(all.usages.end(), one->usages.begin(), one->usages.end());
    all.latency = std::max(all.latency, one->latency);
    all.fill = std::max(all.fill, one->fill);
    all.fill_packet = std::max(all.fill_packet, one->fill_packet);
  }
  if (once) {
    std::ranges::sort(all.usages, [](const Usage& a, const Usage& b) {
      return a.resource != b.resource ? a.resource < b.resource : a.usage > b.usage;
    });
    const auto repeated = std::ranges::unique(all.usages, {}, &Usage::resource);
    all.usages.erase(repeated.begin(), repeated.end());
  }
  all.couple({});
  return all;
}

void Rerouting::take_apart(FootprintId id) {
  for (const bool once : {false, true}) {
    Footprint rest = fabric_.footprint(id);
    const std::optional<Footprint> now = routed(rest, once);
    if (!now) return;
    add(rest, *now, -1);
    std::erase_if(rest.usages, [](const Usage& usage) { return usage.usage > -kNoUsage && usage.usage < kNoUsage; });
    if (std::ranges::any_of(rest.usages, [](const Usage& usage) { return usage.usage < 0; })) continue;
    rest.latency = fabric_.footprint(id).latency - now->latency;
    rest.fill = fabric_.footprint(id).fill - now->fill;
    rests_.emplace(id, Rest{std::move(rest), once});
    return;
  }
}

void Rerouting::set_link_state(std::span<const LinkId> links, bool up, bool returns) {
  for (std::size_t i = 0; i < fabric_.footprint_count(); ++i) {
    const FootprintId id = FootprintId::from_index(i);
    if (!rests_.contains(id) && leaves_its_host(fabric_.footprint(id))) take_apart(id);
  }
  for (const LinkId link : links) {
    router_.set_link_state(link, up);
    if (up) fabric_.restore(ResourceId{link.value()});
  }
  if (returns) returning_ += up ? -1 : 1;
  change_paths();
  if (up) return;
  for (const LinkId link : links) fabric_.fail(ResourceId{link.value()});
}

void Rerouting::change_paths() {
  std::vector<std::pair<FootprintId, Footprint>> changed;
  std::vector<FootprintId> joined;
  std::vector<FootprintId> cut;
  for (const auto& [id, rest] : rests_) {
    std::optional<Footprint> now = routed(rest.footprint, rest.once);
    if (!now) {
      cut.push_back(id);
      continue;
    }
    Footprint made = rest.footprint;
    add(made, *now, 1);
    made.latency = std::max(rest.footprint.latency + now->latency, Duration{});
    made.fill = std::max(rest.footprint.fill + now->fill, Duration{});
    made.fill_packet = now->fill_packet;
    changed.emplace_back(id, std::move(made));
    joined.push_back(id);
  }
  fabric_.replace(std::move(changed));
  const auto not_held = [this](FootprintId id) { return !fabric_.is_held(id); };
  std::erase_if(joined, not_held);
  fabric_.go_on(joined);
  if (returning_ > 0) {
    fabric_.hold(cut);
  } else {
    std::erase_if(cut, not_held);
    fabric_.abort_held(cut);
  }
}

}  // namespace weft::net
