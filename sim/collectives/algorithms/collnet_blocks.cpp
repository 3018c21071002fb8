#include "sim/collectives/algorithms/collnet_blocks.h"

#include <algorithm>
#include <span>
#include <vector>

#include "sim/collectives/algorithms/network_switch.h"
#include "sim/collectives/algorithms/node_heads.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

constexpr std::uint8_t kOwnNodeConnection = 1;  // blocks and contributions of the own node; what comes by the network: 0

// Blocks of one node that belong to heads one after another, from `head` on, and lie `stride` blocks apart. A rank scatters to
// these heads, or gathers from them, at once.
struct Row {
  int node = 0;
  int head = 0;
  int count = 1;
  Rank first = 0;
  Rank stride = 1;
};

// Both collectives need to know whose block is whose, and the order of blocks. Lanes go through loops of one chunk of every
// block they deal with, node after node; so no two of them wait for each other.
class BlocksSchedule : public Schedule {
 public:
  BlocksSchedule(const Communicator& communicator, const CollectiveCall& call, const Choice& choice, InsideNodes inside)
      : nodes_{communicator, inside == InsideNodes::kNvls ? kMostNvlsHeads : kMostCollNetHeads},
        n_{communicator.ranks()},
        nvls_{inside == InsideNodes::kNvls} {
    const CallSizes sizes = sizes_of(call, n_);
    block_ = std::min(sizes.input, sizes.output).count();
    parts_ = channel_parts(block_, choice);
    for (int node = 0; node < nodes_.nodes(); ++node) {
      const std::span<const Rank> ranks = nodes_.node_of(nodes_.head(node, 0));
      order_.insert(order_.end(), ranks.begin(), ranks.end());
      add_rows(node, ranks);
    }
    // Where a row is the block of one head alone, that head has nobody to share it with.
    rows_of_head_.resize(static_cast<std::size_t>(nodes_.heads()) + 1);
    for (std::size_t head = 0; head < rows_of_head_.size(); ++head) {
      for (int row = 0; row < static_cast<int>(rows_.size()); ++row) {
        const Row& of = rows_[static_cast<std::size_t>(row)];
        if (of.count > 1 || of.head != static_cast<int>(head)) rows_of_head_[head].push_back(row);
      }
    }
  }

  [[nodiscard]] int ranks() const final { return n_; }
  [[nodiscard]] int channels() const final { return static_cast<int>(parts_.size()); }

 protected:
  // One chunk of one block, in one of the steps it takes there.
  struct Op {
    Rank block = 0;
    int phase = 0;
  };
  using Program = std::vector<Op>;

  [[nodiscard]] std::int64_t loops(int channel) const {
    const ChannelPart& part = parts_[static_cast<std::size_t>(channel)];
    return ceil_div(part.data.bytes, part.chunk);
  }
  // Returns the chunk of a block; in a buffer of all blocks it lies at in_all().
  [[nodiscard]] Part chunk(int channel, std::int64_t loop) const {
    const ChannelPart& part = parts_[static_cast<std::size_t>(channel)];
    return chunk_of(part.data, 0, part.chunk, loop);
  }
  [[nodiscard]] std::int64_t in_all(Rank block, const Part& chunk) const { return block * block_ + chunk.offset; }
  [[nodiscard]] int head_of(Rank block) const { return nodes_.local(block) % nodes_.heads(); }
  // The head on the node of `rank` that deals with `block`.
  [[nodiscard]] Rank owner(Rank rank, Rank block) const { return nodes_.head(nodes_.node(rank), head_of(block)); }
  [[nodiscard]] bool same_node(Rank a, Rank b) const { return nodes_.node(a) == nodes_.node(b); }
  // NVLink's switches have somebody to work for.
  [[nodiscard]] bool in_switch(Rank rank) const { return nvls_ && nodes_.node_of(rank).size() > 1; }

