// Sends and receives in NCCL's order: all-to-all, send/recv, gather and scatter (models/nccl §3.6).
//
// Every rank goes through the same n rounds (nccl/p2p_plan.h): in each it sends to one rank and receives from another, and in
// round 0 it copies its own block. A transfer is cut into parts, each on a channel of its own. A channel, one CTA, works on a
// batch of up to eight rounds at a time, each with its own warps for sending and for receiving: lanes 2s and 2s + 1 run the
// rounds that are s modulo 8, one after another. Messages are chunks of at most `choice.chunk`; `choice.shares` is not used.
#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <vector>

#include "sim/collectives/algorithms/sends.h"
#include "sim/collectives/algorithms/steps.h"
#include "sim/collectives/builtin.h"
#include "sim/collectives/nccl/p2p_plan.h"
#include "sim/core/error.h"
#include "sim/core/whole_numbers.h"

namespace weft::coll {
namespace {

constexpr int kSlots = nccl::P2pOrder::kRoundsPerBatch;
constexpr std::int64_t kPartUnit = 4096;

// Which rounds of a rank have something to do.
constexpr int kNone = -1;
constexpr int kAll = -2;
struct P2pRounds {
  int send = kNone;     // the copy of round 0 among them
  int receive = kNone;  // never round 0
};

std::vector<std::vector<Rank>> ranks_by_node(const Communicator& communicator) {
  std::vector<std::vector<Rank>> nodes;
  for (int node = 0; node < communicator.nodes(); ++node)
    nodes.emplace_back(communicator.node_ranks(node).begin(), communicator.node_ranks(node).end());
  return nodes;
}

int group_of(const Communicator& communicator, const Choice& choice) {
  const std::vector<std::vector<Rank>> nodes = ranks_by_node(communicator);
  return choice.transfer_group < 0 ? nccl::p2p_group_size(nodes, {}) : nccl::p2p_group_within(nodes, choice.transfer_group);
}

class P2pSchedule final : public Schedule {
 public:
  P2pSchedule(const Communicator& communicator, const CollectiveCall& call, const Choice& choice)
      : kind_{call.kind},
        one_way_{call.one_way},
        n_{communicator.ranks()},
        root_{call.root},
        channels_{choice.channels},
        used_channels_{static_cast<int>(std::bit_floor(static_cast<unsigned>(choice.channels)))},
        order_{ranks_by_node(communicator), group_of(communicator, choice), choice.triangular_peers},
        reverses_rounds_{choice.reverses_rounds},
        messages_{call, n_} {
    WEFT_CHECK(choice.channels >= 1 && choice.channels <= communicator.channels());
    WEFT_CHECK(root_ >= 0 && root_ < n_);
    WEFT_CHECK(!one_way_ || (kind_ == Collective::kSendRecv && n_ == 2));
    cut_messages(choice);
    for (int round = 0; round < n_; ++round) bases_.push_back(order_.round(0, round).base);
    fill_lanes();
    find_rounds();
    if (!messages_.is_even()) find_flows();
  }

  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] int channels() const override { return channels_; }
  [[nodiscard]] int lanes(Rank, int) const override { return 2 * std::min(kSlots, n_); }
  [[nodiscard]] Nets nets() const override { return Nets::kSends; }

