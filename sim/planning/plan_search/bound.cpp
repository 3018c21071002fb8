#include "sim/planning/plan_search/bound.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "sim/core/error.h"
#include "sim/network/builtin.h"
#include "sim/network/cluster.h"
#include "sim/network/router.h"
#include "sim/planning/plan_search/families.h"
#include "sim/scenario/cluster_gpu.h"
#include "sim/workloads/model/memory.h"
#include "sim/workloads/parallel/rank_groups.h"
#include "sim/workloads/training/group_slots.h"
#include "sim/workloads/training/optimizer_bytes.h"
#include "sim/workloads/training/stage_model.h"

namespace weft::plan {
namespace {

using work::Axis;
using work::DataParallelism;

// Groups in one pattern are timed once; ties in routing make another group's time differ by less than this.
constexpr double kAlike = 0.999;

void add(Pass& into, const Pass& from) {
  into.seconds += from.seconds;
  into.entry += from.entry;
  into.compute += from.compute;
  into.tensor += from.tensor;
  into.attention += from.attention;
  into.memory += from.memory;
  into.experts += from.experts;
  if (from.expert_ctas > 0)
    into.expert_ctas = into.expert_ctas > 0 ? std::min(into.expert_ctas, from.expert_ctas) : from.expert_ctas;
}

void add(PassPair& into, const PassPair& from) {
  add(into.forward, from.forward);
  add(into.backward, from.backward);
}

Pass minus(const Pass& a, const Pass& b) {
  return {.seconds = a.seconds - b.seconds,
          .entry = a.entry - b.entry,
          .compute = a.compute - b.compute,
          .tensor = a.tensor - b.tensor,
          .attention = a.attention - b.attention,
          .memory = a.memory - b.memory,
          .experts = a.experts - b.experts,
          .expert_ctas = a.expert_ctas};
}

// Ranks of the dense or the experts' gradients, the first group of them.
std::vector<Rank> data_ranks(const work::ParallelPlan& plan, bool experts) {
  const work::RankGrid grid{plan};
  if (experts && (plan.expert > 1 || plan.expert_tensor_size() != plan.tensor)) {
    return grid.expert_group(0, std::array{Axis::kData});
  }
  return grid.group(0, std::array{Axis::kContext, Axis::kData});
}

double rate_to_fabric(const net::Topology& topology, DeviceId nic) {
  double bytes_per_second = 0;
  for (const LinkId link : topology.out_links(nic)) {
    if (topology.host_of(topology.link(link).to) != topology.host_of(nic)) {
      bytes_per_second += topology.spec(link).capacity() * 1e12;
    }
  }
  return bytes_per_second;
}

double total(const Pass& pass, bool compute_only) { return compute_only ? pass.compute : pass.seconds + pass.entry; }
double waits_of(const Pass& pass) { return total(pass, false) - pass.compute; }

}  // namespace

struct PlanBounds::Layout {
  work::TrainingSetup setup;
  std::unique_ptr<work::PipelineSchedule> schedule;
  work::PipelineShape shape;
  Profile* profile = nullptr;
  Profile* farthest = nullptr;  // of the stage whose groups leave their nodes most, where stages lie unlike
  int farthest_stage = -1;
  bool contends = true;
  bool compute_only = false;                                     // passes that run together hide each other's messages
  const std::vector<std::vector<ChunkPasses>>* alone = nullptr;  // those that run with no other; null: none run together
  bool drains = true;
  bool is_fsdp = false;
  bool aligned = true;  // stages_lie_alike()
  double microbatches = 1;
  double tail_seconds = 0;  // optimizer
  work::GpuPower power;     // of the GPU that needs most
  std::vector<Position> positions;
  std::vector<Stage> stages;
};

PlanBounds::PlanBounds(const PlanSpace& space, const scenario::Scenario& scenario, std::shared_ptr<work::GroupRuns> group_runs,
                       CollectiveTimes collectives)
    : space_{space},
      cluster_{scenario.cluster},
      collectives_{collectives},
      repeats_{layer_repeats(space.setup.model)},
      times_{scenario::cluster_gpu(cluster_.topology, "a plan"), cluster_.profile},
      power_{work::gpu_power(times_.gpu(), cluster_.profile)},
      spread_{cluster_.profile.get(work::power_spread)},
      contention_{cluster_.profile.get(work::contention_costs)},
      costs_{cluster_.topology,
             cluster_.routing,
             scenario.simulation.seed,
             cluster_.profile,
             {.grain = scenario.simulation.grain, .nccl = scenario.nccl},
             std::move(group_runs)},
      capacity_{scenario::gpu_memory(cluster_.topology, times_.gpu())},
      gpu_rate_{rate_out_of(cluster_.topology, cluster_.topology.endpoints().front())},
      node_rate_{rate_out_of_host(cluster_.topology)},
      unicast_{scenario.nccl.integer("COLLNET_ENABLE").value_or(0) == 0} {
  if (collectives_ != CollectiveTimes::kLinkRate) return;
  const net::Router router{cluster_.topology, net::make_routing_policy(cluster_.routing), scenario.simulation.seed};
  for (const DeviceId gpu : cluster_.topology.endpoints()) {
    if (cluster_.topology.host_of(gpu) != 0) break;
    double rate = 0;
    for (const DeviceId nic : router.nics_of(gpu)) rate += rate_to_fabric(cluster_.topology, nic);
    nic_rate_ = std::max(nic_rate_, rate);
  }
}

DeviceId PlanBounds::device_of(const work::ParallelPlan& plan, Rank rank) const {
  const auto r = static_cast<std::size_t>(rank);
  return cluster_.topology.endpoints()[plan.rank_map.empty() ? r : static_cast<std::size_t>(plan.rank_map[r])];
}

PassProfile::Cost PlanBounds::cost_in(const work::ParallelPlan& plan, const std::vector<Rank>& ranks, coll::Collective kind,
                                      Bytes bytes, std::int64_t element_size) {
  if (ranks.size() < 2 || bytes <= Bytes{}) return {};
  if (collectives_ == CollectiveTimes::kLinkRate) return cost_at_link_rate(plan, ranks, kind, bytes, true);
  std::vector<DeviceId> devices;
  for (const Rank rank : ranks) devices.push_back(device_of(plan, rank));
  const work::GroupCost& cost = costs_.collective(devices, {.kind = kind, .bytes = bytes, .element_size = element_size});
  return {.seconds = cost.alone.seconds() * kAlike, .ctas = cost.ctas};
}

// Every byte that others need crosses the links of its GPU, those for other nodes their fabric's. `knows_places` false: the
// group may lie in one node.
PassProfile::Cost PlanBounds::cost_at_link_rate(const work::ParallelPlan& plan, const std::vector<Rank>& ranks,
                                                coll::Collective kind, Bytes bytes, bool knows_places) const {
  const auto n = static_cast<double>(ranks.size());
  if (n < 2 || gpu_rate_ <= 0) return {};
  const auto whole = static_cast<double>(bytes.count());
  double seconds = whole * (n - 1) / n / gpu_rate_;
  if (!knows_places || node_rate_ <= 0) return {.seconds = seconds};
  std::map<std::int32_t, double> members;  // by host
  for (const Rank rank : ranks) members[cluster_.topology.host_of(device_of(plan, rank))] += 1;
  for (const auto& [host, here] : members) {
    const double senders = kind == coll::Collective::kAllToAll ? here : 1;
    seconds = std::max(seconds, whole * senders * (n - here) / n / node_rate_);
    // Data from others come to a GPU through its own NICs.
    if (kind == coll::Collective::kAllToAll && nic_rate_ > 0) seconds = std::max(seconds, whole * (n - here) / n / nic_rate_);
  }
  return {.seconds = seconds};
}

// On one stage, whose replicas are all the GPUs.
work::Program PlanBounds::one_microbatch(const PlanCandidate& candidate, DataParallelism kind,
                                         std::int64_t microbatches) const {
  work::TrainingSetup setup = setup_of(space_, candidate);
  setup.model.layers = repeats_.layers;
  put_on_one_stage(setup, kind, microbatches);
  setup.plan.overlap_expert = candidate.plan.overlap_expert;  // hides a part of an all-to-all within its pass
  return work::training_program(setup, times_, cluster_.topology, true);
}

const GroupPlaces& PlanBounds::places_of(const PlanCandidate& candidate, const work::ParallelPlan& plan,
                                         bool first_stage_only) {
  const auto [at, is_new] = places_.try_emplace(
      {candidate.per_node, plan.tensor, plan.pipeline, plan.context, plan.data, plan.expert, plan.expert_tensor_size()});
  if (is_new) at->second = farthest_groups(cluster_.topology, plan, first_stage_only);
  return at->second;
}

PlanBounds::Profile& PlanBounds::profile_of(const PlanCandidate& candidate, const GroupPlaces* places) {
  const work::ParallelPlan& plan = candidate.plan;
  const Key key{plan.tensor,
                plan.context,
                plan.expert,
                plan.expert_tensor_size(),
                candidate.micro,
                candidate.per_node,
                places != nullptr,
                2 * static_cast<int>(plan.recompute) + (plan.overlap_expert ? 1 : 0),
                places != nullptr ? places->members : std::vector<int>{}};
  const auto [at, is_new] = profiles_.try_emplace(key);
  if (!is_new) return at->second;
  const work::Program program = one_microbatch(candidate, DataParallelism::kNone, 1);
  work::TrainingSetup mapped = setup_of(space_, candidate);
  const work::ParallelPlan own = mapped.plan;
  const work::RankGrid grid{own};
  put_on_one_stage(mapped, DataParallelism::kNone, 1);
  const work::GroupSlots slots{mapped.plan, false};
  const auto ranks_of = [&](const work::Operation& op) {
    if (places != nullptr) {
      for (const work::GroupSlot slot : kPassSlots) {
        if (slots.has(slot) && slots.index(slot) == op.slot) return pass_group(grid, slot, places->rank);
      }
    }
    return program.groups[program.ranks.front().groups[op.slot]].ranks;
  };
  const auto cost_of = [&](const work::Operation& op) -> PassProfile::Cost {
    if (places == nullptr) return cost_at_link_rate(own, ranks_of(op), op.collective, op.bytes, false);
    return cost_in(own, ranks_of(op), op.collective, op.bytes, op.element_size);
  };
  at->second.passes = std::make_unique<PassProfile>(program.programs.front(), repeats_.layers, cost_of, contention_);
  return at->second;
}

const PlanBounds::Sums& PlanBounds::sums_at(Profile& profile, int hundredths, bool contends) {
  const auto [at, is_new] = profile.at.try_emplace({hundredths, contends});
  Sums& sums = at->second;
  if (!is_new) return sums;
  const StepPieces pieces = profile.passes->at(1 + hundredths / kClockSteps, contends);
  sums.before.emplace_back();
  for (const std::int64_t stand_in : repeats_.of) {
    const PassPair& layer = pieces.layers[static_cast<std::size_t>(stand_in)];
    sums.before.push_back(sums.before.back());
    add(sums.before.back(), layer);
    sums.entries.push_back({.forward = {.entry = layer.forward.entry}, .backward = {.entry = layer.backward.entry}});
  }
  sums.embedding = pieces.embedding;
  sums.head = pieces.head;
  return sums;
}

const PlanBounds::ShardCalls& PlanBounds::shard_calls_of(const PlanCandidate& candidate) {
  const work::ParallelPlan& plan = candidate.plan;
  const auto [at, is_new] =
      shard_calls_.try_emplace({plan.tensor, plan.context, plan.expert, plan.expert_tensor_size(), candidate.per_node});
  if (!is_new) return at->second;
  ShardCalls found(static_cast<std::size_t>(repeats_.layers));
  PlanCandidate plain = candidate;
  plain.micro = 1;
  plain.plan.recompute = work::Recompute::kNone;
  constexpr std::int64_t kMicrobatches = 3;  // the middle one is as all but the first and the last
  const work::Program program = one_microbatch(plain, DataParallelism::kFsdp, kMicrobatches);
  // The expert group's calls and the others' are told apart by their slots: parameters of the two never mix.
  const work::GroupSlots slots{plain.plan, false};
  for (const work::Operation& op : program.programs.front().operations) {
    if (op.kind != work::OpKind::kCollective || op.category != work::Category::kCommData) continue;
    if (op.microbatch != 1 || op.layer < 0) continue;
    const bool experts = slots.has(work::GroupSlot::kExpertData) && op.slot == slots.index(work::GroupSlot::kExpertData);
    found[static_cast<std::size_t>(op.layer)].push_back({experts, op.collective, op.bytes});
  }
  for (const std::int64_t layer : repeats_.of) at->second.push_back(found[static_cast<std::size_t>(layer)]);
  return at->second;
}

const PassProfile::Cost& PlanBounds::shard_cost(const work::ParallelPlan& plan, const ShardCall& call) {
  const std::int32_t last = plan.rank_map.empty() ? 0 : plan.rank_map.back();
  const auto [at, is_new] =
      shard_costs_.try_emplace({plan.tensor, plan.context, plan.data, plan.expert, plan.expert_tensor_size(), call.experts,
                                static_cast<int>(call.kind), call.bytes.count(), last});
  PassProfile::Cost& found = at->second;
  if (!is_new) return found;
  const std::vector<Rank> ranks = data_ranks(plan, call.experts);
  found = cost_in(plan, ranks, call.kind, call.bytes, 2);
  // Alone; or what all groups of the stage must bring into a node, whichever links they take for it.
  found.seconds = std::max(found.seconds, wire_seconds(plan, ranks, static_cast<double>(call.bytes.count())));
  return found;
}

void PlanBounds::Stream::add(const PassProfile::Cost& cost, double times) {
  seconds += cost.seconds * times;
  calls += times;
  if (cost.ctas > 0) ctas = ctas == 0 ? cost.ctas : std::min(ctas, cost.ctas);
}

double PlanBounds::fabric_seconds(const work::ParallelPlan& plan, const std::vector<Rank>& ranks, double bytes) const {
  if (ranks.size() < 2 || node_rate_ <= 0) return 0;
  std::map<std::int32_t, double> members;  // by host
  for (const Rank rank : ranks) members[cluster_.topology.host_of(device_of(plan, rank))] += 1;
  const double here = members.begin()->second;
  if (members.size() == 1 || std::ranges::any_of(members, [&](const auto& host) { return host.second != here; })) return 0;
  const double groups = std::min<double>(ranks[1] - ranks[0], space_.node_gpus);
  const auto nodes = static_cast<double>(members.size());
  return bytes * (nodes - 1) / nodes * groups / node_rate_;
}

double PlanBounds::wire_seconds(const work::ParallelPlan& plan, const std::vector<Rank>& ranks, double bytes) const {
  const auto n = static_cast<double>(ranks.size());
  if (n < 2) return 0;
  double here = 0;
  for (const Rank rank : ranks) {
    here += cluster_.topology.host_of(device_of(plan, rank)) == 0 ? 1 : 0;
  }
  const double inside = bytes * (n - 1) / n / gpu_rate_;
  if (here == n || node_rate_ <= 0) return inside;
  // The others' data must come in once, for each group that has a member here.
  const double groups = std::min<double>(ranks[1] - ranks[0], space_.node_gpus);
  return std::max(inside, bytes * (n - here) / n * groups / node_rate_);
}

PlanBounds::Layout PlanBounds::layout_of(const PlanCandidate& candidate) {
  Layout layout;
  layout.setup = setup_of(space_, candidate);
  const work::ParallelPlan& plan = layout.setup.plan;
  if (plan.pipeline > 1) layout.schedule = work::make_pipeline_schedule(plan.schedule);
  const work::PipelineSchedule* schedule = layout.schedule.get();
  layout.shape = work::pipeline_shape(plan, layout.setup.batch);
  layout.is_fsdp = plan.data_parallelism == DataParallelism::kFsdp;
  layout.compute_only = plan.overlap_expert;
  layout.drains = schedule == nullptr || !schedule->splits_backward();
  layout.contends = layout.drains && !layout.is_fsdp;
  layout.microbatches = schedule != nullptr ? schedule->microbatches(layout.shape) : layout.shape.microbatches;
  layout.aligned = stages_lie_alike(space_, candidate);
  if (layout.compute_only && schedule != nullptr) layout.alone = &passes_alone(plan, *schedule, layout.shape);
  layout.power = power_;
  layout.power.costs.tensor *= work::most_of(spread_, static_cast<std::size_t>(plan.world()));
  const GroupPlaces& places = places_of(candidate, plan, layout.aligned);
  layout.profile = &profile_of(candidate, layout.aligned ? &places : nullptr);
  if (!layout.aligned) {
    layout.farthest = &profile_of(candidate, &places);
    layout.farthest_stage = places.stage;
  }

  const std::vector<std::int64_t> counts = schedule != nullptr
                                               ? work::layers_by_position(layout.setup.model, plan, layout.shape, schedule)
                                               : std::vector<std::int64_t>{layout.setup.model.layers};
  std::int64_t layer = 0;
  for (const std::int64_t count : counts) {
    layout.positions.push_back({.first = layer, .last = layer + count, .stages = {}});
    layer += count;
  }
  layout.stages.resize(static_cast<std::size_t>(plan.pipeline));
  for (int s = 0; s < plan.pipeline; ++s) {
    const int chunks = schedule != nullptr ? schedule->chunks(layout.shape) : 1;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const auto q = static_cast<std::size_t>(schedule != nullptr ? schedule->place(layout.shape, s, chunk).position : 0);
      layout.stages[static_cast<std::size_t>(s)].positions.push_back(q);
      layout.positions[q].stages.push_back(s);
    }
  }
  add_synchronisation(candidate, layout);
  return layout;
}

