#include "sim/planning/plan_search/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "sim/core/config/node.h"
#include "sim/core/config/params.h"
#include "sim/core/error.h"
#include "sim/workloads/parallel/pipeline_schedule.h"
#include "sim/workloads/parallel/plan_reader.h"

namespace weft::plan {
namespace {

using work::DataParallelism;

constexpr std::int64_t kContextTokens = 4096;

std::vector<int> divisors(std::int64_t of, std::int64_t up_to) {
  std::vector<int> found;
  for (std::int64_t i = 1; i <= std::min(of, up_to); ++i) {
    if (of % i == 0) found.push_back(static_cast<int>(i));
  }
  return found;
}

struct Placement {
  int gpus = 1;
  int per_node = 0;
};

// All GPUs one after another, and so many of each node that whole groups lie in nodes that they would straddle else.
std::vector<Placement> placements(const PlanSpace& space) {
  std::vector<Placement> found{{space.gpus, 0}};
  for (int k = space.node_gpus - 1; 2 * k > space.node_gpus; --k) {
    if (space.nodes > 0 && space.may_idle) {
      found.push_back({k * space.nodes, k});
    } else if (space.nodes > 1 && space.gpus % k == 0 && space.gpus / k > 1 && space.gpus / k <= space.nodes) {
      found.push_back({space.gpus, k});
    }
  }
  return found;
}

// Reasons differ in their numbers; they are counted without.
std::string without_numbers(std::string_view text) {
  for (const std::string_view prefix : {"workload.parallelism.", "workload.batch.", "workload."}) {
    if (text.starts_with(prefix)) {
      text.remove_prefix(prefix.size());
      break;
    }
  }
  std::string out;
  bool in_number = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
    const bool starts_word = i == 0 || text[i - 1] == ' ';
    if (is_digit && (in_number || starts_word)) {
      if (!in_number) out += 'N';
      in_number = true;
    } else {
      in_number = false;
      out += text[i];
    }
  }
  return out;
}

class Enumeration {
 public:
  Enumeration(const PlanSpace& space, const std::function<bool()>& stop) : space_{space}, stop_{stop} {}

  PlanList run() {
    for (const Placement& placement : placements(space_)) {
      add_axes(placement);
      if (stop_()) break;
    }
    return std::move(list_);
  }

 private:
  void add_axes(const Placement& placement) {
    const work::TransformerModel& model = space_.setup.model;
    const int n = placement.gpus;
    for (const int t : divisors(n, std::min(n, placement.per_node > 0 ? placement.per_node : space_.node_gpus))) {
      for (const int p : divisors(n / t, model.layers)) {
        for (int c = 1; (n / t / p) % c == 0 && (c == 1 || space_.setup.batch.sequence / c >= kContextTokens); c *= 2) {
          PlanCandidate candidate;
          candidate.per_node = placement.per_node;
          candidate.plan.tensor = t;
          candidate.plan.pipeline = p;
          candidate.plan.context = c;
          candidate.plan.data = n / t / p / c;
          candidate.plan.sequence_parallel = t > 1;
          if (is_possible(candidate.plan)) add_experts(candidate);
          if (stop_()) return;
        }
      }
    }
  }

  // Counts as one refusal where no schedule, batch or sharding mends it.
  bool is_possible(const work::ParallelPlan& plan) {
    const char* reason = space_.setup.batch.global % plan.data != 0    ? "global: N sequences do not divide evenly over data N"
                         : space_.setup.model.heads % plan.tensor != 0 ? "tensor: N heads do not divide evenly over tensor N"
                                                                       : nullptr;
    if (reason == nullptr) return true;
    ++list_.enumerated;
    ++list_.refusals[reason];
    return false;
  }