  // A channel shares its warps out evenly over the transfers of a batch, and each between what it sends and what it receives.
  [[nodiscard]] double warp_share(Rank rank, int channel, int lane) const override {
    if (channel >= used_channels_) return 1.0;
    int transfers = 1;
    if (rounds(rank).send == kAll || rounds(rank).receive == kAll) {
      transfers = 0;
      for (int slot = 0; slot < kSlots; ++slot) {
        const bool works = lane_items(rank, channel, 2 * slot).steps > 0 || lane_items(rank, channel, 2 * slot + 1).steps > 0;
        if (works) ++transfers;
      }
    }
    const nccl::P2pWarps warps = nccl::p2p_warps(std::max(transfers, 1));
    const bool copies = lane < 2 && n_ <= kSlots;
    const bool both = (kind_ == Collective::kSendRecv && !one_way_) || (kind_ == Collective::kAllToAll && !copies);
    const int own = lane % 2 == 1 ? warps.receive : warps.send;
    return static_cast<double>(both ? own : warps.send + warps.receive) / nccl::kP2pWarps;
  }

  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override {
    const bool receives = lane % 2 == 1;
    const int active = receives ? rounds(rank).receive : rounds(rank).send;
    if (active == kNone || channel >= used_channels_) return 0;
    if (active == kAll) {
      const LaneItems& items = lane_items(rank, channel, lane);
      return items.steps - (receives ? items.copy_steps : 0);
    }
    const int part = part_of(active, channel);
    return active % kSlots == lane / 2 && part < cuts_[0].count() ? cuts_[0].chunks(part) : 0;
  }

  // O(log n) where a rank serves all others.
  [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t index) const override {
    const bool receives = lane % 2 == 1;
    int round = receives ? rounds(rank).receive : rounds(rank).send;
    if (round == kAll) {
      const LaneItems& items = lane_items(rank, channel, lane);
      if (receives) index += items.copy_steps;
      const auto after = std::upper_bound(items.items.begin(), items.items.end(), index,
                                          [](std::int64_t at, const Item& item) { return at < item.first_step; });
      round = (after - 1)->round;
      index -= (after - 1)->first_step;
    }
    const nccl::P2pRound peers = order_.round(rank, round);
    const bool copies = peers.send_to == rank;
    const Cut& cut = receives ? cut_of(peers.receive_from, rank) : cut_of(rank, peers.send_to);
    const Part chunk = chunk_of(cut.parts[static_cast<std::size_t>(part_of(round, channel))], 0, cut.chunk, index);
    Step step = step_of(chunk.bytes);
    if (!receives) {
      read_from(step, Buffer::kInput, messages_.input_offset(rank, peers.send_to) + chunk.offset);
      if (!copies) step.send_to = peers.send_to;
    } else {
      step.receive_from = peers.receive_from;
    }
    if (receives || copies) keep_at(step, Buffer::kOutput, messages_.output_offset(peers.receive_from, rank) + chunk.offset);
    return step;
  }

  // Only the last part may have fewer than the others.
  [[nodiscard]] std::int64_t loops(int channel) const override {
    const Cut& cut = cuts_[0];
    if (!messages_.is_even() || channel >= used_channels_ || cut.count() == 0) return 0;
    return cut.is_long(cut.count() - 1) ? cut.chunks(cut.count() - 1) : cut.chunks(0);
  }
  [[nodiscard]] std::unique_ptr<Schedule> with_fewer_loops(std::int64_t fewer) const override {
    auto shorter = std::make_unique<P2pSchedule>(*this);
    Cut& cut = shorter->cuts_[0];
    for (int part = 0; part < cut.count(); ++part) {
      if (cuts_[0].is_long(part)) cut.parts[static_cast<std::size_t>(part)].bytes -= fewer * cut.chunk;
    }
    shorter->fill_lanes();
    return shorter;
  }

  // One flow per transfer and part; parts one after another, transfers in order of sender and round.
  [[nodiscard]] bool has_fluid_flows() const override { return true; }
  [[nodiscard]] std::int64_t fluid_flow_count() const override {
    return messages_.is_even() ? most_parts() * transfers() : static_cast<std::int64_t>(flows_.size());
  }

  [[nodiscard]] FluidFlow fluid_flow(std::int64_t index) const override {
    WEFT_CHECK(n_ > 1);
    return flow_of(messages_.is_even() ? index : flows_[static_cast<std::size_t>(index)]);
  }