// Gradients, parameters and the optimizer, by stage.
void PlanBounds::add_synchronisation(const PlanCandidate& candidate, Layout& layout) {
  const work::ParallelPlan& plan = layout.setup.plan;
  const work::PrecisionPlan& precision = layout.setup.precision;
  const std::vector<Rank> dense_group = data_ranks(plan, false);
  const std::vector<Rank> expert_group = data_ranks(plan, true);
  const bool shards = plan.zero > 0;
  const double moved = work::optimizer_bytes(precision, layout.setup.optimizer);
  layout.tail_seconds = std::numeric_limits<double>::infinity();
  for (Stage& stage : layout.stages) {
    work::StageParameters held;
    double by_group[2] = {0, 0};  // dense, experts
    double by_way[2] = {0, 0};    // of the nodes' NICs, gathers and reductions
    for (const std::size_t q : stage.positions) {
      const Position& at = layout.positions[q];
      const work::StageParameters own =
          work::stage_parameters(layout.setup.model, plan, at.first, at.last, q == 0, q + 1 == layout.positions.size());
      held.dense += own.dense;
      held.experts += own.experts;
      if (!layout.is_fsdp || !layout.aligned) continue;
      const ShardCalls& calls = shard_calls_of(candidate);
      for (std::int64_t layer = at.first; layer < at.last; ++layer) {
        for (const ShardCall& call : calls[static_cast<std::size_t>(layer)]) {
          const PassProfile::Cost& cost = shard_cost(plan, call);
          const bool gathers = call.kind == coll::Collective::kAllGather;
          (gathers ? stage.gathers : stage.reductions).add(cost, layout.microbatches);
          by_group[call.experts ? 1 : 0] += cost.seconds * layout.microbatches;
          const auto bytes = static_cast<double>(call.bytes.count());
          by_way[gathers ? 0 : 1] +=
              fabric_seconds(plan, call.experts ? expert_group : dense_group, bytes) * layout.microbatches;
        }
      }
    }
    const double fabric = unicast_ ? by_way[0] + by_way[1] : std::max(by_way[0], by_way[1]);
    stage.shard_alone = std::max({stage.gathers.seconds, stage.reductions.seconds, by_group[0], by_group[1]});
    stage.shard_seconds = std::max(stage.shard_alone, fabric);
    const double dense = static_cast<double>(held.dense) / (shards ? static_cast<double>(dense_group.size()) : 1);
    const double experts = static_cast<double>(held.experts) / (shards ? static_cast<double>(expert_group.size()) : 1);
    layout.tail_seconds = std::min(layout.tail_seconds, moved * (dense + experts) / times_.gpu().hbm_bytes_per_second);
    if (layout.is_fsdp || !layout.aligned) continue;
    // Reductions and gathers, or an all-reduce, which is both.
    const double width = work::bytes_per_element(precision.gradients) +
                         work::bytes_per_element(shards ? precision.parameters : precision.gradients);
    const auto in = [&](const std::vector<Rank>& ranks, std::int64_t elements) {
      return wire_seconds(plan, ranks, static_cast<double>(elements) * width);
    };
    stage.sync_seconds = std::max(in(dense_group, held.dense), in(expert_group, held.experts));
  }
}

