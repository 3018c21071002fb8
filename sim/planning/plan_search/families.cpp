#include "sim/planning/plan_search/families.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "sim/scenario/cluster_gpu.h"

namespace weft::plan {

using work::Axis;
using work::DataParallelism;
using work::GroupSlot;

std::vector<Rank> pass_group(const work::RankGrid& grid, GroupSlot slot, Rank rank) {
  switch (slot) {
    case GroupSlot::kContext:
      return grid.group(rank, std::array{Axis::kContext});
    case GroupSlot::kExpert:
      return grid.expert_group(rank, std::array{Axis::kExpert});
    case GroupSlot::kExpertTensor:
      return grid.expert_group(rank, std::array{Axis::kTensor});
    default:
      return grid.group(rank, std::array{Axis::kTensor});
  }
}

double rate_out_of(const net::Topology& topology, DeviceId device) {
  double bytes_per_second = 0;
  for (const LinkId link : topology.out_links(device)) bytes_per_second += topology.spec(link).capacity() * 1e12;
  return bytes_per_second;
}

double rate_out_of_host(const net::Topology& topology) {
  const net::HostTemplate& inside = topology.template_of_host(0);
  double bytes_per_second = 0;
  for (std::uint32_t local = 0; local < inside.devices.size(); ++local) {
    const DeviceId device = topology.device_of(0, local);
    for (const LinkId link : topology.out_links(device)) {
      if (topology.host_of(topology.link(link).to) != 0) bytes_per_second += topology.spec(link).capacity() * 1e12;
    }
  }
  return bytes_per_second;
}

std::vector<PlanFamily> families_of(const std::vector<PlanCandidate>& plans) {
  using Key = std::tuple<int, int, int, int, int, int, int, std::int64_t, bool>;
  std::map<Key, std::size_t> known;
  std::vector<PlanFamily> families;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const work::ParallelPlan& plan = plans[i].plan;
    const bool is_fsdp = plan.data_parallelism == DataParallelism::kFsdp;
    const Key key{plans[i].per_node,         plan.tensor,    plan.pipeline, plan.context, plan.data, plan.expert,
                  plan.expert_tensor_size(), plans[i].micro, is_fsdp};
    const auto [at, is_new] = known.try_emplace(key, families.size());
    if (is_new) families.emplace_back();
    families[at->second].members.push_back(i);
  }
  return families;
}

void look_at_members(const std::vector<PlanCandidate>& plans, PlanFamily& family) {
  bool all_layers = true;
  bool all_attention = true;
  family.runs_together = false;
  for (const std::size_t member : family.members) {
    const work::ParallelPlan& plan = plans[member].plan;
    family.runs_together = family.runs_together || plan.overlap_expert;
    all_layers = all_layers && plan.recompute == work::Recompute::kFull;
    all_attention =
        all_attention && (plan.recompute == work::Recompute::kFull || plan.recompute == work::Recompute::kSelective);
  }
  family.least_again = all_layers      ? work::Recompute::kFull
                       : all_attention ? work::Recompute::kSelective
                                       : work::Recompute::kNone;
}

FamilyCosts::FamilyCosts(const PlanSpace& space, const scenario::Scenario& scenario)
    : space_{space},
      cluster_{scenario.cluster},
      times_{scenario::cluster_gpu(cluster_.topology, "a plan"), cluster_.profile},
      power_{work::gpu_power(times_.gpu(), cluster_.profile)},
      spread_{cluster_.profile.get(work::power_spread)},
      repeats_{layer_repeats(space.setup.model)},
      gpu_rate_{rate_out_of(cluster_.topology, cluster_.topology.endpoints().front())},
      node_rate_{rate_out_of_host(cluster_.topology)} {}

