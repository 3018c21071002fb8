#include "sim/workloads/generated_flows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/core/config/quantity.h"
#include "sim/core/error.h"
#include "sim/core/used_files.h"
#include "sim/network/infiniband_reader.h"
#include "sim/workloads/endpoint_names.h"

namespace weft::work {
namespace {

using Point = SizeDistribution::Point;

// github alibaba-edu/High-Precision-Congestion-Control, traffic_gen/WebSearch_distribution.txt and FbHdp_distribution.txt, in
// bytes and percent.
constexpr std::array kWebSearch{Point{0, 0},     Point{10e3, 15}, Point{20e3, 20},  Point{30e3, 30},
                                Point{50e3, 40}, Point{80e3, 53}, Point{200e3, 60}, Point{1e6, 70},
                                Point{2e6, 80},  Point{5e6, 90},  Point{10e6, 97},  Point{30e6, 100}};
constexpr std::array kHadoop{Point{0, 0},      Point{100, 1},    Point{200, 2},    Point{300, 5},   Point{350, 15},
                             Point{400, 20},   Point{500, 30},   Point{600, 40},   Point{700, 50},  Point{1e3, 60},
                             Point{2e3, 67},   Point{7e3, 70},   Point{30e3, 72},  Point{50e3, 82}, Point{80e3, 87},
                             Point{120e3, 90}, Point{300e3, 95}, Point{1e6, 97.5}, Point{2e6, 99},  Point{10e6, 100}};

std::vector<Point> from_percent(std::span<const Point> points) {
  std::vector<Point> made(points.begin(), points.end());
  for (Point& point : made) point.probability /= 100;
  return made;
}

// Rate at which a host can send into the fabric: of its own links where it is bare, else its share of its host's uplinks.
Bandwidth access_rate(const net::Topology& topology, DeviceId endpoint) {
  Bandwidth total;
  if (topology.kind(endpoint) != net::DeviceKind::kGpu) {
    for (const LinkId link : topology.out_links(endpoint)) total = total + topology.spec(link).rate;
    return total;
  }
  const auto host = static_cast<std::size_t>(topology.host_of(endpoint));
  const net::HostTemplate& inside = topology.template_of_host(host);
  for (const std::uint32_t nic : inside.of_kind(net::DeviceKind::kNic)) {
    for (const LinkId link : topology.uplinks(topology.device_of(host, nic))) total = total + topology.spec(link).rate;
  }
  const auto gpus = static_cast<std::int64_t>(inside.of_kind(net::DeviceKind::kGpu).size());
  return total / std::max<std::int64_t>(1, gpus);
}

std::optional<SizeDistribution> checked(std::vector<Point> points, ParamReader& section, std::string_view key) {
  if (const std::string problem = SizeDistribution::problem(points); !problem.empty()) {
    section.error(key, problem, "for example [[0 B, 0 %], [10 kB, 50 %], [1 MB, 100 %]]");
    return std::nullopt;
  }
  return SizeDistribution{std::move(points)};
}

std::optional<SizeDistribution> read_points(ParamReader& section) {
  const ConfigNode list = section.raw("cdf");
  std::vector<Point> points;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const ConfigNode pair = list[i];
    const bool is_pair = pair.is_list() && pair.size() == 2 && pair[0].is_scalar() && pair[1].is_scalar();
    const auto bytes = is_pair ? parse_bytes(pair[0].scalar()) : std::nullopt;
    const auto share = is_pair ? parse_ratio(pair[1].scalar()) : std::nullopt;
    if (!bytes || !share) {
      section.diagnostics().error(pair.diagnostic(
          fmt::format("{}: expected a size and a probability such as [10 kB, 50 %], got {}", pair.path(), found_text(pair))));
      return std::nullopt;
    }
    points.push_back({static_cast<double>(bytes->count()), *share});
  }
  return checked(std::move(points), section, "cdf");
}

// Lines "bytes percent", as the traffic generator of the HPCC simulator reads them.
std::optional<SizeDistribution> read_point_file(ParamReader& section) {
  std::ifstream file = open_input(referenced_file(section.raw("cdf_file")));
  std::vector<Point> points;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos || line[first] == '#') continue;
    const std::size_t gap = std::min(line.find_first_of(" \t", first), line.size());
    const std::size_t second = std::min(line.find_first_not_of(" \t", gap), line.size());
    const std::size_t end = std::min(line.find_first_of(" \t\r", second), line.size());
    const auto bytes = parse_number(std::string_view{line}.substr(first, gap - first));
    const auto percent = parse_number(std::string_view{line}.substr(second, end - second));
    if (!bytes || !percent) {
      section.error("cdf_file", fmt::format("line {}: expected a size in bytes and a percentage, got '{}'", number, line));
      return std::nullopt;
    }
    points.push_back({*bytes, *percent / 100});
  }
  return checked(std::move(points), section, "cdf_file");
}

