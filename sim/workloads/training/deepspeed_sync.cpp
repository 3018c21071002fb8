// ZeRO-3 as DeepSpeed had it in 2021 (0.3.x, what N21 table 2 measured): each matrix is gathered by a call of its own, right
// before the module that needs it, and its gradient is reduced by another.
//
// A call takes a list of one tensor per rank. The host waits for the GPU (torch.cuda.synchronize), cuts the list, which costs
// it an operator per rank, and calls; the library copies the gathered tensor out part by part, with a launch for each rank. So
// a call costs the host time in proportion to the ranks, whatever its bytes. Gradients are cut and flattened the same way
// before they are reduced (deepspeed/runtime/zero/partition_parameters.py: _allgather_param, _reduce_scatter_gradient;
// stage3.py: fetch_sub_module; torch's ProcessGroupNCCL). Matrices of up to 1e5 elements stay gathered
// (stage3_param_persistence_threshold); one is kept from a layer's recomputation to its backward pass if fewer than 1e9
// elements are fetched in between (stage3_max_reuse_distance).
//
// Model: no gather runs beside compute: modules of these sizes leave no room under stage3_max_live_parameters (1e9) to prefetch
// the next. A layer's gathers are issued together, before its first kernel, and hold two of its largest matrix at a time.
#include <algorithm>

#include "sim/core/error.h"
#include "sim/workloads/training/gradient_sync.h"

namespace weft::work {
namespace {

constexpr std::int64_t kPersistent = 100'000;
constexpr std::int64_t kReuseDistance = 1'000'000'000;
constexpr std::string_view kZeroStream = "zero-3";

class DeepSpeedSync final : public GradientSync {
 public:
  DeepSpeedSync(const TrainingSetup& setup, const GroupSlots& groups, const SyncedModel& model)
      : setup_{setup}, groups_{groups} {
    for (const auto& chunk : model.chunks) tensors_.insert(tensors_.end(), chunk.begin(), chunk.end());
  }

  void before_forward(StepEmitter& emit, std::int64_t unit, int) override { gather(emit, matrices(unit)); }

  void before_backward(StepEmitter& emit, std::int64_t unit) override {
    if (unit == kRootUnit) return;  // the head's matrix is there from the forward pass, and the embedding needs none
    const std::vector<ParameterTensor> all = matrices(unit);
    gather(emit, all);
    if (setup_.plan.recompute == Recompute::kFull) gather(emit, released_after_recomputation(all));
  }

  void gradient_ready(StepEmitter&, TensorKind) override {}

  void after_backward(StepEmitter& emit, std::int64_t unit) override {
    const double width = bytes_per_element(setup_.precision.gradients);
    for (const ParameterTensor& tensor : tensors_) {
      if (tensor.layer != unit) continue;
      const auto size = static_cast<std::int64_t>(width * static_cast<double>(tensor.trainable));
      // A view and a slice for each rank, and its copy into one buffer.
      host_operators(emit, 3);
      emit.allocate(2 * size);
      emit.kernel({.kind = KernelKind::kCopy, .bytes = 2.0 * static_cast<double>(size)}, "flatten gradient");
      emit.blocking(GroupSlot::kData, coll::Collective::kReduceScatter, Bytes{size}, "reduce-scatter gradient");
      emit.release(2 * size);
    }
  }

  void before_optimizer(StepEmitter& emit) override { emit.set_layer(-1); }

  [[nodiscard]] int shards(const ParameterTensor&) const override { return groups_.size(GroupSlot::kData); }
  [[nodiscard]] bool keeps_gradients() const override { return true; }

 private:
  // Those of a unit that are gathered; embedding and head, which may be one, are fetched apart.
  [[nodiscard]] std::vector<ParameterTensor> matrices(std::int64_t unit) const {
    std::vector<ParameterTensor> found;
    const auto add = [&](auto matches) {
      for (const ParameterTensor& tensor : tensors_) {
        if (tensor.held > kPersistent && matches(tensor)) found.push_back(tensor);
      }
    };
    if (unit == kRootUnit) {
      add([](const ParameterTensor& tensor) { return tensor.kind == TensorKind::kEmbedding; });
    } else if (unit == kHeadUnit) {
      add([](const ParameterTensor& tensor) { return tensor.kind == TensorKind::kHead; });
      if (found.empty()) return matrices(kRootUnit);
    } else {
      add([&](const ParameterTensor& tensor) { return tensor.layer == unit; });
    }
    return found;
  }

  // Between its two uses, all that come after it are fetched, in order and back.
  static std::vector<ParameterTensor> released_after_recomputation(const std::vector<ParameterTensor>& all) {
    std::vector<ParameterTensor> released;
    std::int64_t after = 0;
    for (auto tensor = all.rbegin(); tensor != all.rend(); ++tensor) {
      if (2 * after >= kReuseDistance) released.push_back(*tensor);
      after += tensor->held;
    }
    return released;
  }

  void gather(StepEmitter& emit, const std::vector<ParameterTensor>& matrices) {
    const double width = bytes_per_element(setup_.precision.parameters);
    std::int64_t largest = 0;
    for (const ParameterTensor& matrix : matrices) largest = std::max(largest, matrix.held);
    const auto buffers = static_cast<std::int64_t>(2 * width * static_cast<double>(largest));
    if (largest > 0) emit.allocate(buffers);
    for (const ParameterTensor& matrix : matrices) {
      const double bytes = width * static_cast<double>(matrix.held);
      emit.kernel({.kind = KernelKind::kMemset, .elements = static_cast<double>(matrix.held), .bytes = bytes}, "zeros");
      emit.host_sync("synchronize");
      host_operators(emit, 1);
      const OpIndex gathered =
          emit.collective(GroupSlot::kData, coll::Collective::kAllGather, Bytes{static_cast<std::int64_t>(bytes)},
                          "all-gather parameter", {.stream = kZeroStream});
      // The copies' launches go on while the call is under way.
      host_operators(emit, 1);
      emit.join(gathered);
      emit.kernel({.kind = KernelKind::kCopy, .bytes = 2 * bytes}, "copy gathered out");
    }
    if (largest > 0) emit.release(buffers);
  }

  void host_operators(StepEmitter& emit, int each) const {
    emit.host_delay(each * groups_.size(GroupSlot::kData), "list of ranks");
  }

  const TrainingSetup& setup_;
  const GroupSlots& groups_;
  std::vector<ParameterTensor> tensors_;
};

}  // namespace

std::unique_ptr<GradientSync> make_deepspeed_sync(const TrainingSetup& setup, const GroupSlots& groups,
                                                  const SyncedModel& model) {
  return std::make_unique<DeepSpeedSync>(setup, groups, model);
}

}  // namespace weft::work
