#include "sim/output/training_json.h"

#include <algorithm>
#include <string>

namespace weft::output {
namespace {

void write_times(JsonWriter& json, const work::RankTimes& times) {
  json.begin_object();
  for (std::size_t c = 0; c < work::kCategories; ++c) {
    if (times.busy[c] > Duration{}) json.key(category_key(c)).raw(ns_text(times.busy[c]));
  }
  for (std::size_t c = 0; c < work::kCategories; ++c) {
    if (times.exposed[c] > Duration{}) {
      json.key("exposed_" + category_key(c)).raw(ns_text(times.exposed[c]));
    }
  }
  json.key("compute").raw(ns_text(times.compute)).key("bubble").raw(ns_text(times.bubble));
  json.key("skew").raw(ns_text(times.skew)).key("idle").raw(ns_text(times.idle));
  json.end_object();
}

void write_memory(JsonWriter& json, const scenario::MemoryParts& memory) {
  json.key("memory_per_gpu_bytes").begin_object();
  json.field("rank", memory.rank).field("total", memory.total()).field("parameters", memory.parameters);
  json.field("gradients", memory.gradients).field("optimizer", memory.optimizer).field("activations", memory.activations);
  if (memory.reserved > 0) json.field("reserved", memory.reserved);
  json.field("capacity", memory.capacity).field("fits", memory.fits()).end_object();
}

}  // namespace

std::string category_key(std::size_t category) {
  std::string key{work::to_string(static_cast<work::Category>(category))};
  std::ranges::replace(key, ' ', '_');
  return key;
}

void write_training(JsonWriter& json, const scenario::TrainingResult& result) {
  json.key("iteration_time_ns").raw(ns_text(result.iteration));
  json.key("iterations_ns").begin_array();
  for (const Duration iteration : result.run.replay.iterations) json.raw(ns_text(iteration));
  json.end_array();
  json.field("iterations_skipped", result.run.replay.skipped);
  json.field("gpus", result.gpus).field("simulated_ranks", result.leaders);
  json.field("tokens_per_second", result.tokens_per_second);
  json.field("tokens_per_second_per_gpu", result.tokens_per_second / static_cast<double>(result.gpus));
  json.field("model_tflops_per_gpu", result.model_tflops_per_gpu).field("mfu", result.mfu).field("hfu", result.hfu);
  json.field("flop_convention", result.convention).field("peak", result.peak_name);
  json.field("bubble_share", result.bubble_share);
  write_memory(json, result.memory);
  if (result.recomputed_layers) json.field("recomputed_layers", *result.recomputed_layers);
  json.key("breakdown_ns");
  write_times(json, result.mean);
  json.key("ranks").begin_array();
  for (const scenario::RankReport& rank : result.ranks) {
    json.begin_object().field("rank", rank.rank).field("stands_for", rank.stands_for).field("peak_bytes", rank.peak_bytes);
    json.key("breakdown_ns");
    write_times(json, rank.times);
    json.end_object();
  }
  json.end_array();
  json.key("critical_path_ns").begin_object();
  for (std::size_t c = 0; c < work::kCategories; ++c) {
    if (result.critical[c] > Duration{}) {
      json.key(category_key(c)).raw(ns_text(result.critical[c]));
    }
  }
  json.end_object();
  if (!result.run.clocks.empty()) {
    json.key("clock_slowdown").begin_array();
    for (const work::RankClocks& clocks : result.run.clocks) json.value(clocks.mean);
    json.end_array();
  }
}

void write_training_jobs(JsonWriter& json, const std::vector<scenario::TrainingJobResult>& jobs) {
  json.key("training_jobs").begin_array();
  for (const scenario::TrainingJobResult& job : jobs) {
    json.begin_object().field("name", job.name);
    json.key("start_ns").raw(ns_text(job.start - Time{})).key("end_ns").raw(ns_text(job.end - Time{}));
    json.key("mean_iteration_time_ns").raw(ns_text(job.mean_together));
    json.key("mean_iteration_time_alone_ns").raw(ns_text(job.mean_alone));
    json.field("slowdown", job.slowdown());
    write_training(json, job.together);
    json.end_object();
  }
  json.end_array();
}

}  // namespace weft::output
