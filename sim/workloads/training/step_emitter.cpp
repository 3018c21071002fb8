#include "sim/workloads/training/step_emitter.h"

#include <string>

#include "sim/core/error.h"
#include "sim/workloads/kernels/contention.h"

namespace weft::work {
namespace {

Category category_of(KernelKind kind) {
  switch (class_of(kind)) {
    case KernelClass::kGemm:
      return Category::kGemm;
    case KernelClass::kAttention:
      return Category::kAttention;
    case KernelClass::kMemory:
      return Category::kOtherCompute;
    case KernelClass::kOptimizer:
      return Category::kOptimizer;
  }
  return Category::kOtherCompute;
}

Category category_of(GroupSlot slot) {
  switch (slot) {
    case GroupSlot::kTensor:
    case GroupSlot::kExpertTensor:
      return Category::kCommTensor;
    case GroupSlot::kContext:
      return Category::kCommContext;
    case GroupSlot::kData:
    case GroupSlot::kReplica:
    case GroupSlot::kExpertData:
      return Category::kCommData;
    case GroupSlot::kExpert:
      return Category::kCommExpert;
    case GroupSlot::kModel:
    case GroupSlot::kEmbedding:
      return Category::kCommOther;
  }
  return Category::kCommOther;
}

}  // namespace

StepEmitter::StepEmitter(const TrainingSetup& setup, const KernelTimes& times, const GroupSlots& groups,
                         const FrameworkTraits& traits)
    : setup_{setup},
      times_{times},
      groups_{groups},
      traits_{traits},
      shapes_{setup},
      experts_{setup},
      compute_{builder_.stream("compute")} {}

Operation StepEmitter::tagged(Operation op) const {
  op.microbatch = microbatch_;
  op.layer = layer_;
  return op;
}

OpIndex StepEmitter::kernel(const Kernel& kernel, std::string_view name, std::optional<Category> category) {
  Operation op{.duration = times_.alone(kernel) + times_.gap(), .stream = compute_};
  op.category = category.value_or(category_of(kernel.kind));
  op.fills_gpu = fills_gpu(class_of(kernel.kind));
  op.weight_gradient = kernel.weight_gradient;
  op.fills_memory = fills_memory(class_of(kernel.kind), kernel.bytes);
  set_load(op, times_.load(kernel, op.duration));
  op.launched = !(setup_.cuda_graph || in_graph_) || !graph_started_;
  graph_started_ = true;
  return compute(op, name);
}

OpIndex StepEmitter::pass(Duration duration, std::string_view name) {
  // A measured time has its clock in it. A load without tensor cores is not slowed again.
  const Operation given{.duration = duration, .stream = compute_, .category = Category::kGemm, .memory_share = 1};
  return compute(given, name);
}

OpIndex StepEmitter::compute(const Operation& op, std::string_view name) {
  const OpIndex index = builder_.add(tagged(op), name, joined_);
  joined_.clear();
  if (to_allocate_ != 0) builder_.allocate(index, to_allocate_);
  to_allocate_ = 0;
  return index;
}

OpIndex StepEmitter::kernel_on(std::string_view stream, const Kernel& kernel, std::string_view name,
                               std::span<const OpIndex> waits) {
  Operation op{
      .duration = times_.alone(kernel) + times_.gap(), .stream = builder_.stream(stream), .category = category_of(kernel.kind)};
  set_load(op, times_.load(kernel, op.duration));
  return builder_.add(tagged(op), name, waits);
}

OpIndex StepEmitter::collective(GroupSlot slot, coll::Collective kind, Bytes bytes, std::string_view name, On on) {
  if (!groups_.has(slot) || bytes <= Bytes{}) return kNoOp;
  Operation op{.bytes = bytes, .slot = groups_.index(slot), .kind = OpKind::kCollective, .category = category_of(slot)};
  op.stream = builder_.stream(on.stream.empty() ? to_string(slot) : on.stream);
  op.collective = kind;
  std::vector<OpIndex> waits{on.waits.begin(), on.waits.end()};
  if (on.after_compute) {
    // This waits for what compute would wait for next, too: it reads what those make.
    waits.push_back(computed());
    waits.insert(waits.end(), joined_.begin(), joined_.end());
  }
  const OpIndex index = builder_.add(tagged(op), name, waits);
  if (slot == GroupSlot::kTensor && traits_.blocks_on_tensor && !setup_.plan.overlap_tensor) join(index);
  return index;
}

OpIndex StepEmitter::message(OpKind kind, std::uint16_t peer, Bytes bytes, std::uint8_t tag, std::string_view name) {
  Operation op{.bytes = bytes, .slot = peer, .kind = kind, .category = Category::kCommPipeline};
  op.tag = tag;
  std::string stream = kind == OpKind::kSend ? "pp send " : "pp receive ";
  stream += peer == kNextStage ? "next" : "previous";
  // Messages of one tag keep their order at either end; those of two need not.
  if (tag > 1) stream += " reversed";
  if (tag % 2 == 1) stream += " gradient";
  op.stream = builder_.stream(stream);
  std::vector<OpIndex> waits = joined_;
  waits.push_back(computed());
  return builder_.add(tagged(op), name, waits);
}

void StepEmitter::join(OpIndex op) {
  if (op != kNoOp) joined_.push_back(op);
}

OpIndex StepEmitter::marker(std::string_view name) {
  Operation op{.stream = compute_, .kind = OpKind::kMarker, .category = Category::kOtherCompute};
  op.launched = false;
  const OpIndex index = builder_.add(tagged(op), name, joined_);
  joined_.clear();
  return index;
}

void StepEmitter::host_delay(std::int64_t operators, std::string_view name) {
  Operation op{.duration = operators * times_.host_operator(), .kind = OpKind::kHostDelay, .category = Category::kHost};
  op.stream = builder_.stream("host");
  op.launched = false;
  builder_.add(tagged(op), name);
}

void StepEmitter::host_sync(std::string_view name) {
  Operation op{.kind = OpKind::kHostSync, .category = Category::kHost};
  op.stream = builder_.stream("host");
  op.launched = false;
  const OpIndex compute = computed();
  builder_.add(tagged(op), name, std::span{&compute, 1});
}

void StepEmitter::allocate(std::int64_t bytes) { to_allocate_ += bytes; }

void StepEmitter::release(std::int64_t bytes) {
  if (bytes == 0) return;
  WEFT_CHECK(computed() != kNoOp);
  builder_.release(computed(), bytes);
}

void elementwise(StepEmitter& emit, double bytes, std::string_view name) {
  emit.kernel({.kind = KernelKind::kElementwise, .bytes = bytes}, name);
}

void of_elements(StepEmitter& emit, KernelKind kind, std::int64_t elements, std::string_view name) {
  emit.kernel({.kind = kind, .elements = static_cast<double>(elements)}, name);
}

Kernel attention_kernel(const StepEmitter& emit, KernelKind kind, std::int64_t layer) {
  const RankShapes& s = emit.shapes();
  const TransformerModel& model = emit.setup().model;
  return {.kind = kind,
          .precision = emit.setup().precision.activations,
          .m = s.sequence,
          .n = s.sequence,
          .k = model.score_dim(),
          .batch = s.sequences * s.heads,
          .window = model.window(layer),
          .value_dim = model.value_dim(),
          .flash2 = emit.setup().attention == AttentionKernels::kFlash2};
}

}  // namespace weft::work
