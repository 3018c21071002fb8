#include "sim/planning/serving_search/serving_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/core/error.h"
#include "sim/scenario/cluster_gpu.h"
#include "sim/workloads/inference/engine_memory.h"
#include "sim/workloads/inference/layer_kernels.h"
#include "sim/workloads/inference/step_times.h"
#include "sim/workloads/kernels/kernel_times.h"

namespace weft::plan {
namespace {

constexpr int kMostStages = 8;
constexpr std::int64_t kMostUsers = 1024;  // of an engine
// Requests are of different lengths, and blocks are whole: so much of a cache is asked for at most.
constexpr double kCacheShare = 0.9;

bool heads_divide(const work::TransformerModel& model, int tensor) {
  return std::ranges::all_of(work::distinct_shapes(model), [&](const work::LayerShape& shape) {
    const auto& mixer = shape.mixer;
    if (mixer.kind == work::AttentionKind::kNone) return true;
    return mixer.heads % tensor == 0 && (mixer.kv_heads <= tensor || mixer.kv_heads % tensor == 0);
  });
}

// Plans of one engine.
std::vector<work::EnginePlan> engine_plans(const work::TransformerModel& model, const ServingSpace& space) {
  const std::int64_t experts = model.moe.experts;
  std::vector<work::EnginePlan> found;
  for (int tensor = 1; tensor <= space.node_gpus; ++tensor) {
    if (!heads_divide(model, tensor)) continue;
    for (int replicas = 1; tensor * replicas <= space.node_gpus; replicas *= 2) {
      if (replicas > 1 && experts == 0) break;
      const int stage = tensor * replicas;
      for (int stages = 1; stages <= kMostStages && stages <= model.layers && stage * stages <= space.gpus; stages *= 2) {
        found.push_back({.tensor = tensor, .pipeline = stages, .attention_data = replicas});
        if (experts > 0 && stage > 1 && experts % stage == 0) {
          found.push_back({.tensor = tensor, .pipeline = stages, .attention_data = replicas, .expert = stage});
        }
      }
    }
  }
  return found;
}

// Estimates what one engine would do, by its steps alone.
class EngineEstimate {
 public:
  EngineEstimate(const work::InferenceSetup& setup, const work::EnginePlan& plan, const work::KernelTimes& kernels,
                 const Profile& profile, work::GroupCosts& costs, const std::vector<DeviceId>& gpus)
      : plan_{plan},
        prompt_{setup.requests.prompt.median},
        output_{setup.requests.output.median},
        times_{setup, plan, kernels, profile, costs, {gpus.begin(), gpus.begin() + plan.engine_gpus()}} {}

  // Returns the time of a step with so many answers, and so many tokens of prompts.
  [[nodiscard]] double step(std::int64_t answers, std::int64_t prompt_tokens) {
    work::StepMix mix;
    mix.decodes = answers;
    mix.decode_context = answers * (prompt_ + output_ / 2);
    mix.samples = answers;
    for (std::int64_t left = prompt_tokens; left > 0; left -= prompt_) {
      mix.prefills.push_back({.tokens = std::min(left, prompt_), .context = 0});
      ++mix.samples;
    }
    return times_.of(mix).latency().seconds();
  }
  // Stages work on as many parts of the batch at once.
  [[nodiscard]] std::int64_t answers_of(std::int64_t users) const { return (users + plan_.pipeline - 1) / plan_.pipeline; }

  // Prompts a second, of prefill alone.
  [[nodiscard]] double prompts_per_second(std::int64_t budget) {
    const std::int64_t prompts = std::max<std::int64_t>(1, budget / prompt_);
    return static_cast<double>(prompts) * plan_.pipeline / step(0, prompts * prompt_);
  }

 private:
  work::EnginePlan plan_;
  std::int64_t prompt_;
  std::int64_t output_;
  work::StepTimes times_;
};

class Listing {
 public:
  Listing(const scenario::Scenario& scenario, const ServingSpace& space, const std::shared_ptr<work::GroupRuns>& group_runs)
      : setup_{*scenario.workload.inference},
        space_{space},
        gpu_{scenario::cluster_gpu(scenario.cluster.topology, "serving")},
        kernels_{gpu_, scenario.cluster.profile},
        profile_{scenario.cluster.profile},
        gpus_{scenario.cluster.topology.endpoints()},
        capacity_{scenario::gpu_memory(scenario.cluster.topology, gpu_)},
        costs_{scenario.cluster.topology,
               scenario.cluster.routing,
               scenario.simulation.seed,
               scenario.cluster.profile,
               {.grain = scenario.simulation.grain, .nccl = scenario.nccl, .library = setup_.library.all_reduce},
               group_runs} {}