// Time of the stage's passes between two instants: behind the last first microbatch's forward, and before the first last
// microbatch's backward. All gathers are before the one's end, all reductions behind the other's begin.
double PlanBounds::between_synchronisation(Layout& layout, int stage, const std::vector<PassPair>& passes) const {
  const auto time = [&](const Pass& pass) { return total(pass, layout.compute_only); };
  Stage& at = layout.stages[static_cast<std::size_t>(stage)];
  if (layout.schedule == nullptr) {
    return std::max(0.0, layout.microbatches - 2) * (time(passes[0].forward) + time(passes[0].backward));
  }
  if (!layout.drains) return 0;
  if (at.between.empty()) {
    at.between.resize(at.positions.size());
    const std::vector<work::PipelineOp> order = layout.schedule->order(layout.shape, stage);
    const auto last = static_cast<int>(layout.microbatches) - 1;
    std::size_t begin = 0;
    std::size_t end = order.size();
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i].pass == work::PipelinePass::kForward && order[i].microbatch == 0) begin = i + 1;
      if (order[i].pass == work::PipelinePass::kBackward && order[i].microbatch == last) end = std::min(end, i);
    }
    for (std::size_t i = begin; i < end; ++i) {
      at.between[static_cast<std::size_t>(order[i].chunk)].count(order[i].pass);
    }
  }
  double seconds = 0;
  for (std::size_t c = 0; c < at.between.size(); ++c) {
    const PassPair& pair = passes[at.positions[c]];
    seconds += at.between[c].forwards * time(pair.forward) + at.between[c].backwards * time(pair.backward);
  }
  return seconds;
}