FamilyCosts::PassCosts& FamilyCosts::pass_of(const PlanCandidate& candidate, const work::TrainingSetup& whole,
                                             work::Recompute again) {
  const work::ParallelPlan& of = whole.plan;
  // Routing that is limited to some nodes sends less where a group spans several.
  const work::RankGrid grid{of};
  std::set<std::int32_t> hosts;
  for (const Rank rank : pass_group(grid, GroupSlot::kExpert, 0)) {
    const auto r = static_cast<std::size_t>(rank);
    const auto endpoint = of.rank_map.empty() ? r : static_cast<std::size_t>(of.rank_map[r]);
    hosts.insert(cluster_.topology.host_of(cluster_.topology.endpoints()[endpoint]));
  }
  const auto [at, is_new] = passes_.try_emplace(
      {of.tensor, of.context, of.expert, of.expert_tensor_size(), candidate.micro, static_cast<int>(hosts.size()), again});
  PassCosts& pass = at->second;
  if (!is_new) return pass;
  work::TrainingSetup setup = whole;
  setup.model.layers = repeats_.layers;
  put_on_one_stage(setup, DataParallelism::kNone, 1);
  setup.plan.recompute = again;
  const work::Program program = work::training_program(setup, times_, cluster_.topology, true);
  const work::GroupSlots slots{setup.plan, false};
  std::vector<double> times_of(static_cast<std::size_t>(repeats_.layers), 0.0);  // that a layer stands for one
  for (const std::int64_t layer : repeats_.of) times_of[static_cast<std::size_t>(layer)] += 1;
  std::map<std::pair<GroupSlot, coll::Collective>, double> bytes;
  for (const work::Operation& op : program.programs.front().operations) {
    if (op.microbatch < 0) continue;
    const double times = op.layer >= 0 ? times_of[static_cast<std::size_t>(op.layer)] : 1.0;
    if (op.stream == 0) pass.kernels += op.duration.seconds() * times;
    if (op.kind != work::OpKind::kCollective) continue;
    for (const GroupSlot slot : kPassSlots) {
      if (!slots.has(slot) || slots.index(slot) != op.slot) continue;
      bytes[{slot, op.collective}] += static_cast<double>(op.bytes.count()) * times;
    }
  }
  for (const auto& [call, moved] : bytes) pass.traffic.push_back({call.first, call.second, moved});
  pass.profile = profile_of(program.programs.front(), slots);
  return pass;
}

std::unique_ptr<PassProfile> FamilyCosts::profile_of(const work::RankProgram& program, const work::GroupSlots& slots) const {
  const auto cost_of = [&](const work::Operation& op) -> PassProfile::Cost {
    for (const GroupSlot slot : kPassSlots) {
      if (!slots.has(slot) || slots.index(slot) != op.slot) continue;
      const auto n = static_cast<double>(slots.size(slot));
      return {.seconds = static_cast<double>(op.bytes.count()) * (n - 1) / n / gpu_rate_};
    }
    return {};
  };
  return std::make_unique<PassProfile>(program, repeats_.layers, cost_of, cluster_.profile.get(work::contention_costs));
}

const FamilyCosts::PassSums& FamilyCosts::sums_at(PassCosts& pass, int hundredths) const {
  const auto [at, is_new] = pass.at.try_emplace(hundredths);
  PassSums& sums = at->second;
  if (!is_new) return sums;
  const StepPieces pieces = pass.profile->at(1 + hundredths / kClockSteps, false);
  const auto add = [&](const PassPair& pair) {
    for (const Pass& one : {pair.forward, pair.backward}) {
      sums.kernels += one.compute;
      sums.waits += one.seconds;
      sums.tensor += one.tensor;
    }
  };
  for (const std::int64_t layer : repeats_.of) add(pieces.layers[static_cast<std::size_t>(layer)]);
  add(pieces.embedding);
  add(pieces.head);
  return sums;
}

void FamilyCosts::bound_closer(const PlanCandidate& candidate, PlanFamily& family) {
  const work::TrainingSetup setup = setup_of(space_, candidate);
  PassCosts& pass = pass_of(candidate, setup, family.least_again);
  work::GpuPower power = power_;
  power.costs.tensor *= work::most_of(spread_, static_cast<std::size_t>(setup.plan.world()));
  const double microbatches = static_cast<double>(setup.batch.global) / static_cast<double>(candidate.micro * setup.plan.data);
  const double share = microbatches / setup.plan.pipeline;
  const double tensor = sums_at(pass, 0).tensor * share;
  const auto after = [&](double assumed) {
    const double slowdown = work::least_slowdown(power, tensor / (assumed * kColdStep));
    const PassSums& sums = sums_at(pass, static_cast<int>((slowdown - 1) * kClockSteps + 1e-9));
    return share * (family.runs_together ? sums.kernels : sums.waits);
  };
  double low = after(std::numeric_limits<double>::infinity());
  double high = after(low);
  for (int i = 0; i < 8 && high > low * 1.005; ++i) {
    const double middle = (low + high) / 2;
    (after(middle) >= middle ? low : high) = middle;
  }
  family.bound_seconds = std::max(family.bound_seconds, low);
  family.is_close = true;
}

