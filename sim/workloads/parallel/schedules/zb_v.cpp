#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/workloads/parallel/schedules/v_shaped.h"

namespace weft::work {
namespace {

constexpr int kNever = std::numeric_limits<int>::max();

// Passes of one position of the model: how many have run, and in which step each microbatch was done.
struct Position {
  std::vector<int> forward_done;
  std::vector<int> backward_done;
  int forwards = 0;
  int backwards = 0;
  int weights = 0;
};

// Plays the pipeline step by step, every pass one step long, and writes down what each stage chose.
class ListSchedule {
 public:
  explicit ListSchedule(const PipelineShape& shape)
      : stages_{shape.stages}, microbatches_{shape.microbatches}, in_flight_(index(stages_), 0), orders_(index(stages_)) {
    const std::vector<int> never(index(microbatches_), kNever);
    positions_.assign(index(2 * stages_), {.forward_done = never, .backward_done = never});
    std::vector<std::optional<PipelineOp>> chosen(index(stages_));
    for (int step = 0; unfinished(); ++step) {
      for (int stage = 0; stage < stages_; ++stage) chosen[index(stage)] = choose(stage, step);
      for (int stage = 0; stage < stages_; ++stage) {
        if (chosen[index(stage)]) run(stage, *chosen[index(stage)], step);
      }
    }
  }

  [[nodiscard]] const std::vector<PipelineOp>& order(int stage) const { return orders_[index(stage)]; }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] int position_of(int stage, int chunk) const { return chunk == 0 ? stage : 2 * stages_ - 1 - stage; }
  [[nodiscard]] bool unfinished() const {
    return std::any_of(positions_.begin(), positions_.end(), [this](const Position& p) { return p.weights < microbatches_; });
  }

  [[nodiscard]] bool can_forward(int at, int step) const {
    const int i = positions_[index(at)].forwards;
    return i < microbatches_ && (at == 0 || positions_[index(at - 1)].forward_done[index(i)] <= step);
  }
  [[nodiscard]] bool can_backward(int at, int step) const {
    const int i = positions_[index(at)].backwards;
    if (i == microbatches_ || positions_[index(at)].forward_done[index(i)] > step) return false;
    return at == 2 * stages_ - 1 || positions_[index(at + 1)].backward_done[index(i)] <= step;
  }

  // The pass that sets memory free soonest comes first. That is an input gradient, of the position next to the embedding before
  // that next to the head. Then comes a forward, the other way round, and then a weight gradient.
  [[nodiscard]] std::optional<PipelineOp> choose(int stage, int step) const {
    for (const int chunk : {0, 1}) {
      const int at = position_of(stage, chunk);
      if (can_backward(at, step)) return PipelineOp{PipelinePass::kBackwardInput, positions_[index(at)].backwards, chunk};
    }
    for (const int chunk : {1, 0}) {
      const int at = position_of(stage, chunk);
      if (in_flight_[index(stage)] < 2 * stages_ && can_forward(at, step)) {
        return PipelineOp{PipelinePass::kForward, positions_[index(at)].forwards, chunk};
      }
    }
    std::optional<PipelineOp> oldest;
    for (const int chunk : {0, 1}) {
      const Position& position = positions_[index(position_of(stage, chunk))];
      if (position.weights == position.backwards) continue;
      if (!oldest || position.weights < oldest->microbatch) {
        oldest = PipelineOp{PipelinePass::kBackwardWeight, position.weights, chunk};
      }
    }
    return oldest;
  }

  void run(int stage, const PipelineOp& op, int step) {
    Position& position = positions_[index(position_of(stage, op.chunk))];
    if (op.pass == PipelinePass::kForward) {
      position.forward_done[index(position.forwards++)] = step + 1;
      ++in_flight_[index(stage)];
    } else if (op.pass == PipelinePass::kBackwardInput) {
      position.backward_done[index(position.backwards++)] = step + 1;
    } else {
      ++position.weights;
      --in_flight_[index(stage)];
    }
    orders_[index(stage)].push_back(op);
  }

  int stages_;
  int microbatches_;
  std::vector<Position> positions_;
  std::vector<int> in_flight_;  // chunks whose activations a stage holds
  std::vector<std::vector<PipelineOp>> orders_;
};

class ZeroBubbleV final : public VShaped {
 public:
  [[nodiscard]] std::string refusal(const PipelineShape& shape) const override {
    if (shape.overlap_expert) return "zb_v runs no forward beside a backward; interleaved_1f1b and dualpipe do";
    return chunk_refusal(shape, "zb_v");
  }

  [[nodiscard]] std::vector<PipelineOp> order(const PipelineShape& shape, int stage) const override {
    return ListSchedule{shape}.order(stage);
  }
};

}  // namespace

namespace builtin {
const Registration<PipelineSchedule> zb_v{
    .name = "zb_v",
    .summary = "two chunks per rank in a V; almost no bubble where F = B = W, p microbatches on every stage",
    .make = [](ParamReader&) -> std::unique_ptr<PipelineSchedule> { return std::make_unique<ZeroBubbleV>(); },
    .model = {.assumes = "Two chunks per rank in a V, input and weight gradients apart, as much memory as 1F1B's first stage: "
                         "p microbatches.",
              .leaves_out = {"zb_v: the order is not the authors' own but a list schedule for F = B = W; where all passes are "
                             "equal it is at most p/3 passes longer than 6 m + p - 1, the least there can be, from 2p "
                             "microbatches up"},
              .sources = {"Qi et al., 2024", "models/workloads §3"}},
};
}  // namespace builtin

}  // namespace weft::work
