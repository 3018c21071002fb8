// Names of flags: vLLM 0.11 (docs.vllm.ai, `vllm serve`), SGLang 0.5 (docs.sglang.io, server arguments; PD disaggregation),
// TensorRT-LLM 1.0 (nvidia.github.io/TensorRT-LLM, `trtllm-serve`; disaggregated serving). Where attention stands in replicas,
// vLLM's limits are those of each (docs.vllm.ai, data parallel deployment: an engine core a rank), and so are TensorRT-LLM's,
// of each GPU (py_executor.py). SGLang shares its own out over them (server_args.py, `enable_dp_attention`).
#include "sim/planning/serving_search/engine_flags.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>

namespace weft::plan {
namespace {

enum class Part : std::uint8_t { kAll, kPrefill, kDecode };

// The share of one of `replicas` in `all`, rounded up.
std::int64_t share(std::int64_t all, std::int64_t replicas) { return (all + replicas - 1) / replicas; }

std::string vllm(const work::InferenceSetup& setup, const ServingCandidate& of, const work::EnginePlan& plan, Part part) {
  std::string text = fmt::format("vllm serve MODEL --tensor-parallel-size {}", plan.tensor);
  if (plan.pipeline > 1) text += fmt::format(" --pipeline-parallel-size {}", plan.pipeline);
  if (plan.attention_data > 1) text += fmt::format(" --data-parallel-size {}", plan.attention_data);
  if (plan.expert > 1) text += " --enable-expert-parallel";
  if (part != Part::kPrefill) text += fmt::format(" --max-num-seqs {}", share(of.max_batch, plan.attention_data));
  text += fmt::format(" --max-num-batched-tokens {} --gpu-memory-utilization {}", share(of.token_budget, plan.attention_data),
                      setup.kv_cache.utilization);
  if (setup.kv_cache.precision == work::Precision::kFp8) text += " --kv-cache-dtype fp8";
  if (part != Part::kAll) {
    text += R"( --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}')";
  }
  return text;
}

std::string sglang(const work::InferenceSetup& setup, const ServingCandidate& of, const work::EnginePlan& plan, Part part) {
  // Its tensor size counts attention's replicas, too.
  std::string text = fmt::format("python -m sglang.launch_server --model-path MODEL --tp-size {}", plan.stage_gpus());
  if (plan.pipeline > 1) text += fmt::format(" --pp-size {}", plan.pipeline);
  if (plan.attention_data > 1) text += fmt::format(" --enable-dp-attention --dp-size {}", plan.attention_data);
  if (plan.expert > 1) text += fmt::format(" --ep-size {}", plan.expert);
  if (part != Part::kPrefill) text += fmt::format(" --max-running-requests {}", of.max_batch);
  if (part != Part::kDecode) text += fmt::format(" --chunked-prefill-size {}", of.token_budget);
  text += fmt::format(" --mem-fraction-static {}", setup.kv_cache.utilization);
  if (setup.kv_cache.precision == work::Precision::kFp8) text += " --kv-cache-dtype fp8_e4m3";
  if (part == Part::kPrefill) text += " --disaggregation-mode prefill";
  if (part == Part::kDecode) text += " --disaggregation-mode decode";
  return text;
}

std::string tensorrt_llm(const work::InferenceSetup& setup, const ServingCandidate& of, const work::EnginePlan& plan,
                         Part part) {
  std::string text = fmt::format("trtllm-serve MODEL --tp_size {}", plan.stage_gpus());
  if (plan.pipeline > 1) text += fmt::format(" --pp_size {}", plan.pipeline);
  if (plan.expert > 1) text += fmt::format(" --ep_size {}", plan.expert);
  const int replicas = plan.attention_data > 1 ? plan.stage_gpus() : 1;
  if (part != Part::kPrefill) text += fmt::format(" --max_batch_size {}", share(of.max_batch, replicas));
  text += fmt::format(" --max_num_tokens {}", share(of.token_budget, replicas));
  std::string file;
  const auto add = [&](const std::string& line) { file += (file.empty() ? "" : ", ") + line; };
  if (plan.attention_data > 1) add("enable_attention_dp: true");
  if (setup.kv_cache.precision == work::Precision::kFp8) add("kv_cache_config: {dtype: fp8}");
  if (part != Part::kAll) add("cache_transceiver_config: {backend: DEFAULT}");
  if (!file.empty()) text += fmt::format(" --extra_llm_api_options FILE  # {{{}}}", file);
  return text;
}

}  // namespace

std::vector<EngineCommand> engine_commands(const work::InferenceSetup& setup, const ServingCandidate& candidate) {
  std::vector<EngineCommand> made;
  const auto add = [&](const char* engine, const auto& command) {
    EngineCommand& of = made.emplace_back(EngineCommand{engine, {}});
    if (!candidate.decode) {
      of.lines.push_back(command(setup, candidate, candidate.engine, Part::kAll));
    } else {
      of.lines.push_back(command(setup, candidate, candidate.engine, Part::kPrefill));
      of.lines.push_back(command(setup, candidate, *candidate.decode, Part::kDecode));
    }
  };
  add("vLLM", vllm);
  add("SGLang", sglang);
  add("TensorRT-LLM", tensorrt_llm);
  return made;
}

}  // namespace weft::plan
