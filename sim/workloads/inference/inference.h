// An inference workload: a model, how engines of it are spread over GPUs, the requests that arrive and how they are batched
// (models/workloads §6). Plain data; inference_reader.h reads it, serving.h runs it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/units.h"
#include "sim/workloads/model/transformer.h"
#include "sim/workloads/parallel/plan.h"

namespace weft::work {

// How engines of one kind take up GPUs: `data` of them, one after another in the cluster's order; within an engine tensor
// parallelism varies fastest, then attention's replicas, then pipeline stages.
struct EnginePlan {
  int tensor = 1;
  int pipeline = 1;
  int attention_data = 1;  // groups of `tensor` GPUs in a stage, each with the whole attention and its own requests
  int expert = 1;          // parts of a stage that experts are spread over; within a part each is sharded
  int data = 1;            // engines

  [[nodiscard]] int stage_gpus() const { return tensor * attention_data; }
  [[nodiscard]] int engine_gpus() const { return stage_gpus() * pipeline; }
  [[nodiscard]] int gpus() const { return engine_gpus() * data; }
  [[nodiscard]] int expert_tensor() const { return stage_gpus() / expert; }
  // The part of it that a model's state depends on.
  [[nodiscard]] ParallelPlan model_plan() const;

  friend bool operator==(const EnginePlan&, const EnginePlan&) = default;
};

// Layers [first, last) of stage `stage`: as even as it goes, the first stages one more.
struct LayerRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};
[[nodiscard]] LayerRange stage_layers(std::int64_t layers, int stages, int stage);

struct ServingPrecision {
  Precision weights = Precision::kBf16;      // and of the products with them
  Precision activations = Precision::kBf16;  // between kernels and on the wire
  Precision dispatch = Precision::kBf16;     // of tokens to experts
};

// Which share of a GPU an engine's kv_cache.utilization is, and what leaves no room for its cache (engine_memory.h).
enum class CacheRule : std::uint8_t {
  kOfTotal,  // vLLM: of all memory, for weights, the largest step, what the runtime took, and cache
  kOfStart,  // SGLang: of what is free at the start, for weights and cache; steps and graphs take of the rest
  kOfRest,   // TensorRT-LLM: of what weights, the largest step and the runtime leave, for the cache
};

// Whose kernels an engine runs, and how it sizes its cache.
struct EngineLibrary {
  std::string name = "vllm";        // as it is written
  std::string all_reduce = "vllm";  // of coll::library_names(); empty: NCCL's
  bool fuses = true;                // false: PyTorch's operators, a kernel each
  bool flash = true;                // answers by FlashAttention; false: by TensorRT-LLM's XQA kernels
  bool calls_experts = true;        // a layer's routed experts are one call of vLLM's kind (kernels/experts.h)
  CacheRule cache = CacheRule::kOfTotal;
};

// Tokens of a prompt or of an answer: one number, or lognormal around a median, rounded and kept within bounds.
struct LengthSpec {
  std::int64_t median = 1;
  double sigma = 0;
  std::int64_t min = 1;
  std::int64_t max = 1'000'000;

  friend bool operator==(const LengthSpec&, const LengthSpec&) = default;
};

// Tokens of a prompt that a hash of Mooncake's traces stands for.
inline constexpr std::int64_t kHashedTokens = 512;

struct Request {
  Time arrival;
  std::int64_t prompt = 1;  // tokens
  std::int64_t output = 1;
  std::vector<std::int64_t> hashes = {};  // of a prompt's blocks of kHashedTokens, from its beginning; empty: nobody shares it

  friend bool operator==(const Request&, const Request&) = default;
};

enum class Arrivals : std::uint8_t {
  kPoisson,
  kFixed,   // evenly spaced
  kClosed,  // `concurrency` users, each of whom asks again when answered
  kTrace,
};

// A user asks `turns` times. Each time but the first one, the prompt is all that was said, and what is new.
struct SessionSpec {
  std::int64_t turns = 1;
  Duration think;          // from an answer to the next turn
  LengthSpec prompt = {};  // new tokens of later turns

