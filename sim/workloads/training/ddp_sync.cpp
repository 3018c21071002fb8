// PyTorch's DistributedDataParallel: gradients are all-reduced in buckets in the order in which the backward pass makes them
// (the order it settles on after the first step), during the last microbatch. Also steps without any synchronisation.
//
// Model: buckets are made anew once, early in a run, while the host runs ahead and the GPU still holds the old ones; since a
// run's peak is asked for, both are there until the first gradient of the last microbatch.
#include "sim/workloads/training/gradient_buckets.h"
#include "sim/workloads/training/gradient_sync.h"
#include "sim/workloads/training/weave.h"

#include <utility>

namespace weft::work {
namespace {

class DdpSync final : public GradientSync {
 public:
  DdpSync(const TrainingSetup& setup, SyncedModel model)
      : plan_{setup.plan},
        width_{bytes_per_element(setup.precision.gradients)},
        copies_{model.copies},
        scales_at_end_{model.copies && setup.plan.pipeline > 1 && setup.batch.microbatches(setup.plan) > 1},
        chunks_{std::move(model.chunks)},
        dense_{setup.plan.first_bucket, setup.plan.bucket},
        experts_{setup.plan.first_bucket, setup.plan.bucket} {}

  void before_forward(StepEmitter& emit, std::int64_t unit, int chunk) override {
    if (unit == kHeadUnit || !place().last_of_chunk || !keeps_gradients() || old_buckets_ != 0) return;
    for (const ParameterTensor& tensor : chunks_[static_cast<std::size_t>(chunk)]) {
      old_buckets_ += static_cast<std::int64_t>(width_ * static_cast<double>(tensor.trainable));
    }
    emit.allocate(old_buckets_);
  }

  void gradient_ready(StepEmitter& emit, TensorKind kind) override {
    const ParameterTensor* tensor = find(emit.layer(), kind);
    if (tensor == nullptr || tensor->trainable == 0) return;
    const double bytes = width_ * static_cast<double>(tensor->trainable);
    const bool own_memory = !keeps_gradients() || !place().last_of_chunk;
    if (!place().first_of_chunk && copies_) {
      emit.kernel({.kind = KernelKind::kElementwise, .bytes = 3 * bytes}, "accumulate gradient");
    } else if (place().first_of_chunk && own_memory) {
      emit.builder().allocate(emit.computed(), static_cast<std::int64_t>(bytes));
      allocated_ += static_cast<std::int64_t>(bytes);
    }
    if (!place().last_of_chunk) return;
    emit.release(std::exchange(old_buckets_, 0));
    const GroupSlot slot = tensor->is_expert() ? GroupSlot::kExpertData : GroupSlot::kData;
    if (!synchronises() || !emit.groups().has(slot)) return;
    // Divided by the number of replicas on its way into the bucket.
    if (copies_) emit.kernel({.kind = KernelKind::kElementwise, .bytes = 2 * bytes}, "scale gradient");
    if (!place().first_of_chunk) {
      emit.release(static_cast<std::int64_t>(bytes));
      allocated_ -= static_cast<std::int64_t>(bytes);
    }
    if (const auto size = (tensor->is_expert() ? experts_ : dense_).add(Bytes{static_cast<std::int64_t>(bytes)})) {
      reduce(emit, slot, *size);
    }
  }

  void before_optimizer(StepEmitter& emit) override {
    emit.set_layer(-1);
    if (const auto rest = dense_.flush()) reduce(emit, GroupSlot::kData, *rest);
    if (const auto rest = experts_.flush()) reduce(emit, GroupSlot::kExpertData, *rest);
    for (const auto& [slot, size] : deferred_) emit.join(emit.collective(slot, coll::Collective::kAllReduce, size, kName));
    for (const OpIndex op : reductions_) emit.join(op);
    if (!scales_at_end_) return;
    // The schedule divides by the number of microbatches, tensor by tensor.
    for (const auto& chunk : chunks_) {
      for (const ParameterTensor& tensor : chunk) {
        if (tensor.trainable == 0) continue;
        emit.kernel({.kind = KernelKind::kElementwise, .bytes = 2 * width_ * static_cast<double>(tensor.trainable)},
                    "scale gradient");
      }
    }
  }

  void moved(OpIndex begin, const std::vector<OpIndex>& to) override {
    for (OpIndex& op : reductions_) follow(op, begin, to);
  }

  void after_optimizer(StepEmitter& emit) override { emit.release(allocated_); }

  // Buckets hold them: from the last microbatch on, gradients are views of those.
  [[nodiscard]] bool keeps_gradients() const override { return synchronises() && plan_.data * plan_.context > 1; }

 private:
  static constexpr std::string_view kName = "all-reduce gradients";

  [[nodiscard]] bool synchronises() const { return plan_.data_parallelism != DataParallelism::kNone; }
  [[nodiscard]] const ParameterTensor* find(std::int64_t layer, TensorKind kind) const {
    for (const ParameterTensor& tensor : chunks_[static_cast<std::size_t>(place().chunk)]) {
      if (tensor.layer == layer && tensor.kind == kind) return &tensor;
    }
    return nullptr;
  }
  void reduce(StepEmitter& emit, GroupSlot slot, Bytes size) {
    if (!plan_.overlap_grad_reduce) {
      deferred_.emplace_back(slot, size);
      return;
    }
    reductions_.push_back(emit.collective(slot, coll::Collective::kAllReduce, size, kName));
  }

  const ParallelPlan& plan_;
  double width_;
  bool copies_;
  bool scales_at_end_;
  std::vector<std::vector<ParameterTensor>> chunks_;
  BucketFiller dense_;
  BucketFiller experts_;
  std::vector<OpIndex> reductions_;
  std::vector<std::pair<GroupSlot, Bytes>> deferred_;
  std::int64_t allocated_ = 0;
  std::int64_t old_buckets_ = 0;
};

}  // namespace

std::unique_ptr<GradientSync> make_ddp_sync(const TrainingSetup& setup, SyncedModel model) {
  return std::make_unique<DdpSync>(setup, std::move(model));
}

}  // namespace weft::work
