// NCCL's copy-engine collectives on buffers in symmetric memory (NCCL 2.28 and later): each rank has an engine copy its blocks
// straight into the peers' buffers, between two rounds of flags. No thread block runs.
//
// Lanes: 0 takes in what the ranks before it copy, 1 copies to the ranks after it, one after the other, 2 copies its own block.
#include <memory>

#include "sim/collectives/algorithms/sends.h"
#include "sim/collectives/algorithms/steps.h"
#include "sim/collectives/builtin.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

class EngineSchedule final : public Schedule {
  enum Lane : int { kTakesIn, kCopies, kOwn, kLanes };

 public:
  EngineSchedule(int ranks, const CollectiveCall& call)
      : kind_{call.kind}, n_{ranks}, root_{call.root}, messages_{call, ranks} {}

  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] int channels() const override { return 1; }
  [[nodiscard]] int lanes(Rank, int) const override { return kLanes; }
  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override {
    if (channel > 0 || messages_.largest() == 0) return 0;
    if (lane == kOwn) return is_rooted() && rank != root_ ? 0 : 1;
    const Collective all = lane == kTakesIn ? Collective::kGather : Collective::kScatter;  // in which the root has all peers
    if (!is_rooted() || (kind_ == all && rank == root_)) return n_ - 1;
    return kind_ == all || rank == root_ ? 0 : 1;
  }

  [[nodiscard]] Step step(Rank rank, int, int lane, std::int64_t index) const override {
    const int turn = static_cast<int>(index) + 1;
    Rank from = rank;
    Rank to = rank;
    if (lane == kTakesIn) from = kind_ == Collective::kScatter ? root_ : (rank + n_ - turn) % n_;
    if (lane == kCopies) to = kind_ == Collective::kGather ? root_ : (rank + turn) % n_;
    if (messages_.bytes(from, to) == 0) return nothing_to_do();
    Step step = step_of(messages_.bytes(from, to));
    if (from != rank) step.receive_from = from;
    if (to != rank) step.send_to = to;
    if (from == rank) read_from(step, Buffer::kInput, messages_.input_offset(from, to));
    if (to == rank) keep_at(step, Buffer::kOutput, output_offset(from, to));
    return step;
  }

 private:
  [[nodiscard]] bool is_rooted() const { return kind_ == Collective::kGather || kind_ == Collective::kScatter; }
  [[nodiscard]] std::int64_t output_offset(Rank from, Rank to) const {
    return kind_ == Collective::kAllGather ? from * messages_.largest() : messages_.output_offset(from, to);
  }

  Collective kind_;
  int n_;
  Rank root_;
  Messages messages_;
};

class NcclCopyEngine final : public Algorithm {
 public:
  [[nodiscard]] bool supports(Collective collective) const override {
    return collective == Collective::kAllGather || collective == Collective::kAllToAll || collective == Collective::kGather ||
           collective == Collective::kScatter;
  }
  [[nodiscard]] Kernel kernel() const override { return Kernel::kPeer; }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice&) const override {
    WEFT_CHECK(supports(call.kind));
    return std::make_unique<EngineSchedule>(communicator.ranks(), call);
  }
};

}  // namespace

const Registration<Algorithm> builtin::nccl_copy_engine{
    .name = "nccl_copy_engine",
    .summary = "NCCL's all-gather, all-to-all, gather and scatter by copy engines (-R 2), without SMs",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return std::make_unique<NcclCopyEngine>(); },
    .model =
        {.title = "NCCL's copy-engine collectives",
         .assumes =
             "NCCL takes them for buffers in symmetric memory where all GPUs reach each other over NVLink: under "
             "NCCL_CTA_POLICY=ZERO from 2.28 on, and from 2.29 on for all-gathers of Blackwell with more than "
             "NCCL_SYM_CE_THRESHOLD elements a rank (8 Mi). Flags are copies of 4 bytes: one through the switch where it "
             "multicasts, else one to each peer. A rank copies to one peer after the other, from the next rank on. A copy "
             "starts in gpu.copy.engine_start; a call's are one batch, which starts once, but in a CUDA graph. Data move at "
             "the rate of copy engines, gpu.contention.collective_links times what thread blocks get through NVLinks. No "
             "thread block is taken.",
         .leaves_out =
             {"nccl_copy_engine: never measured here. That a batch's copies follow one another is concluded from a published "
              "all-to-all of 4 H100 that are joined without a switch (NCCL issue 2169): each copy gets the links to its peer",
              "nccl_copy_engine: the flags between parts of batches of 9 copies and 512 MiB or more, the copy of a rank's own "
              "block and the host's calls of the driver beyond those of one kernel cost nothing",
              "nccl_copy_engine: those over several NVLink domains (NCCL 2.30), and grouped calls",
              "nccl_copy_engine: training, serving and traces run their calls as without registered buffers"},
         .sources = {"NCCL 2.28.9, 2.29.7 and 2.30.7, src/ce_coll.cc and src/enqueue.cc (taskAppend)",
                     "Release notes of NCCL 2.28.3 and 2.29.2"},
         .files = {"collectives/nccl/copy_engine.h", "collectives/peer_costs.h"}},
};

}  // namespace weft::coll