// Seconds that kernels lose beside so many seconds of messages, if these run beside the kernels that mind least.
double PlanBounds::slowed_beside(const Pass& kernels, double messages, int ctas) const {
  if (ctas <= 0 || messages <= 0) return 0;
  std::array<std::pair<double, double>, 3> kinds;  // factor, seconds alone
  kinds[0] = {slowdown_beside(contention_, work::KernelClass::kAttention, ctas), kernels.attention};
  kinds[1] = {slowdown_beside(contention_, work::KernelClass::kMemory, ctas), kernels.memory};
  kinds[2] = {slowdown_beside(contention_, work::KernelClass::kGemm, ctas),
              std::max(0.0, kernels.compute - kernels.attention - kernels.memory)};
  std::ranges::sort(kinds);
  double left = messages;
  double lost = 0;
  for (const auto& [factor, alone] : kinds) {
    const double beside = std::min(left, alone * factor);
    lost += beside * (1 - 1 / factor);
    left -= beside;
  }
  return lost;
}

// The same of FSDP's two streams, whose calls each may begin beside a GEMM that drains, and wait while kernels do. They cost
// least where both run beside the same kernels, and the shorter one at least what it adds there.
double PlanBounds::slowed_by_shards(const Stage& stage, const Pass& kernels, double waits) const {
  const bool gathers_longer = stage.gathers.seconds >= stage.reductions.seconds;
  const Stream& longer = gathers_longer ? stage.gathers : stage.reductions;
  const Stream& shorter = gathers_longer ? stage.reductions : stage.gathers;
  const auto beside = [&](const Stream& stream) {
    return std::max(0.0, stream.seconds - waits - stream.calls * contention_.gemm_drain.seconds());
  };
  double added = 1;
  for (const double factor : {contention_.gemm, contention_.attention, contention_.memory}) {
    const auto share = [&](int ctas) { return 1 - 1 / (1 + (factor - 1) * ctas / work::kContentionCtas); };
    added = std::min(added, share(longer.ctas + shorter.ctas) - share(longer.ctas));
  }
  return slowed_beside(kernels, beside(longer), longer.ctas) + beside(shorter) * added;
}

