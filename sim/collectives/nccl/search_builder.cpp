#include "sim/collectives/nccl/search_builder.h"

#include <algorithm>

#include "sim/collectives/nccl/release_rules.h"
#include "sim/collectives/nccl/search.h"

namespace weft::coll::nccl {
namespace {

bool is_tree(GraphPattern pattern) {
  return pattern == GraphPattern::kBalancedTree || pattern == GraphPattern::kTree || pattern == GraphPattern::kSplitTree;
}

// These look for GPUs that can lead a channel, not for an order of GPUs.
bool is_of_heads(GraphPattern pattern) { return pattern == GraphPattern::kNvls || pattern == GraphPattern::kCollNetDirect; }

}  // namespace

ChannelBuilder::ChannelBuilder(const System& system)
    : system_{system}, over_network_{system.options().several_nodes}, residual_{system}, used_(system.gpus().size(), 0) {
  for (const NodeIndex net : system.nets()) {
    const auto gpu = system.local_gpu(net);
    const auto found = gpu ? std::ranges::find(system.gpus(), *gpu) : system.gpus().end();
    nearest_gpu_.push_back(gpu ? static_cast<std::uint32_t>(found - system.gpus().begin()) : kNoGpu);
  }
  for (const NodeIndex gpu : system.gpus()) {
    int bandwidth = -1;
    for (const LinkIndex l : system.node(gpu).links) {
      const Link& link = system.link(l);
      if (link.type != LinkType::kPci || bandwidth != -1) continue;
      bandwidth = static_cast<int>(std::min(link.bandwidth, system.link(link.reverse).bandwidth));
    }
    pci_bandwidth_.push_back(bandwidth);
  }
}

int ChannelBuilder::run(Draft& attempt, Draft& best, int budget) {
  attempt_ = &attempt;
  best_ = &best;
  attempt.channel_count = 0;
  attempt.channels.resize(static_cast<std::size_t>(attempt.max_channels));
  for (DraftChannel& channel : attempt.channels) channel.gpus.resize(system_.gpus().size());
  extend(budget);
  return budget;
}

void ChannelBuilder::extend(int& budget) {
  Return back;
  if (over_network_) {
    back.to_net = attempt_->pattern == GraphPattern::kRing        ? gpu_count() - 1
                  : attempt_->pattern == GraphPattern::kSplitTree ? 1
                                                                  : 0;
    extend_from_nics(back, budget);
  } else {
    if (attempt_->pattern == GraphPattern::kRing) back.to_first = gpu_count() - 1;
    extend_within_node(back, budget);
  }
}

void ChannelBuilder::extend_within_node(const Return& back, int& budget) {
  const int c = attempt_->channel_count;
  if (attempt_->pattern == GraphPattern::kNvls) {
    enter(0, true, static_cast<std::uint32_t>(c), 0, back, Order::kFree, budget);
    return;
  }
  // The order of the indices sets a reference; what came before is worth repeating.
  if (c == 0) {
    enter(0, true, 0, 0, back, Order::kIndex, budget);
  } else {
    enter(0, true, channel(1).gpus.front(), 0, back, Order::kReplay, budget);
  }
  if (attempt_->same_channels && c != 0) return;
  for (std::uint32_t gpu = 0; gpu < used_.size(); ++gpu) enter(0, true, gpu, 0, back, Order::kFree, budget);
}

void ChannelBuilder::extend_from_nics(const Return& back, int& budget) {
  // NCCL cuts a NIC's share down to whole GB/s.
  const auto share = static_cast<float>(static_cast<int>(attempt_->bandwidth_inter));
  const std::vector<std::uint32_t>& nics = nics_for(kNoGpu, attempt_->type_inter);
  const auto c = static_cast<std::size_t>(attempt_->channel_count);
  for (std::size_t i = 0; i < nics.size(); ++i) {
    const std::uint32_t nic = nics[(c + i) % nics.size()];
    const Node& net = system_.node(net_node(nic));
    if (attempt_->collnet && !net.collnet) continue;
    if (residual_.nic(net_node(nic)) < share) continue;
    // The second ring of a crossing pair begins where the first ended.
    if (attempt_->pattern == GraphPattern::kRing && attempt_->cross_nic == 2 && c % 2 == 1 && nic != channel(1).net_out)
      continue;
    channel().net_in = nic;
    attempt_->latency_inter = net.latency_us;
    residual_.take_nic(net_node(nic), share);
    bool found = false;
    if (is_of_heads(attempt_->pattern)) {
      found = start_head(nic, nics.size(), back, budget);
    } else {
      start_at_nic(nic, back, budget);
    }
    residual_.take_nic(net_node(nic), -share);
    if (found) break;
  }
}

bool ChannelBuilder::start_head(std::uint32_t nic, std::size_t nic_count, const Return& back, int& budget) {
  const std::uint32_t gpu = nearest_gpu_[nic];
  if (static_cast<std::size_t>(attempt_->channel_count) >= nic_count || gpu == kNoGpu) return false;
  for (int c = 0; c < attempt_->channel_count; ++c) {
    if (attempt_->channels[static_cast<std::size_t>(c)].gpus.front() == gpu) return false;
  }
  enter(net_node(nic), false, gpu, 0, back, Order::kFree, budget);
  return true;
}

void ChannelBuilder::start_at_nic(std::uint32_t nic, const Return& back, int& budget) {
  const bool newer = system_.options().version >= kFirstByNearestGpu;
  const bool first = attempt_->channel_count == 0;
  if (!first && (attempt_->same_channels || !newer)) {
    enter(net_node(nic), false, channel(1).gpus.front(), 0, back, Order::kReplay, budget);
  }
  if (!first && attempt_->same_channels) return;
  if (first && system_.of_type(NodeType::kNvs).empty()) {
    // A reference that does not count against the budget, but must not run for long.
    int own_budget = kStepsInIndexOrder;
    enter(net_node(nic), false, 0, 0, back, Order::kIndex, own_budget);
    if (own_budget == kPerfect) budget = kPerfect;
  }
  start_at_nearest(nic, back, budget);
}

void ChannelBuilder::start_at_nearest(std::uint32_t nic, const Return& back, int& budget) {
  const NodeIndex net = net_node(nic);
  const std::uint32_t count = static_cast<std::uint32_t>(used_.size());
  if (system_.options().version >= kFirstByLocalGpus) {
    const std::uint32_t nearest = system_.options().version >= kFirstByNearestGpu ? nearest_gpu_[nic] : kNoGpu;
    if (nearest != kNoGpu) enter(net, false, nearest, 0, back, Order::kFree, budget);
    const std::vector<NodeIndex> local = system_.local(net, NodeType::kGpu);
    for (std::uint32_t gpu = 0; gpu < count; ++gpu) {
      if (gpu == nearest || std::ranges::find(local, gpu_node(gpu)) == local.end()) continue;
      enter(net, false, gpu, 0, back, Order::kFree, budget);
    }
    return;
  }
  float most = 0;
  std::size_t least_hops = 0;
  for (const NodeIndex gpu : system_.gpus()) {
    const Path& path = system_.path(net, gpu);
    if (path.bandwidth > most || (path.bandwidth == most && !path.links.empty() && path.links.size() < least_hops)) {
      most = path.bandwidth;
      least_hops = path.links.size();
    }
  }
  if (most < static_cast<float>(static_cast<int>(attempt_->bandwidth_inter))) return;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t gpu = (static_cast<std::uint32_t>(attempt_->channel_count) + i) % count;
    const Path& path = system_.path(net, gpu_node(gpu));
    if (path.bandwidth == most && path.links.size() == least_hops) enter(net, false, gpu, 0, back, Order::kFree, budget);
  }
}

