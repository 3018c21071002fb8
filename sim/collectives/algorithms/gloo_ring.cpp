// Gloo's ring all-reduce (gloo/allreduce.cc): chunks of a rank each in at least two segments of at most 1 MiB, so that one is
// under way while another is added up. Rank i sends to i-1 and receives from i+1. Reduce-scatter, then all-gather; a segment is
// sent as soon as the segment two before it has come in.
#include <memory>
#include <vector>

#include "sim/collectives/algorithms/parts.h"
#include "sim/collectives/algorithms/steps.h"
#include "sim/collectives/builtin.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

constexpr std::int64_t kMaxSegment = std::int64_t{1} << 20;
constexpr std::int64_t kInFlight = 2;

class GlooRingSchedule final : public Schedule {
 public:
  GlooRingSchedule(int ranks, const CollectiveCall& call, const Choice& choice) : n_{ranks} {
    for (const ChannelPart& channel : channel_parts(sizes_of(call, ranks).input.count(), choice)) {
      const std::int64_t bytes = channel.data.bytes;
      const std::int64_t most = kMaxSegment / call.element_size * call.element_size;
      Ring ring{.data = channel.data};
      ring.segment =
          std::max(ceil_div(std::min(ceil_div(bytes, 2 * n_), most), call.element_size) * call.element_size, call.element_size);
      ring.per_rank = ceil_div(std::max(ceil_div(bytes, ring.segment), std::int64_t{2} * n_), n_);
      rings_.push_back(ring);
    }
  }

  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] int channels() const override { return static_cast<int>(rings_.size()); }
  [[nodiscard]] int lanes(Rank, int) const override { return 1; }
  [[nodiscard]] std::int64_t step_count(Rank, int channel, int) const override {
    const Ring& ring = rings_[static_cast<std::size_t>(channel)];
    return ring.data.bytes == 0 ? 0 : 1 + 4 * moved(ring);
  }

  // The input is copied first; then two phases, each of `moved` sends and as many receives, a receive two sends behind.
  [[nodiscard]] Step step(Rank rank, int channel, int, std::int64_t index) const override {
    const Ring& ring = rings_[static_cast<std::size_t>(channel)];
    if (index == 0) {
      Step copy = step_of(ring.data.bytes);
      read_from(copy, Buffer::kInput, ring.data.offset);
      keep_at(copy, Buffer::kOutput, ring.data.offset);
      return copy;
    }
    --index;
    const bool reduces = index < 2 * moved(ring);
    const auto [sends, i] = place(index % (2 * moved(ring)), moved(ring));
    // In the reduce-scatter a rank begins with the chunk behind its own and ends with its own; in the all-gather it begins with
    // its own.
    const std::int64_t first = (rank + (reduces ? 1 : 0) + (sends ? 0 : 1)) * ring.per_rank;
    const std::int64_t segment = (first + i) % (n_ * ring.per_rank);
    const Part part = chunk_of(ring.data, 0, ring.segment, segment);
    Step step = step_of(part.bytes);
    if (sends) {
      step.send_to = (rank + n_ - 1) % n_;
      read_from(step, Buffer::kOutput, part.offset);
    } else {
      step.receive_from = (rank + 1) % n_;
      if (reduces) read_from(step, Buffer::kOutput, part.offset);
      keep_at(step, Buffer::kOutput, part.offset);
    }
    return step;
  }

 private:
  struct Ring {
    Part data;
    std::int64_t segment = 1;   // bytes
    std::int64_t per_rank = 2;  // segments of a rank's chunk
  };
  struct Place {
    bool sends;
    std::int64_t segment;
  };
  [[nodiscard]] std::int64_t moved(const Ring& ring) const { return (n_ - 1) * ring.per_rank; }
  // send 0, send 1, receive 0, send 2, receive 1, ..., and the last two receives.
  [[nodiscard]] static Place place(std::int64_t index, std::int64_t count) {
    const std::int64_t ahead = std::min(kInFlight, count);
    if (index < ahead) return {true, index};
    if (index >= 2 * count - ahead) return {false, index - count};
    const std::int64_t turn = (index - ahead) / 2;
    return (index - ahead) % 2 == 0 ? Place{false, turn} : Place{true, turn + ahead};
  }

  int n_;
  std::vector<Ring> rings_;
};

class GlooRing final : public Algorithm {
 public:
  [[nodiscard]] bool supports(Collective collective) const override { return collective == Collective::kAllReduce; }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override {
    WEFT_CHECK(supports(call.kind));
    WEFT_CHECK(choice.channels <= communicator.channels());
    return std::make_unique<GlooRingSchedule>(communicator.ranks(), call, choice);
  }
};

}  // namespace

const Registration<Algorithm> builtin::gloo_ring{
    .name = "gloo_ring",
    .summary = "Gloo's ring all-reduce: two or more segments of at most 1 MiB for each rank, two under way",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return std::make_unique<GlooRing>(); },
    .model = {.assumes = "Cuts, order of messages and peers are those of Gloo's sources; the transport is the cluster's "
                         "fabric.",
              .leaves_out = {"gloo: notifications that guard receive buffers, which carry no data, are left out",
                             "gloo_ring: segments beyond the end of the vector are sent empty; Gloo leaves them out",
                             "gloo_ring: Gloo has one channel; here each of several runs the ring on its share"},
              .sources = {"Gloo's public sources: allreduce.cc, docs/algorithms.md"}},
};

}  // namespace weft::coll
