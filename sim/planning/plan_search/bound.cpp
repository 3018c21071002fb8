#include "sim/planning/plan_search/bound.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <set>

#include "sim/core/error.h"
#include "sim/planning/cluster_gpu.h"
#include "sim/workloads/model/memory.h"
#include "sim/workloads/parallel/pipeline_schedule.h"
#include "sim/workloads/training/stage_model.h"

namespace weft::plan {
namespace {

// The first of them, the one that is bounded, and the last one, which reduces gradients.
constexpr std::int64_t kProfiled = 3;
// A step at full clock takes at most so much longer than the slowed one that is reported (its first iteration gathers
// parameters with nothing beside).
constexpr double kColdStep = 1.05;

std::unique_ptr<work::PipelineSchedule> schedule_of(const work::ParallelPlan& plan) {
  return plan.pipeline == 1 ? nullptr : work::make_pipeline_schedule(plan.schedule);
}

double out_rate(const net::Topology& topology, DeviceId device) {
  double bytes_per_second = 0;
  for (const LinkId link : topology.out_links(device)) bytes_per_second += topology.spec(link).capacity() * 1e12;
  return bytes_per_second;
}

// Bytes a second that leave the first host for the fabric.
double host_rate(const net::Topology& topology) {
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

void lower(double& value, double other) { value = std::min(value, other); }

}  // namespace

PlanBounds::PlanBounds(const PlanSpace& space, const net::Cluster& cluster)
    : space_{space},
      cluster_{cluster},
      times_{cluster_gpu(cluster.topology, "a plan"), cluster.profile},
      clock_{cluster.profile.get(work::clock_rule)},
      capacity_{gpu_memory(cluster.topology, times_.gpu())},
      gpu_rate_{out_rate(cluster.topology, cluster.topology.endpoints().front())},
      node_rate_{host_rate(cluster.topology)} {}

double PlanBounds::collective_seconds(const work::Program& program, const work::Operation& op) const {
  if (op.kind != work::OpKind::kCollective) return 0;
  switch (op.collective) {
    case coll::Collective::kAllReduce:
    case coll::Collective::kAllGather:
    case coll::Collective::kReduceScatter:
    case coll::Collective::kAllToAll:
      break;
    default:
      return 0;
  }
  const work::Group& group = program.groups[program.ranks.front().groups[op.slot]];
  const auto n = static_cast<double>(group.ranks.size());
  std::map<std::int32_t, double> members;
  for (const Rank rank : group.ranks) {
    members[cluster_.topology.host_of(program.devices[static_cast<std::size_t>(rank)])] += 1;
  }
  const auto bytes = static_cast<double>(op.bytes.count());
  double seconds = bytes * (n - 1) / n / gpu_rate_;
  if (members.size() < 2 || node_rate_ <= 0) return seconds;
  for (const auto& [host, here] : members) {
    // What the others have must come in once, or of an all-to-all: what each sends to the others must leave.
    const double crosses = bytes * (n - here) / n * (op.collective == coll::Collective::kAllToAll ? here : 1);
    seconds = std::max(seconds, crosses / node_rate_);
  }
  return seconds;
}

PlanBounds::Profile PlanBounds::make_profile(const PlanCandidate& candidate) const {
  work::TrainingSetup setup = setup_of(space_, candidate);
  work::ParallelPlan& plan = setup.plan;
  plan.data *= plan.pipeline;
  plan.pipeline = 1;
  plan.virtual_stages = 1;
  plan.schedule = "1f1b";
  plan.first_stage_layers = -1;
  plan.last_stage_layers = -1;
  plan.data_parallelism = work::DataParallelism::kMegatron;
  plan.zero = 0;
  const bool runs_together = plan.overlap_expert;
  plan.overlap_expert = false;
  setup.batch.global = setup.batch.micro * plan.data * kProfiled;
  const work::Program program = work::training_program(setup, times_, cluster_.topology, true);
  const work::RankProgram& rank = program.programs.front();

  const std::int64_t layers = setup.model.layers;
  std::vector<Profile> by_microbatch(kProfiled);
  for (Profile& profile : by_microbatch) profile.layers.resize(static_cast<std::size_t>(layers));
  std::vector<bool> in_backward(kProfiled, false);
  std::vector<bool> has_begun(kProfiled, false);
  work::OpIndex last = work::kNoOp;
  for (work::OpIndex i = 0; i < rank.operations.size(); ++i) {
    const work::Operation& op = rank.operations[i];
    if (op.stream != 0) continue;
    const work::OpIndex before = last;
    last = i;
    if (op.microbatch < 0 || op.microbatch >= kProfiled) continue;
    const auto mb = static_cast<std::size_t>(op.microbatch);
    Pass pass{.seconds = op.duration.seconds(), .tensor = 0};
    if (op.category == work::Category::kGemm || op.category == work::Category::kAttention) pass.tensor = pass.seconds;
    if (!runs_together && before != work::kNoOp) {
      double waited = 0;
      for (const work::OpIndex wait : rank.waits_of(op)) {
        const work::Operation& other = rank.operations[wait];
        const auto others = rank.waits_of(other);
        if (std::ranges::find(others, before) != others.end()) waited = std::max(waited, collective_seconds(program, other));
      }
      pass.seconds += waited;
    }
    Profile& profile = by_microbatch[mb];
    Piece* piece = nullptr;
    if (op.layer >= 0) {
      has_begun[mb] = true;
      piece = &profile.layers[static_cast<std::size_t>(op.layer)];
    } else {
      // Embedding, layers, head and its gradients, layers, embedding.
      const bool at_head =
          has_begun[mb] && profile.layers.back().forward.seconds > 0 && profile.layers.front().backward.seconds == 0;
      if (at_head) in_backward[mb] = true;
      piece = at_head ? &profile.head : &profile.embedding;
    }
    Pass& sum = in_backward[mb] ? piece->backward : piece->forward;
    sum.seconds += pass.seconds;
    sum.tensor += pass.tensor;
  }
  // First and last microbatches do a little more or less: the least counts.
  Profile least = by_microbatch.front();
  const auto take = [](Piece& into, const Piece& from) {
    lower(into.forward.seconds, from.forward.seconds);
    lower(into.forward.tensor, from.forward.tensor);
    lower(into.backward.seconds, from.backward.seconds);
    lower(into.backward.tensor, from.backward.tensor);
  };
  for (const Profile& profile : by_microbatch) {
    for (std::size_t i = 0; i < least.layers.size(); ++i) take(least.layers[i], profile.layers[i]);
    take(least.embedding, profile.embedding);
    take(least.head, profile.head);
  }
  return least;
}

const PlanBounds::Profile& PlanBounds::profile_of(const PlanCandidate& candidate) {
  const work::ParallelPlan& plan = candidate.plan;
  const Key key{plan.tensor,        plan.context,
                plan.expert,        plan.expert_tensor_size(),
                candidate.micro,    static_cast<int>(plan.recompute),
                plan.overlap_expert};
  const auto known = profiles_.find(key);
  if (known != profiles_.end()) return known->second;
  return profiles_.emplace(key, make_profile(candidate)).first->second;
}

double PlanBounds::seconds(const PlanCandidate& candidate) {
  const Profile& profile = profile_of(candidate);
  const work::TrainingSetup setup = setup_of(space_, candidate);
  const auto schedule = schedule_of(setup.plan);
  const work::PipelineShape shape = work::pipeline_shape(setup.plan, setup.batch);
  const std::vector<std::int64_t> counts = schedule ? work::layers_by_position(setup.model, setup.plan, shape, schedule.get())
                                                    : std::vector<std::int64_t>{setup.model.layers};
  std::vector<Piece> positions(counts.size());
  const auto add = [](Piece& into, const Piece& from) {
    into.forward.seconds += from.forward.seconds;
    into.forward.tensor += from.forward.tensor;
    into.backward.seconds += from.backward.seconds;
    into.backward.tensor += from.backward.tensor;
  };
  std::size_t layer = 0;
  for (std::size_t q = 0; q < counts.size(); ++q) {
    for (std::int64_t i = 0; i < counts[q]; ++i) add(positions[q], profile.layers[layer++]);
  }
  add(positions.front(), profile.embedding);
  add(positions.back(), profile.head);

  const bool drains = !schedule || !schedule->splits_backward();
  const double microbatches = schedule ? schedule->microbatches(shape) : shape.microbatches;
  double bound = 0;
  for (int stage = 0; stage < setup.plan.pipeline; ++stage) {
    const int chunks = schedule ? schedule->chunks(shape) : 1;
    std::size_t first = positions.size();
    double work_seconds = 0;
    double tensor = 0;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const auto q = static_cast<std::size_t>(schedule ? schedule->place(shape, stage, chunk).position : 0);
      first = std::min(first, q);
      work_seconds += microbatches * (positions[q].forward.seconds + positions[q].backward.seconds);
      tensor += microbatches * (positions[q].forward.tensor + positions[q].backward.tensor);
    }
    for (std::size_t q = 0; q < first; ++q) {
      work_seconds += positions[q].forward.seconds + (drains ? positions[q].backward.seconds : 0);
    }
    // The least T that is long enough for the clock that a load of tensor / T leaves.
    double low = work_seconds;
    double high = work_seconds + tensor * (clock_.limit - 1);
    for (int i = 0; i < 30; ++i) {
      const double middle = (low + high) / 2;
      const double slower =
          work::clock_slowdown(clock_, {.compute_share = tensor / (middle * kColdStep), .overlap_share = 0}).compute;
      (work_seconds + tensor * (slower - 1) > middle ? low : high) = middle;
    }
    bound = std::max(bound, low);
  }
  return bound;
}

const std::vector<double>& PlanBounds::live_chunks(const work::TrainingSetup& setup) {
  const work::ParallelPlan& plan = setup.plan;
  work::PipelineShape shape = work::pipeline_shape(plan, setup.batch);
  // What is under way at once does not grow beyond a few rounds of the pipeline.
  const int rounds = 4 * plan.pipeline;
  if (shape.microbatches > rounds) shape.microbatches = rounds;
  LiveKey key{plan.schedule, plan.pipeline, plan.virtual_stages, shape.microbatches, plan.overlap_expert};
  const auto known = live_.find(key);
  if (known != live_.end()) return known->second;
  const auto schedule = schedule_of(plan);
  std::vector<double> live(static_cast<std::size_t>(plan.pipeline), 1);
  for (int stage = 0; schedule && schedule->refusal(shape).empty() && stage < plan.pipeline; ++stage) {
    std::int64_t now = 0;
    std::int64_t most = 0;
    for (const work::PipelineOp& op : schedule->order(shape, stage)) {
      if (op.pass == work::PipelinePass::kForward) most = std::max(most, ++now);
      if (op.pass == work::PipelinePass::kBackward || op.pass == work::PipelinePass::kBackwardWeight) --now;
    }
    live[static_cast<std::size_t>(stage)] = static_cast<double>(most);
  }
  return live_.emplace(std::move(key), std::move(live)).first->second;
}

double PlanBounds::memory_bytes(const PlanCandidate& candidate) {
  const work::TrainingSetup setup = setup_of(space_, candidate);
  const auto schedule = schedule_of(setup.plan);
  const std::vector<double>& live = live_chunks(setup);
  double most = 0;
  for (int stage = 0; stage < setup.plan.pipeline; ++stage) {
    const work::StageModel model = work::stage_model(setup, schedule.get(), stage);
    work::StageParameters held;
    double chunk_least = std::numeric_limits<double>::infinity();
    for (const work::StageChunk& chunk : model.chunks) {
      const work::StageParameters one =
          work::stage_parameters(setup.model, setup.plan, chunk.first, chunk.last, chunk.has_embedding, chunk.has_head);
      held.dense += one.dense;
      held.experts += one.experts;
      double bytes = 0;
      for (std::int64_t layer = chunk.first; layer < chunk.last; ++layer) {
        bytes += work::activation_bytes(setup.model, layer, setup.plan, setup.batch, setup.precision);
      }
      lower(chunk_least, bytes);
    }
    const work::StateBytes states = work::state_bytes(held, held, setup.plan, setup.precision);
    // FSDP has no whole gradients; they come and go.
    const bool is_fsdp = setup.plan.data_parallelism == work::DataParallelism::kFsdp;
    const double resident = is_fsdp ? states.parameters + states.optimizer : states.total();
    most = std::max(most, resident + live[static_cast<std::size_t>(stage)] * chunk_least);
  }
  return most;
}

}  // namespace weft::plan