void ChannelBuilder::enter(std::uint32_t from_node, bool anywhere, std::uint32_t gpu, int step, const Return& back, Order order,
                           int& budget) {
  const std::uint64_t bit = std::uint64_t{1} << attempt_->channel_count;
  if (!anywhere && !follow(from_node, gpu_node(gpu), 1)) return;
  used_[gpu] ^= bit;
  visit(gpu, step, back, order, budget);
  used_[gpu] ^= bit;
  if (!anywhere) follow(from_node, gpu_node(gpu), -1);
}

void ChannelBuilder::visit(std::uint32_t gpu, int step, const Return& back, Order order, int& budget) {
  if (budget <= 0) return;
  --budget;
  if (step == gpu_count()) {
    complete(budget);
    return;
  }
  channel().gpus[static_cast<std::size_t>(step)] = gpu;
  if (step == back.to_net) {
    leave_to_nic(gpu, step, back, order, budget);
  } else if (attempt_->pattern == GraphPattern::kNvls) {
    reach_through_switch(gpu, budget);
  } else if (attempt_->pattern == GraphPattern::kCollNetDirect) {
    reach_all_peers(gpu, budget);
  } else if (step < gpu_count() - 1) {
    const auto after = static_cast<std::size_t>(step) + 1;
    if (order == Order::kFree) {
      const Closeness closeness = back.to_net == -1         ? Closeness::kIgnored
                                  : back.to_net == step + 1 ? Closeness::kClosestFirst
                                                            : Closeness::kClosestLast;
      for (const std::uint32_t next : next_gpus(gpu, closeness)) {
        enter(gpu_node(gpu), false, next, step + 1, back, order, budget);
      }
    } else {
      const std::uint32_t next = order == Order::kIndex ? static_cast<std::uint32_t>(after) : channel(1).gpus[after];
      enter(gpu_node(gpu), false, next, step + 1, back, order, budget);
    }
  } else if (step == back.to_first) {
    const NodeIndex first = gpu_node(channel().gpus.front());
    if (!follow(gpu_node(gpu), first, 1)) return;
    visit(channel().gpus.front(), step + 1, {.to_net = back.to_net, .to_first = -1}, order, budget);
    follow(gpu_node(gpu), first, -1);
  } else {
    visit(gpu, gpu_count(), {}, order, budget);
  }
}

