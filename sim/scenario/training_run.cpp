#include "sim/scenario/training_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/error.h"
#include "sim/scenario/cluster_gpu.h"
#include "sim/scenario/recompute_as_needed.h"
#include "sim/scenario/step_program.h"
#include "sim/workloads/model/flops.h"
#include "sim/workloads/training/stage_model.h"

namespace weft::scenario {
namespace {

// Ideas that would make the step fit, those that cost least first.
std::string remedies(const work::TrainingSetup& setup) {
  std::string text;
  const auto add = [&](std::string_view idea) { text += fmt::format("{}{}", text.empty() ? "" : ", ", idea); };
  if (setup.plan.recompute == work::Recompute::kNone) add("recompute: selective");
  if (setup.plan.recompute != work::Recompute::kFull || setup.plan.recompute_layers > 0) {
    add("recompute: as_needed (the fewest layers that fit)");
  }
  if (setup.batch.micro > 1) add("a smaller batch.micro");
  if (setup.plan.tensor > 1 && !setup.plan.sequence_parallel) add("sequence_parallel: true");
  if (setup.plan.zero == 0 && setup.plan.data > 1) add("zero: 1");
  if (setup.plan.zero == 1 && setup.plan.data > 1) add("zero: 3");
  add("more tensor or pipeline parallelism");
  return text;
}

std::string gigabytes(double bytes) { return fmt::format("{:.1f} GB", bytes / 1e9); }

void add_weighted(work::RankTimes& sum, const work::RankTimes& times, std::int64_t weight) {
  sum.compute += weight * times.compute;
  for (std::size_t c = 0; c < work::kCategories; ++c) {
    sum.busy[c] += weight * times.busy[c];
    sum.exposed[c] += weight * times.exposed[c];
  }
  sum.tensor += weight * times.tensor;
  sum.tensor_beside += weight * times.tensor_beside;
  sum.skew += weight * times.skew;
  sum.bubble += weight * times.bubble;
  sum.idle += weight * times.idle;
}

void divide(work::RankTimes& sum, std::int64_t by) {
  const auto part = [&](Duration& duration) { duration = Duration::from_ps(duration.ps() / by); };
  part(sum.compute);
  std::ranges::for_each(sum.busy, part);
  std::ranges::for_each(sum.exposed, part);
  part(sum.tensor);
  part(sum.tensor_beside);
  part(sum.skew);
  part(sum.bubble);
  part(sum.idle);
}

void report_ranks(const work::Program& program, TrainingResult& result) {
  std::vector<std::int64_t> followers(program.ranks.size(), 0);
  for (const work::ProgramRank& rank : program.ranks) ++followers[static_cast<std::size_t>(rank.leader)];
  for (const work::RankResult& rank : result.run.replay.ranks) {
    const std::int64_t stands_for = followers[static_cast<std::size_t>(rank.rank)];
    result.ranks.push_back({rank.rank, stands_for, rank.last, static_cast<double>(rank.peak_bytes)});
    add_weighted(result.mean, rank.last, stands_for);
    if (static_cast<double>(rank.peak_bytes) <= result.memory.total()) continue;
    const work::ResidentBytes& resident = program.program_of(rank.rank).resident;
    const work::MemoryUse use = work::memory_in_order(program.program_of(rank.rank));
    const double capacity = result.memory.capacity;
    result.memory = {.rank = rank.rank,
                     .parameters = static_cast<double>(resident.parameters),
                     .gradients = static_cast<double>(resident.gradients + use.gradients),
                     .optimizer = static_cast<double>(resident.optimizer),
                     .activations = static_cast<double>(rank.peak_bytes - resident.total() - use.gradients),
                     .reserved = static_cast<double>(use.reserved),
                     .capacity = capacity};
  }
  divide(result.mean, static_cast<std::int64_t>(program.ranks.size()));
}

}  // namespace

bool MemoryParts::fits() const { return total() + kReservedBytes <= capacity; }

void check_memory(const Scenario& scenario, const work::TrainingSetup& setup, TrainingResult& result) {
  const MemoryParts& memory = result.memory;
  if (result.run.replay.iterations.empty() || memory.fits()) return;
  const std::string needs = fmt::format(
      "{}rank {} needs {} (parameters {}, gradients {}, optimizer {}, activations {}) and {} for context and buffers, and {} "
      "has "
      "{}",
      setup.plan.recompute_as_needed ? "with every layer recomputed, " : "", memory.rank, gigabytes(memory.total()),
      gigabytes(memory.parameters), gigabytes(memory.gradients), gigabytes(memory.optimizer), gigabytes(memory.activations),
      gigabytes(kReservedBytes), cluster_gpu(scenario.cluster.topology, "a training step").name, gigabytes(memory.capacity));
  if (scenario.simulation.must_fit) {
    throw ConfigError(fmt::format("out of memory: {}\n  note: what would help: {}", needs, remedies(setup)));
  }
  result.notes.push_back(fmt::format("this step does not fit, and is timed as if it did (simulation.must_fit): {}", needs));
}

TrainingResult training_figures(const work::TrainingSetup& setup, const net::Cluster& cluster, const work::Program& program,
                                ProgramRunResult run) {
  const work::GpuSpec& gpu = cluster_gpu(cluster.topology, "a training step");
  TrainingResult result;
  result.run = std::move(run);
  result.gpus = static_cast<std::int64_t>(program.ranks.size());
  result.leaders = result.run.replay.ranks.size();
  if (result.run.replay.iterations.empty()) return result;

  result.memory.capacity = gpu_memory(cluster.topology, gpu);
  report_ranks(program, result);

  result.iteration = result.run.replay.iterations.back();
  const double seconds = result.iteration.seconds();
  const double tokens = static_cast<double>(setup.batch.global) * static_cast<double>(setup.batch.sequence);
  const auto sequence = static_cast<double>(setup.batch.sequence);
  const double computed = setup.expert_load.computed_share();
  const double flops = work::model_flops(setup.model, tokens, sequence, setup.convention, computed);
  const double again =
      work::hardware_flops(setup.model, tokens, sequence, setup.convention, setup.plan.recompute, computed) - flops;
  const double executed = flops + again * work::recomputed_share(setup) - work::flops_saved_by_lora(setup, tokens);
  const double peak = work::peak(gpu, setup.precision.compute) * static_cast<double>(result.gpus);
  result.tokens_per_second = tokens / seconds;
  result.model_tflops_per_gpu = flops / seconds / static_cast<double>(result.gpus) / 1e12;
  result.mfu = flops / seconds / peak;
  result.hfu = executed / seconds / peak;
  result.convention = work::to_string(setup.convention);
  result.peak_name = fmt::format("{} dense, {:.0f} TFLOP/s", work::to_string(work::runs_as(gpu, setup.precision.compute)),
                                 work::peak(gpu, setup.precision.compute) / 1e12);
  result.bubble_share = result.mean.bubble.seconds() / seconds;
  for (const work::CriticalStep& step : result.run.replay.critical) {
    const work::RankProgram& of = program.program_of(step.rank);
    result.critical[static_cast<std::size_t>(of.operations[step.op].category)] += step.end - step.start;
  }
  return result;
}

namespace {

// No GPU computes faster than its peak: whoever gave the times gave too short ones.
void note_impossible_rate(const work::TrainingSetup& setup, const TrainingResult& result, std::vector<std::string>& notes) {
  if (std::max(result.mfu, result.hfu) <= 1) return;
  notes.push_back(fmt::format("this step computes more than the GPUs' peak allows, {:.0f} % of it: {}",
                              100 * std::max(result.mfu, result.hfu),
                              setup.stage_times ? "stage_times are too short for this model, batch and precision"
                                                : "the profile's rates, or the convention of FLOPs, are not these GPUs'"));
}

void note_dropped_tokens(const work::TrainingSetup& setup, std::vector<std::string>& notes) {
  const work::ExpertLoad& load = setup.expert_load;
  if (load.capacity_factor <= 0 || load.pads_to_capacity || load.power_law <= 0) return;
  const double kept = work::drawn_expert_load(setup, work::RankShapes{setup}.norm_tokens).kept;
  notes.push_back(fmt::format("experts drop {:.1f} % of the tokens' copies, those above their capacity", 100 * (1 - kept)));
}

// Operations may overlap otherwise than in the order of issue: where the step does not fit, one layer more.
TrainingResult run_as_needed(const Scenario& scenario, const work::TrainingSetup& setup, RunObserver* observer,
                             work::ReplayObserver* operations, std::shared_ptr<work::GroupRuns> group_runs) {
  const std::int64_t most = work::most_layers_of_a_chunk(setup);
  std::int64_t layers = fewest_recomputed_layers(scenario, setup);
  const auto run = [&](work::ReplayObserver* hears) {
    return run_training(scenario, recomputing(setup, layers), observer, hears, group_runs);
  };
  TrainingResult result = run(nullptr);
  while (!result.run.interrupted && !result.memory.fits() && layers < most) {
    ++layers;
    result = run(nullptr);
  }
  if (operations != nullptr && !result.run.interrupted) result = run(operations);
  result.recomputed_layers = layers;
  return result;
}

}  // namespace

TrainingResult run_training(const Scenario& scenario, RunObserver* observer, work::ReplayObserver* operations) {
  return run_training(scenario, *scenario.workload.training, observer, operations);
}

TrainingResult run_training(const Scenario& scenario, const work::TrainingSetup& setup, RunObserver* observer,
                            work::ReplayObserver* operations, std::shared_ptr<work::GroupRuns> group_runs) {
  if (setup.plan.recompute_as_needed) return run_as_needed(scenario, setup, observer, operations, std::move(group_runs));
  const net::Cluster& cluster = scenario.cluster;
  std::vector<std::string> notes;
  const work::Program program = step_program(scenario, setup, notes);
  if (setup.checkpoint && scenario.simulation.iterations % setup.checkpoint->every != 0) {
    notes.push_back(fmt::format("of {} iterations the last one, whose figures these are, takes no checkpoint: every {}",
                                scenario.simulation.iterations, setup.checkpoint->every));
  }
  ProgramRunOptions options;
  options.simulation = scenario.simulation;
  if (operations != nullptr) options.simulation.skip = false;  // who hears of operations hears of all of them
  options.iterations = scenario.simulation.iterations;
  options.jitter = scenario.workload.jitter;
  options.storage = setup.storage;
  options.nccl = scenario.nccl;
  options.group_runs = std::move(group_runs);
  TrainingResult result =
      training_figures(setup, cluster, program, run_program(cluster, program, options, observer, operations));
  note_impossible_rate(setup, result, notes);
  note_dropped_tokens(setup, notes);
  result.notes = std::move(notes);
  return result;
}

std::shared_ptr<work::GroupRuns> shared_runs(const Scenario& scenario) {
  return std::make_shared<work::GroupRuns>(scenario.cluster.topology, scenario.cluster.routing, scenario.simulation.seed,
                                           scenario.cluster.profile, scenario.simulation.grain, scenario.nccl);
}

}  // namespace weft::scenario
