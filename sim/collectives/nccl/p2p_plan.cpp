#include "sim/collectives/nccl/p2p_plan.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "sim/collectives/nccl/chunking.h"
#include "sim/collectives/nccl/release_rules.h"
#include "sim/core/error.h"
#include "sim/core/whole_numbers.h"

namespace weft::coll::nccl {
namespace {

// A chunk travels to the kernel as a float of eight bits: a leading one and three more (models/nccl §3.6).
std::int64_t as_eight_bit_float(std::int64_t value) {
  constexpr int kSignificantBits = 4;
  const int width = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value)));
  const int dropped = std::max(0, width - kSignificantBits);
  return value >> dropped << dropped;
}

// The low bits of `value`, as many as `power_of_two` counts, in reverse order.
int reversed_bits(int value, int power_of_two) {
  int mirror = 0;
  for (int bit = 1; bit < power_of_two; bit *= 2) {
    mirror = mirror * 2 + value % 2;
    value /= 2;
  }
  return mirror;
}

}  // namespace

std::vector<int> quadratic_order(int count) {
  const int size = static_cast<int>(std::bit_ceil(static_cast<unsigned>(count)));
  std::vector<int> order;
  int delta = 0;
  for (int k = 0; k < size; ++k) {
    delta = (delta + k) % size;
    if (delta < count) order.push_back(delta);
  }
  return order;
}

int p2p_group_limit(const Settings& settings, NcclVersion version, bool several_nodes) {
  constexpr int kDefault = 8;
  const SendGroups groups = rule(kSendGroups, version);
  if (groups == SendGroups::kNodes || (groups == SendGroups::kEightOverNodes && !several_nodes)) return 0;
  return settings.integer("P2P_SCHEDULE_GROUP_SIZE").value_or(kDefault);
}

int p2p_group_within(const std::vector<std::vector<Rank>>& nodes, int limit) {
  int common = 0;
  for (const std::vector<Rank>& ranks : nodes) common = std::gcd(common, static_cast<int>(ranks.size()));
  WEFT_CHECK(common >= 1);
  int size = limit > 0 ? std::min(common, limit) : common;
  while (common % size != 0) --size;
  return size;
}

int p2p_group_size(const std::vector<std::vector<Rank>>& nodes, const Settings& settings) {
  return p2p_group_within(nodes, p2p_group_limit(settings, settings.version(), nodes.size() > 1));
}

P2pOrder::P2pOrder(const std::vector<std::vector<Rank>>& nodes, int group_size, bool triangular)
    : group_size_{group_size}, one_node_{nodes.size() == 1} {
  WEFT_CHECK(group_size >= 1);
  std::size_t ranks = 0;
  for (const std::vector<Rank>& node : nodes) ranks += node.size();
  group_of_.resize(ranks);
  index_in_.resize(ranks);
  for (const std::vector<Rank>& node : nodes) {
    WEFT_CHECK(node.size() % static_cast<std::size_t>(group_size) == 0);
    for (std::size_t i = 0; i < node.size(); ++i) {
      const int within = static_cast<int>(i) % group_size;
      if (within == 0) groups_.emplace_back();
      groups_.back().push_back(node[i]);
      group_of_[static_cast<std::size_t>(node[i])] = static_cast<int>(groups_.size()) - 1;
      index_in_[static_cast<std::size_t>(node[i])] = within;
    }
  }
  deltas_ = quadratic_order(static_cast<int>(groups_.size()));
  locals_ = quadratic_order(group_size);
  if (!triangular) std::iota(locals_.begin(), locals_.end(), 0);
}

P2pRound P2pOrder::round(Rank rank, int index) const {
  WEFT_CHECK(index >= 0 && index < rounds());
  const int groups = static_cast<int>(groups_.size());
  const int group_delta = deltas_[static_cast<std::size_t>(index / group_size_)];
  const int local_delta = locals_[static_cast<std::size_t>(index % group_size_)];
  const int group = group_of_[static_cast<std::size_t>(rank)];
  const int local = index_in_[static_cast<std::size_t>(rank)];
  const auto peer = [&](int g, int l) {
    return groups_[static_cast<std::size_t>((g + groups) % groups)][static_cast<std::size_t>((l + group_size_) % group_size_)];
  };
  const int batches = (group_size_ + kRoundsPerBatch - 1) / kRoundsPerBatch;
  return {.send_to = peer(group + group_delta, local + local_delta),
          .receive_from = peer(group - group_delta, local - local_delta),
          .base = one_node_ ? index : index / group_size_ * batches + index % group_size_ / kRoundsPerBatch};
}

