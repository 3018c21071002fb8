// Small training setups of every kind, from a seed: model, plan and batch that fit together.
#pragma once

#include <cstdint>
#include <string>

#include "sim/workloads/training/training.h"

namespace weft::work::test {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_{seed * 2 + 1} {}
  std::int64_t roll(std::int64_t below) {
    state_ = state_ * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
    return static_cast<std::int64_t>((state_ >> 33) % static_cast<std::uint64_t>(below));
  }
  int one_of(std::initializer_list<int> values) { return *(values.begin() + roll(static_cast<std::int64_t>(values.size()))); }
  bool coin() { return roll(2) == 1; }

 private:
  std::uint64_t state_;
};

// Returns a random setup of framework megatron; refused ones among them are for the caller to skip.
inline TrainingSetup random_setup(std::uint64_t seed) {
  Dice dice{seed};
  TrainingSetup setup;
  ParallelPlan& plan = setup.plan;
  plan.tensor = dice.one_of({1, 2, 4});
  plan.pipeline = dice.one_of({1, 2, 4});
  plan.context = dice.one_of({1, 1, 2});
  plan.data = dice.one_of({1, 2, 4});
  const bool moe = dice.coin();
  plan.sequence_parallel = plan.tensor > 1 && (moe || dice.coin());
  plan.context_kind = static_cast<ContextKind>(dice.roll(3));
  plan.data_parallelism = static_cast<DataParallelism>(dice.roll(5));
  plan.zero = plan.data_parallelism == DataParallelism::kDistributedOptimizer ? 1 + static_cast<int>(dice.roll(2))
              : plan.data_parallelism == DataParallelism::kFsdp               ? 3
                                                                              : 0;
  plan.recompute = static_cast<Recompute>(dice.roll(3));
  plan.overlap_grad_reduce = dice.coin();
  plan.overlap_param_gather = dice.coin();
  plan.overlap_p2p = dice.coin();
  plan.overlap_tensor = plan.sequence_parallel && dice.coin();
  plan.reshard_after_forward = dice.coin();
  if (plan.pipeline > 1) {
    const char* const schedules[] = {"gpipe", "1f1b", "interleaved_1f1b", "zb_h1", "dualpipe", "zb_v", "dualpipe_v"};
    plan.schedule = schedules[dice.roll(7)];
    if (plan.schedule == "interleaved_1f1b" || plan.schedule == "zb_v" || plan.schedule == "dualpipe_v")
      plan.virtual_stages = 2;
  }
  setup.model = {.name = "random",
                 .layers = 8,
                 .hidden = 512,
                 .heads = 8,
                 .kv_heads = dice.one_of({4, 8}),
                 .head_dim = 64,
                 .ffn = 1024,
                 .vocab = 1000,
                 .gated_mlp = dice.coin(),
                 .tied_embedding = dice.coin()};
  if (moe) {
    setup.model.moe = {.experts = 8, .experts_per_token = 2, .expert_ffn = 512, .dense_layers = dice.roll(2)};
    if (dice.coin()) setup.model.moe.shared_experts = 1;
    plan.expert = dice.one_of({1, 2});
    if (plan.data * plan.context % plan.expert != 0) plan.expert = 1;
    plan.overlap_expert =
        dice.coin() && (plan.pipeline == 1 || plan.schedule == "interleaved_1f1b" || plan.schedule.starts_with("dualpipe"));
  }
  const int microbatches = plan.pipeline * dice.one_of({2, 3, 4});
  setup.batch = {.global = std::int64_t{plan.data} * microbatches, .micro = 1, .sequence = 1024};
  setup.precision.gradients = dice.coin() ? Precision::kFp32 : Precision::kBf16;
  return setup;
}

inline std::string describe(const TrainingSetup& setup) {
  const ParallelPlan& p = setup.plan;
  return "tp " + std::to_string(p.tensor) + " pp " + std::to_string(p.pipeline) + " dp " + std::to_string(p.data) + " cp " +
         std::to_string(p.context) + " ep " + std::to_string(p.expert) + " sync " +
         std::to_string(static_cast<int>(p.data_parallelism)) + " zero " + std::to_string(p.zero) + " " + p.schedule + " m " +
         std::to_string(setup.batch.microbatches(p)) + (p.sequence_parallel ? " sp" : "") + " recompute " +
         std::to_string(static_cast<int>(p.recompute)) + (p.overlap_p2p ? " overlap_p2p" : "");
}

}  // namespace weft::work::test
