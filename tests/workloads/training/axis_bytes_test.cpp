// Bytes by axis against the closed forms of models/workloads §2, over random setups of framework megatron. All counts are of
// one rank of a stage and of the collectives' sizes as nccl-tests counts them.
#include <gtest/gtest.h>

#include "sim/workloads/model/parameters.h"
#include "sim/workloads/parallel/pipeline_schedule.h"
#include "tests/workloads/training/random_plans.h"
#include "tests/workloads/training/training_support.h"

namespace weft::work::test {
namespace {

struct Stage {
  std::int64_t dense_layers = 0;
  std::int64_t moe_layers = 0;
  int embeddings = 0;
  int heads = 0;
  [[nodiscard]] std::int64_t layers() const { return dense_layers + moe_layers; }
};

// Even shares: 8 layers over all chunks. DualPipe holds each stage on two ranks, for half of the microbatches each.
Stage stage_of(const TrainingSetup& setup, int index) {
  const PipelineShape shape = pipeline_shape(setup.plan, setup.batch);
  Stage stage;
  if (setup.plan.pipeline == 1) {
    stage.embeddings = stage.heads = 1;
    for (std::int64_t layer = 0; layer < setup.model.layers; ++layer) {
      ++(setup.model.is_moe_layer(layer) ? stage.moe_layers : stage.dense_layers);
    }
    return stage;
  }
  const auto schedule = make_pipeline_schedule(setup.plan.schedule);
  for (int chunk = 0; chunk < schedule->chunks(shape); ++chunk) {
    const ChunkPlace place = schedule->place(shape, index, chunk);
    const std::int64_t each = setup.model.layers / place.positions;
    for (std::int64_t layer = place.position * each; layer < (place.position + 1) * each; ++layer) {
      ++(setup.model.is_moe_layer(layer) ? stage.moe_layers : stage.dense_layers);
    }
    stage.embeddings += place.position == 0;
    stage.heads += place.position == place.positions - 1;
  }
  return stage;
}

// Microbatches that pass through each chunk of a stage.
std::int64_t passes(const TrainingSetup& setup) {
  const PipelineShape shape = pipeline_shape(setup.plan, setup.batch);
  if (setup.plan.pipeline == 1) return shape.microbatches;
  return make_pipeline_schedule(setup.plan.schedule)->microbatches(shape);
}

std::int64_t bytes_of(const RankProgram& program, coll::Collective kind, Category category) {
  return sum(collective_bytes(program, kind, category));
}

template <class Check>
void for_stages(const Check& check) {
  int checked = 0;
  for (std::uint64_t seed = 1000; seed < 1500; ++seed) {
    const TrainingSetup setup = random_setup(seed);
    if (!training_refusal(setup).empty()) continue;
    SCOPED_TRACE(describe(setup));
    const Program program = program_of(setup);
    for (int s = 0; s < setup.plan.pipeline; ++s)
      check(setup, stage_of(setup, s), program.programs[static_cast<std::size_t>(s)]);
    ++checked;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(checked, 200);
}

// models/workloads §2.4. S = b s h w / c.
TEST(AxisBytesTest, TensorParallelLayersMoveTheHiddenStatesFourTimes) {
  for_stages([](const TrainingSetup& setup, const Stage& stage, const RankProgram& program) {
    const ParallelPlan& plan = setup.plan;
    const std::int64_t tokens = setup.batch.micro * setup.batch.sequence / plan.context;
    const std::int64_t whole = tokens * setup.model.hidden * 2;
    const std::int64_t m = passes(setup);
    const std::int64_t forwards = plan.recompute == Recompute::kFull ? 2 : 1;
    const std::int64_t shared = setup.model.moe.shared_experts > 0 ? stage.moe_layers : 0;
    // Pairs of a column- and a row-parallel matrix: attention, and an MLP or shared experts.
    const std::int64_t pairs = stage.layers() + stage.dense_layers + shared;
    const std::int64_t loss = 3 * 4 * tokens * stage.heads * m;
    if (plan.tensor == 1) {
      EXPECT_EQ(of_category(program, Category::kCommTensor), 0);
    } else if (!plan.sequence_parallel) {
      const std::int64_t reductions = pairs * (forwards + 1) + stage.embeddings + stage.heads;
      EXPECT_EQ(bytes_of(program, coll::Collective::kAllReduce, Category::kCommTensor), m * reductions * whole + loss);
    } else {
      // Forward one gather and one scatter a pair, backward the same and the input gathered again.
      const std::int64_t gathers = pairs * (forwards + 2) + 2 * stage.heads + stage.embeddings;
      const std::int64_t scatters = pairs * (forwards + 1) + stage.heads + stage.embeddings;
      // Experts with tensor ranks of their own gather and scatter besides; kept out of this count by their layers.
      if (stage.moe_layers > 0) return;
      EXPECT_EQ(bytes_of(program, coll::Collective::kAllGather, Category::kCommTensor), m * gathers * whole);
      EXPECT_EQ(bytes_of(program, coll::Collective::kReduceScatter, Category::kCommTensor), m * scatters * whole);
    }
  });
}

// models/workloads §2.5. Keys and values of the whole sequence for all-gather; c - 1 steps of a part for a ring, twice as much
// backward.
TEST(AxisBytesTest, ContextParallelLayersMoveKeysAndValues) {
  for_stages([](const TrainingSetup& setup, const Stage& stage, const RankProgram& program) {
    const ParallelPlan& plan = setup.plan;
    if (plan.context == 1) {
      EXPECT_EQ(of_category(program, Category::kCommContext), 0);
      return;
    }
    const std::int64_t passes_of_layers = passes(setup) * stage.layers();
    const std::int64_t forwards = plan.recompute == Recompute::kNone ? 1 : 2;
    const std::int64_t tokens = setup.batch.sequence / plan.context;
    const std::int64_t kv = 2 * 2 * tokens * setup.model.kv_heads / plan.tensor * setup.model.head_dim;
    const std::int64_t q = 2 * tokens * setup.model.heads / plan.tensor * setup.model.head_dim;
    switch (plan.context_kind) {
      case ContextKind::kAllGather:
        EXPECT_EQ(bytes_of(program, coll::Collective::kAllGather, Category::kCommContext),
                  passes_of_layers * forwards * kv * plan.context);
        EXPECT_EQ(bytes_of(program, coll::Collective::kReduceScatter, Category::kCommContext),
                  passes_of_layers * kv * plan.context);
        break;
      case ContextKind::kRing:
        EXPECT_EQ(bytes_of(program, coll::Collective::kSendRecv, Category::kCommContext),
                  passes_of_layers * (forwards + 2) * kv * (plan.context - 1));
        break;
      case ContextKind::kUlysses:
        EXPECT_EQ(bytes_of(program, coll::Collective::kAllToAll, Category::kCommContext),
                  passes_of_layers * (forwards + 1) * (2 * q + kv));
        break;
    }
  });
}

// models/workloads §2.6: b s h w / c, divided by t under sequence parallelism; one activation and one gradient at each inner
// end of a chunk.
TEST(AxisBytesTest, PipelineMessagesAreHiddenStates) {
  for_stages([](const TrainingSetup& setup, const Stage&, const RankProgram& program) {
    const ParallelPlan& plan = setup.plan;
    const std::int64_t message =
        setup.batch.sequence / plan.context * setup.model.hidden * 2 / (plan.sequence_parallel ? plan.tensor : 1);
    for (const Operation& op : program.operations) {
      if (op.category == Category::kCommPipeline) {
        ASSERT_EQ(op.bytes.count(), message);
      }
    }
  });
}

// models/workloads §2.7: T k h w each way, forward and back: four all-to-alls per layer and microbatch.
TEST(AxisBytesTest, ExpertLayersDispatchAndCombineTwice) {
  for_stages([](const TrainingSetup& setup, const Stage& stage, const RankProgram& program) {
    const ParallelPlan& plan = setup.plan;
    if (plan.expert == 1) {
      EXPECT_EQ(of_category(program, Category::kCommExpert), 0);
      return;
    }
    const std::int64_t tokens = setup.batch.sequence / plan.context / plan.tensor;
    const std::int64_t all_to_all = tokens * setup.model.moe.experts_per_token * setup.model.hidden * 2;
    const std::int64_t times = plan.recompute == Recompute::kFull ? 6 : 4;
    EXPECT_EQ(bytes_of(program, coll::Collective::kAllToAll, Category::kCommExpert),
              passes(setup) * stage.moe_layers * times * all_to_all);
  });
}

// models/workloads §2.1 to §2.3: gradients once; or gradients once and parameters once; or parameters twice and gradients once
// each microbatch.
TEST(AxisBytesTest, DataParallelRanksMoveGradientsAndParameters) {
  for_stages([](const TrainingSetup& setup, const Stage& stage, const RankProgram& program) {
    const ParallelPlan& plan = setup.plan;
    const LayerParameters dense = layer_parameters(setup.model, 0);
    if (stage.moe_layers > 0 || plan.data * plan.context == 1) return;
    const std::int64_t layer = (dense.qkv + dense.proj + dense.mlp) / plan.tensor + dense.norms;
    const std::int64_t table = padded_vocab(setup.model.vocab, plan.tensor) / plan.tensor * setup.model.hidden;
    const bool shares = setup.model.tied_embedding && stage.embeddings > 0 && stage.heads > 0;
    const std::int64_t parameters =
        stage.dense_layers * layer + stage.embeddings * table + stage.heads * (setup.model.hidden + (shares ? 0 : table));
    const std::int64_t gradient = setup.precision.gradients == Precision::kFp32 ? 4 : 2;
    const std::int64_t reduced = bytes_of(program, coll::Collective::kAllReduce, Category::kCommData);
    const std::int64_t scattered = bytes_of(program, coll::Collective::kReduceScatter, Category::kCommData);
    const std::int64_t gathered = bytes_of(program, coll::Collective::kAllGather, Category::kCommData);
    switch (plan.data_parallelism) {
      case DataParallelism::kNone:
      case DataParallelism::kDeepSpeed2021:  // random plans have none of it
        EXPECT_EQ(of_category(program, Category::kCommData), 0);
        break;
      case DataParallelism::kDdp:
      case DataParallelism::kMegatron:
        EXPECT_EQ(reduced, gradient * parameters);
        EXPECT_EQ(scattered + gathered, 0);
        break;
      case DataParallelism::kDistributedOptimizer:
        EXPECT_EQ(scattered, gradient * parameters * (plan.zero == 2 ? passes(setup) : 1));
        EXPECT_EQ(gathered, 2 * parameters);
        break;
      case DataParallelism::kFsdp: {
        const bool again = plan.reshard_after_forward;
        const std::int64_t root = stage.embeddings * table + stage.heads * (setup.model.hidden + (shares ? 0 : table));
        EXPECT_EQ(scattered, gradient * parameters * passes(setup));
        // GPipe holds a root, or units that stay, from the first forward pass to the first backward pass: fewer gathers.
        if (plan.schedule == "gpipe" || plan.pipeline > 1) return;
        EXPECT_EQ(gathered, passes(setup) * (2 * (parameters - root) * (again ? 2 : 1) + 2 * root));
        break;
      }
    }
  });
}

}  // namespace
}  // namespace weft::work::test
