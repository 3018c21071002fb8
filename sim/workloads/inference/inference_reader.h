// Reads and checks what stands under `inference` in a workload:
//
//   inference:
//     model: ../models/llama3_70b.yaml
//     parallelism: {tensor: 8, pipeline: 1, attention_data: 1, expert: 1, data: 2}
//     precision: {weights: bf16, activations: bf16, dispatch: bf16}
//     requests: {rate: 4 /s, arrivals: poisson, count: 500, prompt: 1024, output: {median: 256, sigma: 0.5, max: 2048}}
//     scheduler: {token_budget: 8192, max_batch: 256, chunked_prefill: true, preemption: recompute, cuda_graph: decode}
//     kv_cache: {precision: fp8, utilization: 0.9, block: 16, prefix_caching: true}
//     speculation: {draft_tokens: 3, acceptance: 0.7, draft_cost: 0.05}
//     targets: {ttft: 500 ms, tpot: 50 ms}
//
// Users who ask several times: `sessions: {turns: 5, think: 10 s, prompt: 100}` of `requests`. In place of `rate`:
// `concurrency: 64` (a closed loop), or `trace: requests.csv` (request_source.h), which has the lengths too. What a prefix
// cache finds: a trace's hash_ids, or `shared_prefix: 512` of `requests`, or `prefix_hit_rate: 0.6`. In place of `parallelism`:
// `disaggregated: {prefill: {tensor: 4}, decode: {tensor: 8}, layer_wise: true}`.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "sim/core/config/params.h"
#include "sim/network/gpu_spec.h"
#include "sim/workloads/inference/inference.h"

namespace weft::work {

// `endpoints`: that the cluster has. `gpu`: theirs, null where it is not known. It decides, with a warning, how weights in
// FP8 and FP4 are computed where it has no units for them. Errors go to the reader's diagnostics; the setup is not to be used
// then.
[[nodiscard]] InferenceSetup read_inference(ParamReader& inference, std::size_t endpoints, const net::GpuSpec* gpu = nullptr);

// As `library` names it; none: there is none of this name.
[[nodiscard]] std::optional<EngineLibrary> find_engine_library(std::string_view name);

}  // namespace weft::work