  ServingList run() {
    const std::vector<work::EnginePlan> plans = engine_plans(setup_.model, space_);
    list_.engines = static_cast<std::int64_t>(plans.size());
    for (const work::EnginePlan& plan : plans) {
      if (most_users(plan, space_.token_budgets.front()) > 0) {
        engines_.push_back({plan, EngineEstimate{setup_, plan, kernels_, profile_, costs_, gpus_}});
      } else {
        ++list_.engines_too_big;
      }
    }
    for (Engine& engine : engines_) add_aggregated(engine);
    if (space_.disaggregates) {
      // Stages add to the latency of a prompt, and engines that prefill have no cache to spread.
      for (Engine& prefill : engines_) {
        if (prefill.plan.pipeline > 1) continue;
        for (Engine& decode : engines_) add_disaggregated(prefill, decode);
      }
    }
    return std::move(list_);
  }

 private:
  struct Engine {
    work::EnginePlan plan;
    EngineEstimate estimate;
  };

  [[nodiscard]] double tokens_of_request() const {
    return static_cast<double>(setup_.requests.prompt.median + setup_.requests.output.median);
  }

  // A power of two; 0: not even one.
  [[nodiscard]] std::int64_t most_users(const work::EnginePlan& plan, std::int64_t budget) const {
    work::InferenceSetup setup = setup_;
    setup.scheduler.token_budget = budget;
    std::int64_t most = 0;
    for (std::int64_t users = 1; users <= kMostUsers; users *= 2) {
      setup.scheduler.max_batch = users;
      try {
        const auto tokens = static_cast<std::int64_t>(std::ceil(tokens_of_request()));
        const work::EngineMemory memory = work::engine_memory(setup, plan, capacity_, std::string{gpu_.name}, tokens);
        const double holds = static_cast<double>(memory.tokens(setup.kv_cache)) * kCacheShare;
        if (static_cast<double>(users) * tokens_of_request() > std::max(holds, tokens_of_request())) break;
      } catch (const ConfigError&) {
        break;
      }
      most = users;
    }
    return most;
  }

  void add_aggregated(Engine& engine) {
    const std::int64_t prompt = setup_.requests.prompt.median;
    const std::int64_t output = setup_.requests.output.median;
    for (const std::int64_t budget : space_.token_budgets) {
      const std::int64_t most = most_users(engine.plan, budget);
      for (std::int64_t users = 1; users <= most; users *= 2) {
        const std::int64_t answers = engine.estimate.answers_of(users);
        const std::int64_t room = budget - answers;
        if (room <= 0) break;
        const std::int64_t piece = std::min(room, prompt * users);
        const double decode = engine.estimate.step(answers, 0);
        const double mixed = engine.estimate.step(answers, piece);
        // Steps in which pieces of prompts stand beside the answers, so that as many come as go.
        const double share =
            static_cast<double>(prompt * answers) / static_cast<double>(std::max<std::int64_t>(1, output) * piece);
        const double step = share < 1 ? decode + share * (mixed - decode) : mixed * share;
        const double ttft = std::ceil(static_cast<double>(prompt) / static_cast<double>(room)) * mixed + step / 2;
        ServingCandidate made{.engine = engine.plan,
                              .users = users,
                              .max_batch = users,
                              .token_budget = budget,
                              .copies = copies_of(engine.plan.engine_gpus())};
        if (!lies_in_nodes(made)) return;
        const double answer = ttft + static_cast<double>(output - 1) * step;
        made.tokens_per_second = static_cast<double>(made.copies * users * output) / answer;
        made.tpot_seconds = step;
        made.ttft_seconds = ttft;
        list_.candidates.push_back(made);
      }
    }
  }

