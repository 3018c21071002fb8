// Steps of a transformer's layers, decoding or prefilling, as PyTorch runs them on one GPU or with NCCL on several of a node.
//
// Model: a point is the median of as many steps in a row as were measured, after a pause, of the library `torch`: layers
// alone, without rotary embedding.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <ranges>
#include <utility>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/stats.h"
#include "sim/measured/kinds/kinds.h"
#include "sim/measured/readers/json_record.h"
#include "sim/measured/readers/nccl_tests_parser.h"
#include "sim/scenario/serving_step.h"
#include "sim/workloads/inference/inference_reader.h"

namespace weft::measured {
namespace {

// Samples whose quartiles lie as far apart as this, over their median, were disturbed. Of 159 points of
// validate/serving/measured with all their samples the widest is 0.09.
constexpr double kDisturbedSpread = 0.2;

void read_serving_step(const detail::JsonRecord& record, MeasuredPoint& measured) {
  MeasuredStep& step = measured.step;
  const std::string phase = record.text("phase");
  if (phase != "decode" && phase != "prefill")
    record.fail(fmt::format("phase: expected 'decode' or 'prefill', got '{}'", phase));
  step.is_decode = phase == "decode";
  step.model = record.text("model");
  const auto size = [&record](const char* key, int otherwise = 0) {
    return record.whole_within(key, otherwise, 1, detail::kMostElements);
  };
  step.layers = record.whole_within("layers", 0, 1, detail::kMostCalls);
  step.hidden = size("hidden");
  step.heads = size("heads");
  step.kv_heads = record.has("kv_heads") ? size("kv_heads") : step.heads;
  step.head_dim = size("head_dim");
  step.ffn = size("ffn");
  step.context = size("context");
  step.tokens = record.has("tokens") || step.is_decode ? size("tokens", 1) : step.context;
  if (step.tokens > step.context)
    record.fail(
        fmt::format("tokens: {} new ones are more than the {} of context, which counts them too", step.tokens, step.context));
  measured.batch = record.whole_within("batch", 1, 1, detail::kMostElements);
  measured.ranks = record.whole_within("tensor", 1, 1, detail::kMaxRanks);
  if (step.heads % step.kv_heads != 0)
    record.fail(fmt::format("kv_heads: {} do not share {} heads", step.kv_heads, step.heads));
  const bool splits_kv_heads = step.kv_heads <= measured.ranks || step.kv_heads % measured.ranks == 0;
  if (step.heads % measured.ranks != 0 || !splits_kv_heads)
    record.fail(fmt::format("tensor: {} GPUs do not share {} heads, {} of keys", measured.ranks, step.heads, step.kv_heads));
  step.samples = record.whole_within("samples", 1, 1, detail::kMostCalls);
  step.warmup = record.whole_within("warmup", 0, 0, detail::kMostCalls);
}

work::TransformerModel model_of(const MeasuredStep& step) {
  work::TransformerModel model;
  model.name = step.model;
  model.layers = step.layers;
  model.hidden = step.hidden;
  model.heads = step.heads;
  model.kv_heads = step.kv_heads;
  model.head_dim = step.head_dim;
  model.ffn = step.ffn;
  model.learned_positions = 1;  // so none is rotary
  return model;
}

work::InferenceSetup setup_of(const MeasuredPoint& measured) {
  work::InferenceSetup setup;
  setup.model = model_of(measured.step);
  setup.plan.tensor = measured.ranks;
  setup.library = work::find_engine_library("torch").value();
  setup.has_ends = false;
  setup.kv_cache.is_written = false;
  setup.scheduler.cuda_graph = measured.graph ? work::GraphUse::kAll : work::GraphUse::kNone;
  return setup;
}

// Empty: nothing keeps it from being predicted.
std::string why_not(const net::Topology& topology, const MeasuredPoint& measured) {
  if (measured.step.layers == 0 || measured.step.context == 0) return "a step that says nothing of its layers";
  if (measured.type != "bf16") return fmt::format("steps in '{}'", measured.type);
  const std::vector<DeviceId>& gpus = topology.endpoints();
  const auto ranks = static_cast<std::size_t>(measured.ranks);
  if (ranks > gpus.size()) return fmt::format("{} GPUs, of which the cluster has {}", ranks, gpus.size());
  if (topology.host_of(gpus[ranks - 1]) != topology.host_of(gpus.front()))
    return fmt::format("{} GPUs of one node, of which the cluster's has fewer", ranks);
  return {};
}

std::vector<ValidationPoint> predict_serving_step(const PointPlace& place, const MeasuredPoint& measured,
                                                  ValidationPoint point) {
  const MeasuredStep& step = measured.step;
  point.ranks = measured.ranks;
  if (std::string why = why_not(place.cluster.topology, measured); !why.empty())
    return not_modelled(std::move(point), std::move(why));
  scenario::StepRun run{.seed = place.options.seed, .grain = place.options.grain};
  run.nccl = scenario::nccl_settings(place.cluster, {});
  for (const auto& [key, value] : measured.env) run.nccl.set_from_log(key, value);
  const scenario::ServingStepSpec spec{
      .is_decode = step.is_decode, .batch = measured.batch, .context = step.context, .tokens = step.tokens};
  try {
    const std::vector<Duration> times =
        scenario::repeat_serving_step(place.cluster, setup_of(measured), spec, step.warmup + step.samples, run);
    std::vector<double> samples_us;
    for (const Duration time : times | std::views::drop(step.warmup)) samples_us.push_back(time.us());
    point.predicted_us = median(samples_us);
  } catch (const ConfigError& error) {
    return not_modelled(std::move(point), error.diagnostics().front().message);
  }
  return {std::move(point)};
}

// "llama3_8b, 8 layers, 2 GPUs, 32 x 1024".
std::string serving_step_label(const MeasuredPoint& measured) {
  const MeasuredStep& step = measured.step;
  const std::string gpus = measured.ranks > 1 ? fmt::format("{} GPUs, ", measured.ranks) : std::string{};
  return fmt::format("{}, {} layers, {}{} x {}", step.model.empty() ? "model" : step.model, step.layers, gpus, measured.batch,
                     step.context);
}

std::string serving_step_series(const MeasuredPoint& measured) { return measured.step.is_decode ? "decode" : "prefill"; }

// Hidden states between two layers.
Bytes serving_step_bytes(const MeasuredPoint& measured) {
  constexpr double kBf16 = 2;
  const double bytes = kBf16 * static_cast<double>(measured.batch) * static_cast<double>(measured.step.tokens) *
                       static_cast<double>(measured.step.hidden);
  return Bytes{static_cast<std::int64_t>(std::min(bytes, 9e18))};
}

const std::string& serving_step_group(const ValidationPoint& point) {
  static const std::string decode{"decode step"};
  static const std::string prefill{"prefill step"};
  return point.configuration == "decode" ? decode : prefill;
}

Exclusion serving_step_exclusion(const ValidationPoint& point) {
  const double spread = point.measured_high_us - point.measured_low_us;
  const bool is_unsteady = point.measured_low_us > 0 && spread > kDisturbedSpread * point.measured_us;
  return is_unsteady ? Exclusion::kUnsteady : Exclusion::kNone;
}

}  // namespace

const PointKind serving_step_kind{.name = "serving_step",
                                  .read = read_serving_step,
                                  .predict = predict_serving_step,
                                  .label = serving_step_label,
                                  .series = serving_step_series,
                                  .bytes = serving_step_bytes,
                                  .group = serving_step_group,
                                  .exclusion = serving_step_exclusion};

}  // namespace weft::measured