  // Rows of which the rank shares something with other ranks of its node.
  [[nodiscard]] std::int64_t row_count(Rank rank) const { return static_cast<std::int64_t>(rows_of(rank).size()); }
  [[nodiscard]] const Row& row(Rank rank, std::int64_t k) const {
    return rows_[static_cast<std::size_t>(rows_of(rank)[static_cast<std::size_t>(k)])];
  }
  // A scatter to the row's heads on the rank's node, or a gather from them; without a head's own block, but in NVLS.
  [[nodiscard]] Step side_step(Rank rank, const Row& row, const Part& piece, bool scatters) const {
    const bool leaves_out = !in_switch(rank) && nodes_.is_head(rank);
    const int own = leaves_out ? nodes_.local(rank) - row.head : -1;
    const bool has_own = own >= 0 && own < row.count;
    const std::span<const Rank> heads = leaves_out ? nodes_.other_heads(rank) : nodes_.heads_of_node(rank);
    const std::size_t from = static_cast<std::size_t>(leaves_out && own < 0 ? row.head - 1 : row.head);
    const int count = has_own ? row.count - 1 : row.count;
    const Peers peers = Peers::view(heads.subspan(from, static_cast<std::size_t>(count)));
    const Rank first = has_own && own == 0 ? row.first + row.stride : row.first;
    Step step = spread_step(count * piece.bytes, std::max<std::int64_t>(piece.bytes, 1), row.stride * block_);
    if (has_own && own > 0) step.own_before = own;
    if (scatters) {
      read_from(step, Buffer::kInput, in_all(first, piece));
      step.send_to = peers;
      step.send_in_switch = in_switch(rank);
      step.send_connection = kOwnNodeConnection;
    } else {
      step.receive_from = peers;
      step.receive_connection = nodes_.node(rank) == row.node ? kOwnNodeConnection : std::uint8_t{0};
      keep_at(step, Buffer::kOutput, in_all(first, piece));
    }
    return step;
  }

  NodeHeads nodes_;
  int n_;
  bool nvls_;
  std::vector<Rank> order_;  // of blocks: node after node

 private:
  void add_rows(int node, std::span<const Rank> ranks) {
    for (std::size_t local = 0; local < ranks.size(); ++local) {
      const int head = static_cast<int>(local) % nodes_.heads();
      if (head > 0) {
        Row& last = rows_.back();
        const Rank next = ranks[local] - (last.first + (last.count - 1) * last.stride);
        const bool fits = last.count == 1 ? next > 0 : next == last.stride;
        if (fits) {
          last.stride = next;
          ++last.count;
          continue;
        }
      }
      rows_.push_back({.node = node, .head = head, .count = 1, .first = ranks[local], .stride = 1});
    }
  }
  [[nodiscard]] const std::vector<int>& rows_of(Rank rank) const {
    const bool leaves_out = !in_switch(rank) && nodes_.is_head(rank);
    return rows_of_head_[static_cast<std::size_t>(leaves_out ? nodes_.local(rank) : nodes_.heads())];
  }

  std::int64_t block_ = 0;
  std::vector<ChannelPart> parts_;
  std::vector<Row> rows_;
  std::vector<std::vector<int>> rows_of_head_;  // by head, then of who is none
};

// Lanes: in (own block to the head; the head: to the network and to the node), down (from the network to the node), gather.
class CollNetAllGather final : public BlocksSchedule {
 public:
  CollNetAllGather(const Communicator& communicator, const CollectiveCall& call, const Choice& choice, InsideNodes inside)
      : BlocksSchedule{communicator, call, choice, inside},
        in_(static_cast<std::size_t>(n_)),
        down_(static_cast<std::size_t>(n_)) {
    for (const Rank block : order_) {
      for (int node = 0; node < nodes_.nodes(); ++node) {
        const Rank head = nodes_.head(node, head_of(block));
        if (!same_node(head, block)) down_[static_cast<std::size_t>(head)].push_back(block);
      }
      const Rank head = owner(block, block);
      Program& in = in_[static_cast<std::size_t>(head)];
      in.push_back({.block = block, .phase = 0});
      if (nodes_.node_of(head).size() > 1) in.push_back({.block = block, .phase = 1});
    }
  }

  [[nodiscard]] int lanes(Rank, int) const override { return kLanes; }