struct Span {
  Time from;
  Time until;
};

Span read_span(ParamReader& section) {
  Span span;
  span.from = Time{} + section.optional<Duration>("from", Duration{});
  span.until = Time{} + section.required<Duration>("until", positive);
  if (section.has("until") && span.until <= span.from) section.error("until", "must come after 'from'");
  return span;
}

}  // namespace

std::optional<SizeDistribution> read_sizes(ParamReader& section) {
  std::vector<std::string_view> given;
  for (const char* key : {"sizes", "cdf", "cdf_file"}) {
    if (section.has(key)) given.emplace_back(key);
  }
  if (given.size() > 1) {
    section.error(given[1], fmt::format("'{}' and '{}' are alternatives, and both are stated", given[0], given[1]));
  } else if (given.empty()) {
    section.error_here("expected one of 'sizes', 'cdf' and 'cdf_file'", "sizes: websearch, or hadoop");
  }
  if (given.size() != 1) {
    for (const char* key : {"sizes", "cdf", "cdf_file"}) static_cast<void>(section.optional_raw(key));
    return std::nullopt;
  }
  if (section.has("cdf")) return read_points(section);
  if (section.has("sizes")) return SizeDistribution::named(section.choice("sizes", {"websearch", "hadoop"}));
  try {
    return read_point_file(section);
  } catch (const ConfigError& error) {
    section.diagnostics().absorb(error);
    return std::nullopt;
  }
}

std::vector<DeviceId> read_hosts(ParamReader& section, std::string_view key, const net::Topology& topology) {
  if (!section.has(key)) return topology.endpoints();
  return read_ranks(section.raw(key), topology, section.diagnostics());
}

std::uint64_t read_seed(ParamReader& section, const WorkloadContext& context) {
  const auto stated = section.optional<std::int64_t>("seed", at_least(0));
  return stated ? static_cast<std::uint64_t>(*stated) : context.seed;
}

bool has_room(ParamReader& section, double flows, const Workload& out) {
  if (flows + static_cast<double>(out.flows.size()) <= static_cast<double>(kMaxFlows)) return true;
  section.error_here(fmt::format("about {:.0f} flows are over the limit of {}", flows, kMaxFlows));
  return false;
}

std::string SizeDistribution::problem(std::span<const Point> points) {
  if (points.size() < 2) return "expected at least two points";
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].bytes < 0) return "sizes must not be negative";
    if (i > 0 && points[i].bytes < points[i - 1].bytes) return "sizes must rise";
    if (i > 0 && points[i].probability < points[i - 1].probability) return "probabilities must rise";
  }
  if (points.front().probability < 0) return "probabilities must not be negative";
  if (std::abs(points.back().probability - 1) > 1e-9) return "the last probability must be 100 %";
  return {};
}

double SizeDistribution::mean() const {
  double mean = points_.front().probability * points_.front().bytes;
  for (std::size_t i = 1; i < points_.size(); ++i) {
    mean += (points_[i].probability - points_[i - 1].probability) * (points_[i].bytes + points_[i - 1].bytes) / 2;
  }
  return mean;
}

Bytes SizeDistribution::draw(RandomStream& random) const {
  const double p = random.unit();
  std::size_t i = 0;
  while (i + 1 < points_.size() && points_[i].probability <= p) ++i;
  if (i == 0) return Bytes{std::max<std::int64_t>(1, std::llround(points_.front().bytes))};
  const Point& low = points_[i - 1];
  const Point& high = points_[i];
  const double rise = high.probability - low.probability;
  const double share = rise > 0 ? std::min(1.0, (p - low.probability) / rise) : 1.0;
  return Bytes{std::max<std::int64_t>(1, std::llround(low.bytes + share * (high.bytes - low.bytes)))};
}

std::optional<SizeDistribution> SizeDistribution::named(std::string_view name) {
  if (name == "websearch") return SizeDistribution{from_percent(kWebSearch)};
  if (name == "hadoop") return SizeDistribution{from_percent(kHadoop)};
  return std::nullopt;
}

