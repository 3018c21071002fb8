// In which order NCCL's search tries GPUs and NICs: it decides what is found before the budget ends, and which of equals wins.
#include <algorithm>
#include <tuple>

#include "sim/collectives/nccl/release_rules.h"
#include "sim/collectives/nccl/search.h"
#include "sim/collectives/nccl/search_builder.h"

namespace weft::coll::nccl {
namespace {

struct Candidate {
  std::uint32_t gpu = 0;
  int distance = 0;  // in index, from the GPU before; the least important
  int hops = 0;
  int bandwidth = 0;
  int net_hops = 0;
  int pci_bandwidth = 0;
  int net_bandwidth = 0;  // the most important

  // NCCL compares whole GB/s.
  [[nodiscard]] auto rank() const { return std::tuple{-net_bandwidth, -pci_bandwidth, net_hops, -bandwidth, hops, distance}; }
};

void append_new(std::vector<std::uint32_t>& list, std::uint32_t value) {
  if (std::ranges::find(list, value) == list.end()) list.push_back(value);
}

}  // namespace

std::vector<std::uint32_t> ChannelBuilder::next_gpus(std::uint32_t gpu, Closeness to_nic) const {
  const NcclVersion version = system_.options().version;
  const bool has_switch = !system_.of_type(NodeType::kNvs).empty();
  if (has_switch && version >= kFirstNeighboursOnly) return free_neighbours(gpu);
  const std::uint64_t bit = std::uint64_t{1} << attempt_->channel_count;
  const auto count = static_cast<std::uint32_t>(used_.size());
  std::vector<Candidate> candidates;
  for (std::uint32_t i = 1; i < count; ++i) {
    const std::uint32_t peer = (gpu + i) % count;
    const Path& path = system_.path(gpu_node(gpu), gpu_node(peer));
    if (path.links.empty() || (used_[peer] & bit) != 0) continue;
    Candidate candidate{.gpu = peer, .distance = static_cast<int>(i)};
    candidate.hops = static_cast<int>(path.links.size());
    candidate.bandwidth = static_cast<int>(path.bandwidth);
    if (to_nic != Closeness::kIgnored) {
      const Path& from_net = system_.path(net_node(channel().net_in), gpu_node(peer));
      candidate.net_hops = static_cast<int>(from_net.links.size());
      candidate.pci_bandwidth = pci_bandwidth_[peer];
      candidate.net_bandwidth = static_cast<int>(from_net.bandwidth);
    }
    candidates.push_back(candidate);
  }
  std::ranges::sort(candidates, {}, &Candidate::rank);
  const bool alike = std::ranges::all_of(candidates, [&](const Candidate& c) {
    return c.hops == candidates.front().hops && c.bandwidth == candidates.front().bandwidth;
  });
  // Where NVLink does not tell them apart, the closest to the NIC is kept for the end.
  if (to_nic == Closeness::kClosestLast && alike) std::ranges::reverse(candidates);
  std::vector<std::uint32_t> next;
  if (has_switch && version >= kFirstAlongIndices) next = free_neighbours(gpu);
  for (const Candidate& candidate : candidates) append_new(next, candidate.gpu);
  return next;
}

// An NVSwitch does best with few peers a GPU: only the neighbours in index are tried.
std::vector<std::uint32_t> ChannelBuilder::free_neighbours(std::uint32_t gpu) const {
  const std::uint64_t bit = std::uint64_t{1} << attempt_->channel_count;
  const auto count = static_cast<std::uint32_t>(used_.size());
  const std::uint32_t before = (gpu + count - 1) % count;
  const std::uint32_t after = (gpu + 1) % count;
  std::vector<std::uint32_t> order;
  switch (attempt_->pattern) {
    case GraphPattern::kRing:
      order = {before, after};
      break;
    case GraphPattern::kBalancedTree:
    case GraphPattern::kSplitTree:
      order = {after, before};
      break;
    default:
      order = {after};
  }
  if (before == after) order.resize(1);
  std::erase_if(order, [&](std::uint32_t peer) {
    return (used_[peer] & bit) != 0 || system_.path(gpu_node(gpu), gpu_node(peer)).links.empty();
  });
  return order;
}

const std::vector<std::uint32_t>& ChannelBuilder::nics_for(std::uint32_t gpu, PathClass limit) {
  const auto [entry, is_new] = nic_orders_.try_emplace({gpu, limit});
  std::vector<std::uint32_t>& list = entry->second;
  if (!is_new) return list;
  const int channels = max_channels(system_.options().version);
  const auto first_gpu = gpu == kNoGpu ? 0U : gpu;
  const auto end_gpu = gpu == kNoGpu ? static_cast<std::uint32_t>(used_.size()) : gpu + 1;

  // The NICs of each GPU's own, channel by channel until they repeat.
  std::vector<std::vector<std::uint32_t>> own;
  for (std::uint32_t g = first_gpu; g < end_gpu; ++g) {
    own.emplace_back();
    for (int c = 0; c < channels; ++c) {
      const auto net = system_.local_net(gpu_node(g), c);
      if (!net) break;
      const auto nic = static_cast<std::uint32_t>(std::ranges::find(system_.nets(), *net) - system_.nets().begin());
      if (!own.back().empty() && own.back().front() == nic) break;
      own.back().push_back(nic);
    }
  }
  const bool several_hosts = std::ranges::any_of(
      system_.gpus(), [&](NodeIndex g) { return system_.node(g).system != system_.node(system_.gpus().front()).system; });
  if (several_hosts && system_.options().version >= kFirstToSpreadHosts) {
    // One NIC of every GPU first, to spread the channels over the hosts of an NVLink domain.
    for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
      for (const std::vector<std::uint32_t>& nics : own) {
        if (c < nics.size()) append_new(list, nics[c]);
      }
    }
  } else {
    for (const std::vector<std::uint32_t>& nics : own) {
      for (const std::uint32_t nic : nics) append_new(list, nic);
    }
  }

  const auto reachable = std::min(system_.nets().size(), static_cast<std::size_t>(channels));
  for (int type = 0; type <= static_cast<int>(limit); ++type) {
    for (std::uint32_t g = first_gpu; g < end_gpu; ++g) {
      for (std::uint32_t nic = 0; nic < reachable; ++nic) {
        if (static_cast<int>(system_.path(gpu_node(g), net_node(nic)).type) == type) append_new(list, nic);
      }
    }
  }
  return list;
}

}  // namespace weft::coll::nccl
