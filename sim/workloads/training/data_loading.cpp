#include "sim/workloads/training/data_loading.h"

namespace weft::work {

void load_data(StepEmitter& emit) {
  const TrainingSetup& setup = emit.setup();
  const DataLoading& loading = *setup.data_loading;
  const std::int64_t sequences = setup.batch.global / setup.plan.data;
  Operation read{.bytes = Bytes{loading.per_sequence.count() * sequences / setup.plan.context},
                 .stream = emit.builder().stream("data"),
                 .category = Category::kIo};
  Operation copy = read;
  copy.kind = OpKind::kCopy;
  copy.slot = kInwards;
  read.kind = OpKind::kStorage;
  read.slot = static_cast<std::uint16_t>(kInwards + (loading.from_file_system ? kFileSystem : 0));
  read.launched = false;
  read.background = loading.prefetch;
  // The stream waits until data that was read ahead is there.
  if (!loading.prefetch) emit.builder().add(read, "read data");
  emit.join(emit.builder().add(copy, "data to GPU"));
  if (loading.prefetch) emit.builder().add(read, "read data");
}

}  // namespace weft::work