void ChannelBuilder::complete(int& budget) {
  ++attempt_->channel_count;
  if (better()) {
    *best_ = *attempt_;
    if (attempt_->channel_count == attempt_->max_channels) budget = kPerfect;
  }
  if (attempt_->channel_count < attempt_->max_channels) extend(budget);
  --attempt_->channel_count;
}

bool ChannelBuilder::better() const {
  const Draft& a = *attempt_;
  const Draft& b = *best_;
  if (a.channel_count < a.min_channels) return false;
  const auto count = static_cast<float>(a.channel_count);
  const auto best_count = static_cast<float>(b.channel_count);
  const NcclVersion version = system_.options().version;
  if (a.pattern == GraphPattern::kNvls) {
    // A channel is a GPU that reduces: the more the better.
    return (a.channel_count > b.channel_count && a.channel_count <= gpu_count()) ||
           (version >= kFirstWithNvlsSpeeds && count * a.bandwidth_inter > best_count * b.bandwidth_inter);
  }
  const float total = count * a.bandwidth_intra;
  float best_total = best_count * b.bandwidth_intra;
  // Where channels cross as they like they have to be 15 % better.
  if (rule(kCrossing, version) == 1) best_total *= static_cast<float>(1.0 - (b.cross_nic - a.cross_nic) * .15);
  if (total != best_total) return total > best_total;
  return a.pattern == b.pattern && a.cross_nic == b.cross_nic && a.hops < b.hops;
}

bool ChannelBuilder::may_leave_by(std::uint32_t nic, int step) const {
  const Node& start = system_.node(net_node(channel().net_in));
  const Node& net = system_.node(net_node(nic));
  if (net.plane && start.plane && net.plane != start.plane) return false;
  const GraphPattern pattern = attempt_->pattern;
  if (pattern == GraphPattern::kTree && nic != channel().net_in) return false;  // trees are symmetric
  if (pattern == GraphPattern::kRing && attempt_->cross_nic == 2) {
    if (attempt_->channel_count % 2 == 1 && nic != channel(1).net_in) return false;
  } else if (attempt_->cross_nic == 0) {
    if (net.rail && start.rail) {
      if (net.rail != start.rail) return false;
    } else if (net.asic != start.asic || net.port != start.port) {
      return false;
    }
  }
  return pattern != GraphPattern::kBalancedTree || step == 0 || nic == channel().net_out;
}