// The least by which kernels are slowed beside the longer of the two.
double PlanBounds::slowed_plainly(const Stage& stage, double waits) const {
  const int a = stage.gathers.ctas;
  const int b = stage.reductions.ctas;
  const int ctas = a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
  const double factor =
      1 + (std::min({contention_.gemm, contention_.attention, contention_.memory}) - 1) * ctas / work::kContentionCtas;
  return std::max(0.0, stage.shard_alone - waits) * (1 - 1 / factor);
}

double PlanBounds::seconds_at(Layout& layout, double assumed_seconds, bool plain) {
  std::vector<int> clocks;
  for (const Stage& stage : layout.stages) {
    const double cold = assumed_seconds * kColdStep;
    clocks.push_back(static_cast<int>((work::least_slowdown(layout.power, stage.tensor / cold) - 1) * kClockSteps + 1e-9));
  }
  const auto pass_at = [&](Profile& profile, std::size_t q, int clock) {
    const Position& at = layout.positions[q];
    const Sums& sums = sums_at(profile, clock, layout.contends);
    const PassPair& from = sums.before[static_cast<std::size_t>(at.first)];
    const PassPair& to = sums.before[static_cast<std::size_t>(at.last)];
    PassPair pass{.forward = minus(to.forward, from.forward), .backward = minus(to.backward, from.backward)};
    if (q == 0) {
      add(pass, sums.embedding);
    } else {
      pass.forward.entry -= sums.entries[static_cast<std::size_t>(at.first)].forward.entry;
    }
    if (q + 1 == layout.positions.size()) {
      add(pass, sums.head);
    } else {
      pass.backward.entry -= sums.entries[static_cast<std::size_t>(at.last - 1)].backward.entry;
    }
    return pass;
  };
  std::vector<PassPair> passes;
  for (std::size_t q = 0; q < layout.positions.size(); ++q) {
    const Position& at = layout.positions[q];
    int clock = clocks[static_cast<std::size_t>(at.stages.front())];
    for (const int stage : at.stages) clock = std::min(clock, clocks[static_cast<std::size_t>(stage)]);
    passes.push_back(pass_at(*layout.profile, q, clock));
  }
  double bound = 0;
  for (std::size_t s = 0; s < layout.stages.size(); ++s) {
    const Stage& stage = layout.stages[s];
    const std::size_t first = *std::ranges::min_element(stage.positions);
    double work = 0;
    Pass all;
    double together = layout.microbatches;  // of each chunk, beside other passes
    for (std::size_t chunk = 0; chunk < stage.positions.size(); ++chunk) {
      const std::size_t q = stage.positions[chunk];
      PassPair pass = passes[q];
      if (static_cast<int>(s) == layout.farthest_stage) pass = pass_at(*layout.farthest, q, clocks[s]);
      add(all, pass.forward);
      add(all, pass.backward);
      work += layout.microbatches * (total(pass.forward, layout.compute_only) + total(pass.backward, layout.compute_only));
      if (layout.alone == nullptr) continue;
      const ChunkPasses& alone = (*layout.alone)[s][chunk];
      work += alone.forwards * waits_of(pass.forward) + alone.backwards * waits_of(pass.backward);
      together = std::min(together, layout.microbatches - std::max(alone.forwards, alone.backwards));
    }
    if (layout.compute_only) work += std::max(together, 0.0) * slowed_beside(all, all.experts, all.expert_ctas);
    double fill = 0;
    for (std::size_t q = 0; q < first; ++q) {
      fill += total(passes[q].forward, layout.compute_only);
      if (layout.drains) fill += total(passes[q].backward, layout.compute_only);
    }
    if (stage.shard_seconds > 0) {
      const double waits = layout.microbatches * (total(all, false) - all.compute);
      Pass kernels = all;
      for (double* seconds : {&kernels.attention, &kernels.memory, &kernels.compute}) *seconds *= layout.microbatches;
      double slowed = slowed_plainly(stage, waits);
      if (!plain) slowed = std::max(slowed, slowed_by_shards(stage, kernels, waits));
      bound = std::max({bound, plain ? stage.shard_alone : stage.shard_seconds, work + std::max(fill, slowed)});
      continue;
    }
    bound = std::max(bound, work + fill);
    if (stage.sync_seconds > 0.01 * bound) {
      bound = std::max(bound, stage.sync_seconds + between_synchronisation(layout, static_cast<int>(s), passes));
    }
  }
  return bound + layout.tail_seconds;
}

