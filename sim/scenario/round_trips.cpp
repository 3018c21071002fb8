#include "sim/scenario/round_trips.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/network/builtin.h"
#include "sim/network/router.h"

namespace weft::scenario {
namespace {

constexpr std::size_t kMostPaths = 2'000;

struct Pair {
  DeviceId from;
  DeviceId to;
  std::uint64_t entropy = 0;
};

// One place of a file that states something, and whose queue pairs it is of.
struct Stated {
  ConfigNode place;  // a fabric's transport, a flow, a job
  const net::TransportSettings* settings = nullptr;
  const net::CongestionFactory* control = nullptr;
  std::vector<Pair> pairs = {};
};

std::string us(Duration time) { return fmt::format("{:.4g} us", time.us()); }

class RoundTrips {
 public:
  RoundTrips(const net::Cluster& cluster, std::uint64_t seed, Diagnostics& diagnostics)
      : cluster_{cluster}, seed_{seed}, diagnostics_{diagnostics} {}

  void check(const Stated& stated) {
    const net::TransportSettings& how = *stated.settings;
    const bool waits = how.timeout_stated && how.acks != net::AckMode::kNone && how.reliability != net::Reliability::kNone &&
                       stated.place.find("timeout").has_value();
    const std::optional<Duration> most = stated.control == nullptr || !stated.place.find("congestion_control")
                                             ? std::nullopt
                                             : stated.control->longest_round_trip();
    if (!waits && !most) return;
    Duration longest;
    const Pair* path = nullptr;
    for (const Pair& pair : stated.pairs) {
      const Duration time = round_trip(pair);
      if (time <= longest) continue;
      longest = time;
      path = &pair;
    }
    if (path == nullptr) return;
    const std::string where =
        fmt::format("{} between {} and {}", us(longest), cluster_.topology.name(path->from), cluster_.topology.name(path->to));
    if (waits && how.timeout < longest)
      warn(*stated.place.find("timeout"),
           fmt::format("{} is below the round trip of {}: every packet is sent again before its acknowledgement can come",
                       us(how.timeout), where),
           "without the key it is three round trips at least");
    if (most && *most < longest)
      warn(*stated.place.find("congestion_control"),
           fmt::format(
               "what it states is for round trips of up to {}, and there are ones of {}: senders are slowed down for ever",
               us(*most), where),
           "without these keys it goes by the path's round trip");
  }

 private:
  Duration round_trip(const Pair& pair) {
    const net::Topology& topology = cluster_.topology;
    if (topology.host_of(pair.from) == topology.host_of(pair.to)) return {};
    if (router_ == nullptr)
      router_ = std::make_unique<net::Router>(topology, net::make_routing_policy(cluster_.routing), seed_);
    const std::optional<net::Footprint> way = router_->find_route(pair.from, pair.to, {pair.entropy});
    return way ? 2 * way->latency : Duration{};
  }
  void warn(const ConfigNode& at, const std::string& text, const std::string& note) {
    diagnostics_.warning(at.diagnostic(fmt::format("{}: {}", at.path(), text), note));
  }

  const net::Cluster& cluster_;
  std::uint64_t seed_;
  Diagnostics& diagnostics_;
  std::unique_ptr<net::Router> router_;
};

// Between the first endpoint and others, spread evenly, where a program says who sends to whom.
std::vector<Pair> some_pairs(const net::Topology& topology) {
  constexpr std::size_t kTried = 64;
  const auto& ends = topology.endpoints();
  std::vector<Pair> pairs;
  for (std::size_t i = 1; i <= kTried && ends.size() > 1; ++i)
    pairs.push_back({ends.front(), ends[i * (ends.size() - 1) / kTried]});
  return pairs;
}

}  // namespace

void warn_of_round_trips(const net::Cluster& cluster, const ConfigNode& written, const work::Workload& workload,
                         std::uint64_t seed, Diagnostics& diagnostics) {
  RoundTrips trips{cluster, seed, diagnostics};
  const std::optional<ConfigNode> fabric = cluster.resolved.find("fabric");
  const std::optional<ConfigNode> transport = fabric ? fabric->find("transport") : std::nullopt;
  const net::TransportSettings& of_fabric = cluster.packet.transport;
  std::vector<Pair> plain;  // that the fabric's transport is of
  const std::optional<ConfigNode> listed = written.is_map() ? written.find("flows") : std::nullopt;
  const std::size_t places = listed && listed->is_list() ? listed->size() : 0;
  for (std::size_t i = 0; i < std::min(workload.flows.size(), kMostPaths); ++i) {
    const work::FlowItem& flow = workload.flows[i];
    const net::FlowTransport& own = workload.options_of(flow).transport;
    const Pair pair{flow.from, flow.to, i};
    if (own.settings == nullptr && !own.override_congestion) {
      plain.push_back(pair);
    } else if (i < places) {
      trips.check({(*listed)[i], own.settings == nullptr ? &of_fabric : own.settings.get(), own.congestion.get(), {pair}});
    }
  }
  const std::optional<ConfigNode> jobs = written.is_map() ? written.find("jobs") : std::nullopt;
  for (std::size_t j = 0; j < workload.jobs.size(); ++j) {
    const work::JobItem& job = workload.jobs[j];
    std::vector<Pair> pairs;
    for (const work::JobTransfer& transfer : job.transfers) {
      if (pairs.size() < kMostPaths) pairs.push_back({transfer.from, transfer.to, workload.flows.size() + j});
    }
    const net::FlowTransport& own = job.transport;
    if (own.settings == nullptr && !own.override_congestion) {
      plain.insert(plain.end(), pairs.begin(), pairs.end());
    } else if (jobs && jobs->is_list() && j < jobs->size()) {
      trips.check(
          {(*jobs)[j], own.settings == nullptr ? &of_fabric : own.settings.get(), own.congestion.get(), std::move(pairs)});
    }
  }
  if (!transport || !transport->is_map()) return;
  if (workload.flows.empty() && workload.jobs.empty()) plain = some_pairs(cluster.topology);
  trips.check({*transport, &of_fabric, of_fabric.congestion.get(), std::move(plain)});
}

}  // namespace weft::scenario