  void add_experts(PlanCandidate& candidate) {
    const std::int64_t experts = space_.setup.model.moe.experts;
    if (experts == 0) return add_schedules(candidate);
    work::ParallelPlan& plan = candidate.plan;
    const std::int64_t replicas = std::int64_t{plan.data} * plan.context * plan.tensor;
    for (const int e : divisors(experts, replicas)) {
      if (replicas % e != 0) continue;
      plan.expert = e;
      // Experts are split over tensor ranks, or each is whole on one rank.
      for (const int expert_tensor : {plan.tensor, 1}) {
        plan.expert_tensor = expert_tensor == plan.tensor ? 0 : 1;
        if (e == 1 && plan.expert_tensor != 0) continue;
        if (replicas % (std::int64_t{e} * expert_tensor) != 0) continue;
        add_schedules(candidate);
        if (plan.tensor == 1) break;
      }
    }
    plan.expert = 1;
    plan.expert_tensor = 0;
  }

  void add_schedules(PlanCandidate& candidate) {
    work::ParallelPlan& plan = candidate.plan;
    if (plan.pipeline == 1) {
      plan.schedule = "1f1b";
      return add_rest(candidate);
    }
    for (const char* schedule : {"1f1b", "zb_h1", "zb_h2", "zb_v", "dualpipe", "dualpipe_v"}) {
      plan.schedule = schedule;
      add_rest(candidate);
    }
    plan.schedule = "interleaved_1f1b";
    for (const int chunks : {2, 4, 8}) {
      if (std::int64_t{chunks} * plan.pipeline > space_.setup.model.layers) break;
      plan.virtual_stages = chunks;
      add_rest(candidate);
    }
    plan.virtual_stages = 1;
  }

  void add_rest(PlanCandidate& candidate) {
    work::ParallelPlan& plan = candidate.plan;
    spread_layers(candidate);
    for (const DataParallelism kind :
         {DataParallelism::kMegatron, DataParallelism::kDistributedOptimizer, DataParallelism::kFsdp}) {
      const bool alone = plan.data * plan.context == 1;
      if (alone && kind != DataParallelism::kMegatron) continue;
      plan.data_parallelism = kind;
      plan.zero = kind == DataParallelism::kMegatron ? 0 : kind == DataParallelism::kFsdp ? 3 : 1;
      // Passes that run together hide the experts' messages; FSDP gathers for one pass at a time.
      const bool is_dual = plan.schedule == "dualpipe" || plan.schedule == "dualpipe_v";
      plan.overlap_expert = is_dual && plan.expert > 1 && kind != DataParallelism::kFsdp;
      for (const std::int64_t micro : {1, 2, 4, 8}) {
        candidate.micro = micro;
        for (const work::Recompute recompute : {work::Recompute::kNone, work::Recompute::kSelective, work::Recompute::kFull}) {
          plan.recompute = recompute;
          add(candidate);
        }
      }
    }
    plan.overlap_expert = false;
    plan.first_stage_layers = -1;
    plan.last_stage_layers = -1;
  }

  // Where layers do not divide, the last stage has fewer or more than the others.
  void spread_layers(PlanCandidate& candidate) const {
    work::ParallelPlan& plan = candidate.plan;
    const std::int64_t layers = space_.setup.model.layers;
    const std::int64_t p = plan.pipeline;
    const std::int64_t chunks = plan.virtual_stages;
    plan.last_stage_layers = -1;
    if (p == 1 || layers % (p * chunks) == 0) return;
    std::int64_t each = (layers + p * chunks - 1) / (p * chunks) * chunks;
    if (layers - each * (p - 1) < chunks) each -= chunks;
    if (each >= chunks && layers - each * (p - 1) >= chunks) plan.last_stage_layers = layers - each * (p - 1);
  }

