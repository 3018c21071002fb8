#include "sim/workloads/training/storage_reader.h"

#include <limits>

namespace weft::work {
namespace {

StorageRates read_rates(ParamReader& reader) {
  return {.write = reader.required<Bandwidth>("write", positive), .read = reader.required<Bandwidth>("read", positive)};
}

Storage read_devices(ParamReader& workload) {
  Storage storage;
  std::optional<ParamReader> reader = workload.optional_map("storage");
  if (!reader) return storage;
  if (auto local = reader->optional_map("local")) {
    storage.local = read_rates(*local);
    local->finish();
  }
  if (auto shared = reader->optional_map("file_system")) {
    storage.file_system = read_rates(*shared);
    storage.per_node = shared->optional<Bandwidth>("per_node", positive).value_or(Bandwidth{});
    shared->finish();
  }
  reader->finish();
  return storage;
}

// Whether `key` names the file system; an error where what it names was not given.
bool read_place(ParamReader& reader, std::string_view key, const ParamReader& workload) {
  const std::string place = reader.choice(key, {"file_system", "local"}, "file_system");
  const auto storage = workload.node().is_map() ? workload.node().find("storage") : std::nullopt;
  if (!storage || !storage->is_map() || !storage->find(place)) {
    reader.error_here("'" + std::string{key} + "' is " + place + ", and workload.storage has no '" + place + "'");
  }
  return place == "file_system";
}

// Operation::every has 16 bits.
constexpr std::int64_t kMostSteps = std::numeric_limits<std::uint16_t>::max();

CheckpointPlan read_checkpoint(ParamReader& reader, const ParamReader& workload) {
  CheckpointPlan plan;
  plan.every = static_cast<int>(reader.optional<std::int64_t>("every", 1, between<std::int64_t>(1, kMostSteps)));
  plan.to_file_system = read_place(reader, "to", workload);
  plan.gpu_direct = reader.choice("through", {"host", "gpudirect"}, "host") == "gpudirect";
  plan.asynchronous = reader.optional<bool>("asynchronous", !plan.gpu_direct);
  plan.has_optimizer = reader.optional<bool>("optimizer", true);
  plan.restores_first = reader.optional<bool>("restore", false);
  if (plan.gpu_direct && plan.asynchronous) {
    reader.error("asynchronous", "a checkpoint that is written from the GPU's memory holds up the step that would change it",
                 "through: host");
  }
  return plan;
}

// Token ids of 32 bits.
constexpr std::int64_t kTokenBytes = 4;

DataLoading read_data_loading(ParamReader& reader, const ParamReader& workload, std::int64_t tokens) {
  DataLoading loading;
  loading.per_sequence = reader.optional<Bytes>("bytes_per_sequence", Bytes{kTokenBytes * tokens}, positive);
  loading.from_file_system = read_place(reader, "from", workload);
  loading.prefetch = reader.optional<bool>("prefetch", true);
  return loading;
}

}  // namespace

void read_storage(ParamReader& workload, TrainingSetup& setup) {
  setup.storage = read_devices(workload);
  if (auto reader = workload.optional_map("checkpoint")) {
    setup.checkpoint = read_checkpoint(*reader, workload);
    reader->finish();
  }
  if (auto reader = workload.optional_map("data_loading")) {
    setup.data_loading = read_data_loading(*reader, workload, setup.batch.sequence);
    reader->finish();
  }
}

}  // namespace weft::work
