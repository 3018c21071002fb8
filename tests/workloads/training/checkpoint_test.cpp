#include "sim/workloads/training/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/core/config/params.h"
#include "sim/workloads/training/training_reader.h"
#include "tests/workloads/training/progress.h"
#include "tests/workloads/training/training_support.h"

namespace weft::work::test {
namespace {

TransformerModel llama2_70b() {
  return {.name = "llama2_70b",
          .layers = 80,
          .hidden = 8192,
          .heads = 64,
          .kv_heads = 8,
          .head_dim = 128,
          .ffn = 28672,
          .vocab = 32000};
}

// ddp() with mixed precision and a checkpoint.
TrainingSetup saving(CheckpointPlan plan) {
  TrainingSetup setup = ddp();
  setup.precision = {};
  setup.checkpoint = plan;
  return setup;
}
std::vector<Operation> io_of(const TrainingSetup& setup) {
  std::vector<Operation> found;
  const Program program = program_of(setup);
  for (const Operation& op : program.programs.front().operations) {
    if (op.category == Category::kIo) found.push_back(op);
  }
  return found;
}

TEST(CheckpointTest, ReplicasTogetherWriteFourteenBytesAParameter) {
  // models/workloads §1.6: Llama-2 70B has 68'976'648'192 parameters, 0.966 TB.
  TrainingSetup setup;
  setup.model = llama2_70b();
  setup.plan.data = 8;
  setup.checkpoint = CheckpointPlan{};
  const StageParameters all = stage_parameters(setup.model, setup.plan, 0, 80, true, true);
  EXPECT_EQ(saved_bytes(setup, all), Bytes{68'976'648'192 * 14 / 8});
  setup.checkpoint->has_optimizer = false;
  EXPECT_EQ(saved_bytes(setup, all), Bytes{68'976'648'192 * 2 / 8});
}

TEST(CheckpointTest, ParametersInFp32HaveNoOtherCopy) {
  TrainingSetup setup;
  setup.precision.parameters = Precision::kFp32;
  setup.checkpoint = CheckpointPlan{};
  EXPECT_EQ(saved_bytes(setup, {.dense = 1000}), Bytes{12'000});
}

TEST(CheckpointTest, ExpertsAreSharedOutOverTheRanksThatHoldThem) {
  // Two replicas of the experts on each of four ranks, four of the rest.
  TrainingSetup setup;
  setup.plan.data = 4;
  setup.plan.expert = 2;
  setup.checkpoint = CheckpointPlan{};
  EXPECT_EQ(saved_bytes(setup, {.dense = 4000, .experts = 2000}), Bytes{14 * (1000 + 1000)});
}

TEST(CheckpointTest, IsCopiedToTheHostAndWrittenFromThere) {
  const std::vector<Operation> ops = io_of(saving({.every = 3}));
  ASSERT_EQ(ops.size(), 2U);
  EXPECT_EQ(ops[0].kind, OpKind::kCopy);
  EXPECT_EQ(ops[1].kind, OpKind::kStorage);
  EXPECT_EQ(ops[1].slot, kFileSystem);
  EXPECT_EQ(ops[0].bytes, ops[1].bytes);
  EXPECT_FALSE(ops[0].background);
  EXPECT_TRUE(ops[1].background);
  for (const Operation& op : ops) EXPECT_EQ(op.every, 3);
}

TEST(CheckpointTest, GpuDirectWritesWithoutACopy) {
  const std::vector<Operation> ops = io_of(saving({.to_file_system = false, .gpu_direct = true, .asynchronous = false}));
  ASSERT_EQ(ops.size(), 1U);
  EXPECT_EQ(ops[0].kind, OpKind::kStorage);
  EXPECT_EQ(ops[0].slot, kGpuDirect);
  EXPECT_FALSE(ops[0].background);
}

TEST(CheckpointTest, IsRestoredBeforeTheFirstStepComputes) {
  const TrainingSetup setup = saving({.restores_first = true});
  const Program program = program_of(setup);
  const RankProgram& rank = program.programs.front();
  // Every replica of DDP reads all of it.
  EXPECT_EQ(rank.operations[0].bytes, Bytes{rank.resident.parameters + rank.resident.optimizer});
  EXPECT_EQ(rank.operations[0].kind, OpKind::kStorage);
  EXPECT_EQ(rank.operations[0].slot, kFileSystem + kInwards);
  EXPECT_EQ(rank.operations[1].slot, kInwards);
  EXPECT_EQ(rank.operations[1].every, 0);
  const auto first = std::ranges::find(rank.operations, std::uint8_t{0}, &Operation::stream);
  EXPECT_THAT(rank.waits_of(*first), ::testing::Contains(OpIndex{1}));
}

TEST(DataLoadingTest, ReadsTheSequencesOfAReplicaAheadOrBeforeTheStep) {
  // Two sequences on each of four ranks, 4 B a token.
  TrainingSetup setup = ddp();
  setup.batch.global = 8;
  setup.data_loading = DataLoading{.per_sequence = Bytes{8192}};
  std::vector<Operation> ops = io_of(setup);
  ASSERT_EQ(ops.size(), 2U);
  EXPECT_EQ(ops[0].kind, OpKind::kCopy);
  EXPECT_EQ(ops[0].slot, kInwards);
  EXPECT_EQ(ops[1].bytes, Bytes{16'384});
  EXPECT_TRUE(ops[1].background);
  setup.data_loading->prefetch = false;
  ops = io_of(setup);
  ASSERT_EQ(ops.size(), 2U);
  EXPECT_EQ(ops[0].kind, OpKind::kStorage);
  EXPECT_FALSE(ops[0].background);
  EXPECT_EQ(ops[1].kind, OpKind::kCopy);
}

TEST(DataLoadingTest, StagesInTheMiddleReadNothing) {
  TrainingSetup setup = pp4();
  setup.data_loading = DataLoading{.per_sequence = Bytes{8192}};
  const Program program = program_of(setup);
  std::vector<std::int64_t> counts;
  for (const RankProgram& stage : program.programs) counts.push_back(of_category(stage, Category::kIo));
  EXPECT_EQ(counts, (std::vector<std::int64_t>{2, 0, 0, 2}));
  EXPECT_EQ(Progress{program}.run(), "");
}

constexpr const char* kStep =
    "model: {kind: model, name: tiny, layers: 4, hidden: 512, heads: 8, ffn: 1024, vocab: 1000}\n"
    "batch: {global: 8, sequence: 1024}\n"
    "storage: {local: {write: 6 GB/s, read: 12 GB/s}}\n";

TrainingSetup read_keys(const std::string& yaml) {
  Diagnostics diagnostics;
  ParamReader reader{ConfigNode::parse(yaml, "step.yaml", "workload"), diagnostics};
  TrainingSetup setup = read_training(reader, 4);
  reader.finish();
  diagnostics.throw_if_any();
  return setup;
}
std::string refusal_of_keys(const std::string& keys) {
  try {
    static_cast<void>(read_keys(kStep + keys));
  } catch (const ConfigError& error) {
    return error.diagnostics().front().message;
  }
  return {};
}

TEST(StorageReaderTest, ReadsCheckpointsAndData) {
  const TrainingSetup setup = read_keys(std::string{kStep} +
                                        "checkpoint: {every: 4, to: local, through: gpudirect, optimizer: false}\n"
                                        "data_loading: {from: local, prefetch: false}\n");
  EXPECT_EQ(setup.storage.local.write.gigabytes_per_second(), 6);
  EXPECT_FALSE(setup.storage.file_system.exists());
  EXPECT_EQ(setup.checkpoint->every, 4);
  EXPECT_FALSE(setup.checkpoint->to_file_system);
  EXPECT_TRUE(setup.checkpoint->gpu_direct);
  EXPECT_FALSE(setup.checkpoint->asynchronous);
  EXPECT_FALSE(setup.checkpoint->has_optimizer);
  EXPECT_EQ(setup.data_loading->per_sequence, Bytes{4096});
  EXPECT_FALSE(setup.data_loading->prefetch);
  EXPECT_TRUE(read_keys(std::string{kStep} + "checkpoint: {to: local}").checkpoint->asynchronous);
}

TEST(StorageReaderTest, RefusesStorageThatIsNotGiven) {
  EXPECT_THAT(refusal_of_keys("checkpoint: {}"),
              ::testing::HasSubstr("'to' is file_system, and workload.storage has no 'file_system'"));
  EXPECT_THAT(refusal_of_keys("data_loading: {from: file_system}"), ::testing::HasSubstr("'from' is file_system"));
}

TEST(StorageReaderTest, RefusesToGoOnWhileTheGpusMemoryIsWritten) {
  EXPECT_THAT(refusal_of_keys("checkpoint: {to: local, through: gpudirect, asynchronous: true}"),
              ::testing::HasSubstr("holds up the step that would change it"));
}

TEST(StorageReaderTest, RefusesUnknownKeysAndRates) {
  EXPECT_THAT(refusal_of_keys("checkpoint: {to: local, evry: 2}"), ::testing::HasSubstr("unknown key 'evry'"));
  EXPECT_THAT(refusal_of_keys("checkpoint: {to: local, every: 0}"), ::testing::HasSubstr("every"));
  EXPECT_THAT(refusal_of_keys("data_loading: {from: drives}"), ::testing::HasSubstr("from"));
}

}  // namespace
}  // namespace weft::work::test
