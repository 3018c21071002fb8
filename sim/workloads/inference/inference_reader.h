// Reads and checks what stands under `inference` in a workload:
//
//   inference:
//     model: ../models/llama3_70b.yaml
//     parallelism: {tensor: 8, pipeline: 1, attention_data: 1, expert: 1, data: 2}
//     precision: {weights: bf16, activations: bf16, dispatch: bf16}
//     requests: {rate: 4 /s, arrivals: poisson, count: 500, prompt: 1024, output: {median: 256, sigma: 0.5, max: 2048}}
//     scheduler: {token_budget: 8192, max_batch: 256, chunked_prefill: true, preemption: recompute, cuda_graph: decode}
//     kv_cache: {precision: fp8, utilization: 0.9, block: 16}
//     speculation: {draft_tokens: 3, acceptance: 0.7, draft_cost: 0.05}
//     targets: {ttft: 500 ms, tpot: 50 ms}
//
// In place of `rate`: `concurrency: 64` (a closed loop), or `trace: requests.csv` (request_source.h), which has the lengths
// too. In place of `parallelism`: `disaggregated: {prefill: {tensor: 4}, decode: {tensor: 8}, layer_wise: true}`.
#pragma once

#include <cstddef>

#include "sim/core/config/params.h"
#include "sim/workloads/inference/inference.h"

namespace weft::work {

// `endpoints`: that the cluster has. Errors go to the reader's diagnostics; the setup is not to be used then.
[[nodiscard]] InferenceSetup read_inference(ParamReader& inference, std::size_t endpoints);

}  // namespace weft::work
