#include "sim/workloads/inference/inference_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/collectives/libraries.h"
#include "sim/core/config/nearest.h"
#include "sim/core/config/quantity.h"
#include "sim/core/whole_numbers.h"
#include "sim/workloads/inference/request_source.h"
#include "sim/workloads/kernels/experts.h"
#include "sim/workloads/kernels/gpu_rates.h"
#include "sim/workloads/model/model_reader.h"
#include "sim/workloads/parallel/plan_reader.h"

namespace weft::work {
namespace {

EnginePlan read_engine_plan(ParamReader& reader) {
  EnginePlan plan;
  const auto size = [&](const char* key) {
    return static_cast<int>(reader.optional<std::int64_t>(key, 1, between(1, 65'536)));
  };
  plan.tensor = size("tensor");
  plan.pipeline = size("pipeline");
  plan.attention_data = size("attention_data");
  plan.expert = size("expert");
  plan.data = size("data");
  reader.finish();
  return plan;
}

// How plan and model go together.
void check_plan(ParamReader& reader, const TransformerModel& model, const EnginePlan& plan) {
  const auto at = [&](const char* key, const std::string& message, std::string note = {}) {
    reader.error(key, message, std::move(note));
  };
  for (const LayerShape& shape : distinct_shapes(model)) {
    const Mixer& mixer = shape.mixer;
    if (mixer.kind == AttentionKind::kNone) continue;
    const bool splits_heads = mixer.heads % plan.tensor == 0;
    const bool splits_kv_heads = mixer.kv_heads <= plan.tensor || mixer.kv_heads % plan.tensor == 0;
    if (!splits_heads) at("tensor", fmt::format("{} heads do not divide over {} GPUs", mixer.heads, plan.tensor));
    if (!splits_kv_heads) {
      at("tensor", fmt::format("{} key/value heads do not divide over {} GPUs", mixer.kv_heads, plan.tensor));
    }
    if (!splits_heads || !splits_kv_heads) break;  // one shape says it for those like it
  }
  if (plan.pipeline > model.layers) {
    at("pipeline", fmt::format("{} stages for {} layers", plan.pipeline, model.layers));
  }
  if (model.moe.experts == 0) {
    for (const auto& [key, value] : {std::pair{"expert", plan.expert}, std::pair{"attention_data", plan.attention_data}}) {
      if (value > 1) at(key, fmt::format("'{}' has no experts", model.name), "engines side by side are 'data'");
    }
    return;
  }
  if (plan.stage_gpus() % plan.expert != 0) {
    at("expert", fmt::format("{} does not divide a stage's {} GPUs (tensor x attention_data)", plan.expert, plan.stage_gpus()));
  }
  if (model.moe.experts % plan.expert != 0) {
    at("expert", fmt::format("{} experts do not divide over {}", model.moe.experts, plan.expert),
       fmt::format("redundant_experts: {} more make them divide",
                   ceil_div(model.moe.experts, plan.expert) * plan.expert - model.moe.experts));
  }
}

// The model's layers then have them beside the experts that its router knows.
void read_redundant_experts(ParamReader& inference, InferenceSetup& out) {
  if (!inference.has("redundant_experts")) return;
  out.redundant_experts = inference.optional<std::int64_t>("redundant_experts", 0, between(0, 65'536));
  if (inference.has("expert_imbalance"))
    inference.error("redundant_experts", "stands beside 'expert_imbalance'", "the copies say how much the busiest GPU has");
  if (out.model.layers > 0 && out.model.moe.experts == 0)
    inference.error("redundant_experts", fmt::format("'{}' has no experts", out.model.name));
  if (out.model.moe.experts == 0) return;
  out.model.moe.experts += out.redundant_experts;
  for (LayerShape& shape : out.model.shapes) {
    if (shape.feed.moe.experts > 0) shape.feed.moe.experts += out.redundant_experts;
  }
}

void read_plans(ParamReader& inference, InferenceSetup& out) {
  if (!inference.has("disaggregated")) {
    ParamReader plan = inference.map_or_empty("parallelism");
    out.plan = read_engine_plan(plan);
    if (out.model.layers > 0) check_plan(plan, out.model, out.plan);
    return;
  }
  if (inference.has("parallelism")) {
    inference.error("parallelism", "stands beside 'disaggregated'", "'prefill' and 'decode' there have their own");
    static_cast<void>(inference.raw("parallelism"));
  }
  ParamReader pools = inference.map("disaggregated");
  ParamReader prefill = pools.map("prefill");
  ParamReader decode = pools.map("decode");
  out.plan = read_engine_plan(prefill);
  out.decode = read_engine_plan(decode);
  out.layer_wise = pools.optional<bool>("layer_wise", true);
  pools.finish();
  if (out.model.layers == 0) return;
  check_plan(prefill, out.model, out.plan);
  check_plan(decode, out.model, *out.decode);
}

LengthSpec read_length(ParamReader& requests, const char* key, std::int64_t default_length) {
  LengthSpec spec{.median = default_length};
  if (!requests.has(key)) {
    static_cast<void>(requests.optional<std::int64_t>(key, default_length));
    return spec;
  }
  const auto written = requests.node().find(key);
  if (!written->is_map()) {
    spec.median = requests.required<std::int64_t>(key, between(std::int64_t{1}, kMaxTokens));
    return spec;
  }
  ParamReader length = requests.map(key);
  spec.median = length.required<std::int64_t>("median", between(std::int64_t{1}, kMaxTokens));
  spec.sigma = length.required<double>("sigma", between(0.0, 10.0));
  spec.min = length.optional<std::int64_t>("min", 1, between(std::int64_t{1}, kMaxTokens));
  spec.max = length.optional<std::int64_t>("max", std::min(kMaxTokens, 16 * spec.median), between(std::int64_t{1}, kMaxTokens));
  if (spec.max < spec.min) length.error("max", fmt::format("{} is below 'min', {}", spec.max, spec.min));
  length.finish();
  return spec;
}

// "4 /s", "240 /min".
double read_rate(ParamReader& requests) {
  const std::string text = requests.required<std::string>("rate");
  const std::size_t slash = text.find('/');
  const std::size_t end = text.find_last_not_of(' ', slash == std::string::npos || slash == 0 ? 0 : slash - 1);
  if (slash != std::string::npos && slash > 0 && end != std::string::npos) {
    const auto number = parse_number(std::string_view{text}.substr(0, end + 1));
    const auto period = parse_duration("1 " + text.substr(slash + 1));
    if (number && *number > 0 && period) return *number / period->seconds();
  }
  if (requests.has("rate")) {
    requests.error("rate", fmt::format("expected requests per time such as '4 /s', got '{}'", text));
  }
  return 1;
}

void read_sessions(ParamReader& requests, RequestSpec& spec) {
  std::optional<ParamReader> sessions = requests.optional_map("sessions");
  if (!sessions) return;
  spec.sessions.turns = sessions->required<std::int64_t>("turns", between(std::int64_t{1}, kMaxTurns));
  spec.sessions.think = sessions->optional<Duration>("think", Duration{});
  const LengthSpec later = read_length(*sessions, "prompt", spec.prompt.median);
  spec.sessions.prompt = sessions->has("prompt") ? later : spec.prompt;
  if (spec.count * spec.sessions.turns > kMaxRequests) {
    sessions->error("turns", fmt::format("{} sessions of {} turns are more than {} requests", spec.count, spec.sessions.turns,
                                         kMaxRequests));
  }
  sessions->finish();
}

// Prompts have in common what a trace says, or one prefix; or the share that is found is stated.
void read_prefixes(ParamReader& requests, const KvCacheOptions& cache, RequestSpec& spec) {
  spec.shared_prefix = requests.optional<std::int64_t>("shared_prefix", 0, between(std::int64_t{0}, kMaxTokens));
  const auto rate = requests.optional<Ratio>("prefix_hit_rate", between(Ratio{0}, Ratio{1.0}));
  if (rate) spec.hit_rate = rate->value;
  const bool has_hashes = std::ranges::any_of(spec.trace, [](const Request& request) { return !request.hashes.empty(); });
  if (rate && rate->value >= 1) {
    requests.error("prefix_hit_rate", "expected less than 1", "one token of a prompt, at least, is always computed");
  }
  if (rate && !cache.prefix_caching) {
    requests.error("prefix_hit_rate", "nothing is found where no prefix is cached", "kv_cache: {prefix_caching: true}");
  }
  if (rate && spec.shared_prefix > 0) {
    requests.error("prefix_hit_rate", "stands beside 'shared_prefix'", "the prefix says what is found");
  }
  if (rate && spec.sessions.turns > 1) {
    requests.error("prefix_hit_rate", "stands beside 'sessions'", "the history of a session says what is found");
  }
  if (rate && has_hashes) {
    requests.error("prefix_hit_rate", "stands beside a trace with hash_ids", "they say what is found");
  }
  if (has_hashes && cache.prefix_caching && kHashedTokens % cache.block != 0) {
    requests.error("trace",
                   fmt::format("a hash stands for {} tokens, which blocks of {} do not fill", kHashedTokens, cache.block),
                   "kv_cache: {block: 16}");
  }
  if (spec.shared_prefix == 0) return;
  if (has_hashes) {
    requests.error("shared_prefix", "stands beside a trace with hash_ids", "they say what prompts share");
    return;
  }
  std::int64_t least =
      spec.prompt.sigma > 0 ? spec.prompt.min : std::max(spec.prompt.min, std::min(spec.prompt.median, spec.prompt.max));
  if (spec.arrivals == Arrivals::kTrace && !spec.trace.empty()) {
    least = std::ranges::min_element(spec.trace, {}, &Request::prompt)->prompt;
  }
  if (spec.shared_prefix >= least) {
    requests.error("shared_prefix", fmt::format("{} tokens, and prompts may have no more than {}", spec.shared_prefix, least),
                   "prompts begin with it: prompt: {min: ...} makes them longer");
  } else if (cache.prefix_caching && spec.shared_prefix < cache.block) {
    requests.warning("shared_prefix",
                     fmt::format("{} tokens do not fill a block of {}: nothing is shared", spec.shared_prefix, cache.block));
  }
}

void read_requests(ParamReader& inference, InferenceSetup& out) {
  ParamReader requests = inference.map("requests");
  RequestSpec& spec = out.requests;
  const int ways = (requests.has("rate") ? 1 : 0) + (requests.has("concurrency") ? 1 : 0) + (requests.has("trace") ? 1 : 0);
  if (ways != 1 && requests.node().is_map()) {
    requests.error_here(fmt::format("expected one of 'rate', 'concurrency' and 'trace', and {}",
                                    ways == 0 ? "none is given" : "more are given"),
                        "for example rate: 4 /s");
  }
  if (requests.has("trace")) {
    spec.arrivals = Arrivals::kTrace;
    const ConfigNode file = requests.raw("trace");
    try {
      spec.trace = read_request_trace(referenced_file(file), requests.diagnostics());
    } catch (const ConfigError& error) {
      requests.diagnostics().absorb(error);
    }
    const auto count = requests.optional<std::int64_t>("count", between(std::int64_t{1}, kMaxRequests));
    if (count && static_cast<std::size_t>(*count) < spec.trace.size()) spec.trace.resize(static_cast<std::size_t>(*count));
    spec.count = static_cast<std::int64_t>(spec.trace.size());
  } else {
    if (requests.has("concurrency")) {
      spec.arrivals = Arrivals::kClosed;
      spec.concurrency = requests.required<std::int64_t>("concurrency", between(std::int64_t{1}, kMaxRequests));
    } else if (requests.has("rate")) {
      spec.rate = read_rate(requests);
      spec.arrivals = requests.choice<Arrivals>("arrivals", {{"poisson", Arrivals::kPoisson}, {"fixed", Arrivals::kFixed}},
                                                Arrivals::kPoisson);
    }
    spec.count = requests.optional<std::int64_t>("count", 100, between(std::int64_t{1}, kMaxRequests));
    spec.prompt = read_length(requests, "prompt", 1024);
    spec.output = read_length(requests, "output", 128);
    read_sessions(requests, spec);
  }
  read_prefixes(requests, out.kv_cache, spec);
  requests.finish();
}

std::vector<std::string> engine_libraries() {
  std::vector<std::string> names{"torch"};
  for (const std::string_view name : coll::library_names()) names.emplace_back(name);
  return names;
}

EngineLibrary read_library(ParamReader& inference) {
  const auto name = inference.optional<std::string>("library", "vllm");
  const std::optional<EngineLibrary> found = find_engine_library(name);
  if (!found)
    inference.error("library", fmt::format("unknown library '{}'", name), did_you_mean(name, engine_libraries(), "libraries"));
  return found.value_or(EngineLibrary{});
}

// The same, or integers' kernels where the GPU has no units for the weights' format: engines' Marlin kernels then make them
// bf16 inside (vLLM, `marlin_utils_fp4.py` and `marlin_utils_fp8.py`).
Precision as_served(Precision weights, const GpuSpec* gpu) {
  if (gpu == nullptr || !has_no_units(*gpu, weights)) return weights;
  if (weights == Precision::kFp4) return Precision::kW4A16;
  return weights == Precision::kFp8 || weights == Precision::kMxfp8 ? Precision::kW8A16 : weights;
}

// Weights of engines alone may be integers: training has no products of them.
Precision read_weight_precision(ParamReader& precision, const TransformerModel& model, const GpuSpec* gpu) {
  const Precision weights = precision.choice<Precision>("weights",
                                                        {{"fp32", Precision::kFp32},
                                                         {"fp16", Precision::kFp16},
                                                         {"bf16", Precision::kBf16},
                                                         {"fp8", Precision::kFp8},
                                                         {"mxfp8", Precision::kMxfp8},
                                                         {"fp4", Precision::kFp4},
                                                         {"int8", Precision::kInt8},
                                                         {"w8a16", Precision::kW8A16},
                                                         {"w4a16", Precision::kW4A16}},
                                                        model.stored.served.value_or(Precision::kBf16));
  if (!model.stored.name.empty() && !model.stored.served && !precision.has("weights")) {
    precision.warning_here(fmt::format("weights are taken as bf16, and the model's are stored as {}", model.stored.name),
                           "precision: {weights: fp8} or {weights: fp4} says otherwise");
  }
  const Precision served = as_served(weights, gpu);
  if (served != weights) {
    const std::string text = fmt::format("{} has no units for {}: weights are made bf16 inside the kernels, as {}", gpu->name,
                                         to_string(weights), to_string(served));
    precision.warning_here(text, fmt::format("precision: {{weights: {}}} says the same", to_string(served)));
  }
  return served;
}

void read_scheduler(ParamReader& inference, std::string_view library, const InferenceSetup& setup, SchedulerOptions& out) {
  ParamReader scheduler = inference.map_or_empty("scheduler");
  out.token_budget = scheduler.optional<std::int64_t>("token_budget", 8192, between(1, 10'000'000));
  out.prefill_tokens = scheduler.optional<std::int64_t>("chunked_prefill_size", 0, between(0, 10'000'000));
  out.max_batch = scheduler.optional<std::int64_t>("max_batch", 256, between(1, 1'000'000));
  out.chunked_prefill = scheduler.optional<bool>("chunked_prefill", true);
  out.preemption = scheduler.choice<Preemption>(
      "preemption", {{"recompute", Preemption::kRecompute}, {"swap", Preemption::kSwap}, {"none", Preemption::kNone}},
      library == "tensorrt_llm" ? Preemption::kNone : Preemption::kRecompute);
  out.cuda_graph = scheduler.choice<GraphUse>(
      "cuda_graph", {{"decode", GraphUse::kDecode}, {"all", GraphUse::kAll}, {"none", GraphUse::kNone}}, GraphUse::kDecode);
  out.graph_sizes = scheduler.list<std::int64_t>("cuda_graph_sizes", between(std::int64_t{1}, std::int64_t{1'000'000}));
  std::ranges::sort(out.graph_sizes);
  out.balance = scheduler.choice<Balance>(
      "balance", {{"least_loaded", Balance::kLeastLoaded}, {"round_robin", Balance::kRoundRobin}, {"prefix", Balance::kPrefix}},
      Balance::kLeastLoaded);
  if (out.balance == Balance::kPrefix && !setup.kv_cache.prefix_caching) {
    scheduler.error("balance", "engines hold no prefix to go by", "kv_cache: {prefix_caching: true}");
  } else if (out.balance == Balance::kPrefix && setup.requests.hit_rate) {
    scheduler.error("balance", "a stated 'prefix_hit_rate' is the same on every engine", "balance: least_loaded");
  }
  scheduler.finish();
}

// Engines keep a cache in FP4 where the GPU has units for it alone (vLLM, SGLang and TensorRT-LLM: Blackwell).
void read_cache(ParamReader& inference, const GpuSpec* gpu, InferenceSetup& out) {
  ParamReader cache = inference.map_or_empty("kv_cache");
  out.kv_cache.precision = read_stored_precision(cache, "precision", out.precision.activations);
  if (out.kv_cache.precision == Precision::kFp4 && gpu != nullptr && has_no_units(*gpu, Precision::kFp4)) {
    cache.error("precision", fmt::format("{} has no units for fp4, and engines keep no such cache there", gpu->name),
                "precision: fp8");
  }
  out.kv_cache.utilization = cache.optional<Ratio>("utilization", Ratio{0.9}, between(Ratio{0.01}, Ratio{1.0})).value;
  out.kv_cache.block = cache.optional<std::int64_t>("block", 16, between(1, 65'536));
  out.kv_cache.activations = cache.optional<Bytes>("activations");
  out.kv_cache.runtime = cache.optional<Bytes>("runtime");
  out.kv_cache.prefix_caching = cache.optional<bool>("prefix_caching", false);
  const auto keeps_state = [](const LayerShape& shape) { return is_recurrent(shape.mixer.kind); };
  if (out.kv_cache.prefix_caching && out.model.layers > 0 && std::ranges::any_of(distinct_shapes(out.model), keeps_state)) {
    cache.error("prefix_caching", fmt::format("'{}' has layers that carry a state, which no block holds", out.model.name));
  }
  cache.finish();
}

}  // namespace

// Loads of experts that nobody balances: what AIConfigurator takes for DeepSeek's models and all it has like them (1.01 in
// its models' `_power_law_alpha`, 2026).
constexpr double kUsualPowerLaw = 1.01;

CacheRule cache_rule(std::string_view library) {
  if (library == "sglang") return CacheRule::kOfStart;
  return library == "tensorrt_llm" ? CacheRule::kOfRest : CacheRule::kOfTotal;
}

// A library's name stands for its kernels, for its all-reduces and for how it sizes its cache.
std::optional<EngineLibrary> find_engine_library(std::string_view name) {
  const std::vector<std::string> known = engine_libraries();
  if (std::ranges::find(known, name) == known.end()) return std::nullopt;
  const bool is_torch = name == "torch";
  return EngineLibrary{.name = std::string{name},
                       .all_reduce = is_torch || name == "nccl" ? "" : std::string{name},
                       .fuses = !is_torch,
                       .flash = name != "tensorrt_llm",
                       .calls_experts = !is_torch && name != "tensorrt_llm",
                       .cache = cache_rule(name)};
}

InferenceSetup read_inference(ParamReader& inference, std::size_t endpoints, const GpuSpec* gpu) {
  InferenceSetup out;
  if (inference.has("model")) {
    out.model = read_model(inference.raw("model"), inference.diagnostics());
  } else if (inference.node().is_map()) {
    inference.error_here("expected a model", "for example model: ../models/llama3_70b.yaml");
  }
  read_redundant_experts(inference, out);
  read_plans(inference, out);
  out.library = read_library(inference);
  ParamReader precision = inference.map_or_empty("precision");
  out.precision.weights = read_weight_precision(precision, out.model, gpu);
  out.precision.activations = read_stored_precision(precision, "activations", Precision::kBf16);
  out.precision.dispatch = read_stored_precision(precision, "dispatch", out.precision.activations);
  if (precision.has("dispatch") && out.model.layers > 0 && out.model.moe.experts == 0)
    precision.error("dispatch", fmt::format("'{}' has no experts to send tokens to", out.model.name));
  precision.finish();
  read_cache(inference, gpu, out);
  read_requests(inference, out);
  read_scheduler(inference, out.library.name, out, out.scheduler);
  ParamReader speculation = inference.map_or_empty("speculation");
  out.speculation.draft_tokens = static_cast<int>(speculation.optional<std::int64_t>("draft_tokens", 0, between(0, 64)));
  out.speculation.acceptance = speculation.optional<Ratio>("acceptance", Ratio{0.7}, between(Ratio{0}, Ratio{1.0})).value;
  out.speculation.draft_cost = speculation.optional<Ratio>("draft_cost", Ratio{0.05}, between(Ratio{0}, Ratio{10.0})).value;
  speculation.finish();
  ParamReader targets = inference.map_or_empty("targets");
  out.targets.ttft = targets.optional<Duration>("ttft", Duration{});
  out.targets.tpot = targets.optional<Duration>("tpot", Duration{});
  targets.finish();
  out.expert_imbalance = inference.optional<double>("expert_imbalance", 1.0, between(1.0, 1000.0));
  const bool states_imbalance = inference.has("expert_imbalance");
  out.expert_power_law = inference.optional<double>("expert_power_law", states_imbalance ? 0.0 : kUsualPowerLaw, at_least(0.0));
  if (out.expert_power_law > kSteepestPowerLaw)
    inference.error("expert_power_law", std::string{kTooSteepPowerLaw}, "for a less even load give 'expert_imbalance'");
  for (const char* key : {"expert_power_law", "expert_imbalance"}) {
    if (inference.has(key) && out.model.layers > 0 && out.model.moe.experts == 0)
      inference.error(key, fmt::format("'{}' has no experts", out.model.name));
  }
  if (out.expert_power_law > 0 && states_imbalance)
    inference.error("expert_power_law", "stands beside 'expert_imbalance'", "the law says how much the busiest GPU has");
  if (static_cast<std::size_t>(out.gpus()) > endpoints) {
    inference.error(out.decode ? "disaggregated" : "parallelism",
                    fmt::format("the engines take {} GPUs, and the cluster has {}", out.gpus(), endpoints));
  }
  inference.finish();
  return out;
}

}  // namespace weft::work