int p2p_channel(int base, int part, int p2p_channels, bool reverses_rounds) {
  WEFT_CHECK(p2p_channels >= 1 && std::has_single_bit(static_cast<unsigned>(p2p_channels)));
  const int both = reverses_rounds ? reversed_bits(base, p2p_channels) + part : base + reversed_bits(part, p2p_channels);
  return both % p2p_channels;
}

int p2p_part(int base, int channel, int p2p_channels, bool reverses_rounds) {
  const int first = p2p_channel(base, 0, p2p_channels, reverses_rounds);
  const int distance = (channel - first + p2p_channels) % p2p_channels;
  return reverses_rounds ? distance : reversed_bits(distance, p2p_channels);
}

P2pTransfer p2p_transfer(const CommInfo& comm, Bytes bytes, const Settings& settings, bool same_node) {
  constexpr std::int64_t kPartUnit = 4096;
  constexpr std::int64_t kLlThreshold = 16384;
  const std::int64_t size = bytes.count();
  const std::int64_t step = std::min(comm.p2p_chunk, slot_data(settings, Proto::kSimple)).count();
  const bool several = comm.nodes > 1;
  const bool half_step = comm.version >= kFirstHalfStepParts;
  std::int64_t per_peer = std::max(1, comm.p2p_channels_per_peer);
  if (!half_step && !several) {
    while (per_peer > 1 && per_peer * comm.ranks > 4 * comm.p2p_channels) per_peer /= 2;
  }
  std::int64_t channels = 1;
  std::int64_t part = 0;
  const auto cut = [&](std::int64_t unit) {
    const std::int64_t least_part = several && half_step ? unit / 2 : unit / 8;
    const std::int64_t most_part = several ? unit : 32 * unit;
    // With many peers each gets few channels, so that all together fill them once.
    channels = per_peer;
    if (half_step || !several) {
      while (channels > 1 && channels * comm.ranks > comm.p2p_channels) channels /= 2;
    }
    channels = std::clamp<std::int64_t>(ceil_div(size, least_part), 1, channels);
    part = std::max(least_part, ceil_div(size, channels));
    while (part > most_part && channels <= per_peer / 2) {
      channels *= 2;
      part = ceil_div(size, channels);
    }
  };
  // models/nccl §3.6. NCCL 2.28 starts kernels of 1, 2, 4, 8, 16 and 16 blocks for 8, 16, 32, 64, 128 and 512 KiB between
  // 2 x H200, and takes 18.3 us for 512 KiB and 17.0 for 1 MiB around four (LL, then Simple; 32 channels a peer), 17.7 for
  // 128 KiB and 12.3 with 8 and 16 channels (validate/measured/h200x4_full.jsonl).
  const SendLl by = rule(kSendLl, comm.version);
  if (by != SendLl::kByPeerChannels) cut(step);
  const bool has_ll = same_node || settings.integer("ALLOC_P2P_NET_LL_BUFFERS").value_or(0) != 0;
  const std::int64_t threshold = settings.integer("P2P_LL_THRESHOLD").value_or(kLlThreshold);
  const std::int64_t most_in_ll = threshold * (by == SendLl::kByChannelsInUse ? channels : per_peer);
  const bool ll = has_ll && (by == SendLl::kByPart ? std::min(size, part) <= threshold : size <= most_in_ll);
  if (by == SendLl::kByPeerChannels) cut(ll ? 2 * slot_data(settings, Proto::kLl).count() : step);

  P2pTransfer transfer;
  transfer.channels = static_cast<int>(channels);
  transfer.part = Bytes{ceil_div(part, kPartUnit) * kPartUnit};
  if (ll) {
    transfer.protocol = to_string(Proto::kLl);
    transfer.chunk = Bytes{as_eight_bit_float(slot_data(settings, Proto::kLl).count())};
    return transfer;
  }
  transfer.protocol = to_string(Proto::kSimple);
  std::int64_t chunk = step;
  if (!same_node && size < step) {
    chunk = step / 4;
  } else if (!same_node && size < 8 * step) {
    chunk = step / 2;
  }
  transfer.chunk = Bytes{as_eight_bit_float(chunk)};
  return transfer;
}

P2pWarps p2p_warps(int works) {
  WEFT_CHECK(works >= 1 && works <= P2pOrder::kRoundsPerBatch);
  const int warps = kP2pWarps / works;
  const int receive = warps > 4 ? (warps - 1) / 2 : warps / 2;
  return {.send = warps - receive, .receive = receive};
}

}  // namespace weft::coll::nccl