double PlanBounds::estimate(const PlanCandidate& candidate, double plain_seconds) {
  const work::ParallelPlan& plan = candidate.plan;
  // These factors stand for what bounds leave out: most of FSDP's contention, collectives that passes in parts leave exposed,
  // messages between stages.
  if (plan.data_parallelism == DataParallelism::kFsdp) return plain_seconds * 1.2;
  if (plan.overlap_expert) return plain_seconds * 1.15;
  if (plan.schedule.starts_with("zb")) return plain_seconds * 1.08;
  return plain_seconds * (plan.pipeline > 1 ? 1.04 : 1.02);
}

PlanTimes PlanBounds::times(const PlanCandidate& candidate) {
  Layout layout = layout_of(candidate);
  const Sums& full = sums_at(*layout.profile, 0, layout.contends);
  for (Stage& stage : layout.stages) {
    for (const std::size_t q : stage.positions) {
      const Position& at = layout.positions[q];
      PassPair own = {.forward = minus(full.before[static_cast<std::size_t>(at.last)].forward,
                                       full.before[static_cast<std::size_t>(at.first)].forward),
                      .backward = minus(full.before[static_cast<std::size_t>(at.last)].backward,
                                        full.before[static_cast<std::size_t>(at.first)].backward)};
      if (q == 0) add(own, full.embedding);
      if (q + 1 == layout.positions.size()) add(own, full.head);
      stage.tensor += layout.microbatches * (own.forward.tensor + own.backward.tensor);
    }
  }
  PlanTimes times{.plain = fixed_point(layout, true)};
  const bool shares = std::ranges::any_of(layout.stages, [](const Stage& stage) { return stage.shard_seconds > 0; });
  times.bound = shares ? std::max(times.plain, fixed_point(layout, false)) : times.plain;
  return times;
}

// A step shorter than T would have a load, and so a clock, that make it longer than T, where the bound at T is above T.
double PlanBounds::fixed_point(Layout& layout, bool plain) {
  double low = seconds_at(layout, std::numeric_limits<double>::infinity(), plain);
  double high = seconds_at(layout, low, plain);
  for (int i = 0; i < 12 && high > low * 1.002; ++i) {
    const double middle = (low + high) / 2;
    (seconds_at(layout, middle, plain) >= middle ? low : high) = middle;
  }
  return low;
}

}  // namespace weft::plan