  void add(const PlanCandidate& candidate) {
    ++list_.enumerated;
    if (space_.setup.batch.global % (candidate.micro * candidate.plan.data) != 0) {
      ++list_.refusals["global: N sequences do not divide evenly into micro x data"];
      return;
    }
    setup_.plan = candidate.plan;
    setup_.batch.micro = candidate.micro;
    const work::TrainingSetup& setup = setup_;
    Diagnostics diagnostics;
    work::check_plan(root_, setup.model, setup.plan, setup.batch, 0, diagnostics);
    std::string reason;
    if (!diagnostics.errors().empty()) {
      reason = diagnostics.errors().front().message;
    } else {
      reason = work::training_refusal(setup);
    }
    if (reason.empty()) {
      list_.plans.push_back(candidate);
    } else {
      ++list_.refusals[without_numbers(reason)];
    }
  }

  const PlanSpace& space_;
  const std::function<bool()>& stop_;
  work::TrainingSetup setup_ = space_.setup;
  const ConfigNode root_ = ConfigNode::parse("{}", "plan", "workload");
  PlanList list_;
};

}  // namespace

PlanList enumerate_plans(const PlanSpace& space, const std::function<bool()>& stop) { return Enumeration{space, stop}.run(); }

work::TrainingSetup setup_of(const PlanSpace& space, const PlanCandidate& candidate) {
  work::TrainingSetup setup = space.setup;
  setup.plan = candidate.plan;
  setup.batch.micro = candidate.micro;
  if (candidate.per_node == 0) return setup;
  const int k = candidate.per_node;
  for (int rank = 0; rank < candidate.plan.world(); ++rank) {
    setup.plan.rank_map.push_back(rank / k * space.node_gpus + rank % k);
  }
  return setup;
}

void put_on_one_stage(work::TrainingSetup& setup, work::DataParallelism kind, std::int64_t microbatches) {
  work::ParallelPlan& plan = setup.plan;
  plan.data *= plan.pipeline;
  plan.pipeline = 1;
  plan.virtual_stages = 1;
  plan.schedule = "1f1b";
  plan.first_stage_layers = -1;
  plan.last_stage_layers = -1;
  plan.data_parallelism = kind;
  plan.zero = kind == work::DataParallelism::kFsdp ? 3 : 0;
  plan.overlap_expert = false;
  setup.batch.global = setup.batch.micro * plan.data * microbatches;
}

int used_of_node(const PlanSpace& space, const PlanCandidate& candidate) {
  return candidate.per_node > 0 ? candidate.per_node : space.node_gpus;
}

bool stages_lie_alike(const PlanSpace& space, const PlanCandidate& candidate) {
  const work::ParallelPlan& plan = candidate.plan;
  const int ranks = plan.tensor * plan.context * plan.data;
  const int node = used_of_node(space, candidate);
  return plan.pipeline == 1 || ranks % node == 0 || node % ranks == 0;
}

std::string_view to_string(work::Recompute recompute) {
  switch (recompute) {
    case work::Recompute::kNone:
      return "none";
    case work::Recompute::kSelective:
      return "selective";
    case work::Recompute::kFull:
      return "full";
    case work::Recompute::kOperators:
      return "operators";
  }
  WEFT_CHECK(false);
}

std::string plan_text(const PlanCandidate& candidate) {
  const work::ParallelPlan& plan = candidate.plan;
  std::string text;
  const auto axis = [&](const char* name, std::int64_t size) {
    if (size > 1) text += fmt::format("{}{}{}", text.empty() ? "" : " ", name, size);
  };
  axis("t", plan.tensor);
  axis("p", plan.pipeline);
  axis("v", plan.virtual_stages);
  axis("c", plan.context);
  axis("d", plan.data);
  axis("e", plan.expert);
  if (plan.expert_tensor > 0 && plan.expert_tensor != plan.tensor) text += fmt::format(" et{}", plan.expert_tensor);
  text += fmt::format("{}z{} mb{}", text.empty() ? "" : " ", plan.zero, candidate.micro);
  if (plan.pipeline > 1) text += " " + plan.schedule;
  if (plan.recompute != work::Recompute::kNone) text += fmt::format(" recompute {}", to_string(plan.recompute));
  if (candidate.per_node > 0) text += fmt::format(" on {}/node", candidate.per_node);
  return text;
}

}  // namespace weft::plan