void read_background(ParamReader& workload, const WorkloadContext& context, Workload& out) {
  ParamReader section = workload.map("background");
  const std::optional<SizeDistribution> sizes = read_sizes(section);
  const std::vector<DeviceId> sources = read_hosts(section, "senders", context.topology);
  const std::vector<DeviceId> destinations = read_hosts(section, "receivers", context.topology);
  const double load = section.required<Ratio>("load", between(Ratio{1e-6}, Ratio{10.0})).value;
  const Span span = read_span(section);
  const int priority = net::read_lane(section, context.packet);
  const std::uint64_t seed = read_seed(section, context);
  if (section.has("receivers") && destinations.size() == 1 && std::ranges::find(sources, destinations[0]) != sources.end()) {
    section.error("receivers", "a host does not send to itself: name another receiver, or the senders");
  } else if (destinations.size() == 1 && !section.has("receivers")) {
    section.error_here("background traffic needs two hosts");
  }
  section.finish();
  if (!sizes || section.diagnostics().has_errors()) return;

  double bytes_per_ps = 0;
  for (const DeviceId source : sources) bytes_per_ps += access_rate(context.topology, source).bytes_per_ps();
  if (bytes_per_ps <= 0 || destinations.empty()) {
    section.error_here("the senders have no link to a network", "traffic between hosts needs a fabric: cluster: {fabric: ...}");
    return;
  }
  const double gap_ps = sizes->mean() / (load * bytes_per_ps);
  if (!has_room(section, static_cast<double>((span.until - span.from).ps()) / gap_ps, out)) return;
  RandomStream random{seed, "workload/background"};
  for (Time at = span.from;;) {
    at += std::max(Duration::from_ps(1), Duration::nearest_ps(random.exponential(gap_ps)));
    if (at >= span.until) break;
    FlowItem flow;
    flow.from = sources[static_cast<std::size_t>(random.below(sources.size()))];
    do {
      flow.to = destinations[static_cast<std::size_t>(random.below(destinations.size()))];
    } while (flow.to == flow.from);
    flow.bytes = sizes->draw(random);
    flow.start = at;
    flow.priority = priority;
    out.flows.push_back(flow);
  }
}

void read_incast(ParamReader& workload, const WorkloadContext& context, Workload& out) {
  ParamReader section = workload.map("incast");
  const std::vector<DeviceId>& all = context.topology.endpoints();
  const auto many = static_cast<std::int64_t>(all.size());
  // A number draws that many anew each time; a list or a range names them.
  std::int64_t drawn = 0;
  std::vector<DeviceId> named;
  if (const auto senders = section.node().find("senders");
      senders && senders->is_scalar() && parse_integer(senders->scalar())) {
    drawn = section.required<std::int64_t>("senders", between(std::int64_t{1}, std::max<std::int64_t>(1, many - 1)));
  } else {
    named = read_hosts(section, "senders", context.topology);
  }
  const auto to = section.node().find("to");
  const bool any_receiver = to && to->is_scalar() && to->scalar() == "random";
  DeviceId receiver{0};
  if (any_receiver) {
    static_cast<void>(section.optional_raw("to"));
  } else {
    receiver = read_endpoint(section, "to", context.topology);
  }
  const Bytes bytes = section.required<Bytes>("bytes");
  const Time start = Time{} + section.optional<Duration>("start", Duration{});
  const auto every = section.optional<Duration>("every", positive);
  const auto until = section.optional<Duration>("until", positive);
  const std::int64_t count =
      section.optional<std::int64_t>("count", every && until ? kMaxFlows : 1, between(std::int64_t{1}, kMaxFlows));
  const int priority = net::read_lane(section, context.packet);
  const std::uint64_t seed = read_seed(section, context);
  if (every && !until && !section.has("count")) section.error("every", "how often? state 'until' or 'count'");
  if (count > 1 && !every) section.error("count", "needs 'every', the time between incasts");
  section.finish();
  if (section.diagnostics().has_errors()) return;

  RandomStream random{seed, "workload/incast"};
  const Time end = until ? Time{} + *until : Time::max();
  const auto width = static_cast<double>(drawn > 0 ? drawn : static_cast<std::int64_t>(named.size()));
  double times = static_cast<double>(count);
  if (every && until)
    times = std::min(times, std::ceil(static_cast<double>((end - start).ps()) / static_cast<double>(every->ps())));
  if (!has_room(section, times * width, out)) return;
  std::vector<DeviceId> senders;
  Time at = start;
  for (std::int64_t i = 0; i < count && at < end; ++i) {
    if (any_receiver) receiver = all[static_cast<std::size_t>(random.below(all.size()))];
    senders = drawn > 0 ? all : named;
    std::erase(senders, receiver);
    if (drawn > 0) {
      random.shuffle(std::span{senders});
      senders.resize(std::min(senders.size(), static_cast<std::size_t>(drawn)));
    }
    for (const DeviceId sender : senders) {
      out.flows.push_back(
          {.from = sender, .to = receiver, .bytes = bytes, .start = at, .rate_cap = {}, .priority = priority, .options = 0});
    }
    if (every) at += *every;
  }
}

}  // namespace weft::work
