// Which parallel plans a search looks at: every combination of the axes below that makes a plan of all GPUs and passes the
// checks of a scenario (plan_reader.h, training.h).
//
//   GPUs of a node       all; where GPUs may idle, or fewer are asked for, the first k of each node, more than half of it
//   tensor               divisors of the GPUs, within a node
//   pipeline, virtual    divisors of the GPUs up to the layers; 1, 2, 4 or 8 chunks a stage
//   context              powers of two, while a rank keeps 4,096 tokens
//   expert               divisors of the experts
//   zero                 0, 1 (distributed optimizer) and 3 (FSDP)
//   micro, recompute     1, 2, 4, 8 sequences; none, selective, full
//   schedule             1f1b, interleaved_1f1b, zb_h1, zb_h2, zb_v, dualpipe, dualpipe_v
//
// Not looked at: gpipe (the bubble of 1f1b, and more memory), ZeRO-2, HSDP, orders of ranks other than Megatron's, tensor
// parallelism without sequence parallelism.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/workloads/training/training.h"

namespace weft::plan {

struct PlanSpace {
  work::TrainingSetup setup;  // model, precision, framework, batch.global and batch.sequence; plan is replaced
  int gpus = 1;
  int node_gpus = 8;
  int nodes = 0;          // 0: as many as the GPUs fill
  bool may_idle = false;  // plans may leave less than half of each node's GPUs idle; `gpus` are all there are then
};

struct PlanCandidate {
  work::ParallelPlan plan;
  std::int64_t micro = 1;
  int per_node = 0;  // ranks on the first so many GPUs of each node; 0: on one GPU after another
};

struct PlanList {
  std::uint64_t enumerated = 0;
  std::vector<PlanCandidate> plans;               // valid ones, in order of enumeration
  std::map<std::string, std::uint64_t> refusals;  // by reason, numbers as N
  [[nodiscard]] std::uint64_t refused() const { return enumerated - plans.size(); }
};

// `stop` is asked now and then, and ends the list early.
[[nodiscard]] PlanList enumerate_plans(const PlanSpace& space, const std::function<bool()>& stop);

// The setup of a candidate.
[[nodiscard]] work::TrainingSetup setup_of(const PlanSpace& space, const PlanCandidate& candidate);

// Puts all GPUs of a setup's plan on one stage, which has this many microbatches: data replicas that the stages were.
void put_on_one_stage(work::TrainingSetup& setup, work::DataParallelism kind, std::int64_t microbatches);

// GPUs of a node that the candidate uses where it uses them of all its nodes alike.
[[nodiscard]] int used_of_node(const PlanSpace& space, const PlanCandidate& candidate);

// Groups of all stages lie alike: stages are whole nodes or parts of one.
[[nodiscard]] bool stages_lie_alike(const PlanSpace& space, const PlanCandidate& candidate);

// "t8 p4 x2 d2 e1 c1 zero 1 micro 1 interleaved_1f1b recompute none": axes of one rank left out.
[[nodiscard]] std::string plan_text(const PlanCandidate& candidate);
[[nodiscard]] std::string_view to_string(work::Recompute recompute);

}  // namespace weft::plan
