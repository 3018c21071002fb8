// The step of one pipeline stage: walks the schedule's order and writes forward and backward passes, messages between stages,
// gradient synchronisation and the optimizer (models/workloads §2.10).
//
// Model: a receive is posted when the operation before it has ended; of schedules with several chunks or split backward passes,
// with overlap_p2p, one operation earlier. Of GPipe and 1F1B, a send and a receive to and from the same stage that follow each
// other travel together, as frameworks batch them, and compute waits for both.
//
// Model: memory of messages. Megatron-LM receives into one buffer each time: activations into what the chunk's first layer
// keeps as its input, gradients into a buffer until the pass they began has ended; what was sent is freed. PyTorch's
// pipelining (_PipelineStageBase) makes buffers for all microbatches beforehand and holds a stage's output until its backward
// pass.
//
// Model: the two copies of a stage that DualPipe holds on two ranks do not exchange their gradients.
#pragma once

#include <optional>
#include <vector>

#include "sim/workloads/parallel/pipeline_schedule.h"
#include "sim/workloads/training/layer_operators.h"

namespace weft::work {

class StageProgram {
 public:
  // `schedule` is null where the pipeline has one stage and one chunk.
  StageProgram(const TrainingSetup& setup, const KernelTimes& times, const GroupSlots& groups, const LayerOperators& operators,
               const PipelineSchedule* schedule, int stage);

  [[nodiscard]] RankProgram write();

 private:
  // Where a chunk's activations come from or go to; nothing: another chunk of this stage, or the end of the model.
  struct Neighbour {
    std::uint16_t peer = 0;
    bool reversed = false;  // activations move towards lower stages
  };
  [[nodiscard]] std::optional<Neighbour> neighbour(int chunk, int step) const;
  struct Message {
    std::uint16_t peer = 0;
    std::uint8_t tag = 0;
  };
  [[nodiscard]] std::optional<Message> input_of(const PipelineOp& op) const;
  [[nodiscard]] std::optional<Message> output_of(const PipelineOp& op) const;
  [[nodiscard]] std::vector<PipelineOp> order() const;
  [[nodiscard]] bool is_plain() const;

  void receive(std::size_t index);
  void send_output(const PipelineOp& op);
  [[nodiscard]] bool runs_together(const PipelineOp& op) const;
  void run_together(std::size_t index);
  void run(const PipelineOp& op);
  void forward(const PipelineOp& op);
  void given_pass(const PipelineOp& op);
  void backward(const PipelineOp& op, BackwardPart part);
  void backward_layer(const StageChunk& chunk, std::int64_t layer, BackwardPart part);
  void run_again(const StageChunk& chunk, std::int64_t layer);
  void finish();
  void clip_gradients();
  [[nodiscard]] std::vector<ParameterTensor> all_tensors() const;
  [[nodiscard]] std::int64_t layer_input_bytes() const;
  // Returns what stays of a layer until it is recomputed, or until its backward pass.
  [[nodiscard]] std::int64_t kept_bytes(const StageChunk& chunk, std::int64_t layer) const;
  // Returns what of a layer's memory lies in the buffer in which its chunk's input arrived.
  [[nodiscard]] std::int64_t received_bytes(const StageChunk& chunk, std::int64_t layer) const;
  void allocate_buffers();
  void release_message(const PipelineOp& op);

  const TrainingSetup& setup_;
  const LayerOperators& operators_;
  const PipelineSchedule* schedule_;
  PipelineShape shape_;
  StageModel model_;
  std::vector<std::vector<ParameterTensor>> tensors_;  // by chunk
  StepEmitter emit_;
  std::unique_ptr<GradientSync> gradients_;
  std::vector<PipelineOp> order_;
  std::vector<OpIndex> received_;  // by index in the order; kNoOp: needs nothing
  std::size_t posted_ = 0;         // receives of the order's first operations
  OpIndex last_send_ = kNoOp;
  Bytes message_;
  bool keeps_buffers_ = false;     // of all messages, all the step long
  std::int64_t buffer_bytes_ = 0;  // those
};

}  // namespace weft::work
