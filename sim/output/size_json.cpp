#include "sim/output/size_json.h"

#include "sim/output/cost_json.h"
#include "sim/output/result_json.h"

namespace weft::output {
namespace {

void write_range(JsonWriter& json, const char* key, const plan::Ranged& range) {
  json.key(key).begin_object();
  json.field("value", range.value).field("least", range.least).field("most", range.most);
  json.end_object();
}

void write_cluster(JsonWriter& json, const plan::SizedCluster& sized) {
  json.begin_object();
  json.field("name", sized.name).field("file", sized.file).field("nodes", sized.nodes).field("gpus", sized.gpus);
  json.field("limit", sized.limit).field("meets", sized.meets);
  json.field("plan", plan::plan_text(sized.plan.candidate)).field("tokens_per_second", sized.plan.tokens_per_second);
  json.field("mfu", sized.plan.mfu).field("exposed_communication_share", sized.plan.exposed_share);
  if (sized.gap) json.field("gap", *sized.gap);
  if (sized.error) json.field("step_error", *sized.error);
  json.field("failures", sized.failures).field("failures_within", sized.failures_within);
  json.field("time_to_failure_s", sized.time_to_failure.seconds());
  json.field("checkpoint_interval_s", sized.checkpoint_interval.seconds());
  write_range(json, "useful", sized.useful);
  write_range(json, "time_s", sized.seconds);
  write_range(json, "usd", sized.usd);
  json.field("usd_per_hour", sized.plan.cost.usd_per_hour());
  json.field("megawatts", sized.megawatts).field("megawatts_all_busy", sized.most_megawatts);
  json.field("megawatt_hours", sized.megawatt_hours);
  json.field("assumed_price_share", sized.assumed_share);
  json.field("oldest_price", sized.oldest_price).field("newest_price", sized.newest_price);
  write_capital(json, *sized.costed.cost);
  json.key("changes").begin_array();
  for (const plan::SizeChange& change : sized.changes) {
    json.begin_object().field("what", change.what).field("time_s", change.seconds).field("usd", change.usd).end_object();
  }
  json.end_array().end_object();
}

}  // namespace

void write_size_result(std::ostream& out, const ResultHeader& header, const plan::SizeQuestion& question,
                       const std::vector<plan::SizedCluster>& clusters) {
  JsonWriter json{out};
  json.begin_object();
  write_header(json, header);
  json.field("model", question.setup.model.name).field("tokens", question.tokens);
  json.field("batch_global", question.setup.batch.global).field("sequence", question.setup.batch.sequence);
  if (question.gpus > 0) json.field("gpus_asked", question.gpus);
  if (question.deadline) json.field("deadline_s", question.deadline->seconds());
  if (question.capital_usd) json.field("capital_limit_usd", *question.capital_usd);
  if (question.megawatts) json.field("power_limit_MW", *question.megawatts);
  json.field("restart_s", question.restart.seconds());
  json.field("checkpoint_blocking_s", question.checkpoint.blocking.seconds());
  json.key("clusters").begin_array();
  for (const plan::SizedCluster& sized : clusters) write_cluster(json, sized);
  json.end_array().end_object();
  json.finish();
}

}  // namespace weft::output
