// Reads what `vllm bench serve --save-result` saves (vllm/benchmarks/serve.py @ 009e6d4): one object, or with --append-result
// an object a line. Percentiles are those that --percentile-metrics and --metric-percentiles chose.
#include "sim/measured/readers/json_record.h"
#include "sim/measured/servers/server_run.h"

namespace weft::measured {
namespace {

bool recognises_vllm(const detail::JsonRecord& record) {
  return record.has("request_throughput") && record.has("total_token_throughput");
}

ServerRun read_vllm(const detail::JsonRecord& record) {
  ServerRun run = detail::common_run(record, {.e2e = "e2el"});
  run.model = record.text("model_id");
  return run;
}

}  // namespace

extern const ServerFormat vllm_bench_serve;
const ServerFormat vllm_bench_serve{.name = "vllm bench serve", .recognises = recognises_vllm, .read = read_vllm};

}  // namespace weft::measured
