// Megatron-LM's data parallelism: the gradients of a model chunk lie in one buffer, cut into buckets that are all-reduced, or
// reduce-scattered where the optimizer is sharded (ZeRO-1 and 2). A sharded optimizer's parameters are gathered at the end of
// the step, or, which is the same step after step, bucket by bucket ahead of the forward pass that needs them.
//
// Model: the tensors of a bucket are whole; Megatron pads buckets so that shards are even.
#include <algorithm>
#include <string>

#include "sim/core/error.h"
#include "sim/workloads/training/gradient_buckets.h"
#include "sim/workloads/training/gradient_sync.h"
#include "sim/workloads/training/weave.h"

namespace weft::work {
namespace {

class BufferSync final : public GradientSync {
 public:
  BufferSync(const TrainingSetup& setup, const GroupSlots& groups, SyncedModel model)
      : setup_{setup},
        plan_{setup.plan},
        distributed_{setup.plan.data_parallelism == DataParallelism::kDistributedOptimizer},
        groups_{groups} {
    for (std::size_t c = 0; c < model.chunks.size(); ++c) {
      add_buckets(static_cast<int>(c), model.stage, model.chunks[c], false);
      add_buckets(static_cast<int>(c), model.stage, model.chunks[c], true);
    }
  }

  void begin_step(StepEmitter& emit) override {
    if (gathers_ahead()) gather_next(emit, true);
    if (emit.traits().megatron_modules) zero_buffers(emit);
  }

  void before_forward(StepEmitter& emit, std::int64_t unit, int chunk) override {
    if (!gathers_ahead()) return;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      Bucket& bucket = buckets_[i];
      if (bucket.awaited || bucket.chunk != chunk || !bucket.holds(unit)) continue;
      while (!bucket.gather_issued) gather_next(emit, false);
      emit.join(bucket.gather);
      bucket.awaited = true;
      gather_next(emit, false);
    }
  }

  void gradient_ready(StepEmitter& emit, TensorKind kind) override {
    if (!place().last_of_chunk && !reduces_each_microbatch()) return;
    Bucket* bucket = find(emit.layer(), kind);
    if (bucket == nullptr || ++bucket->ready < bucket->tensors.size()) return;
    bucket->ready = 0;
    if (plan_.overlap_grad_reduce || !place().last_of_chunk) reduce(emit, *bucket);
  }

  void before_optimizer(StepEmitter& emit) override {
    emit.set_layer(-1);
    if (!plan_.overlap_grad_reduce) {
      for (Bucket& bucket : buckets_) reduce(emit, bucket);
    }
    for (const OpIndex op : reductions_) emit.join(op);
    const double width = bytes_per_element(setup_.precision.gradients);
    if (plan_.sequence_parallel) {
      // Each tensor rank has seen its own tokens only.
      std::int64_t norms = 0;
      for (const Bucket& bucket : buckets_) norms += bucket.norms;
      emit.blocking(GroupSlot::kTensor, coll::Collective::kAllReduce, bytes(norms, width), "all-reduce norm gradients");
    }
  }

  void moved(OpIndex begin, const std::vector<OpIndex>& to) override {
    for (OpIndex& op : reductions_) follow(op, begin, to);
    for (Bucket& bucket : buckets_) follow(bucket.gather, begin, to);
  }

  void after_optimizer(StepEmitter& emit) override {
    if (!distributed_ || plan_.overlap_param_gather) return;
    for (Bucket& bucket : buckets_) issue_gather(emit, bucket, true);
  }

  [[nodiscard]] int shards(const ParameterTensor& tensor) const override {
    return distributed_ ? groups_.size(tensor.is_expert() ? GroupSlot::kExpertData : GroupSlot::kData) : 1;
  }
  [[nodiscard]] bool keeps_gradients() const override { return true; }

 private:
  struct Bucket {
    int chunk = 0;
    bool experts = false;
    std::vector<ParameterTensor> tensors;
    std::int64_t parameters = 0;
    std::int64_t norms = 0;
    std::size_t ready = 0;
    bool gather_issued = false;
    bool awaited = false;
    OpIndex gather = kNoOp;
    [[nodiscard]] GroupSlot slot() const { return experts ? GroupSlot::kExpertData : GroupSlot::kData; }
    [[nodiscard]] bool holds(std::int64_t unit) const {
      return std::any_of(tensors.begin(), tensors.end(), [&](const ParameterTensor& t) {
        if (unit == kRootUnit) return t.kind == TensorKind::kEmbedding;
        if (unit == kHeadUnit) return t.kind == TensorKind::kFinalNorm || t.kind == TensorKind::kHead;
        return t.layer == unit;
      });
    }
  };

