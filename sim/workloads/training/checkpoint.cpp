#include "sim/workloads/training/checkpoint.h"

#include <array>
#include <cmath>

namespace weft::work {
namespace {

Operation operation(StepEmitter& emit, OpKind kind, Bytes bytes, int every) {
  Operation op{.bytes = bytes, .stream = emit.builder().stream("checkpoint"), .kind = kind, .category = Category::kIo};
  op.launched = false;
  op.every = static_cast<std::uint16_t>(every);
  return op;
}

std::uint16_t storage_slot(const CheckpointPlan& plan, bool reads) {
  return static_cast<std::uint16_t>((reads ? kInwards : 0) + (plan.to_file_system ? kFileSystem : 0) +
                                    (plan.gpu_direct ? kGpuDirect : 0));
}

}  // namespace

Bytes saved_bytes(const TrainingSetup& setup, const StageParameters& parameters) {
  const PrecisionPlan& precision = setup.precision;
  const double parameter = bytes_per_element(precision.parameters);
  double each = parameter;
  if (setup.checkpoint->has_optimizer) {
    each += setup.moments() * bytes_per_element(precision.optimizer) + (precision.master_parameters && parameter != 4 ? 4 : 0);
  }
  const auto replicas = static_cast<double>(setup.plan.data * setup.plan.context);
  const auto expert_replicas = static_cast<double>(setup.plan.expert_data());
  const double share =
      static_cast<double>(parameters.dense) / replicas + static_cast<double>(parameters.experts) / expert_replicas;
  return Bytes{static_cast<std::int64_t>(std::ceil(each * share))};
}

void save_checkpoint(StepEmitter& emit, Bytes bytes) {
  const CheckpointPlan& plan = *emit.setup().checkpoint;
  OpIndex ready = emit.computed();
  if (!plan.gpu_direct) {
    ready = emit.builder().add(operation(emit, OpKind::kCopy, bytes, plan.every), "checkpoint to host", std::array{ready});
  }
  Operation write = operation(emit, OpKind::kStorage, bytes, plan.every);
  write.slot = storage_slot(plan, false);
  write.background = plan.asynchronous;
  emit.builder().add(write, "write checkpoint", std::array{ready});
}

void restore_checkpoint(StepEmitter& emit, Bytes bytes) {
  const CheckpointPlan& plan = *emit.setup().checkpoint;
  Operation read = operation(emit, OpKind::kStorage, bytes, 0);
  read.slot = storage_slot(plan, true);
  OpIndex last = emit.builder().add(read, "read checkpoint");
  if (!plan.gpu_direct) {
    Operation copy = operation(emit, OpKind::kCopy, bytes, 0);
    copy.slot = kInwards;
    last = emit.builder().add(copy, "checkpoint to GPU");
  }
  emit.join(last);
}

}  // namespace weft::work
