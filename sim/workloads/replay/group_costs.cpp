#include "sim/workloads/replay/group_costs.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::work {

GroupCosts::GroupCosts(const net::Topology& topology, const std::string& routing, std::uint64_t seed, const Profile& profile,
                       GroupRunSettings settings)
    : profile_{profile}, settings_{std::move(settings)}, machine_{topology, routing, seed} {}

coll::CollectiveRunner& GroupCosts::runner(const std::vector<DeviceId>& devices) {
  std::unique_ptr<coll::CollectiveRunner>& found = runners_[devices];
  if (found == nullptr) found = std::make_unique<coll::CollectiveRunner>(machine_, profile_, devices);
  return *found;
}

coll::CollectiveResult GroupCosts::run(const std::vector<DeviceId>& devices, const coll::CollectiveCall& call) {
  ++runs_;
  coll::RunOptions options;
  options.grain = settings_.grain;
  options.iterations = 1;
  options.settings = settings_.nccl;
  return runner(devices).run(call, options);
}

const GroupCost& GroupCosts::collective(const std::vector<DeviceId>& devices, const coll::CollectiveCall& call) {
  const auto [at, is_new] =
      costs_.try_emplace(Key{devices, static_cast<int>(call.kind), call.bytes.count(), call.element_size});
  if (!is_new) return at->second;
  const std::size_t links = machine_.topology.link_count();
  bytes_before_.resize(links);
  for (std::size_t i = 0; i < links; ++i) bytes_before_[i] = machine_.fabric.counters(ResourceId::from_index(i)).bytes;
  const coll::CollectiveResult result = run(devices, call);
  GroupCost& cost = at->second;
  cost.alone = result.device;
  cost.ctas = result.choice.channels;
  cost.choice = fmt::format("{}{}{} {}", result.choice.algorithm, result.choice.protocol.empty() ? "" : " ",
                            result.choice.protocol, result.choice.channels);
  const double bytes = std::max(1.0, static_cast<double>(call.bytes.count()));
  for (std::size_t i = 0; i < links; ++i) {
    const ResourceId link = ResourceId::from_index(i);
    const double moved = machine_.fabric.counters(link).bytes - bytes_before_[i];
    if (moved > 0) cost.loads.usages.push_back({link, moved / bytes});
  }
  return cost;
}

const GroupCost& GroupCosts::message(DeviceId from, DeviceId to, Bytes bytes) {
  const auto [at, is_new] = costs_.try_emplace(Key{{from, to}, -1, bytes.count(), 1});
  if (!is_new) return at->second;
  // Both ends send and receive in NCCL's exchange; the two directions have links of their own.
  const coll::CollectiveResult result =
      run({from, to}, {.kind = coll::Collective::kSendRecv, .bytes = bytes, .element_size = 1});
  GroupCost& cost = at->second;
  cost.alone = result.device;
  cost.ctas = result.choice.channels;
  cost.choice = fmt::format("send {}", result.choice.channels);
  cost.loads.usages = machine_.router.route(from, to, {}).usages;
  return cost;
}

}  // namespace weft::work