  friend bool operator==(const SessionSpec&, const SessionSpec&) = default;
};

struct RequestSpec {
  Arrivals arrivals = Arrivals::kPoisson;
  double rate = 1;  // requests per second
  std::int64_t concurrency = 0;
  std::int64_t count = 1;  // of sessions, each of one request where there are no turns
  SessionSpec sessions = {};
  LengthSpec prompt = {};
  LengthSpec output = {};
  std::vector<Request> trace = {};   // in order of arrival
  std::int64_t shared_prefix = 0;    // tokens with which all prompts begin, and which are part of them
  std::optional<double> hit_rate{};  // stated: of a prompt's tokens, in the cache
};

enum class Preemption : std::uint8_t {
  kRecompute,
  kSwap,
  kNone,  // what starts has room to its end, so that nothing is given up (GUARANTEED_NO_EVICT of TensorRT-LLM)
};
enum class GraphUse : std::uint8_t { kDecode, kAll, kNone };  // which steps run as CUDA graphs
enum class Balance : std::uint8_t { kRoundRobin, kLeastLoaded, kPrefix };

struct SchedulerOptions {
  std::int64_t token_budget = 8192;  // new tokens of a step
  std::int64_t prefill_tokens = 0;   // of prompts in a step, beside its answers; 0: what the budget leaves
  std::int64_t max_batch = 256;      // sequences that run on an engine
  bool chunked_prefill = true;       // prompts in pieces beside decoding; else whole, in steps of their own, which go first
  Preemption preemption = Preemption::kRecompute;
  GraphUse cuda_graph = GraphUse::kDecode;
  std::vector<std::int64_t> graph_sizes = {};  // answers that graphs are captured for, rising; empty: as many as there are
  Balance balance = Balance::kLeastLoaded;     // of engines
};

struct KvCacheOptions {
  Precision precision = Precision::kBf16;
  double utilization = 0.9;               // of a GPU's memory; of which part of it: CacheRule
  std::int64_t block = 16;                // tokens
  std::optional<Bytes> activations = {};  // kept free for them; none: by the token budget and the batch
  std::optional<Bytes> runtime = {};      // of context, communicators and workspaces; none: by the library and the plan
  bool prefix_caching = false;            // blocks are shared, and stay when nobody uses them
  bool is_written = true;                 // false: a step by itself, whose prompts' keys nobody keeps
};

// Speculative decoding: `draft_tokens` are proposed, and verified in one step.
struct Speculation {
  int draft_tokens = 0;  // 0: none
  double acceptance = 0.7;
  double draft_cost = 0.05;  // of a step, for each draft token

  // (1 - a^(k+1)) / (1 - a), models/workloads §6.
  [[nodiscard]] double expected_tokens() const;
};

// Targets that a request meets or misses; 0: none.
struct ServiceTargets {
  Duration ttft;
  Duration tpot;
};

struct InferenceSetup {
  TransformerModel model = {};
  EnginePlan plan = {};                   // of prefill, where `decode` is given
  std::optional<EnginePlan> decode = {};  // disaggregated: engines of their own, on the GPUs after those of `plan`
  bool layer_wise = true;                 // disaggregated: a layer's cache moves while the next layers are computed
  ServingPrecision precision = {};
  EngineLibrary library = {};
  bool full_clock = false;  // a step by itself, after a pause: power does not limit it yet
  bool has_ends = true;     // false: a step by itself, of layers alone, without embedding and head
  RequestSpec requests = {};
  SchedulerOptions scheduler = {};
  KvCacheOptions kv_cache = {};
  Speculation speculation = {};
  ServiceTargets targets = {};
  double expert_imbalance = 1;         // tokens of the most loaded rank's experts over the mean
  std::int64_t redundant_experts = 0;  // of a layer's experts in `model`, copies that balance the loads
  double expert_power_law = 0;  // exponent of the experts' loads, in place of the imbalance (experts.h); 0: routing is uniform

  [[nodiscard]] int gpus() const { return plan.gpus() + (decode ? decode->gpus() : 0); }
};

}  // namespace weft::work