  // A block has 20 warps: NCCL gives NVLS 6 to send, 6 to copy and 8 to gather, CollNetDirect 4, 8 and 8
  // (src/device/all_gather.h).
  [[nodiscard]] double warp_share(Rank, int, int lane) const override {
    if (lane == kGather) return nvls_ ? kCopyShare : 8.0 / 20.0;
    return (nvls_ ? 6.0 : lane == kIn ? 4.0 : 8.0) / 20.0;
  }

  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override {
    return loops(channel) * steps_of_loop(rank, lane);
  }

  [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t index) const override {
    const std::int64_t a_loop = steps_of_loop(rank, lane);
    const Part piece = chunk(channel, index / a_loop);
    if (lane == kGather) return side_step(rank, row(rank, index % a_loop), piece, false);
    if (lane == kIn && !nodes_.is_head(rank)) return give(rank, piece);
    const auto at = static_cast<std::size_t>(rank);
    const auto k = static_cast<std::size_t>(index % a_loop);
    Step step = step_of(piece.bytes);
    if (lane == kIn) {
      const Op& op = in_[at][k];
      if (op.phase == 0) return in_step(rank, op.block, piece);
      read_from(step, own_blocks(rank), in_all(op.block, piece));
      hand_round(step, rank);
      step.send_connection = kOwnNodeConnection;
      return step;
    }
    const Rank block = down_[at][k];
    step.receive_from = nodes_.head(nodes_.node(block), head_of(block));
    if (!in_switch(rank)) keep_at(step, Buffer::kOutput, in_all(block, piece));
    hand_round(step, rank);
    return step;
  }

 private:
  enum Lane : int { kIn, kDown, kGather, kLanes };

  [[nodiscard]] std::int64_t steps_of_loop(Rank rank, int lane) const {
    const auto at = static_cast<std::size_t>(rank);
    if (lane == kIn) return nodes_.is_head(rank) ? static_cast<std::int64_t>(in_[at].size()) : 1;
    return lane == kDown ? static_cast<std::int64_t>(down_[at].size()) : row_count(rank);
  }

  // Where a head has its node's blocks until the node has them; in NVLS it takes them from the switch as all do.
  [[nodiscard]] Buffer own_blocks(Rank head) const { return in_switch(head) ? Buffer::kScratch : Buffer::kOutput; }

  void hand_round(Step& step, Rank head) const {
    if (in_switch(head)) {
      multicast(step, nodes_.node_of(head));
    } else {
      step.send_to = Peers::view(nodes_.others_on_node(head));
    }
  }

  [[nodiscard]] Step give(Rank rank, const Part& piece) const {
    Step step = step_of(piece.bytes);
    read_from(step, Buffer::kInput, piece.offset);
    step.send_to = owner(rank, rank);
    step.send_connection = kOwnNodeConnection;
    return step;
  }

  [[nodiscard]] Step in_step(Rank rank, Rank block, const Part& piece) const {
    Step step = step_of(piece.bytes);
    if (block == rank) {
      read_from(step, Buffer::kInput, piece.offset);
    } else {
      step.receive_from = block;
      step.receive_connection = kOwnNodeConnection;
    }
    keep_at(step, own_blocks(rank), in_all(block, piece));
    multicast(step, nodes_.same_head_elsewhere(nodes_.node(rank), nodes_.local(rank)));
    return step;
  }

  std::vector<Program> in_;              // by rank, heads only
  std::vector<std::vector<Rank>> down_;  // by rank, heads only: blocks that come by the network
};

// Lanes: scatter (contributions to the node's heads), up (heads: add up the node and pass on), out (own block), and what the
// network's switches do, where the head of a block's node stands for them.
class CollNetReduceScatter final : public BlocksSchedule {
 public:
  CollNetReduceScatter(const Communicator& communicator, const CollectiveCall& call, const Choice& choice, InsideNodes inside)
      : BlocksSchedule{communicator, call, choice, inside},
        up_(static_cast<std::size_t>(nodes_.heads())),
        own_(static_cast<std::size_t>(n_)) {
    for (const Rank block : order_) {
      up_[static_cast<std::size_t>(head_of(block))].push_back(block);
      own_[static_cast<std::size_t>(owner(block, block))].push_back(block);
    }
  }