  // As many engines of each kind as leave least waiting for the other.
  void add_disaggregated(Engine& prefill, Engine& decode) {
    const std::int64_t output = setup_.requests.output.median;
    const std::int64_t budget = space_.token_budgets.back();
    const int each_prefill = prefill.plan.engine_gpus();
    const int each_decode = decode.plan.engine_gpus();
    const double prompts = prefill.estimate.prompts_per_second(budget);
    const std::int64_t most = most_users(decode.plan, budget);
    for (std::int64_t batch = 1; batch <= most; batch *= 2) {
      const double step = decode.estimate.step(decode.estimate.answers_of(batch), 0);
      const double answers = static_cast<double>(batch) / (static_cast<double>(output) * step);
      ServingCandidate best;
      for (int n = 1; n < kEnginesOfCell; ++n) {
        for (int m = 1; n + m <= kEnginesOfCell; ++m) {
          const std::int64_t cell = std::int64_t{n} * each_prefill + std::int64_t{m} * each_decode;
          if (cell > space_.gpus) break;
          ServingCandidate made{.engine = prefill.plan,
                                .decode = decode.plan,
                                .users = m * batch + n,
                                .max_batch = batch,
                                .token_budget = budget,
                                .copies = copies_of(cell)};
          made.engine.data = n;
          made.decode->data = m;
          const double requests = std::min(n * prompts, m * answers);
          made.tokens_per_second = static_cast<double>(made.copies) * requests * static_cast<double>(output);
          made.tpot_seconds = step;
          made.ttft_seconds = 1 / prompts + step;
          if (made.tokens_per_second > best.tokens_per_second) best = made;
        }
      }
      if (best.tokens_per_second > 0 && lies_in_nodes(best)) list_.candidates.push_back(best);
    }
  }

  // Cells of the cluster: as many as lie within a node, or else on whole nodes.
  [[nodiscard]] std::int64_t copies_of(std::int64_t cell) const {
    const std::int64_t nodes = std::max<std::int64_t>(1, space_.gpus / space_.node_gpus);
    if (cell <= space_.node_gpus) return nodes * (space_.node_gpus / cell);
    return nodes / ((cell + space_.node_gpus - 1) / space_.node_gpus);
  }

  // Engines stand on one GPU after another from the first one; a stage of theirs must not straddle nodes.
  [[nodiscard]] bool lies_in_nodes(const ServingCandidate& candidate) const {
    std::int64_t at = 0;
    std::vector<work::EnginePlan> plans{candidate.engine};
    if (candidate.decode) plans.push_back(*candidate.decode);
    for (const work::EnginePlan& plan : plans) {
      for (int i = 0; i < plan.data * plan.pipeline; ++i, at += plan.stage_gpus()) {
        if (at / space_.node_gpus != (at + plan.stage_gpus() - 1) / space_.node_gpus) return false;
      }
    }
    return true;
  }

  const work::InferenceSetup& setup_;
  const ServingSpace& space_;
  const work::GpuSpec& gpu_;
  work::KernelTimes kernels_;
  const Profile& profile_;
  const std::vector<DeviceId>& gpus_;
  double capacity_;
  work::GroupCosts costs_;
  std::vector<Engine> engines_;
  ServingList list_;
};

std::string engine_text(const work::EnginePlan& plan, std::int64_t engines) {
  std::string text = fmt::format("t{}", plan.tensor);
  if (plan.attention_data > 1) text += fmt::format(" a{}", plan.attention_data);
  if (plan.expert > 1) text += fmt::format(" e{}", plan.expert);
  if (plan.pipeline > 1) text += fmt::format(" p{}", plan.pipeline);
  if (engines > 1) text += fmt::format(" x{}", engines);
  return text;
}

}  // namespace

ServingList list_servings(const scenario::Scenario& scenario, const ServingSpace& space,
                          const std::shared_ptr<work::GroupRuns>& group_runs) {
  return Listing{scenario, space, group_runs}.run();
}

work::InferenceSetup setup_of(const work::InferenceSetup& setup, const ServingCandidate& candidate, std::int64_t requests) {
  work::InferenceSetup made = setup;
  made.plan = candidate.engine;
  made.decode = candidate.decode;
  made.scheduler.max_batch = candidate.max_batch;
  made.scheduler.token_budget = candidate.token_budget;
  made.requests.arrivals = work::Arrivals::kClosed;
  made.requests.concurrency = candidate.users;
  made.requests.count = requests;
  return made;
}

std::string engines_text(const ServingCandidate& candidate) {
  if (!candidate.decode) return engine_text(candidate.engine, candidate.copies);
  std::string text = fmt::format("prefill {}, decode {}", engine_text(candidate.engine, candidate.engine.data),
                                 engine_text(*candidate.decode, candidate.decode->data));
  if (candidate.copies > 1) text += fmt::format(", {} times", candidate.copies);
  return text;
}

}  // namespace weft::plan
