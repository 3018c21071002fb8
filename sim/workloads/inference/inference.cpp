#include "sim/workloads/inference/inference.h"

#include <algorithm>

namespace weft::work {

ParallelPlan EnginePlan::model_plan() const {
  ParallelPlan plan;
  plan.tensor = tensor;
  plan.pipeline = pipeline;
  plan.data = attention_data;
  plan.expert = expert;
  plan.expert_tensor = expert_tensor();
  return plan;
}

LayerRange stage_layers(std::int64_t layers, int stages, int stage) {
  const std::int64_t each = layers / stages;
  const std::int64_t more = layers % stages;
  const std::int64_t first = stage * each + std::min<std::int64_t>(stage, more);
  return {first, first + each + (stage < more ? 1 : 0)};
}

double Speculation::expected_tokens() const {
  double sum = 0;
  double power = 1;
  for (int i = 0; i <= draft_tokens; ++i, power *= acceptance) sum += power;
  return sum;
}

}  // namespace weft::work