 private:
  // One message, cut: its parts, and the bytes of their chunks.
  struct Cut {
    std::vector<Part> parts;
    std::int64_t chunk = kCutUnit;
    [[nodiscard]] int count() const { return static_cast<int>(parts.size()); }
    [[nodiscard]] std::int64_t chunks(int part) const { return ceil_div(parts[static_cast<std::size_t>(part)].bytes, chunk); }
    [[nodiscard]] bool is_long(int part) const { return 2 * chunks(part) > chunks(0); }
  };
  // One part of one round, in a lane that serves all rounds.
  struct Item {
    int round = 0;
    std::int64_t first_step = 0;
  };
  struct LaneItems {
    std::vector<Item> items;
    std::int64_t steps = 0;
    std::int64_t copy_steps = 0;  // of round 0, which come first, where a receiving lane has to leave them out
  };

  // Part and transfer by their number, whether they have data or not; then the flow is of no bytes.
  [[nodiscard]] FluidFlow flow_of(std::int64_t index) const {
    const int part = static_cast<int>(index / transfers());
    const auto transfer = static_cast<int>(index % transfers());
    Rank rank = root_;
    int round = transfer + 1;
    if (kind_ == Collective::kAllToAll) {
      rank = transfer / (n_ - 1);
      round = transfer % (n_ - 1) + 1;
    } else if (kind_ == Collective::kSendRecv) {
      rank = transfer;
      round = rounds(rank).send;
    }
    const nccl::P2pRound peers = order_.round(rank, round);
    FluidFlow flow;
    flow.channel = nccl::p2p_channel(bases_[static_cast<std::size_t>(round)], part, used_channels_, reverses_rounds_);
    const Rank sender = kind_ == Collective::kGather ? peers.receive_from : rank;
    const Rank receiver = kind_ == Collective::kGather ? rank : peers.send_to;
    const Cut& cut = cut_of(sender, receiver);
    if (part >= cut.count()) return flow;
    flow.bytes = Bytes{cut.parts[static_cast<std::size_t>(part)].bytes};
    flow.step_bytes = Bytes{std::min(cut.chunk, flow.bytes.count())};
    flow.serial_steps = cut.chunks(part);
    const int slot = round % kSlots;
    const bool in_turn = rounds(sender).send == kAll;  // a root that receives is limited by its links, not by its lanes
    flow.edges = {{.from = sender,
                   .to = receiver,
                   .work = (in_turn ? transfers_of(sender, flow.channel, slot) : 1) * flow.step_bytes,
                   .share = warp_share(sender, flow.channel, 2 * slot)}};
    return flow;
  }

  void cut_messages(const Choice& choice) {
    if (messages_.is_even()) {
      cuts_ = {cut({.bytes = messages_.largest(),
                    .channels = choice.channels_per_transfer,
                    .part = choice.transfer_part,
                    .chunk = choice.chunk})};
      return;
    }
    std::map<std::int64_t, std::uint32_t> known;
    for (Rank from = 0; from < n_; ++from) {
      for (Rank to = 0; to < n_; ++to) {
        const std::int64_t bytes = messages_.bytes(from, to);
        const auto [found, is_new] = known.try_emplace(bytes, static_cast<std::uint32_t>(cuts_.size()));
        cut_numbers_.push_back(found->second);
        if (!is_new) continue;
        const auto told = std::ranges::lower_bound(choice.transfer_cuts, bytes, {}, &TransferCut::bytes);
        const bool is_told = told != choice.transfer_cuts.end() && told->bytes == bytes;
        cuts_.push_back(cut(
            is_told ? *told : TransferCut{.bytes = bytes, .channels = choice.channels_per_transfer, .chunk = choice.chunk}));
      }
    }
  }

