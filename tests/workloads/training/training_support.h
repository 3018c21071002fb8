// The measured training steps (h200x4/train), and how to look at the programs made of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/profile.h"
#include "sim/workloads/kernels/kernel_costs.h"
#include "sim/workloads/kernels/kernel_times.h"
#include "sim/workloads/training/training.h"
#include "tests/support/topologies.h"

namespace weft::work::test {

// The program of train.py: a gated block with fused QKV, no rotary embedding, head untied, bf16 throughout.
inline TrainingSetup eager_setup(std::int64_t hidden, std::int64_t layers, std::int64_t ffn, std::int64_t heads,
                                 std::int64_t sequence) {
  TrainingSetup setup;
  setup.model = {.name = "train.py",
                 .layers = layers,
                 .hidden = hidden,
                 .heads = heads,
                 .kv_heads = heads,
                 .head_dim = hidden / heads,
                 .ffn = ffn,
                 .vocab = 32000};
  setup.batch = {.global = 1, .micro = 1, .sequence = sequence};
  setup.precision.optimizer = Precision::kBf16;
  setup.precision.master_parameters = false;
  setup.framework = "pytorch_eager";
  setup.clip_grad_norm = false;
  setup.fused_loss = false;
  return setup;
}

inline TrainingSetup single() { return eager_setup(4096, 8, 11008, 32, 2048); }
inline TrainingSetup ddp() {
  TrainingSetup setup = single();
  setup.plan.data = 4;
  setup.batch.global = 4;
  return setup;
}
inline TrainingSetup fsdp() {
  TrainingSetup setup = eager_setup(4096, 16, 11008, 32, 4096);
  setup.plan.data = 4;
  setup.plan.data_parallelism = DataParallelism::kFsdp;
  setup.plan.zero = 3;
  setup.batch.global = 4;
  return setup;
}
inline TrainingSetup tp4() {
  TrainingSetup setup = eager_setup(8192, 8, 28672, 64, 4096);
  setup.plan.tensor = 4;
  return setup;
}
inline TrainingSetup tp2dp2() {
  TrainingSetup setup = eager_setup(4096, 8, 11008, 32, 4096);
  setup.plan.tensor = 2;
  setup.plan.data = 2;
  setup.batch.global = 4;
  return setup;
}
inline TrainingSetup pp4() {
  TrainingSetup setup = eager_setup(4096, 16, 11008, 32, 2048);
  setup.plan.pipeline = 4;
  setup.batch.global = 8;
  return setup;
}
inline TrainingSetup ep4() {
  TrainingSetup setup = eager_setup(4096, 4, 4096, 32, 4096);
  setup.model.moe = {.experts = 8, .experts_per_token = 2, .expert_ffn = 4096};
  setup.plan.data = 4;
  setup.plan.expert = 4;
  setup.plan.data_parallelism = DataParallelism::kNone;
  setup.batch.global = 4;
  return setup;
}

// Three small layers of Llama's kind, and one sequence of 512 tokens.
inline TrainingSetup llama() {
  TrainingSetup setup;
  setup.model = {
      .name = "llama", .layers = 3, .hidden = 1024, .heads = 8, .kv_heads = 2, .head_dim = 128, .ffn = 2816, .vocab = 4096};
  setup.batch = {.global = 1, .micro = 1, .sequence = 512};
  return setup;
}

// An H200 with the rules' defaults.
inline const KernelTimes& kernel_times() {
  static const KernelTimes times{gpu_spec("h200"), Profile::defaults(kernel_param_groups())};
  return times;
}

// Every rank on an endpoint of its own.
inline Program program_of(const TrainingSetup& setup, bool fold = false) {
  return training_program(
      setup, kernel_times(),
      testing::star(setup.plan.world(), Bandwidth::from_bits_per_second(100'000'000'000), Duration::from_us(1)), fold);
}

// Operations of a rank's program that `matches` says yes to.
template <class Matches>
std::int64_t count_of(const RankProgram& program, const Matches& matches) {
  return std::count_if(program.operations.begin(), program.operations.end(), matches);
}
inline bool is_memset(const RankProgram& program, const Operation& op) { return program.names[op.name] == "memset"; }
// As a profiler counts kernels: sends and receives and collectives, too, memsets of a few bytes apart.
inline std::int64_t kernels(const RankProgram& program) {
  return count_of(program, [&](const Operation& op) { return op.kind != OpKind::kMarker && !is_memset(program, op); });
}
inline std::int64_t memsets(const RankProgram& program) {
  return count_of(program, [&](const Operation& op) { return is_memset(program, op); });
}
inline std::int64_t named(const RankProgram& program, std::string_view name) {
  return count_of(program, [&](const Operation& op) { return program.names[op.name] == name; });
}
inline std::int64_t of_category(const RankProgram& program, Category category) {
  return count_of(program, [&](const Operation& op) { return op.category == category; });
}
// Bytes of collectives of one kind and axis, each in order.
inline std::vector<std::int64_t> collective_bytes(const RankProgram& program, coll::Collective kind, Category category) {
  std::vector<std::int64_t> bytes;
  for (const Operation& op : program.operations) {
    if (op.kind == OpKind::kCollective && op.collective == kind && op.category == category) bytes.push_back(op.bytes.count());
  }
  return bytes;
}
inline std::int64_t sum(const std::vector<std::int64_t>& values) {
  std::int64_t total = 0;
  for (const std::int64_t value : values) total += value;
  return total;
}
// The most bytes live at once, operations taken in the order of issue.
inline std::int64_t peak_bytes(const RankProgram& program) {
  std::int64_t live = program.resident.total();
  std::int64_t peak = live;
  for (const MemoryChange& change : program.memory) peak = std::max(peak, live += change.bytes);
  return peak;
}

}  // namespace weft::work::test
