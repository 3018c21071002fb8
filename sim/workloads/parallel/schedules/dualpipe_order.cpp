#include "sim/workloads/parallel/schedules/dualpipe_order.h"

#include <array>
#include <cstddef>
#include <deque>

namespace weft::work {
namespace {

// Writes an order down; each phase's forwards and backwards take microbatches in turn, weight gradients put off come out in
// the order they were put off.
class Writer {
 public:
  explicit Writer(int first_chunk) : first_chunk_{first_chunk} {}

  void forward(int phase, bool with_next = false) { add(PipelinePass::kForward, phase, forwards_[index(phase)]++, with_next); }
  void full_backward(int phase) { add(PipelinePass::kBackward, phase, backwards_[index(phase)]++); }
  void backward_input(int phase) {
    const std::int32_t microbatch = backwards_[index(phase)]++;
    add(PipelinePass::kBackwardInput, phase, microbatch);
    put_off_.push_back({PipelinePass::kBackwardWeight, microbatch, chunk_of(phase)});
  }
  void backward(int phase, bool split) { split ? backward_input(phase) : full_backward(phase); }
  void weight() {
    order_.push_back(put_off_.front());
    put_off_.pop_front();
  }
  void overlapped(int forward_phase, int backward_phase) {
    forward(forward_phase, true);
    full_backward(backward_phase);
  }
  [[nodiscard]] std::vector<PipelineOp> take() { return std::move(order_); }

 private:
  static std::size_t index(int phase) { return static_cast<std::size_t>(phase); }
  [[nodiscard]] std::int32_t chunk_of(int phase) const { return phase == 0 ? first_chunk_ : 1 - first_chunk_; }
  void add(PipelinePass pass, int phase, std::int32_t microbatch, bool with_next = false) {
    order_.push_back({pass, microbatch, chunk_of(phase), with_next});
  }

  std::int32_t first_chunk_;
  std::array<std::int32_t, 2> forwards_{};
  std::array<std::int32_t, 2> backwards_{};
  std::deque<PipelineOp> put_off_;
  std::vector<PipelineOp> order_;
};

// Backwards of both phases in turn; from half way on they leave their weight gradients for later.
void write_last_backwards(Writer& writer, int h) {
  for (int i = 0; i <= h; ++i) {
    const int half = (h + 1) / 2;
    writer.backward(1, i > half || (i == half && h % 2 == 1));
    writer.backward(0, i >= half);
  }
}

}  // namespace

std::vector<PipelineOp> dualpipe_order(const DualPipeRank& rank) {
  const int h = rank.from_end;
  const int to_middle = rank.half - h - 1;
  const int steady = rank.microbatches - 2 * rank.half + h + 1;
  Writer writer{rank.first_chunk};
  for (int i = 0; i < 2 * to_middle; ++i) writer.forward(0);
  for (int i = 0; i <= h; ++i) {
    writer.forward(0);
    writer.forward(1);
  }
  for (int i = 0; i < to_middle; ++i) {
    writer.backward_input(1);
    writer.weight();
    writer.forward(1);
  }
  for (int i = 0; i < steady; ++i) {
    if (i == 0 && to_middle == 0) {  // apart, so that the other middle rank gets this forward sooner
      writer.forward(0);
      writer.full_backward(1);
    } else {
      writer.overlapped(0, 1);
    }
    writer.overlapped(1, 0);
  }
  for (int i = 0; i < to_middle; ++i) {
    writer.full_backward(1);
    writer.overlapped(1, 0);
  }
  write_last_backwards(writer, h);
  for (int i = 0; i < to_middle; ++i) {
    writer.weight();
    writer.backward_input(0);
  }
  for (int i = 0; i <= h; ++i) writer.weight();
  return writer.take();
}

}  // namespace weft::work
