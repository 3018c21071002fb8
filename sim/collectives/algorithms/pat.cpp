// PAT, NCCL's parallel aggregated trees: all-gather and reduce-scatter in few steps with a small buffer (models/nccl §3.5;
// arXiv 2506.20252).
//
// All-gather sends to rank - 2^k and receives from rank + 2^k. The block of rank r + d reaches rank r from the rank above d
// with d's lowest bit cleared, and goes on to distances below that bit: for every block a binomial tree, the far steps first.
// Small blocks travel A at a time, those d apart by delta = pow2ceil(n) / A: first log2(A) exchanges, of 1, 2, 4 ... blocks,
// collect them at distances of delta and more; then the group is one super-block that goes down the trees of distances below
// delta, d by d. With A = 1 (large blocks) there is only the tree: n - 1 single blocks. Reduce-scatter is the same in reverse:
// the other direction, opposite order, and adding where the all-gather copies.
//
// A message has to be one stretch of memory. So a super-block lies in scratch with the block of its largest d last, because
// that one alone may be missing further down (n is no power of two); each exchange puts what it brings behind what is there, or
// in front of it where the last block brings nothing. Super-blocks are passed on before the next one comes: two are buffered.
#include <algorithm>
#include <bit>
#include <memory>

#include "sim/collectives/algorithms/steps.h"
#include "sim/collectives/builtin.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

constexpr std::int64_t kStepBytes = 512 << 10;  // one slot of a Simple connection (models/nccl §4.1)

// A rank does one of these with each chunk of its blocks, told for all-gather; distances and blocks count from the rank.
enum class OpKind : std::uint8_t {
  kBlock,            // receives block `d` (or reads its own) into place and passes it to the children
  kSeed,             // puts its own block into scratch
  kUnpack,           // puts block `d` from scratch into place
  kExchangeSend,     // sends slots to rank - d
  kExchangeReceive,  // receives slots from rank + d
  kGroup,            // receives super-block `d` (or has it) and passes it to the children that take all of it
  kGroupShort,       // passes it to the children that take all but its last block
};
struct PatOp {
  OpKind kind = OpKind::kBlock;
  int d = 0;
  int slot = 0;  // in scratch, in chunks
  int count = 1;
  int first_child = 0;  // children are at distances 2^first_child and so on
  int children = 0;
};

int lowest_bit(int d) { return d & -d; }
int log2_of(int power) { return std::countr_zero(static_cast<unsigned>(power)); }
// How many powers of two are below `limit`.
int powers_below(int limit) { return limit <= 1 ? 0 : static_cast<int>(std::bit_width(static_cast<unsigned>(limit - 1))); }

// The program of `n` ranks, the same for all of them, with super-blocks of up to `aggregation` blocks (a power of two).
class Program {
 public:
  Program(int n, int aggregation) : n_{n}, delta_{static_cast<int>(std::bit_ceil(static_cast<unsigned>(n))) / aggregation} {
    if (aggregation == 1) {
      for (int d = 0; d < n; ++d) {
        const int limit = d == 0 ? n : std::min(lowest_bit(d), n - d);
        ops_.push_back({.kind = OpKind::kBlock, .d = d, .children = powers_below(limit)});
      }
      return;
    }
    blocks_ = static_cast<int>(ceil_div(n, delta_));
    collect(log2_of(aggregation));
    for (int d = 0; d < delta_; ++d) pass_on(d);
  }

  [[nodiscard]] const std::vector<PatOp>& ops() const { return ops_; }

 private:
  // The exchanges that bring the blocks at multiples of delta. `order_` holds the multiples in the order of their slots.
  void collect(int exchanges) {
    ops_.push_back({.kind = OpKind::kSeed});
    const std::size_t seed = ops_.size() - 1;
    order_ = {0};
    for (int k = exchanges - 1; k >= 0; --k) {
      const bool last_brings_nothing = order_.back() + (1 << k) >= blocks_;
      const auto count = static_cast<int>(order_.size()) - (last_brings_nothing ? 1 : 0);
      std::vector<int> brought(order_.begin(), order_.begin() + count);
      for (int& block : brought) block += 1 << k;
      PatOp send{.kind = OpKind::kExchangeSend, .d = delta_ << k, .slot = 0, .count = count};
      PatOp receive = send;
      receive.kind = OpKind::kExchangeReceive;
      if (last_brings_nothing) {
        for (std::size_t i = seed; i < ops_.size(); ++i) ops_[i].slot += count;
        send.slot = count;
        order_.insert(order_.begin(), brought.begin(), brought.end());
      } else {
        receive.slot = static_cast<int>(order_.size());
        order_.insert(order_.end(), brought.begin(), brought.end());
      }
      ops_.push_back(send);
      ops_.push_back(receive);
    }
  }

