#include "sim/collectives/algorithms/collnet_blocks.h"

#include <span>
#include <vector>

#include "sim/collectives/algorithms/node_heads.h"
#include "sim/collectives/algorithms/steps.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

constexpr std::uint8_t kOwnNodeConnection = 1;  // blocks and contributions of the own node; what comes by the network: 0

// What both collectives need to know: whose block is whose, and the order of blocks. Lanes go through loops of one chunk of
// every block they deal with, blocks in rank order; so no two of them wait for each other.
class BlocksSchedule : public Schedule {
 public:
  BlocksSchedule(const Communicator& communicator, const CollectiveCall& call, const Choice& choice)
      : nodes_{communicator, kMostCollNetHeads},
        n_{communicator.ranks()},
        of_others_(static_cast<std::size_t>(nodes_.heads())) {
    const CallSizes sizes = sizes_of(call, n_);
    block_ = std::min(sizes.input, sizes.output).count();
    parts_ = channel_parts(block_, choice);
    for (Rank rank = 0; rank < n_; ++rank) {
      everyone_.push_back(rank);
      for (int head = 0; head < nodes_.heads(); ++head) {
        if (head != head_of(rank)) of_others_[static_cast<std::size_t>(head)].push_back(rank);
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
  // Of a block; in a buffer of all blocks it lies at in_all().
  [[nodiscard]] Part chunk(int channel, std::int64_t loop) const {
    const ChannelPart& part = parts_[static_cast<std::size_t>(channel)];
    return chunk_of(part.data, 0, part.chunk, loop);
  }
  [[nodiscard]] std::int64_t in_all(Rank block, const Part& chunk) const { return block * block_ + chunk.offset; }
  [[nodiscard]] int head_of(Rank block) const { return nodes_.local(block) % nodes_.heads(); }
  // The head on the node of `rank` that deals with `block`.
  [[nodiscard]] Rank owner(Rank rank, Rank block) const { return nodes_.head(nodes_.node(rank), head_of(block)); }
  [[nodiscard]] bool same_node(Rank a, Rank b) const { return nodes_.node(a) == nodes_.node(b); }
  // Blocks that heads of other indices deal with.
  [[nodiscard]] std::span<const Rank> blocks_of_others(Rank head) const {
    return of_others_[static_cast<std::size_t>(nodes_.local(head))];
  }
  [[nodiscard]] std::span<const Rank> everyone() const { return everyone_; }

  NodeHeads nodes_;
  int n_;

 private:
  std::int64_t block_ = 0;
  std::vector<ChannelPart> parts_;
  std::vector<Rank> everyone_;
  std::vector<std::vector<Rank>> of_others_;  // by head
};

// Lanes: in (own block to the head; the head: to the network and to the node), down (from the network to the node), gather.
class CollNetAllGather final : public BlocksSchedule {
 public:
  CollNetAllGather(const Communicator& communicator, const CollectiveCall& call, const Choice& choice)
      : BlocksSchedule{communicator, call, choice},
        listeners_(static_cast<std::size_t>(n_)),
        in_(static_cast<std::size_t>(n_)),
        down_(static_cast<std::size_t>(n_)) {
    for (Rank block = 0; block < n_; ++block) {
      for (int node = 0; node < nodes_.nodes(); ++node) {
        const Rank head = nodes_.head(node, head_of(block));
        if (!same_node(head, block)) down_[static_cast<std::size_t>(head)].push_back(block);
      }
      const Rank head = owner(block, block);
      std::vector<Rank>& listeners = listeners_[static_cast<std::size_t>(block)];
      for (const Rank rank : nodes_.node_of(block)) {
        if (rank != block && rank != head) listeners.push_back(rank);
      }
      Program& in = in_[static_cast<std::size_t>(head)];
      in.push_back({.block = block, .phase = 0});
      if (!listeners.empty()) in.push_back({.block = block, .phase = 1});
    }
  }

  [[nodiscard]] int lanes(Rank, int) const override { return kLanes; }

  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override {
    const bool head = nodes_.is_head(rank);
    const auto at = static_cast<std::size_t>(rank);
    if (lane == kIn) return loops(channel) * (head ? static_cast<std::int64_t>(in_[at].size()) : 1);
    if (lane == kDown) return loops(channel) * static_cast<std::int64_t>(down_[at].size());
    return loops(channel) * gathered(rank);
  }

  [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t index) const override {
    const auto at = static_cast<std::size_t>(rank);
    if (lane == kIn && !nodes_.is_head(rank)) return give(rank, chunk(channel, index));
    const auto a_loop = lane == kIn     ? static_cast<std::int64_t>(in_[at].size())
                        : lane == kDown ? static_cast<std::int64_t>(down_[at].size())
                                        : gathered(rank);
    const Part piece = chunk(channel, index / a_loop);
    const auto k = static_cast<std::size_t>(index % a_loop);
    if (lane == kIn) return in_step(rank, in_[at][k], piece);
    const Rank block = lane == kDown ? down_[at][k] : gathered_block(rank, static_cast<Rank>(k));
    Step step = step_of(piece.bytes);
    keep_at(step, Buffer::kOutput, in_all(block, piece));
    if (lane == kDown) {
      step.receive_from = nodes_.head(nodes_.node(block), head_of(block));
      step.send_to = Peers::view(nodes_.others_on_node(rank));
    } else {
      step.receive_from = owner(rank, block);
      if (same_node(rank, block)) step.receive_connection = kOwnNodeConnection;
    }
    return step;
  }

 private:
  enum Lane : int { kIn, kDown, kGather, kLanes };

  [[nodiscard]] Step give(Rank rank, const Part& piece) const {
    Step step = step_of(piece.bytes);
    read_from(step, Buffer::kInput, piece.offset);
    keep_at(step, Buffer::kOutput, in_all(rank, piece));
    step.send_to = owner(rank, rank);
    step.send_connection = kOwnNodeConnection;
    return step;
  }

  [[nodiscard]] Step in_step(Rank rank, const Op& op, const Part& piece) const {
    Step step = step_of(piece.bytes);
    if (op.phase == 1) {
      read_from(step, Buffer::kOutput, in_all(op.block, piece));
      step.send_to = Peers::view(listeners_[static_cast<std::size_t>(op.block)]);
      step.send_connection = kOwnNodeConnection;
      return step;
    }
    if (op.block == rank) {
      read_from(step, Buffer::kInput, piece.offset);
    } else {
      step.receive_from = op.block;
      step.receive_connection = kOwnNodeConnection;
    }
    keep_at(step, Buffer::kOutput, in_all(op.block, piece));
    multicast(step, nodes_.same_head_elsewhere(nodes_.node(rank), nodes_.local(rank)));
    return step;
  }

  // Blocks that other ranks of the node hand to this one.
  [[nodiscard]] std::int64_t gathered(Rank rank) const {
    return nodes_.is_head(rank) ? static_cast<std::int64_t>(blocks_of_others(rank).size()) : n_ - 1;
  }
  [[nodiscard]] Rank gathered_block(Rank rank, Rank k) const {
    if (nodes_.is_head(rank)) return blocks_of_others(rank)[static_cast<std::size_t>(k)];
    return k < rank ? k : k + 1;
  }

  std::vector<std::vector<Rank>> listeners_;  // by block: who on its node takes it from the head
  std::vector<Program> in_;                   // by rank, heads only
  std::vector<std::vector<Rank>> down_;       // by rank, heads only: blocks that come by the network
};

// Lanes: scatter (contributions to the node's heads), up (heads: add up and pass on), out (own block from the head).
class CollNetReduceScatter final : public BlocksSchedule {
 public:
  CollNetReduceScatter(const Communicator& communicator, const CollectiveCall& call, const Choice& choice)
      : BlocksSchedule{communicator, call, choice}, up_(static_cast<std::size_t>(n_)) {
    for (Rank block = 0; block < n_; ++block) {
      for (int node = 0; node < nodes_.nodes(); ++node) {
        const Rank head = nodes_.head(node, head_of(block));
        const bool own = same_node(head, block);
        // At home: add up the node (phase 0), then what the switches added up (phase 1); a lone head has the second only.
        const bool skips_node = own && nodes_.nodes() > 1 && nodes_.others_on_node(head).empty();
        if (!skips_node) up_[static_cast<std::size_t>(head)].push_back({.block = block, .phase = 0});
        if (own && nodes_.nodes() > 1) up_[static_cast<std::size_t>(head)].push_back({.block = block, .phase = 1});
      }
    }
  }

  [[nodiscard]] int lanes(Rank, int) const override { return kLanes; }

  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override {
    if (lane == kScatter) return loops(channel) * static_cast<std::int64_t>(given(rank).size());
    if (lane == kUp) return loops(channel) * static_cast<std::int64_t>(up_[static_cast<std::size_t>(rank)].size());
    return nodes_.is_head(rank) ? 0 : loops(channel);
  }

  [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t index) const override {
    if (lane == kOut) {
      const Part piece = chunk(channel, index);
      Step step = step_of(piece.bytes);
      step.receive_from = owner(rank, rank);
      keep_at(step, Buffer::kOutput, piece.offset);
      return step;
    }
    if (lane == kUp) {
      const Program& program = up_[static_cast<std::size_t>(rank)];
      const auto a_loop = static_cast<std::int64_t>(program.size());
      return up_step(rank, program[static_cast<std::size_t>(index % a_loop)], chunk(channel, index / a_loop));
    }
    const std::span<const Rank> blocks = given(rank);
    const auto a_loop = static_cast<std::int64_t>(blocks.size());
    const Part piece = chunk(channel, index / a_loop);
    const Rank block = blocks[static_cast<std::size_t>(index % a_loop)];
    Step step = step_of(piece.bytes);
    read_from(step, Buffer::kInput, in_all(block, piece));
    step.send_to = owner(rank, block);
    step.send_connection = kOwnNodeConnection;
    return step;
  }

 private:
  enum Lane : int { kScatter, kUp, kOut, kLanes };

  [[nodiscard]] std::span<const Rank> given(Rank rank) const {
    return nodes_.is_head(rank) ? blocks_of_others(rank) : everyone();
  }

  [[nodiscard]] Step up_step(Rank rank, const Op& op, const Part& piece) const {
    const std::span<const Rank> locals = nodes_.others_on_node(rank);
    const bool own = same_node(rank, op.block);
    const std::int64_t at = in_all(op.block, piece);
    Step step = step_of(piece.bytes);
    if (op.phase == 0) {
      step.receive_from = Peers::view(locals);
      step.receive_connection = kOwnNodeConnection;
      read_from(step, Buffer::kInput, at);
      if (!own) {
        step.send_to = nodes_.head(nodes_.node(op.block), head_of(op.block));
        step.send_in_switch = true;
        return step;
      }
      if (nodes_.nodes() > 1) {
        keep_at(step, Buffer::kScratch, at);
        return step;
      }
    } else {
      add_up_in_switch(step, nodes_.same_head_elsewhere(nodes_.node(rank), nodes_.local(rank)));
      read_from(step, locals.empty() ? Buffer::kInput : Buffer::kScratch, at);
    }
    if (op.block == rank) {
      keep_at(step, Buffer::kOutput, piece.offset);
    } else {
      step.send_to = op.block;
    }
    return step;
  }

  std::vector<Program> up_;  // by rank, heads only
};

}  // namespace

std::unique_ptr<Schedule> make_collnet_blocks(const Communicator& communicator, const CollectiveCall& call,
                                              const Choice& choice) {
  if (call.kind == Collective::kAllGather) return std::make_unique<CollNetAllGather>(communicator, call, choice);
  WEFT_CHECK(call.kind == Collective::kReduceScatter);
  return std::make_unique<CollNetReduceScatter>(communicator, call, choice);
}

}  // namespace weft::coll
