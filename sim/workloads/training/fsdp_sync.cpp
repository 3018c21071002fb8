// PyTorch's FSDP2 (ZeRO-3): parameters are sharded; a unit is gathered before its forward pass and again before its backward
// pass, and its gradients are reduce-scattered after it (models/workloads §2.3, models/training_steps §5).
//
// Gathers run on a stream of their own. In the forward pass the gather of unit i + 1 starts when unit i - 1 has been copied out
// of its gather buffer: two buffers take turns. In the backward pass the gather of unit i - 1 is issued when unit i is there.
// Copies before and after a collective are kernels; those of a gather's input run on a third stream.
//
// Model: every microbatch gathers and reduces; gradients are not kept whole between microbatches. Under PyTorch's pipelines
// units stay gathered from their first pass to their last, their gradients are added up whole, in the precision in which they
// are reduced, and are reduced after the last microbatch (torchtitan's reshard_after_forward; set_requires_gradient_sync of
// _PipelineStageBase).
//
// Model: memory. A gradient has the parameters' precision until it is copied, in its own, into the reduction's buffer. Gathers'
// buffers and reduced gradients belong to their streams.
#include <algorithm>

#include "sim/core/error.h"
#include "sim/workloads/training/eager_kernels.h"
#include "sim/workloads/training/gradient_sync.h"

namespace weft::work {
namespace {

class FsdpSync final : public GradientSync {
 public:
  FsdpSync(const TrainingSetup& setup, const GroupSlots& groups, SyncedModel model)
      : setup_{setup}, groups_{groups}, copies_{model.copies}, holds_{model.copies && setup.plan.pipeline > 1} {
    for (std::size_t c = 0; c < model.chunks.size(); ++c) {
      for (const ParameterTensor& tensor : model.chunks[c]) unit(static_cast<int>(c), tensor.layer).tensors.push_back(tensor);
    }
  }

  void before_forward(StepEmitter& emit, std::int64_t unit_id, int chunk) override {
    Unit* unit = find(chunk, unit_id);
    if (unit == nullptr || unit->gathered) return;
    gather(emit, *unit);
    free_buffer_ = last_copy_out_;
    await(emit, *unit);
  }

  void after_forward(StepEmitter& emit, std::int64_t unit_id, int chunk) override {
    Unit* unit = find(chunk, unit_id);
    if (unit != nullptr && unit_id != kRootUnit && setup_.plan.reshard_after_forward && !holds_) reshard(emit, *unit);
  }

  void before_backward(StepEmitter& emit, std::int64_t unit_id) override {
    Unit* unit = find(place().chunk, unit_id);
    if (unit == nullptr) return;
    if (!unit->gathered) {
      if (!unit->prefetched) gather(emit, *unit);
      await(emit, *unit);
      free_buffer_ = last_copy_out_;
    }
    unit->gradients_made = {};
    Unit* next = find(place().chunk, unit_id == kRootUnit ? last_layer() : unit_id - 1);
    if (next != nullptr && next != unit && !next->gathered && !next->prefetched) gather(emit, *next);
  }

  // A gradient has memory from its kernel on.
  void gradient_ready(StepEmitter& emit, TensorKind kind) override {
    Unit* unit = find(place().chunk, emit.layer());
    if (unit == nullptr) return;
    for (const ParameterTensor& tensor : unit->tensors) {
      if (tensor.kind == kind) make(emit, *unit, made_bytes(tensor));
    }
  }

  void after_backward(StepEmitter& emit, std::int64_t unit_id) override {
    Unit* unit = find(place().chunk, unit_id);
    if (unit == nullptr) return;
    const Bytes whole = gradient_bytes(*unit, false) + gradient_bytes(*unit, true);
    Bytes all;
    for (const ParameterTensor& tensor : unit->tensors) all += made_bytes(tensor);
    make(emit, *unit, all - unit->gradients_made);  // of tensors whose gradients nobody announced
    if (holds_) {
      add_up(emit, whole, all);
      if (!place().last_of_chunk) return;
    }
    // The buffer of the reduction before is free when that has ended.
    emit.join(last_reduction_);
    if (copies_) {
      emit.allocate(whole.count());
      emit.kernel({.kind = KernelKind::kCopy, .bytes = 8}, "copy offsets");
      emit.kernel({.kind = KernelKind::kCopy, .bytes = 2.0 * static_cast<double>(whole.count())}, "concatenate gradients");
      emit.release(holds_ ? whole.count() : all.count());
    }
    reduce(emit, *unit, false);
    reduce(emit, *unit, true);
    reshard(emit, *unit);
  }