  // Super-block d: from its parent, on to its children, and into place.
  void pass_on(int d) {
    const int slot = d == 0 ? 0 : blocks_;               // the one that comes next overwrites it
    const int full_below = n_ - (blocks_ - 1) * delta_;  // super-blocks from here on lack the last block
    const int count = d < full_below ? blocks_ : blocks_ - 1;
    const int children = powers_below(d == 0 ? delta_ : lowest_bit(d));
    const int full_children = d < full_below ? std::min(children, powers_below(full_below - d)) : children;
    if (d > 0 || full_children > 0)
      ops_.push_back({.kind = OpKind::kGroup, .d = d, .slot = slot, .count = count, .children = full_children});
    if (full_children < children) {
      ops_.push_back({.kind = OpKind::kGroupShort,
                      .d = d,
                      .slot = slot,
                      .count = count - 1,
                      .first_child = full_children,
                      .children = children - full_children});
    }
    for (int i = 0; i < count; ++i)
      ops_.push_back({.kind = OpKind::kUnpack, .d = d + order_[static_cast<std::size_t>(i)] * delta_, .slot = slot + i});
  }

  int n_;
  int delta_;
  int blocks_ = 1;  // of the largest super-block
  std::vector<int> order_;
  std::vector<PatOp> ops_;
};

