#include "sim/output/search_json.h"

#include <algorithm>

#include "sim/output/cost_json.h"

namespace weft::output {
namespace {

void write_plan(JsonWriter& json, const plan::RankedPlan& ranked, const plan::CostedCluster& costed) {
  const work::ParallelPlan& plan = ranked.candidate.plan;
  json.begin_object().field("plan", plan::plan_text(ranked.candidate));
  json.key("parallelism").begin_object();
  json.field("tensor", plan.tensor).field("pipeline", plan.pipeline).field("virtual_stages", plan.virtual_stages);
  json.field("data", plan.data).field("context", plan.context).field("expert", plan.expert);
  if (plan.expert_tensor > 0) json.field("expert_tensor", plan.expert_tensor);
  json.field("zero", plan.zero).field("schedule", plan.schedule).field("recompute", plan::to_string(plan.recompute));
  json.field("sequence_parallel", plan.sequence_parallel);
  if (plan.overlap_expert) json.field("overlap_expert", true);
  if (plan.last_stage_layers >= 0) json.field("last_stage_layers", plan.last_stage_layers);
  json.end_object();
  json.field("micro", ranked.candidate.micro);
  json.key("iteration_time_ns").raw(ns_text(ranked.iteration));
  if (ranked.error) json.field("time_error", *ranked.error);
  json.field("bound_ns", ranked.bound_seconds * 1e9);
  json.field("tokens_per_second", ranked.tokens_per_second).field("mfu", ranked.mfu);
  json.field("memory_per_gpu_bytes", ranked.memory.total());
  json.field("exposed_communication_share", ranked.exposed_share);
  json.field("bottleneck", ranked.bottleneck).field("bottleneck_share", ranked.bottleneck_share);
  if (costed.cost || costed.power) write_run_cost(json, ranked.cost, costed.cost.has_value(), costed.power.has_value());
  json.field("digest", digest_text(ranked.digest));
  json.end_object();
}

}  // namespace

void write_plan_result(std::ostream& out, const ResultHeader& header, const plan::PlanSpace& space,
                       const plan::PlanSearchSettings& settings, const plan::CostedCluster& costed,
                       const plan::PlanSearchResult& result) {
  JsonWriter json{out};
  json.begin_object();
  write_header(json, header);
  json.field("model", space.setup.model.name).field("layers", result.layers).field("gpus", space.gpus);
  json.field("batch_global", space.setup.batch.global).field("sequence", space.setup.batch.sequence);
  json.field("objective", to_string(settings.objective));
  json.field("enumerated", result.enumerated).field("refused", result.refused);
  json.key("refusals").begin_array();
  for (const auto& [reason, count] : result.refusals) {
    json.begin_object().field("reason", reason).field("plans", count).end_object();
  }
  json.end_array();
  json.field("too_big", result.too_big).field("too_long", result.too_long).field("pruned", result.pruned);
  json.field("simulated", result.simulated).field("left", result.left);
  json.field("out_of_budget", result.out_of_budget).field("proven", result.proven());
  if (result.proven() == 0 && result.bounds_all && !result.plans.empty()) {
    const double best = result.plans.front().score;
    json.field("gap", std::max(0.0, 1 - result.least().value_or(best) / best));
  }
  json.key("plans").begin_array();
  for (std::size_t i = 0; i < std::min(settings.top, result.plans.size()); ++i) write_plan(json, result.plans[i], costed);
  json.end_array().end_object();
  json.finish();
}

}  // namespace weft::output
