#include "sim/workloads/replay/group_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "sim/core/parallel.h"
#include "sim/network/routing/host_routes.h"
#include "sim/workloads/program_calls.h"
#include "sim/workloads/replay/moved_loads.h"

namespace weft::work {
namespace {

// In place of a collective's kind in keys.
constexpr int kBothWays = -1;
constexpr int kOneWay = -2;

// A call of fewer ranks is run in an instant.
constexpr std::size_t kLargeGroup = 64;

// All but the links.
void copy_time(const GroupCost& from, GroupCost& to) {
  to.alone = from.alone;
  to.ran = from.ran;
  to.ctas = from.ctas;
  to.choice = from.choice;
  to.step = from.step;
  to.memory_bytes = from.memory_bytes;
}

}  // namespace

GroupCosts::GroupCosts(const net::Topology& topology, const std::string& routing, std::uint64_t seed, const Profile& profile,
                       GroupRunSettings settings, std::shared_ptr<GroupRuns> runs)
    : settings_{std::move(settings)},
      group_runs_{runs != nullptr ? std::move(runs)
                                  : std::make_shared<GroupRuns>(topology, routing, seed, profile, settings_.grain,
                                                                settings_.nccl, settings_.library)},
      machine_{topology, routing, seed, 0, {}, group_runs_->host_routes()},
      places_{topology, *group_runs_->host_routes()} {}

const GroupRun& GroupCosts::run(const GroupCall& call, double slowdown) {
  ++runs_;
  const auto& [devices, kind, bytes, element_size] = call;
  coll::CollectiveCall made{.bytes = Bytes{bytes}, .element_size = static_cast<int>(element_size)};
  made.kind = kind < 0 ? coll::Collective::kSendRecv : static_cast<coll::Collective>(kind);
  made.one_way = kind == kOneWay;
  return group_runs_->run(devices, made, slowdown);
}

// Model: between a call's time at full clock and at one lower clock it goes straight on with one over the clock. Calls of large
// groups, whose pace links between hosts set, take as long at any clock.
double GroupCosts::stretch_at(const GroupCost& cost, double slowdown) {
  if (slowdown == 1.0 || settings_.slowdown == 1.0 || cost.ran == nullptr) return 1.0;
  if (std::get<0>(*cost.ran).size() >= kLargeGroup) return 1.0;
  const auto [at, is_new] = stretches_.try_emplace(cost.ran, 1.0);
  if (is_new) at->second = run(*cost.ran, settings_.slowdown).device.seconds() / std::max(cost.alone.seconds(), 1e-12);
  return 1.0 + (at->second - 1.0) * (slowdown - 1.0) / (settings_.slowdown - 1.0);
}

GroupCosts::Pattern GroupCosts::pattern_of(const std::vector<DeviceId>& devices) const {
  const net::Topology& topology = machine_.topology;
  const auto number = [](auto& seen, const auto& value) {
    return seen.try_emplace(value, static_cast<std::int32_t>(seen.size())).first->second;
  };
  std::map<std::int32_t, std::int32_t> hosts;
  std::map<DeviceId, std::int32_t> leaves;
  std::map<std::pair<std::int32_t, std::vector<std::uint32_t>>, std::int32_t> shared[HostPlaces::kRings];
  for (const DeviceId device : devices) number(hosts, topology.host_of(device));
  const bool one_a_host = hosts.size() == devices.size();
  // Inside one host no NIC is used, nor a leaf.
  const std::size_t rings = HostPlaces::kRings - (hosts.size() == 1 ? 1 : 0);
  Pattern pattern;
  for (const DeviceId device : devices) {
    const std::int32_t host = topology.host_of(device);
    auto& [of_host, host_template, leaf, kind, switches, near, far, nics] = pattern.emplace_back();
    of_host = hosts.at(host);
    leaf = number(leaves, machine_.router.leaf_of(device));
    kind = -1;
    if (host < 0) continue;
    const std::uint32_t index = topology.host(static_cast<std::size_t>(host)).host_template;
    const HostPlaces::Standing& place = places_.of(index, topology.local(device));
    host_template = static_cast<std::int32_t>(index);
    const std::array<std::int32_t*, HostPlaces::kRings> numbers{&switches, &near, &far, &nics};
    for (std::size_t ring = 0; place.kind && ring < rings; ++ring) {
      *numbers[ring] = number(shared[ring], std::pair{host, place.rings[ring]});
    }
    // Kinds are numbered from 0 up, single places from -2 down. From other hosts two of these may look the same too.
    std::uint32_t alone = topology.local(device);
    if (one_a_host && topology.kind(device) == net::DeviceKind::kGpu) alone = group_runs_->host_routes()->alike(index, alone);
    kind = place.kind ? *place.kind : -2 - static_cast<std::int32_t>(alone);
  }
  return pattern;
}

GroupCosts::PatternKey GroupCosts::pattern_key(const std::vector<DeviceId>& devices, const coll::CollectiveCall& call) const {
  return {pattern_of(devices), static_cast<int>(call.kind), call.bytes.count(), call.element_size};
}

void GroupCosts::run_ahead(const Program& program, const RunAhead& on) {
  struct Call {
    std::vector<DeviceId> devices;
    coll::CollectiveCall call;
  };
  std::vector<Call> calls;
  std::set<PatternKey> patterns;
  for (const auto& [group, call] : calls_of_large_groups(program, kLargeGroup)) {
    std::vector<DeviceId> devices;
    for (const Rank rank : program.groups[group].ranks) devices.push_back(program.devices[static_cast<std::size_t>(rank)]);
    PatternKey key = pattern_key(devices, call);
    if (run_for_.contains(key) || !patterns.insert(std::move(key)).second) continue;
    calls.push_back({std::move(devices), call});
  }
  std::mutex mutex;
  std::size_t done = 0;
  const auto is_stopped = [&] { return on.until != nullptr && on.until->stopped(); };
  on_threads(calls.size(), on.threads, [&](std::size_t i) {
    if (is_stopped()) return;
    group_runs_->run(calls[i].devices, calls[i].call);
    const std::lock_guard lock{mutex};
    if (on.done) on.done(++done, calls.size());
  });
  if (is_stopped()) return;
  for (const auto& [devices, call] : calls) collective(devices, call);
}

const GroupCost& GroupCosts::collective(const std::vector<DeviceId>& devices, const coll::CollectiveCall& call) {
  const auto [at, is_new] =
      costs_.try_emplace(GroupCall{devices, static_cast<int>(call.kind), call.bytes.count(), call.element_size});
  GroupCost& cost = at->second;
  if (!is_new) return cost;
  const auto [known, is_first] = run_for_.try_emplace(pattern_key(devices, call), &at->first);
  if (!is_first) {
    const GroupCost& other = costs_.at(*known->second);
    net::Footprint loads = loads_like(other, std::get<0>(*known->second), devices, call.kind);
    if (!loads.usages.empty()) {
      copy_time(other, cost);
      cost.loads = std::move(loads);
      return cost;
    }
  }
  const GroupRun& made = run(at->first, 1.0);
  cost.alone = made.device;
  cost.ctas = made.channels;
  cost.ran = &at->first;
  cost.choice = made.choice;
  cost.step = made.step;
  cost.memory_bytes = made.memory_bytes;
  for (const auto& [link, moved] : made.link_bytes) {
    cost.loads.usages.push_back({ResourceId{link.value()}, moved / std::max(1.0, static_cast<double>(call.bytes.count()))});
  }
  return cost;
}

net::Footprint GroupCosts::loads_like(const GroupCost& cost, const std::vector<DeviceId>& of,
                                      const std::vector<DeviceId>& devices, coll::Collective kind) const {
  if (auto moved = moved_loads(machine_.router, places_, cost.loads, of, devices, kind)) return *std::move(moved);
  const net::Topology& topology = machine_.topology;
  // Several of a host share what leaves it. Who of them sends it is not known, so that the group is to be run: no loads.
  std::set<std::int32_t> hosts;
  for (const DeviceId device : devices) hosts.insert(topology.host_of(device));
  if (hosts.size() < devices.size()) return {};
  net::Footprint loads;
  // Adds up what a member sends, from the links that leave its device.
  double sent = 0;
  for (const Usage& usage : cost.loads.usages) {
    const DeviceId source = topology.link(LinkId{usage.resource.value()}).from;
    if (std::ranges::find(of, source) != of.end()) sent += usage.usage;
  }
  sent /= static_cast<double>(of.size());
  const auto add = [&](DeviceId from, DeviceId to, double share) {
    for (const Usage& usage : machine_.router.route(from, to, {}).usages) {
      loads.usages.push_back({usage.resource, usage.usage * share});
    }
  };
  const std::size_t count = devices.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (kind != coll::Collective::kAllToAll) {
      add(devices[i], devices[(i + 1) % count], sent);
      continue;
    }
    for (std::size_t j = 1; j < count; ++j) {
      add(devices[i], devices[(i + j) % count], sent / static_cast<double>(count - 1));
    }
  }
  net::Footprint sum;
  sum.couple(loads);
  return sum;
}

const GroupCost& GroupCosts::message(DeviceId from, DeviceId to, Bytes bytes, bool one_way) {
  const int kind = one_way ? kOneWay : kBothWays;
  const auto [at, is_new] = costs_.try_emplace(GroupCall{{from, to}, kind, bytes.count(), 1});
  if (!is_new) return at->second;
  GroupCost& cost = at->second;
  const auto [known, is_first] = run_for_.try_emplace(PatternKey{pattern_of({from, to}), kind, bytes.count(), 1}, &at->first);
  if (is_first) {
    // A kernel that sends and receives shares its warps between the two; the two directions have links of their own.
    const GroupRun& made = run(at->first, 1.0);
    cost.alone = made.device;
    cost.ctas = made.channels;
    cost.ran = &at->first;
    cost.choice = fmt::format("send {}", made.channels);
    cost.memory_bytes = made.memory_bytes;
  } else {
    copy_time(costs_.at(*known->second), cost);
  }
  cost.loads.usages = machine_.router.route(from, to, {}).usages;
  return cost;
}

}  // namespace weft::work