class PatSchedule final : public Schedule {
 public:
  PatSchedule(const Communicator& communicator, const CollectiveCall& call, const Choice& choice)
      : gathers_{call.kind == Collective::kAllGather}, n_{communicator.ranks()} {
    WEFT_CHECK(choice.channels <= communicator.channels());
    const CallSizes sizes = sizes_of(call, n_);
    block_ = std::min(sizes.input, sizes.output).count();
    parts_ = channel_parts(block_, choice);
    programs_.resize(32);
    for (const ChannelPart& part : parts_) {
      const int aggregation = aggregation_of(part.data.bytes);
      program_of_.push_back(log2_of(aggregation));
      std::unique_ptr<Program>& program = programs_[static_cast<std::size_t>(program_of_.back())];
      if (program == nullptr) program = std::make_unique<Program>(n_, aggregation);
    }
    const int distances = powers_below(n_);
    for (Rank rank = 0; rank < n_; ++rank) {
      std::vector<Rank>& children = children_.emplace_back();
      for (int k = 0; k < distances; ++k) children.push_back((rank + n_ - (1 << k)) % n_);
    }
  }

  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] int channels() const override { return static_cast<int>(parts_.size()); }
  [[nodiscard]] int lanes(Rank, int) const override { return 1; }
  // NCCL connects it along the tree's graph.
  [[nodiscard]] Nets nets() const override { return Nets::kTree; }

  [[nodiscard]] std::int64_t step_count(Rank, int channel, int) const override {
    const ChannelPart& part = parts_[static_cast<std::size_t>(channel)];
    return ceil_div(part.data.bytes, part.chunk) * static_cast<std::int64_t>(ops(channel).size());
  }

  [[nodiscard]] Step step(Rank rank, int channel, int, std::int64_t index) const override {
    const ChannelPart& part = parts_[static_cast<std::size_t>(channel)];
    const auto a_loop = static_cast<std::int64_t>(ops(channel).size());
    const Part chunk = chunk_of(part.data, 0, part.chunk, index / a_loop);
    const std::int64_t k = index % a_loop;
    const PatOp& op = ops(channel)[static_cast<std::size_t>(gathers_ ? k : a_loop - 1 - k)];
    // In scratch the chunks of this loop lie side by side; no channel needs more than two super-blocks of its part.
    Step step = step_of(op.count * chunk.bytes);
    const std::int64_t slot = 2 * n_ * part.data.offset + op.slot * chunk.bytes;
    const std::int64_t in_block = ((rank + op.d) % n_) * block_ + chunk.offset;
    return gathers_ ? gather_step(rank, op, step, slot, in_block, chunk.offset)
                    : scatter_step(rank, op, step, slot, in_block, chunk.offset);
  }

 private:
  [[nodiscard]] Step gather_step(Rank rank, const PatOp& op, Step step, std::int64_t slot, std::int64_t in_block,
                                 std::int64_t own) const {
    switch (op.kind) {
      case OpKind::kBlock:
        if (op.d > 0) {
          step.receive_from = parent(rank, op.d);
        } else {
          read_from(step, Buffer::kInput, own);
        }
        keep_at(step, Buffer::kOutput, in_block);
        step.send_to = children(rank, op);
        break;
      case OpKind::kSeed:
        read_from(step, Buffer::kInput, own);
        keep_at(step, Buffer::kScratch, slot);
        break;
      case OpKind::kUnpack:
        read_from(step, Buffer::kScratch, slot);
        keep_at(step, Buffer::kOutput, in_block);
        break;
      case OpKind::kExchangeSend:
        read_from(step, Buffer::kScratch, slot);
        step.send_to = (rank + n_ - op.d) % n_;
        break;
      case OpKind::kExchangeReceive:
        step.receive_from = (rank + op.d) % n_;
        keep_at(step, Buffer::kScratch, slot);
        break;
      case OpKind::kGroup:
        if (op.d > 0) {
          step.receive_from = parent(rank, op.d);
          keep_at(step, Buffer::kScratch, slot);
        } else {
          read_from(step, Buffer::kScratch, slot);
        }
        step.send_to = children(rank, op);
        break;
      case OpKind::kGroupShort:
        read_from(step, Buffer::kScratch, slot);
        step.send_to = children(rank, op);
        break;
    }
    return step;
  }

  // The same the other way round: what was sent is received and added, what was received is sent.
  [[nodiscard]] Step scatter_step(Rank rank, const PatOp& op, Step step, std::int64_t slot, std::int64_t in_block,
                                  std::int64_t own) const {
    switch (op.kind) {
      case OpKind::kBlock:
        step.receive_from = children(rank, op);
        read_from(step, Buffer::kInput, in_block);
        if (op.d > 0) {
          step.send_to = parent(rank, op.d);
        } else {
          keep_at(step, Buffer::kOutput, own);
        }
        break;
      case OpKind::kSeed:
        read_from(step, Buffer::kScratch, slot);
        keep_at(step, Buffer::kOutput, own);
        break;
      case OpKind::kUnpack:
        read_from(step, Buffer::kInput, in_block);
        keep_at(step, Buffer::kScratch, slot);
        break;
      case OpKind::kExchangeSend:
        step.receive_from = (rank + n_ - op.d) % n_;
        read_from(step, Buffer::kScratch, slot);
        keep_at(step, Buffer::kScratch, slot);
        break;
      case OpKind::kExchangeReceive:
        read_from(step, Buffer::kScratch, slot);
        step.send_to = (rank + op.d) % n_;
        break;
      case OpKind::kGroup:
        step.receive_from = children(rank, op);
        read_from(step, Buffer::kScratch, slot);
        if (op.d > 0) {
          step.send_to = parent(rank, op.d);
        } else {
          keep_at(step, Buffer::kScratch, slot);
        }
        break;
      case OpKind::kGroupShort:
        step.receive_from = children(rank, op);
        read_from(step, Buffer::kScratch, slot);
        keep_at(step, Buffer::kScratch, slot);
        break;
    }
    return step;
  }

  // models/nccl §3.5: as many blocks as fit a slot, up to half of all.
  [[nodiscard]] int aggregation_of(std::int64_t channel_bytes) const {
    int aggregation = 1;
    while (channel_bytes > 0 && kStepBytes / (channel_bytes * aggregation) >= 2 && aggregation < n_ / 2) aggregation *= 2;
    return aggregation;
  }
  [[nodiscard]] const std::vector<PatOp>& ops(int channel) const {
    return programs_[static_cast<std::size_t>(program_of_[static_cast<std::size_t>(channel)])]->ops();
  }
  [[nodiscard]] Rank parent(Rank rank, int d) const { return (rank + lowest_bit(d)) % n_; }
  [[nodiscard]] Peers children(Rank rank, const PatOp& op) const {
    return Peers::view(std::span{children_[static_cast<std::size_t>(rank)]}.subspan(static_cast<std::size_t>(op.first_child),
                                                                                    static_cast<std::size_t>(op.children)));
  }

  bool gathers_;  // or else reduces and scatters
  int n_;
  std::int64_t block_ = 0;  // bytes
  std::vector<ChannelPart> parts_;
  std::vector<std::unique_ptr<Program>> programs_;  // by log2 of the aggregation
  std::vector<int> program_of_;                     // by channel
  std::vector<std::vector<Rank>> children_;         // by rank: rank - 1, rank - 2, rank - 4 ...
};

class Pat final : public Algorithm {
 public:
  [[nodiscard]] bool supports(Collective collective) const override {
    return collective == Collective::kAllGather || collective == Collective::kReduceScatter;
  }
  [[nodiscard]] Kernel kernel() const override { return Kernel::kCollective; }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override {
    WEFT_CHECK(supports(call.kind));
    return std::make_unique<PatSchedule>(communicator, call, choice);
  }
  [[nodiscard]] Doubts doubts() const override { return {.in_packets = 15}; }
};

}  // namespace

const Registration<Algorithm> builtin::pat{
    .name = "pat",
    .summary = "NCCL's parallel aggregated trees: log2(n) steps for small blocks, n - 1 single ones for large",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return std::make_unique<Pat>(); },
    .model = {.assumes = "All-gather and reduce-scatter. For every block a binomial tree, the far steps first; as many small "
                         "blocks as fit a slot travel together, so that small calls take log2(n) messages and large ones n-1 "
                         "of one block.",
              .leaves_out = {"pat: a step passes a block on to all its children at once; NCCL runs up to 16 steps of a message "
                             "side by side"},
              .sources = {"models/nccl §3.5", "arXiv 2506.20252"}},
};

}  // namespace weft::coll