  void before_optimizer(StepEmitter& emit) override {
    emit.set_layer(-1);
    emit.join(last_reduction_);
  }
  void after_optimizer(StepEmitter& emit) override {
    if (allocated_ > 0) emit.builder().release(emit.computed(), allocated_, MemoryPool::kGradients);
  }

  [[nodiscard]] int shards(const ParameterTensor& tensor) const override { return groups_.size(slot_of(tensor)); }

 private:
  struct Unit {
    int chunk = 0;
    std::int64_t id = kRootUnit;
    std::vector<ParameterTensor> tensors;
    bool prefetched = false;  // its gather was issued
    bool gathered = false;
    OpIndex gather = kNoOp;
    OpIndex expert_gather = kNoOp;
    Bytes gradients_made = {};  // of this backward pass
  };

  // That the host's time around a unit's gather counts for: its hooks in Python before and after it, and around its reduction.
  // Read off a profile of a Hugging Face step: 1.4 ms without operators of PyTorch's in either pass.
  static constexpr std::int64_t kHookOperators = 140;
  static constexpr std::string_view kGatherStream = "fsdp gather";
  static constexpr std::string_view kReduceStream = "fsdp reduce";

  // Experts are sharded over fewer ranks than the rest, where they are spread over an expert group.
  [[nodiscard]] GroupSlot slot_of(const ParameterTensor& tensor) const {
    return tensor.is_expert() && setup_.plan.expert > 1 ? GroupSlot::kExpertData : GroupSlot::kData;
  }
  Unit& unit(int chunk, std::int64_t id) {
    if (Unit* found = find(chunk, id)) return *found;
    units_.push_back({.chunk = chunk, .id = id, .tensors = {}});
    return units_.back();
  }
  Unit* find(int chunk, std::int64_t id) {
    const auto at = std::find_if(units_.begin(), units_.end(), [&](const Unit& u) { return u.chunk == chunk && u.id == id; });
    return at == units_.end() ? nullptr : &*at;
  }
  [[nodiscard]] std::int64_t last_layer() const {
    std::int64_t last = kRootUnit;
    for (const Unit& unit : units_) {
      if (unit.chunk == place().chunk) last = std::max(last, unit.id);
    }
    return last;
  }

  [[nodiscard]] Bytes bytes(const Unit& unit, bool own_group, bool gradients) const {
    std::int64_t elements = 0;
    for (const ParameterTensor& tensor : unit.tensors) {
      if ((slot_of(tensor) == GroupSlot::kExpertData) == own_group) elements += gradients ? tensor.trainable : tensor.held;
    }
    const Precision precision = gradients ? setup_.precision.gradients : setup_.precision.parameters;
    return Bytes{static_cast<std::int64_t>(static_cast<double>(elements) * bytes_per_element(precision))};
  }
  // A gradient as its kernel leaves it.
  [[nodiscard]] Bytes made_bytes(const ParameterTensor& tensor) const {
    const double width = bytes_per_element(copies_ ? setup_.precision.parameters : setup_.precision.gradients);
    return Bytes{static_cast<std::int64_t>(static_cast<double>(tensor.trainable) * width)};
  }
  static void make(StepEmitter& emit, Unit& unit, Bytes gradient) {
    if (gradient <= Bytes{}) return;
    emit.builder().allocate(emit.computed(), gradient.count());
    unit.gradients_made += gradient;
  }
  // Adds a unit's gradients of a microbatch to those before; the first ones are only cast, where their precision differs.
  void add_up(StepEmitter& emit, Bytes whole, Bytes made) const {
    const bool first = place().first_of_chunk;
    if (first && whole == made) return;
    if (first) emit.allocate(whole.count());
    elementwise(emit, static_cast<double>(made.count() + (first ? 1 : 2) * whole.count()), "add gradient");
    emit.release(made.count());
  }
  [[nodiscard]] Bytes parameter_bytes(const Unit& unit, bool own_group) const { return bytes(unit, own_group, false); }
  [[nodiscard]] Bytes gradient_bytes(const Unit& unit, bool own_group) const { return bytes(unit, own_group, true); }

