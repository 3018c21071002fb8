#include "sim/output/goodput_json.h"

#include <string>

namespace weft::output {
namespace {

void write_shares(JsonWriter& json, const plan::Goodput& goodput) {
  json.field("useful", goodput.useful).field("useful_standard_error", goodput.useful_error);
  json.field("checkpoints", goodput.checkpoints).field("redone", goodput.redone).field("restarts", goodput.restarts);
  json.field("failures_per_run", goodput.failures);
}

}  // namespace

void write_goodput_result(std::ostream& out, const ResultHeader& header, const plan::GoodputJob& job,
                          const plan::GoodputReport& report) {
  JsonWriter json{out};
  json.begin_object();
  write_header(json, header);
  json.key("components").begin_object();
  for (std::size_t c = 0; c < plan::kComponents; ++c) {
    json.field(to_string(static_cast<plan::Component>(c)), job.components.count[c]);
  }
  json.end_object();
  json.field("rates", job.rates.name).field("rates_source", job.rates.source).field("rates_date", job.rates.date);
  json.key("causes").begin_array();
  for (const plan::FailureCause& cause : job.rates.causes) {
    json.begin_object().field("cause", cause.name).field("per", to_string(cause.per));
    json.field("per_component_hour", cause.per_hour);
    json.field("per_day", 24 * cause.per_hour * job.components.of(cause.per)).end_object();
  }
  json.end_array();
  const plan::GoodputInput& input = job.input;
  json.field("time_to_failure_s", input.mttf.seconds()).field("restart_s", input.restart.seconds());
  json.field("checkpoint_blocking_s", input.checkpoint.blocking.seconds());
  json.field("checkpoint_drain_s", input.checkpoint.drain.seconds());
  json.field("checkpoint_interval_s", input.checkpoint.interval.seconds());
  json.field("simulated_s", input.length.seconds()).field("runs", input.runs);
  json.key("goodput").begin_object();
  write_shares(json, report.simulated);
  json.end_object();
  json.field("useful_daly", report.daly).field("useful_young", report.young);
  json.field("best_interval_young_s", report.young_best.seconds()).field("best_interval_daly_s", report.daly_best.seconds());
  json.key("intervals").begin_array();
  for (const plan::IntervalPoint& point : report.curve) {
    json.begin_object().field("interval_s", point.interval.seconds());
    write_shares(json, point.simulated);
    json.field("useful_daly", point.daly).field("useful_young", point.young).end_object();
  }
  json.end_array();
  if (report.curve.empty()) {
    json.null_field("best_interval_simulated_s");
  } else {
    json.field("best_interval_simulated_s", report.curve[report.best].interval.seconds());
  }
  json.end_object();
  json.finish();
}

}  // namespace weft::output
