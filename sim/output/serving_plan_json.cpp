#include "sim/output/serving_plan_json.h"

#include "sim/output/cost_json.h"
#include "sim/planning/serving_search/engine_flags.h"

namespace weft::output {
namespace {

void write_engine_plan(JsonWriter& json, const char* key, const work::EnginePlan& plan) {
  json.key(key).begin_object();
  json.field("tensor", plan.tensor).field("pipeline", plan.pipeline).field("attention_data", plan.attention_data);
  json.field("expert", plan.expert).field("data", plan.data);
  json.end_object();
}

void write_latency(JsonWriter& json, const char* key, const scenario::Quantiles& of) {
  json.key(key).begin_object();
  json.field("p50", of.p50_ns).field("p90", of.p90_ns).field("p99", of.p99_ns).field("mean", of.mean_ns);
  json.end_object();
}

void write_serving(JsonWriter& json, const plan::ServingPlan& plan, const plan::CostedCluster& costed) {
  const plan::ServingCandidate& of = plan.candidate;
  json.begin_object().field("engines", plan::engines_text(of));
  if (of.decode) {
    json.key("disaggregated").begin_object();
    write_engine_plan(json, "prefill", of.engine);
    write_engine_plan(json, "decode", *of.decode);
    json.end_object();
  } else {
    write_engine_plan(json, "parallelism", of.engine);
  }
  json.field("copies", of.copies).field("gpus_used", of.copies * of.gpus());
  json.field("concurrency", of.users).field("max_batch", of.max_batch).field("token_budget", of.token_budget);
  json.field("tokens_per_second", plan.tokens_per_second);
  json.field("tokens_per_second_per_gpu", plan.tokens_per_second_per_gpu);
  json.field("tokens_per_second_per_user", plan.tokens_per_second_per_user);
  json.field("requests_per_second", plan.requests_per_second);
  write_latency(json, "ttft_ns", plan.ttft);
  write_latency(json, "tpot_ns", plan.tpot);
  json.field("peak_kv_utilization", plan.cache_share).field("preemptions", plan.preemptions);
  json.field("meets_ttft", plan.meets_ttft).field("meets_tpot", plan.meets_tpot).field("on_front", plan.is_on_front);
  if (costed.cost || costed.power) write_run_cost(json, plan.cost, costed.cost.has_value(), costed.power.has_value());
  json.field("digest", digest_text(plan.digest)).end_object();
}

std::string_view name_of(plan::ServingPercentile at) {
  return at == plan::ServingPercentile::kP50 ? "p50" : at == plan::ServingPercentile::kP90 ? "p90" : "p99";
}

}  // namespace

void write_serving_plan(std::ostream& out, const ResultHeader& header, const work::InferenceSetup& setup,
                        const plan::ServingSpace& space, const plan::ServingSettings& settings,
                        const plan::CostedCluster& costed, const plan::ServingSearchResult& result) {
  JsonWriter json{out};
  json.begin_object();
  write_header(json, header);
  json.field("model", setup.model.name).field("gpus", space.gpus).field("library", setup.library.name);
  json.field("prompt", setup.requests.prompt.median).field("output", setup.requests.output.median);
  json.field("spread", setup.requests.prompt.sigma);
  if (settings.targets.ttft > Duration{}) json.field("target_ttft_ns", settings.targets.ttft.ns());
  if (settings.targets.tpot > Duration{}) json.field("target_tpot_ns", settings.targets.tpot.ns());
  json.field("targets_at", name_of(settings.targets.at));
  json.field("engine_plans", result.engines).field("engine_plans_too_big", result.engines_too_big);
  json.field("candidates", result.candidates).field("simulated", result.simulated);
  json.field("too_big", result.too_big).field("left", result.left).field("out_of_budget", result.out_of_budget);
  if (costed.cost) write_capital(json, *costed.cost);
  if (costed.power) write_power(json, *costed.power);
  json.key("servings").begin_array();
  for (const plan::ServingPlan& plan : result.plans) write_serving(json, plan, costed);
  json.end_array();
  if (result.best) {
    json.field("best", static_cast<std::uint64_t>(*result.best));
    json.key("commands").begin_array();
    for (const plan::EngineCommand& command : plan::engine_commands(setup, result.plans[*result.best].candidate)) {
      for (const std::string& line : command.lines) {
        json.begin_object().field("engine", command.engine).field("command", line).end_object();
      }
    }
    json.end_array();
  }
  json.end_object();
  json.finish();
}

}  // namespace weft::output
