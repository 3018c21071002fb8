#include "sim/workloads/traffic_patterns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/random.h"
#include "sim/workloads/endpoint_names.h"
#include "sim/workloads/flow_reader.h"
#include "sim/workloads/generated_flows.h"
#include "sim/workloads/way_reader.h"

namespace weft::work {
namespace {

// A pattern may ask this of its entry.
struct PatternPlace {
  ParamReader& item;
  std::size_t hosts;
  std::uint64_t seed;
};

using Sends = std::vector<std::pair<std::size_t, std::size_t>>;  // from, to

Sends shifted(std::size_t hosts, std::size_t by) {
  Sends sends;
  for (std::size_t i = 0; i < hosts; ++i) sends.emplace_back(i, (i + by) % hosts);
  return sends;
}

// `{pattern: shift, by: 4}`, or `{shift: 4}` for short.
Sends shift(const PatternPlace& place) {
  const auto most = static_cast<std::int64_t>(place.hosts) - 1;
  const char* key = place.item.has("shift") ? "shift" : "by";
  return shifted(place.hosts, static_cast<std::size_t>(place.item.required<std::int64_t>(key, between(std::int64_t{1}, most))));
}

Sends ring(const PatternPlace& place) { return shifted(place.hosts, 1); }

// One cycle through all in an order drawn at random (Sattolo, 1986).
Sends permutation(const PatternPlace& place) {
  RandomStream random{place.seed, "workload/traffic"};
  std::vector<std::size_t> to(place.hosts);
  std::iota(to.begin(), to.end(), std::size_t{0});
  for (std::size_t i = to.size() - 1; i > 0; --i) std::swap(to[i], to[static_cast<std::size_t>(random.below(i))]);
  Sends sends;
  for (std::size_t i = 0; i < to.size(); ++i) sends.emplace_back(i, to[i]);
  return sends;
}

// Hosts are the entries of a square matrix, row by row.
Sends transpose(const PatternPlace& place) {
  std::size_t side = 1;
  while (side * side < place.hosts) ++side;
  if (side * side != place.hosts) {
    place.item.error_here(fmt::format("'transpose' needs a square number of endpoints, got {}", place.hosts),
                          fmt::format("state {} of them in 'among'", (side - 1) * (side - 1)));
    return {};
  }
  Sends sends;
  for (std::size_t i = 0; i < place.hosts; ++i) {
    const std::size_t to = i % side * side + i / side;
    if (to != i) sends.emplace_back(i, to);
  }
  return sends;
}

// Both ways between the two halves.
Sends pairs(const PatternPlace& place) {
  if (place.hosts % 2 != 0) {
    place.item.error_here(fmt::format("'pairs' needs an even number of endpoints, got {}", place.hosts));
    return {};
  }
  return shifted(place.hosts, place.hosts / 2);
}

Sends all_to_all(const PatternPlace& place) {
  // In the order in which each turns to the others, from its right neighbour on.
  Sends sends;
  for (std::size_t by = 1; by < place.hosts; ++by) {
    for (std::size_t i = 0; i < place.hosts; ++i) sends.emplace_back(i, (i + by) % place.hosts);
  }
  return sends;
}

struct Pattern {
  std::string_view name;
  Sends (*sends)(const PatternPlace& place);
};
constexpr std::array kPatterns{Pattern{"shift", shift},         Pattern{"ring", ring},   Pattern{"permutation", permutation},
                               Pattern{"transpose", transpose}, Pattern{"pairs", pairs}, Pattern{"all_to_all", all_to_all}};
constexpr std::string_view kIncast = "incast";

void read_entry(ParamReader& item, const WorkloadContext& context, Workload& out) {
  std::vector<std::string> names;
  for (const Pattern& pattern : kPatterns) names.emplace_back(pattern.name);
  names.emplace_back(kIncast);
  std::string name = item.has("shift") ? "shift" : item.choice("pattern", names);
  if (!item.has("shift")) {
    if (const auto written = item.node().find("pattern"); !written || written->scalar() != name) name.clear();
  } else {
    for (const char* key : {"pattern", "by"}) {
      if (!item.has(key)) continue;
      item.error(key, fmt::format("'shift' and '{}' are alternatives, and both are stated", key),
                 "{pattern: shift, by: 4} is {shift: 4}");
      static_cast<void>(item.optional_raw(key));
    }
  }
  std::vector<DeviceId> among = read_hosts(item, "among", context.topology);
  const std::uint64_t seed = read_seed(item, context);
  const auto many = static_cast<double>(among.size());
  if (!has_room(item, name == "all_to_all" ? many * (many - 1) : many, out)) return;
  Sends sends;
  if (name == kIncast) {
    const DeviceId to = read_endpoint(item, "to", context.topology);
    std::erase(among, to);
    for (std::size_t i = 0; i < among.size(); ++i) sends.emplace_back(i, among.size());
    among.push_back(to);
  } else if (among.size() < 2) {
    item.error_here(fmt::format("expected two endpoints at least, got {}", among.size()));
  } else {
    const auto* const pattern = std::ranges::find(kPatterns, name, &Pattern::name);
    if (pattern != kPatterns.end()) sends = pattern->sends({item, among.size(), seed});
  }
  const auto starts_within = item.optional<Duration>("starts_within", Duration{});
  const bool drawn = item.has("sizes") || item.has("cdf") || item.has("cdf_file");
  if (drawn && item.has("bytes")) item.error("bytes", "the sizes are drawn: state one of 'bytes' and 'sizes'");
  const std::optional<SizeDistribution> sizes = drawn ? read_sizes(item) : std::nullopt;
  FlowItem flow = read_flow(item, context, out, !drawn);
  item.finish();
  if (item.diagnostics().has_errors()) return;
  RandomStream random{seed, fmt::format("workload/traffic/{}", out.flows.size())};
  const Time start = flow.start;
  bool first = true;
  for (const auto& [from, to] : sends) {
    flow.from = among[from];
    flow.to = among[to];
    if (flow.options != 0 && !first) {  // each has queue pairs of its own
      out.options.push_back(FlowOptions{out.options[flow.options]});
      flow.options = static_cast<std::uint32_t>(out.options.size() - 1);
    }
    first = false;
    if (flow.options != 0 && !check_way(item, context, flow, out.options[flow.options].way)) return;
    if (sizes) flow.bytes = sizes->draw(random);
    if (starts_within > Duration{})
      flow.start = start + Duration::nearest_ps(random.unit() * static_cast<double>(starts_within.ps()));
    out.flows.push_back(flow);
  }
}

}  // namespace

void read_traffic(ParamReader& workload, const WorkloadContext& context, Workload& out) {
  for (ParamReader& item : workload.maps("traffic")) read_entry(item, context, out);
}

}  // namespace weft::work