  [[nodiscard]] bool gathers_ahead() const { return distributed_ && plan_.overlap_param_gather; }
  // ZeRO-2 keeps no whole gradients between microbatches (models/workloads §2.2).
  [[nodiscard]] bool reduces_each_microbatch() const { return distributed_ && plan_.zero >= 2; }

  static Bytes bytes(std::int64_t elements, double width) {
    return Bytes{static_cast<std::int64_t>(static_cast<double>(elements) * width)};
  }

  // Megatron fills buckets in reverse order of registration, and does not cut the buffers of later stages and chunks: nothing
  // waits for their communication.
  void add_buckets(int chunk, int stage, const std::vector<ParameterTensor>& tensors, bool experts) {
    const bool cut = plan_.overlap_grad_reduce && stage == 0 && chunk == 0;
    const std::int64_t limit = megatron_bucket_parameters(groups_.size(experts ? GroupSlot::kExpertData : GroupSlot::kData));
    Bucket bucket{.chunk = chunk, .experts = experts, .tensors = {}};
    const auto close = [&] {
      if (!bucket.tensors.empty()) buckets_.push_back(std::move(bucket));
      bucket = {.chunk = chunk, .experts = experts, .tensors = {}};
    };
    for (auto tensor = tensors.rbegin(); tensor != tensors.rend(); ++tensor) {
      if (tensor->is_expert() != experts || tensor->trainable == 0) continue;
      bucket.tensors.push_back(*tensor);
      bucket.parameters += tensor->trainable;
      if (tensor->is_norm() || tensor->kind == TensorKind::kRouter) bucket.norms += tensor->trainable;
      if (cut && bucket.parameters >= limit) close();
    }
    close();
  }

  void zero_buffers(StepEmitter& emit) const {
    std::int64_t elements = 0;
    for (const Bucket& bucket : buckets_) elements += bucket.parameters;
    if (elements == 0) return;
    const auto zeros = static_cast<double>(elements);
    emit.kernel(
        {.kind = KernelKind::kMemset, .elements = zeros, .bytes = bytes_per_element(setup_.precision.gradients) * zeros},
        "zero gradient buffer");
  }

  Bucket* find(std::int64_t layer, TensorKind kind) {
    for (Bucket& bucket : buckets_) {
      if (bucket.chunk != place().chunk) continue;
      for (const ParameterTensor& tensor : bucket.tensors) {
        if (tensor.layer == layer && tensor.kind == kind) return &bucket;
      }
    }
    return nullptr;
  }

  void reduce(StepEmitter& emit, const Bucket& bucket) {
    const auto kind = distributed_ ? coll::Collective::kReduceScatter : coll::Collective::kAllReduce;
    const Bytes size = bytes(bucket.parameters, bytes_per_element(setup_.precision.gradients));
    const OpIndex op =
        emit.collective(bucket.slot(), kind, size, distributed_ ? "reduce-scatter gradients" : "all-reduce gradients");
    if (op != kNoOp) reductions_.push_back(op);
  }

  void issue_gather(StepEmitter& emit, Bucket& bucket, bool after_compute) {
    bucket.gather_issued = true;
    const Bytes size = bytes(bucket.parameters, bytes_per_element(setup_.precision.parameters));
    // On its own stream: gradients and parameters go through communicators of their own.
    bucket.gather =
        emit.collective(bucket.slot(), coll::Collective::kAllGather, size, "all-gather parameters",
                        {.stream = bucket.experts ? "expert dp parameters" : "dp parameters", .after_compute = after_compute});
  }

  // The next bucket of the forward pass: buckets lie in order of the backward pass, chunk by chunk. At the start of a step
  // nothing has to be waited for.
  void gather_next(StepEmitter& emit, bool first) {
    Bucket* next = nullptr;
    for (Bucket& bucket : buckets_) {
      if (bucket.gather_issued) continue;
      if (next == nullptr || bucket.chunk == next->chunk) next = &bucket;
      if (bucket.chunk > next->chunk) break;
    }
    if (next != nullptr) issue_gather(emit, *next, !first);
  }

  const TrainingSetup& setup_;
  const ParallelPlan& plan_;
  bool distributed_;
  const GroupSlots& groups_;
  std::vector<Bucket> buckets_;
  std::vector<OpIndex> reductions_;
};

}  // namespace

std::unique_ptr<GradientSync> make_buffer_sync(const TrainingSetup& setup, const GroupSlots& groups, SyncedModel model) {
  return std::make_unique<BufferSync>(setup, groups, std::move(model));
}

}  // namespace weft::work
