#include "sim/workloads/training/gradient_sync.h"

namespace weft::work {

std::unique_ptr<GradientSync> make_gradient_sync(const TrainingSetup& setup, const GroupSlots& groups, SyncedModel model) {
  switch (setup.plan.data_parallelism) {
    case DataParallelism::kNone:
    case DataParallelism::kDdp:
      return make_ddp_sync(setup, std::move(model));
    case DataParallelism::kMegatron:
    case DataParallelism::kDistributedOptimizer:
      return make_buffer_sync(setup, groups, std::move(model));
    case DataParallelism::kFsdp:
      return make_fsdp_sync(setup, groups, std::move(model));
    case DataParallelism::kDeepSpeed2021:
      return make_deepspeed_sync(setup, groups, model);
  }
  return nullptr;
}

}  // namespace weft::work
