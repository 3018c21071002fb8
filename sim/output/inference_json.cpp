#include "sim/output/inference_json.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace weft::output {
namespace {

void write_quantiles(JsonWriter& json, std::string_view key, const scenario::Quantiles& quantiles) {
  json.key(key).begin_object().field("p50", quantiles.p50_ns).field("p90", quantiles.p90_ns);
  json.field("p99", quantiles.p99_ns).field("mean", quantiles.mean_ns).end_object();
}

void write_memory(JsonWriter& json, std::string_view key, const work::EngineMemory& memory) {
  json.key(key).begin_object().field("capacity", memory.capacity).field("usable", memory.usable);
  json.field("weights", memory.weights).field("activations", memory.activations).field("runtime", memory.runtime);
  json.field("kv_cache", memory.cache);
  json.field("total", memory.weights + memory.activations + memory.runtime + memory.cache);
  json.field("kv_block", memory.block_bytes).field("kv_blocks_per_engine", memory.blocks).end_object();
}

void write_parts(JsonWriter& json, const work::StepParts& parts) {
  json.key("step_time_ns").begin_object();
  for (std::size_t part = 0; part < work::kStepParts; ++part) {
    json.key(work::to_string(static_cast<work::StepPart>(part))).raw(ns_text(parts[part]));
  }
  json.end_object();
}

void write_engine(JsonWriter& json, const work::EngineReport& engine, bool caches_prefixes) {
  json.begin_object().field("role", work::to_string(engine.role)).field("steps", engine.totals.steps);
  json.field("prefill_tokens", engine.totals.prefill_tokens).field("decode_tokens", engine.totals.decode_tokens);
  json.field("preemptions", engine.totals.preemptions).field("swapped_tokens", engine.totals.swapped_tokens);
  if (caches_prefixes) {
    json.field("prefix_hit_tokens", engine.totals.found_tokens).field("prefix_query_tokens", engine.totals.prompt_tokens);
  }
  json.field("utilization", engine.busy_share);
  json.field("mean_running", engine.mean_running).field("peak_running", engine.peak_running);
  json.field("mean_waiting", engine.mean_waiting).field("peak_waiting", engine.peak_waiting);
  json.field("mean_kv_utilization", engine.mean_block_share).field("peak_kv_utilization", engine.peak_block_share);
  write_parts(json, engine.parts);
  json.end_object();
}

}  // namespace

void write_inference(JsonWriter& json, const scenario::InferenceResult& result) {
  json.field("requests", result.requests).field("finished_requests", result.finished);
  json.field("prompt_tokens", result.prompt_tokens).field("output_tokens", result.output_tokens);
  if (result.caches_prefixes) {
    json.field("prefix_hit_rate", result.prefix_hit_rate()).field("prefix_hit_tokens", result.found_tokens);
  }
  json.field("gpus", result.gpus);
  write_quantiles(json, "ttft_ns", result.ttft);
  write_quantiles(json, "tpot_ns", result.tpot);
  write_quantiles(json, "itl_ns", result.itl);
  write_quantiles(json, "e2e_ns", result.e2e);
  write_quantiles(json, "queue_ns", result.queue);
  write_quantiles(json, "exposed_transfer_ns", result.transfer);
  json.field("throughput_tokens_per_second", result.tokens_per_second);
  json.field("throughput_tokens_per_second_per_gpu", result.tokens_per_second_per_gpu);
  json.field("throughput_requests_per_second", result.requests_per_second);
  json.field("goodput_requests_per_second", result.goodput).field("share_within_targets", result.within_targets);
  json.field("kv_bytes_moved", result.cache_bytes_moved);
  write_memory(json, "memory_per_gpu_bytes", result.memory.prefill);
  if (result.memory.decode.blocks > 0) write_memory(json, "decode_memory_per_gpu_bytes", result.memory.decode);
  double busy = 0;
  for (const work::EngineReport& engine : result.engines) busy += engine.busy_share;
  json.field("utilization", busy / static_cast<double>(std::max<std::size_t>(1, result.engines.size())));
  write_parts(json, result.parts);
  json.key("engines").begin_array();
  for (const work::EngineReport& engine : result.engines) write_engine(json, engine, result.caches_prefixes);
  json.end_array();
}

void write_server_comparisons(JsonWriter& json, std::span<const measured::ServerComparison> comparisons) {
  if (comparisons.empty()) return;
  json.key("measured").begin_array();
  for (const measured::ServerComparison& comparison : comparisons) {
    const measured::ServerRun& run = comparison.run;
    json.begin_object().field("file", run.file).field("line", run.line).field("format", run.format);
    json.field("model", run.model).field("requests", run.requests).field("failed_requests", run.failed);
    json.key("points").begin_array();
    for (const measured::ServerPoint& point : comparison.points) {
      json.begin_object().field("name", point.name).field("measured", point.measured).field("predicted", point.predicted);
      json.field("relative_error", point.relative_error()).end_object();
    }
    json.end_array().key("notes").begin_array();
    for (const std::string& note : comparison.notes) json.value(note);
    json.end_array().end_object();
  }
  json.end_array();
}

}  // namespace weft::output
