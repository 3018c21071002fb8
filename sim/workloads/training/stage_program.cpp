#include "sim/workloads/training/stage_program.h"

#include <utility>

#include "sim/core/error.h"
#include "sim/workloads/model/memory.h"
#include "sim/workloads/training/checkpoint.h"
#include "sim/workloads/training/data_loading.h"
#include "sim/workloads/training/weave.h"

namespace weft::work {
namespace {

SyncedModel synced(int stage, bool copies, const std::vector<std::vector<ParameterTensor>>& tensors) {
  return {.stage = stage, .copies = copies, .chunks = tensors};
}

}  // namespace

StageProgram::StageProgram(const TrainingSetup& setup, const KernelTimes& times, const GroupSlots& groups,
                           const LayerOperators& operators, const PipelineSchedule* schedule, int stage)
    : setup_{setup},
      operators_{operators},
      schedule_{schedule},
      shape_{pipeline_shape(setup.plan, setup.batch)},
      model_{stage_model(setup, schedule, stage)},
      tensors_{stage_tensors(setup, model_, operators.traits().replicates_vocabulary)},
      emit_{setup, times, groups, operators.traits()},
      gradients_{make_gradient_sync(setup, groups, synced(stage, operators.traits().copies_gradients, tensors_))},
      order_{order()},
      received_(order_.size(), kNoOp) {
  // Under sequence parallelism a rank has, and sends, its part of the tokens.
  const RankShapes& shapes = emit_.shapes();
  message_ = Bytes{shapes.activation_bytes(shapes.norm_tokens * shapes.hidden)};
  keeps_buffers_ = operators.traits().copies_gradients;
}

std::vector<PipelineOp> StageProgram::order() const {
  if (schedule_ != nullptr) return schedule_->order(shape_, model_.stage);
  std::vector<PipelineOp> order;
  for (int i = 0; i < shape_.microbatches; ++i) {
    order.push_back({.pass = PipelinePass::kForward, .microbatch = i});
    order.push_back({.pass = PipelinePass::kBackward, .microbatch = i});
  }
  return order;
}

// GPipe and 1F1B: nothing else can be done while a message is under way.
bool StageProgram::is_plain() const {
  return schedule_ == nullptr || (model_.chunks.size() == 1 && !schedule_->splits_backward());
}

std::optional<StageProgram::Neighbour> StageProgram::neighbour(int chunk, int step) const {
  if (schedule_ == nullptr) return std::nullopt;
  const StageChunk& place = model_.chunks[static_cast<std::size_t>(chunk)];
  const int position = place.position + step;
  if (position < 0 || position >= place.positions) return std::nullopt;
  const int p = shape_.stages;
  const int stage = schedule_->stage_at(shape_, position, chunk);
  if (stage == model_.stage) return std::nullopt;
  const bool is_next = stage == (model_.stage + 1) % p;
  WEFT_CHECK(is_next || stage == (model_.stage + p - 1) % p);
  // Which way activations move: from here to `stage`, or from there to here.
  const bool reversed = step > 0 ? !is_next : model_.stage != (stage + 1) % p;
  return Neighbour{.peer = is_next ? kNextStage : kPreviousStage, .reversed = reversed};
}

std::optional<StageProgram::Message> StageProgram::input_of(const PipelineOp& op) const {
  if (op.pass == PipelinePass::kBackwardWeight) return std::nullopt;
  const bool gradient = op.pass != PipelinePass::kForward;
  const auto from = neighbour(op.chunk, gradient ? 1 : -1);
  if (!from) return std::nullopt;
  return Message{.peer = from->peer, .tag = static_cast<std::uint8_t>((from->reversed ? 2 : 0) + (gradient ? 1 : 0))};
}

std::optional<StageProgram::Message> StageProgram::output_of(const PipelineOp& op) const {
  if (op.pass == PipelinePass::kBackwardWeight) return std::nullopt;
  const bool gradient = op.pass != PipelinePass::kForward;
  const auto to = neighbour(op.chunk, gradient ? -1 : 1);
  if (!to) return std::nullopt;
  return Message{.peer = to->peer, .tag = static_cast<std::uint8_t>((to->reversed ? 2 : 0) + (gradient ? 1 : 0))};
}

// Posts what the operation `index` of the order, and those before it, need.
void StageProgram::receive(std::size_t index) {
  for (; posted_ <= index && posted_ < order_.size(); ++posted_) {
    const PipelineOp& op = order_[posted_];
    emit_.set_microbatch(op.microbatch);
    emit_.set_layer(-1);
    if (const auto message = input_of(op)) {
      received_[posted_] = emit_.message(OpKind::kReceive, message->peer, message_, message->tag,
                                         op.pass == PipelinePass::kForward ? "receive activations" : "receive gradients");
      if (!keeps_buffers_) emit_.builder().allocate(received_[posted_], message_.count());
    }
  }
}

void StageProgram::allocate_buffers() {
  if (!keeps_buffers_) return;
  for (const PipelineOp& op : order_) {
    if (input_of(op)) buffer_bytes_ += message_.count();
  }
  emit_.allocate(buffer_bytes_);
}

// A pass has ended: of what a forward pass sends on PyTorch keeps its own, until the backward pass; of a gradient Megatron-LM
// frees what arrived.
void StageProgram::release_message(const PipelineOp& op) {
  const bool is_forward = op.pass == PipelinePass::kForward;
  if (keeps_buffers_) {
    if (is_forward && output_of(op)) emit_.builder().allocate(emit_.computed(), message_.count());
    if (!is_forward && input_of(op)) emit_.release(message_.count());
  } else if (!is_forward && input_of(op)) {
    emit_.release(message_.count());
  }
}

void StageProgram::send_output(const PipelineOp& op) {
  emit_.set_microbatch(op.microbatch);
  const auto message = output_of(op);
  if (!message) return;
  last_send_ = emit_.message(OpKind::kSend, message->peer, message_, message->tag,
                             op.pass == PipelinePass::kForward ? "send activations" : "send gradients");
}

// Only experts' all-to-alls leave compute idle that the other pass can use.
bool StageProgram::runs_together(const PipelineOp& op) const {
  return op.with_next && setup_.plan.expert > 1 && setup_.model.moe.experts > 0;
}

// Operation `index` and the next.
void StageProgram::run_together(std::size_t index) {
  receive(index + 1);
  const auto begin = static_cast<OpIndex>(emit_.builder().size());
  emit_.join(received_[index]);
  run(order_[index]);
  const auto middle = static_cast<OpIndex>(emit_.builder().size());
  emit_.join(received_[index + 1]);
  run(order_[index + 1]);
  gradients_->moved(begin, weave(emit_.builder(), begin, middle));
  send_output(order_[index]);
  send_output(order_[index + 1]);
}

RankProgram StageProgram::write() {
  const StageParameters trainable = count(all_tensors(), true);
  const StateBytes state = state_bytes(count(all_tensors(), false), trainable, setup_.plan, setup_.precision, setup_.moments());
  if (setup_.checkpoint && setup_.checkpoint->restores_first) {
    const double bytes = state.parameters + (setup_.checkpoint->has_optimizer ? state.optimizer : 0);
    restore_checkpoint(emit_, Bytes{static_cast<std::int64_t>(bytes)});
  }
  gradients_->begin_step(emit_);
  allocate_buffers();
  if (setup_.data_loading && (model_.has_embedding() || model_.has_head())) load_data(emit_);
  const bool early = setup_.plan.overlap_p2p && !is_plain();
  for (std::size_t i = 0; i < order_.size(); ++i) {
    receive(early ? i + 1 : i);
    if (runs_together(order_[i])) {
      run_together(i++);
      continue;
    }
    emit_.join(received_[i]);
    if (is_plain() && i > 0) {
      const auto sent = output_of(order_[i - 1]), input = input_of(order_[i]);
      if (sent && input && sent->peer == input->peer) emit_.join(last_send_);
    }
    run(order_[i]);
    send_output(order_[i]);
  }
  finish();
  if (setup_.checkpoint) save_checkpoint(emit_, saved_bytes(setup_, trainable));
  RankProgram program = emit_.builder().take();
  program.resident = {.parameters = static_cast<std::int64_t>(state.parameters),
                      .gradients = gradients_->keeps_gradients() ? static_cast<std::int64_t>(state.gradients) : 0,
                      .optimizer = static_cast<std::int64_t>(state.optimizer)};
  return program;
}

void StageProgram::run(const PipelineOp& op) {
  emit_.set_microbatch(op.microbatch);
  emit_.begin_pass();
  const int last = (schedule_ == nullptr ? shape_.microbatches : schedule_->microbatches(shape_)) - 1;
  gradients_->set_place({.first_of_chunk = op.microbatch == 0, .last_of_chunk = op.microbatch == last, .chunk = op.chunk});
  if (setup_.stage_times) {
    given_pass(op);
    return release_message(op);
  }
  switch (op.pass) {
    case PipelinePass::kForward:
      forward(op);
      break;
    case PipelinePass::kBackward:
      backward(op, {});
      break;
    case PipelinePass::kBackwardInput:
      backward(op, {.weight = false});
      break;
    case PipelinePass::kBackwardWeight:
      backward(op, {.input = false});
      break;
  }
  release_message(op);
}

// Memory and gradients as with layers; the time is that given.
void StageProgram::given_pass(const PipelineOp& op) {
  const StageChunk& chunk = model_.chunks[static_cast<std::size_t>(op.chunk)];
  const StageTimes& times = *setup_.stage_times;
  const auto own = [&](const std::vector<Duration>& by_stage) {
    if (by_stage.empty()) return Duration{};
    const std::size_t at = by_stage.size() == 1 ? 0 : static_cast<std::size_t>(model_.stage);
    return Duration::from_ps(by_stage[at].ps() / static_cast<std::int64_t>(model_.chunks.size()));
  };
  emit_.set_layer(-1);
  if (op.pass == PipelinePass::kForward) {
    for (std::int64_t layer = chunk.first; layer < chunk.last; ++layer) {
      emit_.allocate(kept_bytes(chunk, layer) - received_bytes(chunk, layer));
    }
    emit_.pass(own(times.forward), "forward");
    return;
  }
  if (op.pass != PipelinePass::kBackwardWeight) emit_.pass(own(times.backward), "backward");
  if (op.pass == PipelinePass::kBackwardInput) return;
  if (op.pass == PipelinePass::kBackwardWeight || !times.weight.empty()) emit_.pass(own(times.weight), "backward of weights");
  for (std::int64_t layer = chunk.last - 1; layer >= chunk.first; --layer) {
    emit_.release(operators_.saved_by_layer(emit_, layer) - (keeps_buffers_ ? received_bytes(chunk, layer) : 0));
  }
  for (const ParameterTensor& tensor : tensors_[static_cast<std::size_t>(op.chunk)]) {
    if (tensor.trainable == 0) continue;
    emit_.set_layer(tensor.layer);
    gradients_->gradient_ready(emit_, tensor.kind);
  }
  emit_.set_layer(-1);
}

void StageProgram::forward(const PipelineOp& op) {
  const StageChunk& chunk = model_.chunks[static_cast<std::size_t>(op.chunk)];
  emit_.set_layer(-1);
  if (chunk.has_embedding || chunk.has_head) gradients_->before_forward(emit_, kRootUnit, op.chunk);
  if (chunk.has_embedding) operators_.embedding_forward(emit_);
  for (std::int64_t layer = chunk.first; layer < chunk.last; ++layer) {
    gradients_->before_forward(emit_, layer, op.chunk);
    emit_.set_layer(layer);
    emit_.allocate(kept_bytes(chunk, layer) - received_bytes(chunk, layer));
    operators_.layer_forward(emit_, layer);
    gradients_->after_forward(emit_, layer, op.chunk);
  }
  emit_.set_layer(-1);
  if (!chunk.has_head) return;
  gradients_->before_forward(emit_, kHeadUnit, op.chunk);
  emit_.set_layer(-1);
  operators_.head_forward(emit_);
}

void StageProgram::backward(const PipelineOp& op, BackwardPart part) {
  const StageChunk& chunk = model_.chunks[static_cast<std::size_t>(op.chunk)];
  const bool has_root = chunk.has_embedding || chunk.has_head;
  emit_.set_layer(-1);
  if (has_root) gradients_->before_backward(emit_, kRootUnit);
  emit_.set_layer(-1);
  if (chunk.has_head) operators_.head_backward(emit_, *gradients_, part);
  for (std::int64_t layer = chunk.last - 1; layer >= chunk.first; --layer) {
    backward_layer(chunk, layer, part);
  }
  emit_.set_layer(-1);
  if (chunk.has_embedding && part.weight) operators_.embedding_backward(emit_, *gradients_);
  if (has_root) gradients_->after_backward(emit_, kRootUnit);
}

void StageProgram::backward_layer(const StageChunk& chunk, std::int64_t layer, BackwardPart part) {
  gradients_->before_backward(emit_, layer);
  emit_.set_layer(layer);
  if (part.input) run_again(chunk, layer);
  operators_.layer_backward(emit_, *gradients_, layer, part);
  if (part.weight) {
    emit_.release(operators_.saved_by_layer(emit_, layer) - (keeps_buffers_ ? received_bytes(chunk, layer) : 0));
  }
  gradients_->after_backward(emit_, layer);
}

// Layers that are recomputed together run again before the backward pass of their last one.
void StageProgram::run_again(const StageChunk& chunk, std::int64_t layer) {
  const std::int64_t group = setup_.plan.recompute_group();
  const std::int64_t index = layer - chunk.first;
  if (index % group != group - 1 && layer != chunk.last - 1) return;
  for (std::int64_t again = layer - index % group; again <= layer; ++again) {
    emit_.set_layer(again);
    const Recompute recompute = setup_.plan.recompute_of(again - chunk.first);
    emit_.allocate(operators_.saved_by_layer(emit_, again) - kept_bytes(chunk, again));
    if (recompute == Recompute::kFull) operators_.layer_again(emit_, again);
    if (recompute == Recompute::kOperators) operators_.operators_again(emit_, again);
  }
}

std::int64_t StageProgram::layer_input_bytes() const {
  const RankShapes& shapes = emit_.shapes();
  return shapes.activation_bytes(shapes.norm_tokens * shapes.hidden);
}

std::int64_t StageProgram::kept_bytes(const StageChunk& chunk, std::int64_t layer) const {
  const std::int64_t index = layer - chunk.first;
  switch (setup_.plan.recompute_of(index)) {
    case Recompute::kFull:
      return index % setup_.plan.recompute_group() == 0 ? layer_input_bytes() : 0;
    case Recompute::kOperators:
      return static_cast<std::int64_t>(activation_bytes(setup_.model, layer, setup_.plan, setup_.batch, setup_.precision));
    case Recompute::kNone:
    case Recompute::kSelective:
      break;
  }
  return operators_.saved_by_layer(emit_, layer);
}

std::int64_t StageProgram::received_bytes(const StageChunk& chunk, std::int64_t layer) const {
  if (layer != chunk.first || schedule_ == nullptr) return 0;
  for (std::size_t c = 0; c < model_.chunks.size(); ++c) {
    if (&model_.chunks[c] == &chunk) return neighbour(static_cast<int>(c), -1) ? message_.count() : 0;
  }
  return 0;
}

std::vector<ParameterTensor> StageProgram::all_tensors() const {
  std::vector<ParameterTensor> all;
  for (const auto& chunk : tensors_) all.insert(all.end(), chunk.begin(), chunk.end());
  return all;
}

void StageProgram::finish() {
  emit_.set_microbatch(-1);
  emit_.set_layer(-1);
  emit_.release(buffer_bytes_);
  if (model_.has_head()) operators_.after_microbatches(emit_);
  gradients_->before_optimizer(emit_);
  if (emit_.groups().has(GroupSlot::kEmbedding) && (model_.has_head() || model_.has_embedding())) {
    // Both ends of the pipeline hold the table, and both have a gradient of it.
    for (const ParameterTensor& tensor : all_tensors()) {
      if (tensor.kind != TensorKind::kEmbedding && tensor.kind != TensorKind::kHead) continue;
      // The first stage's has the positions too, which stay there.
      const std::int64_t shards = emit_.traits().replicates_vocabulary ? 1 : setup_.plan.tensor;
      const bool has_positions = tensor.kind == TensorKind::kEmbedding && tensor.trainable > 0;
      const std::int64_t positions = has_positions ? setup_.model.learned_positions * setup_.model.hidden / shards : 0;
      const double shared = static_cast<double>(tensor.trainable - positions);
      const double bytes = bytes_per_element(setup_.precision.gradients) * shared;
      emit_.blocking(GroupSlot::kEmbedding, coll::Collective::kAllReduce, Bytes{static_cast<std::int64_t>(bytes)},
                     "all-reduce shared embedding");
      break;
    }
  }
  if (setup_.clip_grad_norm) clip_gradients();
  emit_.begin_pass();
  operators_.optimizer(emit_, all_tensors(), *gradients_);
  gradients_->after_optimizer(emit_);
}

// Each rank's squares, their sum over all ranks that hold other parameters, and the factor on every gradient.
void StageProgram::clip_gradients() {
  double elements = 0;
  for (const ParameterTensor& tensor : all_tensors()) {
    elements += static_cast<double>(tensor.trainable) / gradients_->shards(tensor);
  }
  const double bytes = elements * bytes_per_element(setup_.precision.gradients);
  emit_.kernel({.kind = KernelKind::kElementwise, .bytes = bytes}, "gradient norm", Category::kOptimizer);
  emit_.blocking(GroupSlot::kModel, coll::Collective::kAllReduce, Bytes{4}, "all-reduce gradient norm");
  emit_.kernel({.kind = KernelKind::kElementwise, .bytes = 2 * bytes}, "clip gradients", Category::kOptimizer);
}

}  // namespace weft::work