const std::vector<FamilyCosts::Leaving>& FamilyCosts::leaving(const PlanCandidate& candidate, const work::ParallelPlan& plan,
                                                              const Traffic& traffic) {
  const bool all_leaves = traffic.kind == coll::Collective::kAllToAll;
  const auto [known, is_new] = leaving_.try_emplace({candidate.per_node, plan.tensor, plan.pipeline, plan.context, plan.data,
                                                     plan.expert, plan.expert_tensor_size(), traffic.slot, all_leaves});
  std::vector<Leaving>& stages = known->second;
  if (!is_new) return stages;
  const work::RankGrid grid{plan};
  stages.resize(static_cast<std::size_t>(plan.pipeline));
  std::vector<bool> seen(static_cast<std::size_t>(plan.world()), false);
  for (Rank rank = 0; rank < plan.world(); ++rank) {
    if (seen[static_cast<std::size_t>(rank)]) continue;
    const std::vector<Rank> group = pass_group(grid, traffic.slot, rank);
    std::map<std::int32_t, double> members;  // by host
    for (const Rank member : group) {
      const auto r = static_cast<std::size_t>(member);
      seen[r] = true;
      const auto endpoint = plan.rank_map.empty() ? r : static_cast<std::size_t>(plan.rank_map[r]);
      members[cluster_.topology.host_of(cluster_.topology.endpoints()[endpoint])] += 1;
    }
    Leaving& stage = stages[static_cast<std::size_t>(grid.position(rank, Axis::kPipeline))];
    const auto n = static_cast<double>(group.size());
    for (const auto& [host, here] : members) {
      // Each rank's data of an all-to-all leave; of others, what a node gets once its ranks share.
      const double share = (n - here) / n / (all_leaves ? 1 : here);
      stage.most = std::max(stage.most, share);
      stage.sum += share * here;
    }
  }
  return stages;
}

void FamilyCosts::bound(const PlanCandidate& candidate, PlanFamily& family) {
  const work::TrainingSetup setup = setup_of(space_, candidate);
  const work::ParallelPlan& plan = setup.plan;
  const PassCosts& pass = pass_of(candidate, setup, work::Recompute::kNone);
  const work::GroupSlots slots{plan, false};
  const int used = used_of_node(space_, candidate);
  const int hosts = (plan.world() + used - 1) / used;
  double alone = 0;  // seconds of a rank's collectives
  std::vector<double> into_nodes(static_cast<std::size_t>(plan.pipeline), 0.0);
  for (const Traffic& traffic : pass.traffic) {
    const auto n = static_cast<double>(slots.size(traffic.slot));
    const double ways = traffic.kind == coll::Collective::kAllReduce ? 2 : 1;
    double most = 0;
    const std::vector<Leaving>& stages = leaving(candidate, plan, traffic);
    for (std::size_t s = 0; s < stages.size(); ++s) {
      most = std::max(most, stages[s].most);
      into_nodes[s] += stages[s].sum * traffic.bytes;
    }
    alone += ways * traffic.bytes * (n - 1) / n / gpu_rate_;
    if (node_rate_ > 0) alone += ways * traffic.bytes * most / (node_rate_ / space_.node_gpus);
  }
  const double microbatches = static_cast<double>(setup.batch.global) / static_cast<double>(candidate.micro * plan.data);
  double shared = 0;
  if (node_rate_ > 0) shared = *std::ranges::min_element(into_nodes) / (hosts * node_rate_);
  // Times of one stage, as if it had all layers; each has its part of them.
  shared *= plan.pipeline;
  const double p = plan.pipeline;
  family.bound_seconds = microbatches * std::max(pass.kernels, shared) / p;
  family.estimate_seconds = (microbatches + (p - 1) / 2) * (pass.kernels + alone) / p;
}

}  // namespace weft::plan