  [[nodiscard]] Cut cut(const TransferCut& how) const {
    Cut made;
    const int parts = std::clamp(how.channels, 1, used_channels_);
    const std::int64_t each =
        how.part > Bytes{0} ? how.part.count() : ceil_div(ceil_div(how.bytes, parts), kPartUnit) * kPartUnit;
    for (std::int64_t offset = 0; offset < how.bytes; offset += each)
      made.parts.push_back({offset, std::min(each, how.bytes - offset)});
    WEFT_CHECK(made.count() <= parts);
    made.chunk = std::max(how.chunk.count() / kCutUnit, std::int64_t{1}) * kCutUnit;
    return made;
  }
  [[nodiscard]] const Cut& cut_of(Rank from, Rank to) const {
    return messages_.is_even() ? cuts_[0] : cuts_[cut_numbers_[flat_index(from, n_, to)]];
  }

  // Where all messages are alike, lanes of all ranks are, and what a lane sends its neighbour receives, but for round 0.
  void fill_lanes() {
    const int tables = messages_.is_even() ? 1 : 2 * n_;
    lanes_.clear();
    lanes_.resize(flat_index(tables, used_channels_, 0) * kSlots);
    for (int table = 0; table < tables; ++table) {
      const Rank rank = table / 2;
      const bool receives = table % 2 == 1;
      for (int round = receives ? 1 : 0; round < n_; ++round) {
        const nccl::P2pRound peers = order_.round(rank, round);
        const Cut& cut = receives ? cut_of(peers.receive_from, rank) : cut_of(rank, peers.send_to);
        for (int part = 0; part < cut.count(); ++part) {
          const int channel =
              nccl::p2p_channel(bases_[static_cast<std::size_t>(round)], part, used_channels_, reverses_rounds_);
          LaneItems& lane = lanes_[lane_number(table, channel, round % kSlots)];
          lane.items.push_back({.round = round, .first_step = lane.steps});
          lane.steps += cut.chunks(part);
          if (round == 0 && messages_.is_even()) lane.copy_steps = lane.steps;
        }
      }
    }
  }

  void find_flows() {
    for (std::int64_t index = 0; index < most_parts() * transfers(); ++index) {
      if (flow_of(index).bytes > Bytes{}) flows_.push_back(index);
    }
  }

  void find_rounds() {
    rounds_.resize(static_cast<std::size_t>(n_));
    for (Rank rank = 0; rank < n_; ++rank) {
      P2pRounds& rounds = rounds_[static_cast<std::size_t>(rank)];
      const bool root = rank == root_;
      if (kind_ == Collective::kAllToAll) rounds = {.send = kAll, .receive = kAll};
      if (kind_ == Collective::kGather && root) rounds = {.send = 0, .receive = kAll};
      if (kind_ == Collective::kScatter && root) rounds = {.send = kAll, .receive = kNone};
      if (kind_ != Collective::kSendRecv) continue;
      rounds.send = 0;
      while (order_.round(rank, rounds.send).send_to != (rank + 1) % n_) ++rounds.send;
    }
    for (int round = 1; round < n_; ++round) {
      const nccl::P2pRound peers = order_.round(root_, round);
      if (kind_ == Collective::kGather) rounds_[static_cast<std::size_t>(peers.receive_from)].send = round;
      if (kind_ == Collective::kScatter) rounds_[static_cast<std::size_t>(peers.send_to)].receive = round;
    }
    if (kind_ != Collective::kSendRecv || n_ == 1) return;
    for (Rank rank = 0; rank < n_; ++rank)
      rounds_[static_cast<std::size_t>((rank + 1) % n_)].receive = rounds_[static_cast<std::size_t>(rank)].send;
    if (one_way_) rounds_[0].receive = rounds_[1].send = kNone;
  }