  [[nodiscard]] int lanes(Rank, int) const override { return kLanes; }

  // A block has 20 warps: NCCL gives NVLS 8 to scatter, 6 to add up and 6 to receive, CollNetDirect 8, 8 and 4
  // (src/device/reduce_scatter.h).
  [[nodiscard]] double warp_share(Rank, int, int lane) const override {
    if (lane == kScatter) return nvls_ ? kCopyShare : 8.0 / 20.0;
    return (nvls_ ? 6.0 : lane == kUp ? 8.0 : 4.0) / 20.0;
  }

  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override {
    return loops(channel) * steps_of_loop(rank, lane);
  }

  [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t index) const override {
    const std::int64_t a_loop = steps_of_loop(rank, lane);
    const Part piece = chunk(channel, index / a_loop);
    const auto k = static_cast<std::size_t>(index % a_loop);
    if (lane == kScatter) return side_step(rank, row(rank, index % a_loop), piece, true);
    if (lane == kUp) return up_step(rank, up_[static_cast<std::size_t>(nodes_.local(rank))][k], piece);
    if (lane == kNetwork) {
      Step step = step_of(piece.bytes);
      add_up_in_switch(step, nodes_.same_head(nodes_.node(rank), nodes_.local(rank)));
      step.receive_connection = kToNetwork;
      step.send_to = rank;
      step.send_connection = kFromNetwork;
      return step;
    }
    Step step = step_of(piece.bytes);
    if (!nodes_.is_head(rank)) {
      step.receive_from = owner(rank, rank);
      keep_at(step, Buffer::kOutput, piece.offset);
      return step;
    }
    take_from_network(step, rank);
    pass_on(step, rank, own_[static_cast<std::size_t>(rank)][k], piece);
    return step;
  }

 private:
  enum Lane : int { kScatter, kUp, kOut, kNetwork, kLanes };

  [[nodiscard]] std::int64_t steps_of_loop(Rank rank, int lane) const {
    const bool head = nodes_.is_head(rank);
    const bool network = nodes_.nodes() > 1;
    if (lane == kScatter) return row_count(rank);
    if (lane == kUp) return head ? static_cast<std::int64_t>(up_[static_cast<std::size_t>(nodes_.local(rank))].size()) : 0;
    if (!head) return lane == kOut ? 1 : 0;
    return network ? static_cast<std::int64_t>(own_[static_cast<std::size_t>(rank)].size()) : 0;
  }

  // At its head, to the block's rank.
  void pass_on(Step& step, Rank head, Rank block, const Part& piece) const {
    if (block == head) {
      keep_at(step, Buffer::kOutput, piece.offset);
    } else {
      step.send_to = block;
    }
  }

  [[nodiscard]] Step up_step(Rank rank, Rank block, const Part& piece) const {
    Step step = step_of(piece.bytes);
    if (in_switch(rank)) {
      add_up_in_switch(step, nodes_.node_of(rank));
    } else {
      step.receive_from = Peers::view(nodes_.others_on_node(rank));
      read_from(step, Buffer::kInput, in_all(block, piece));
    }
    step.receive_connection = kOwnNodeConnection;
    if (nodes_.nodes() > 1) {
      give_to_network(step, nodes_.head(nodes_.node(block), head_of(block)));
    } else {
      pass_on(step, rank, block, piece);
    }
    return step;
  }

  std::vector<std::vector<Rank>> up_;   // by head: the blocks it deals with
  std::vector<std::vector<Rank>> own_;  // by rank, heads only: those of its node
};

}  // namespace

std::unique_ptr<Schedule> make_collnet_blocks(const Communicator& communicator, const CollectiveCall& call,
                                              const Choice& choice, InsideNodes inside) {
  if (call.kind == Collective::kAllGather) return std::make_unique<CollNetAllGather>(communicator, call, choice, inside);
  WEFT_CHECK(call.kind == Collective::kReduceScatter);
  return std::make_unique<CollNetReduceScatter>(communicator, call, choice, inside);
}

}  // namespace weft::coll