  void gather(StepEmitter& emit, Unit& unit) {
    emit.set_layer(unit.id);
    if (emit.traits().host_of_hooks) emit.host_delay(kHookOperators, "FSDP2's hooks");
    OpIndex copied = kNoOp;
    if (copies_) {
      std::vector<std::int64_t> shards;
      for (const ParameterTensor& tensor : unit.tensors) shards.push_back(tensor.held / groups_.size(slot_of(tensor)));
      const double width = bytes_per_element(setup_.precision.parameters);
      for (const std::int64_t elements : multi_tensor_launches(shards)) {
        copied = emit.kernel_on("fsdp copy", {.kind = KernelKind::kCopy, .bytes = 2 * width * static_cast<double>(elements)},
                                "copy shard in", std::span{&free_buffer_, 1});
      }
    }
    const std::array waits{copied, free_buffer_};
    const StepEmitter::On on{.stream = kGatherStream, .after_compute = false, .waits = waits};
    unit.gather = emit.collective(GroupSlot::kData, coll::Collective::kAllGather, parameter_bytes(unit, false),
                                  "all-gather parameters", on);
    unit.expert_gather = emit.collective(GroupSlot::kExpertData, coll::Collective::kAllGather, parameter_bytes(unit, true),
                                         "all-gather parameters", on);
    unit.prefetched = true;
    // The gather's buffer: freed when it has been copied out.
    if (unit.gather != kNoOp) emit.builder().allocate(unit.gather, whole(unit), gather_pool());
  }

  [[nodiscard]] MemoryPool gather_pool() const { return copies_ ? MemoryPool::kGathers : MemoryPool::kCompute; }
  [[nodiscard]] std::int64_t whole(const Unit& unit) const {
    return (parameter_bytes(unit, false) + parameter_bytes(unit, true)).count();
  }

  // Compute goes on with the unit's parameters.
  void await(StepEmitter& emit, Unit& unit) {
    emit.set_layer(unit.id);
    emit.join(unit.gather);
    emit.join(unit.expert_gather);
    if (copies_) {
      emit.kernel({.kind = KernelKind::kCopy, .bytes = 8}, "copy offsets");
      emit.allocate(whole(unit));
      last_copy_out_ =
          emit.kernel({.kind = KernelKind::kCopy, .bytes = 2.0 * static_cast<double>(whole(unit))}, "copy gathered out");
      if (unit.gather != kNoOp) emit.builder().release(last_copy_out_, whole(unit), gather_pool());
    } else {
      last_copy_out_ = emit.marker("parameters there");
    }
    unit.gathered = true;
    unit.prefetched = false;
  }

  // Without copies the gather's buffer itself holds the parameters.
  void reshard(StepEmitter& emit, Unit& unit) {
    if (!unit.gathered) return;
    unit.gathered = false;
    if (copies_ || unit.gather != kNoOp) emit.release(whole(unit));
  }

  void reduce(StepEmitter& emit, Unit& unit, bool own_group) {
    const Bytes size = gradient_bytes(unit, own_group);
    if (size == Bytes{}) return;
    const GroupSlot slot = own_group ? GroupSlot::kExpertData : GroupSlot::kData;
    OpIndex done =
        emit.collective(slot, coll::Collective::kReduceScatter, size, "reduce-scatter gradients", {.stream = kReduceStream});
    const std::int64_t shard = size.count() / groups_.size(slot);
    if (!own_group) {
      const OpIndex replicas = emit.collective(GroupSlot::kReplica, coll::Collective::kAllReduce, Bytes{shard},
                                               "all-reduce gradients", {.stream = kReduceStream});
      if (replicas != kNoOp) done = replicas;
    }
    const bool first = holds_ || place().first_of_chunk;
    if (!first && done != kNoOp) {
      done = emit.kernel_on(kReduceStream, {.kind = KernelKind::kElementwise, .bytes = 3.0 * static_cast<double>(shard)},
                            "accumulate gradient", {});
    }
    if (done != kNoOp) last_reduction_ = done;
    // Whole gradients until they are reduced; their shards until the optimizer has read them.
    emit.builder().release(done != kNoOp ? done : emit.computed(), size.count());
    if (first) {
      emit.builder().allocate(done != kNoOp ? done : emit.computed(), shard, MemoryPool::kGradients);
      allocated_ += shard;
    }
  }

  const TrainingSetup& setup_;
  const GroupSlots& groups_;
  bool copies_;
  bool holds_;  // units from their first pass to their last, and their gradients whole
  std::vector<Unit> units_;
  OpIndex free_buffer_ = kNoOp;  // gathers wait for it
  OpIndex last_copy_out_ = kNoOp;
  OpIndex last_reduction_ = kNoOp;
  std::int64_t allocated_ = 0;
};

}  // namespace

std::unique_ptr<GradientSync> make_fsdp_sync(const TrainingSetup& setup, const GroupSlots& groups, SyncedModel model) {
  return std::make_unique<FsdpSync>(setup, groups, std::move(model));
}

}  // namespace weft::work
