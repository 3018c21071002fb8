// Hugging Face's models in eager mode and compiled: kernels of a layer as a profile of LlamaForCausalLM has them (H200, PyTorch
// 2.11), memory that autograd keeps of it, and what recomputation leaves out.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/workloads/training/training_support.h"

namespace weft::work::test {
namespace {

constexpr std::int64_t kSequence = 512;

TrainingSetup huggingface_llama() {
  TrainingSetup setup = llama();
  setup.plan.data_parallelism = DataParallelism::kNone;
  setup.framework = "huggingface";
  setup.fused_loss = false;
  setup.clip_grad_norm = false;
  return setup;
}

RankProgram first_program(const TrainingSetup& setup) { return program_of(setup).programs.front(); }

// Kernels but memsets, and but those that add up a split product.
std::int64_t launched(const RankProgram& program) {
  return count_of(program, [&](const Operation& op) {
    const std::string_view name = program.names[op.name];
    return op.kind == OpKind::kKernel && op.category != Category::kOptimizer && name != "memset" && name != "add up splits";
  });
}

std::int64_t of_a_layer(TrainingSetup setup) {
  const std::int64_t three = launched(first_program(setup));
  setup.model.layers = 1;
  return (three - launched(first_program(setup))) / 2;
}

// Forward 8 for each norm, 7 products, 5 for the rotary embedding of queries and of keys, attention, 2 sums, SiLU and its
// product:
// 38. Backward 16 and a sum for each norm, 14 products, 5 of attention, 9 for each rotary embedding, 2 copies of gradients and
// 2 sums of them, 4 between the MLP's products: 79.
TEST(HuggingFaceTest, LayerHasTheKernelsOfTheProfile) { EXPECT_EQ(of_a_layer(huggingface_llama()), 38 + 79); }

// As Qwen3 has them: two norms more, of 8 kernels forward and 16 backward.
TEST(HuggingFaceTest, NormsOfQueriesAndKeysAreRun) {
  TrainingSetup setup = huggingface_llama();
  setup.model.qk_norm = true;
  EXPECT_EQ(training_refusal(setup), "");
  EXPECT_EQ(of_a_layer(setup), 38 + 79 + 2 * (8 + 16));
  setup.framework = "pytorch_eager";
  EXPECT_NE(training_refusal(setup), "");
}

TEST(HuggingFaceTest, LatentAttentionAndSharedExpertsAreRun) {
  TrainingSetup setup = huggingface_llama();
  setup.model.attention = AttentionKind::kLatent;
  setup.model.latent = {.query_rank = 256, .kv_rank = 128, .nope_dim = 64, .rope_dim = 32, .value_dim = 64};
  setup.model.moe = {.experts = 8, .experts_per_token = 2, .shared_experts = 1, .expert_ffn = 512};
  ASSERT_EQ(training_refusal(setup), "");
  const RankProgram program = first_program(setup);
  EXPECT_EQ(named(program, "key and value up"), 3);
  EXPECT_EQ(named(program, "experts up"), 3);
  EXPECT_EQ(named(program, "gate"), 3);
}

// torch.utils.checkpoint stops before the product whose output nobody reads; Megatron runs a layer to its end.
TEST(HuggingFaceTest, CheckpointingStopsBeforeTheLastProduct) {
  TrainingSetup setup = huggingface_llama();
  setup.plan.recompute = Recompute::kFull;
  for (const std::string framework : {"huggingface", "pytorch_eager", "pytorch_compile"}) {
    setup.framework = framework;
    const RankProgram program = first_program(setup);
    EXPECT_EQ(named(program, "proj"), 2 * 3) << framework;
    EXPECT_EQ(named(program, "down"), 3) << framework;
  }
  // A compiled layer is one function to it.
  for (const std::string framework : {"huggingface_compile", "megatron"}) {
    setup.framework = framework;
    EXPECT_EQ(named(first_program(setup), "down"), 2 * 3) << framework;
  }
}

// A token of a layer keeps, of each norm, 4 h bytes of its input in fp32, 2 h before the weight and 2 h of its output; Q, K, V,
// attention's output (2 B) and 4 B of statistics a head; 2 B each of gate, SiLU, up and their product.
TEST(HuggingFaceTest, AutogradKeepsNormsInFp32) {
  TrainingSetup setup = huggingface_llama();
  setup.model.vocab = 65'536;  // the loss is the peak, when all layers' activations are there
  const auto held = [&](std::int64_t layers) {
    setup.model.layers = layers;
    const RankProgram program = first_program(setup);
    return peak_bytes(program) - program.resident.total();
  };
  const std::int64_t token = 2 * (4 + 2 + 2) * 1024 + 2 * (1024 + 2 * 256 + 1024) + 4 * 8 + 2 * 4 * 2816;
  EXPECT_EQ(held(3) - held(2), kSequence * token);
}

// Compiled, a layer keeps its input, the output matrix's product, both norms' outputs, Q, K, V, attention's output and
// statistics (of the norms, too), gate, up and their product.
TEST(HuggingFaceTest, CompiledLayersKeepWhatProductsRead) {
  TrainingSetup setup = huggingface_llama();
  setup.framework = "huggingface_compile";
  setup.model.vocab = 65'536;
  const auto held = [&](std::int64_t layers) {
    setup.model.layers = layers;
    const RankProgram program = first_program(setup);
    return peak_bytes(program) - program.resident.total();
  };
  const std::int64_t token = 2 * (4 * 1024 + 1024 + 2 * 256 + 1024 + 3 * 2816) + 4 * (8 + 2);
  EXPECT_EQ(held(3) - held(2), kSequence * token);
}

// Logits in fp32 and their gradients are there at once: 12 B for each.
TEST(HuggingFaceTest, LossIsNotFusedAndHasItsMemory) {
  TrainingSetup setup = huggingface_llama();
  const auto peak_of_words = [&](std::int64_t words) {
    setup.model.vocab = words;
    const RankProgram program = first_program(setup);
    return peak_bytes(program) - program.resident.total();
  };
  EXPECT_EQ(peak_of_words(131'072) - peak_of_words(65'536), 12 * kSequence * 65'536);
}

// A window shorter than the sequence comes as a mask: all tiles are computed, keys and values repeated for their heads.
TEST(HuggingFaceTest, ShortWindowsAreMasks) {
  TrainingSetup setup = huggingface_llama();
  setup.batch.sequence = 8 * kSequence;  // more blocks of queries than SMs
  const auto longest = [&](std::int64_t window) {
    setup.model.windows = {window};
    const RankProgram program = first_program(setup);
    EXPECT_EQ(named(program, "repeat keys"), window == 128 ? 3 : 0);
    Duration found;
    for (const Operation& op : program.operations) {
      if (program.names[op.name] == "attention") found = std::max(found, op.duration);
    }
    return found;
  };
  EXPECT_EQ(longest(0), longest(8 * kSequence));
  EXPECT_GT(longest(128), longest(0));
}

// Attention masks are looked at before the first layer, and the host waits for the answer.
TEST(HuggingFaceTest, HostWaitsOnceAMicrobatch) {
  TrainingSetup setup = huggingface_llama();
  setup.batch.global = 2;
  const RankProgram program = first_program(setup);
  EXPECT_EQ(count_of(program, [](const Operation& op) { return op.kind == OpKind::kHostSync; }), 2);
}

TEST(FsdpTest, GradientsTakeMemoryFromTheirKernelsOn) {
  const TrainingSetup setup = fsdp();
  const RankProgram program = first_program(setup);
  std::int64_t made = 0;
  for (const MemoryChange& change : program.memory) {
    const std::string_view name = program.names[program.operations[change.op].name];
    if (name.starts_with("head ") && change.bytes > 0) made += change.bytes;  // its products backward
  }
  EXPECT_EQ(made, 2 * setup.model.vocab * setup.model.hidden);
}

}  // namespace
}  // namespace weft::work::test
