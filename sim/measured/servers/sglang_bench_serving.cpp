// Reads what SGLang's bench_serving appends to its --output-file (python/sglang/bench_serving.py @ 0c69f5b): an object a line.
#include "sim/measured/readers/json_record.h"
#include "sim/measured/servers/server_run.h"

namespace weft::measured {
namespace {

bool recognises_sglang(const detail::JsonRecord& record) {
  return record.has("request_throughput") && record.has("mean_e2e_latency_ms");
}

ServerRun read_sglang(const detail::JsonRecord& record) {
  ServerRun run = detail::common_run(record, {.e2e = "e2e_latency"});
  // Other backends than SGLang's own say nothing of themselves.
  if (record.has("server_info")) run.model = record.object("server_info").text("model_path");
  return run;
}

}  // namespace

extern const ServerFormat sglang_bench_serving;
const ServerFormat sglang_bench_serving{.name = "SGLang bench_serving", .recognises = recognises_sglang, .read = read_sglang};

}  // namespace weft::measured