  [[nodiscard]] const P2pRounds& rounds(Rank rank) const { return rounds_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::size_t lane_number(int table, int channel, int slot) const {
    return flat_index(flat_index(table, used_channels_, channel), kSlots, slot);
  }
  [[nodiscard]] const LaneItems& lane_items(Rank rank, int channel, int lane) const {
    return lanes_[lane_number(messages_.is_even() ? 0 : 2 * rank + lane % 2, channel, lane / 2)];
  }
  // Parts that the slot of a rank that serves all others sends, or receives, one after another.
  [[nodiscard]] int transfers_of(Rank rank, int channel, int slot) const {
    const std::vector<Item>& items = lane_items(rank, channel, 2 * slot).items;
    return static_cast<int>(std::ranges::count_if(items, [](const Item& item) { return item.round > 0; }));
  }
  [[nodiscard]] std::int64_t most_parts() const { return std::ranges::max(cuts_, {}, &Cut::count).count(); }
  // The part of `round` that is on `channel`, if there are as many.
  [[nodiscard]] int part_of(int round, int channel) const {
    return nccl::p2p_part(bases_[static_cast<std::size_t>(round)], channel, used_channels_, reverses_rounds_);
  }
  [[nodiscard]] std::int64_t transfers() const { return one_way_ ? 1 : send_count(kind_, n_); }

  Collective kind_;
  bool one_way_;
  int n_;
  Rank root_;
  int channels_;
  int used_channels_;  // a power of two
  nccl::P2pOrder order_;
  bool reverses_rounds_;
  Messages messages_;
  std::vector<Cut> cuts_;                   // of a message, or of each size of one
  std::vector<std::uint32_t> cut_numbers_;  // by sender and receiver, where sizes differ
  std::vector<int> bases_;                  // by round
  std::vector<LaneItems> lanes_;            // by table, channel and slot; two tables a rank where sizes differ
  std::vector<std::int64_t> flows_;         // those with data, where sizes differ
  std::vector<P2pRounds> rounds_;           // by rank
};

class NcclP2p final : public Algorithm {
 public:
  [[nodiscard]] bool supports(Collective collective) const override { return is_sends(collective); }
  [[nodiscard]] Kernel kernel() const override { return Kernel::kSendRecv; }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override {
    WEFT_CHECK(supports(call.kind));
    return std::make_unique<P2pSchedule>(communicator, call, choice);
  }
  [[nodiscard]] Doubts doubts() const override { return {.fluid_in_nodes = 37}; }
};

}  // namespace

const Registration<Algorithm> builtin::nccl_p2p{
    .name = "nccl_p2p",
    .summary = "NCCL's sends and receives: its order of peers, eight rounds at a time, parts on channels of their own",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return std::make_unique<NcclP2p>(); },
    .model =
        {.assumes = "All-to-all, send/recv, gather and scatter. Every rank serves its peers in NCCL's order, eight "
                    "rounds at a time on each channel, every transfer in parts on channels of their own. A transfer has "
                    "all warps of its block, 11 of 20 where the same peer's is received beside it. Groups of "
                    "peers, channels, parts and LL's end follow the release.",
         .leaves_out = {"nccl_p2p: what is received is copied once it is whole; with few channels messages of 128 to 512 KiB "
                        "come out up to 8 % too fast, all-to-alls of 1 and 2 MiB in LL over four H200 12 and 8 %",
                        "nccl_p2p: NCCL 2.18 to 2.21 visit nodes in an order of their own; here by triangular numbers",
                        "nccl_p2p: in an all-to-allv each message has channels, parts and chunks of its size, and all the "
                        "protocol of the largest; those of no bytes are not sent",
                        "nccl_p2p: the copy to oneself is cut and sent by the protocol of the others",
                        "nccl_p2p: a lane goes on to the next batch without waiting for the other lanes of the batch",
                        "nccl_p2p: the fluid grain has all transfers under way at once, those of one lane at their part of "
                        "its pace; small ones in many batches take longer"},
         .sources = {"models/nccl §3.6", "grids and times of NCCL 2.28.9 on 2 and 4 x H200 (validate/measured)"},
         .files = {"collectives/nccl/p2p_plan.h"}},
};

}  // namespace weft::coll