void ChannelBuilder::leave_to_nic(std::uint32_t gpu, int step, const Return& back, Order order, int& budget) {
  // A balanced tree's first two GPUs share the way to the NIC.
  const bool balanced = attempt_->pattern == GraphPattern::kBalancedTree;
  const float bandwidth = attempt_->bandwidth_inter;
  Return then{.to_net = balanced && step == 0 ? 1 : -1, .to_first = back.to_first};
  for (const std::uint32_t nic : nics_for(gpu, attempt_->type_inter)) {
    if (!may_leave_by(nic, step)) continue;
    if (balanced) attempt_->bandwidth_inter = bandwidth / 2;
    const bool reached = follow(gpu_node(gpu), net_node(nic), 1);
    attempt_->bandwidth_inter = bandwidth;
    if (!reached) continue;
    channel().net_out = nic;
    visit(gpu, step, then, order, budget);
    if (balanced) attempt_->bandwidth_inter = bandwidth / 2;
    follow(gpu_node(gpu), net_node(nic), -1);
    attempt_->bandwidth_inter = bandwidth;
  }
}

void ChannelBuilder::reach_through_switch(std::uint32_t head, int& budget) {
  const NodeIndex nvs = system_.of_type(NodeType::kNvs).front();
  const auto count = static_cast<std::uint32_t>(used_.size());
  // The head moves its own data and the reduced ones.
  const auto share = [head](std::uint32_t gpu) { return gpu == head ? 2.0F : 1.0F; };
  std::uint32_t down = 0;
  while (down < count && follow(nvs, gpu_node(down), share(down))) ++down;
  if (down == count) {
    std::uint32_t up = 0;
    while (up < count && follow(gpu_node(up), nvs, share(up))) ++up;
    if (up == count) visit(kNoGpu, gpu_count(), {}, Order::kFree, budget);
    while (up > 0) {
      --up;
      follow(gpu_node(up), nvs, -share(up));
    }
  }
  while (down > 0) {
    --down;
    follow(nvs, gpu_node(down), -share(down));
  }
}

void ChannelBuilder::reach_all_peers(std::uint32_t head, int& budget) {
  const auto count = static_cast<std::uint32_t>(used_.size());
  const auto share = static_cast<float>(1.0 / static_cast<double>(static_cast<float>(gpu_count() - 1)));
  std::uint32_t out = 0;
  while (out < count && follow(gpu_node(head), gpu_node(out), share)) ++out;
  if (out == count) {
    std::uint32_t in = 0;
    while (in < count && follow(gpu_node(in), gpu_node(head), share)) ++in;
    if (in == count) {
      std::size_t step = 1;
      for (std::uint32_t gpu = 0; gpu < count; ++gpu) {
        if (gpu != head) channel().gpus[step++] = gpu;
      }
      visit(kNoGpu, gpu_count(), {}, Order::kFree, budget);
    }
    while (in > 0) {
      --in;
      follow(gpu_node(in), gpu_node(head), -share);
    }
  }
  while (out > 0) {
    --out;
    follow(gpu_node(head), gpu_node(out), -share);
  }
}

bool ChannelBuilder::follow(NodeIndex from, NodeIndex to, float share) {
  const auto within = [&](NodeIndex node) {
    const NodeType type = system_.node(node).type;
    return type == NodeType::kGpu || type == NodeType::kNvs;
  };
  const bool intra = within(from) && within(to);
  const Path& path = system_.path(from, to);
  if (path.type >= PathClass::kDis) return false;
  // Classes count for whole channels only.
  if (share == 1) {
    const PathClass limit = intra ? attempt_->type_intra : attempt_->type_inter;
    if (path.type > limit) return false;
    if (is_tree(attempt_->pattern) && system_.path(to, from).type > limit) return false;
  }
  if (!residual_.take(from, to, (intra ? attempt_->bandwidth_intra : attempt_->bandwidth_inter) * share)) return false;
  attempt_->hops = static_cast<int>(static_cast<float>(attempt_->hops) + share * static_cast<float>(hops(from, to)));
  return true;
}

int ChannelBuilder::hops(NodeIndex from, NodeIndex to) const {
  const Path& path = system_.path(from, to);
  auto count = static_cast<int>(path.links.size());
  if (system_.options().version < kFirstWithDeviceNodes || count == 0) return count;
  // A GPU hangs from the node of its device, and a relay is entered and left again.
  if (system_.node(from).type == NodeType::kGpu) ++count;
  if (system_.node(to).type == NodeType::kGpu) ++count;
  return path.type == PathClass::kPxn ? count + 2 : count;
}

}  // namespace weft::coll::nccl
