#include "sim/scenario/inference_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/core/stats.h"
#include "sim/scenario/cluster_gpu.h"
#include "sim/workloads/inference/request_source.h"
#include "sim/workloads/kernels/kernel_times.h"

namespace weft::scenario {
namespace {

work::ServingMemory memory_of(const work::InferenceSetup& setup, const std::vector<work::Request>& requests, double capacity,
                              const std::string& gpu) {
  std::int64_t longest_prompt = 1;
  std::int64_t longest = 1;
  for (const work::Request& request : requests) {
    longest_prompt = std::max(longest_prompt, request.prompt);
    longest = std::max(longest, request.prompt + request.output + setup.speculation.draft_tokens);
  }
  work::ServingMemory memory;
  memory.prefill = work::engine_memory(setup, setup.plan, capacity, gpu, setup.decode ? longest_prompt : longest);
  if (setup.decode) memory.decode = work::engine_memory(setup, *setup.decode, capacity, gpu, longest);
  return memory;
}

struct ServingProgress {
  RunObserver* observer;
  const work::Serving* serving;
  std::uint64_t total;
};

void serving_progress_hook(void* context, const Simulator& simulator) {
  const ServingProgress& progress = *static_cast<const ServingProgress*>(context);
  progress.observer->on_progress(simulator, progress.serving->finished(), progress.total);
}

bool meets(const work::ServiceTargets& targets, double ttft_ns, double tpot_ns) {
  return (targets.ttft == Duration{} || ttft_ns <= targets.ttft.ns()) &&
         (targets.tpot == Duration{} || tpot_ns <= targets.tpot.ns());
}

// Counts tokens of an answer that come evenly.
double tokens_between(const work::RequestRecord& record, Time from, Time to) {
  const Time begin = std::max(from, record.first_token);
  const Time end = std::min(to, record.last_token);
  if (end < begin) return 0;
  const double whole = (record.last_token - record.first_token).seconds();
  return static_cast<double>(record.output) * (whole > 0 ? (end - begin).seconds() / whole : 1.0);
}

void report_requests(const work::Serving& serving, const work::InferenceSetup& setup, std::size_t warm_up,
                     InferenceResult& result) {
  const std::vector<work::RequestRecord>& records = serving.records();
  warm_up = std::min(warm_up, records.size());
  std::vector<double> ttft;
  std::vector<double> tpot;
  std::vector<double> e2e;
  std::vector<double> queue;
  std::vector<double> transfer;
  Time first = Time::max();
  Time last;
  std::int64_t good = 0;
  for (std::size_t i = warm_up; i < records.size(); ++i) {
    const work::RequestRecord& record = records[i];
    if (!record.is_done()) continue;
    ++result.finished;
    result.prompt_tokens += record.prompt;
    result.output_tokens += record.output;
    result.found_tokens += record.found;
    first = std::min(first, record.arrival);
    last = std::max(last, record.last_token);
    ttft.push_back((record.first_token - record.arrival).ns());
    e2e.push_back((record.last_token - record.arrival).ns());
    queue.push_back((record.started - record.arrival).ns());
    if (setup.decode) transfer.push_back(record.exposed_transfer.ns());
    double each = 0;
    if (record.output > 1) {
      each = (record.last_token - record.first_token).ns() / static_cast<double>(record.output - 1);
      tpot.push_back(each);
    }
    good += meets(setup.targets, ttft.back(), each) ? 1 : 0;
  }
  result.requests = static_cast<std::int64_t>(records.size() - warm_up);
  result.ttft = quantiles_of(ttft);
  result.tpot = quantiles_of(tpot);
  result.itl = quantiles_of(serving.token_gaps_ns());
  result.e2e = quantiles_of(e2e);
  result.queue = quantiles_of(queue);
  result.transfer = quantiles_of(transfer);
  if (result.finished == 0) return;
  auto tokens = static_cast<double>(result.output_tokens);
  if (warm_up > 0) {
    first = records[warm_up].arrival;
    last = records.back().arrival;
    tokens = 0;
    for (const work::RequestRecord& record : records) tokens += record.is_done() ? tokens_between(record, first, last) : 0;
  }
  const double seconds = std::max(1e-12, (last - first).seconds());
  result.tokens_per_second = tokens / seconds;
  result.tokens_per_second_per_gpu = result.tokens_per_second / static_cast<double>(result.gpus);
  result.requests_per_second = static_cast<double>(result.finished) / seconds;
  result.goodput = static_cast<double>(good) / seconds;
  result.within_targets = static_cast<double>(good) / static_cast<double>(result.finished);
}

}  // namespace

Quantiles quantiles_of(const std::vector<double>& values_ns) {
  if (values_ns.empty()) return {};
  std::vector<double> sorted = values_ns;
  std::ranges::sort(sorted);
  // Nearest rank, of a list that is in order.
  const auto at = [&](std::size_t percent) { return sorted[(sorted.size() * percent + 99) / 100 - 1]; };
  return {at(50), at(90), at(99), mean(sorted)};
}

std::shared_ptr<work::GroupRuns> shared_inference_runs(const Scenario& scenario) {
  return std::make_shared<work::GroupRuns>(scenario.cluster.topology, scenario.cluster.routing, scenario.simulation.seed,
                                           scenario.cluster.profile, scenario.simulation.grain, scenario.nccl,
                                           scenario.workload.inference->library.all_reduce);
}

InferenceResult run_inference(const Scenario& scenario, RunObserver* observer, const InferenceRunOptions& options) {
  if (scenario.simulation.has_packets()) {
    throw ConfigError("inference runs at flow fidelity in this version: --fidelity flow");
  }
  const work::InferenceSetup& setup = options.setup != nullptr ? *options.setup : *scenario.workload.inference;
  const net::Cluster& cluster = scenario.cluster;
  const work::GpuSpec& gpu = cluster_gpu(cluster.topology, "inference");
  const work::KernelTimes kernels{gpu, cluster.profile};
  std::vector<work::Request> requests = work::make_requests(setup.requests, scenario.simulation.seed);

  InferenceResult result;
  result.gpus = setup.gpus();
  result.caches_prefixes = setup.kv_cache.prefix_caching;
  result.memory = memory_of(setup, requests, gpu_memory(cluster.topology, gpu), std::string{gpu.name});
  work::GroupCosts costs{cluster.topology,
                         cluster.routing,
                         scenario.simulation.seed,
                         cluster.profile,
                         {.grain = scenario.simulation.grain, .nccl = scenario.nccl, .library = setup.library.all_reduce},
                         options.group_runs};
  net::Machine machine{cluster.topology,
                       cluster.routing,
                       scenario.simulation.seed,
                       scenario.simulation.shuffle_ties,
                       {},
                       costs.machine().router.host_routes()};
  work::Serving serving{machine,         setup, std::move(requests), kernels,
                        cluster.profile, costs, result.memory,       scenario.simulation.seed};
  ServingProgress progress{observer, &serving, serving.records().size()};
  if (observer != nullptr) {
    machine.simulator.set_progress_hook(serving_progress_hook, &progress, 100'000);
    observer->on_begin(machine.simulator);
  }
  if (options.serving_observer != nullptr) serving.observe(*options.serving_observer);
  serving.start();
  if (scenario.simulation.until) {
    machine.simulator.run_until(*scenario.simulation.until);
  } else {
    machine.simulator.run();
  }
  if (observer != nullptr) observer->on_end();
  result.interrupted = machine.simulator.stopped();
  if (!result.interrupted && !scenario.simulation.until) {
    serving.check_conservation();
    machine.fabric.check_conservation();
  }
  report_requests(serving, setup, static_cast<std::size_t>(options.warm_up), result);
  if (result.finished < result.requests) {
    result.notes.push_back(fmt::format("{} of {} requests did not end", result.requests - result.finished, result.requests));
  }
  const Time end = machine.simulator.now();
  result.makespan = end - Time{};
  result.engines = serving.engines(end);
  for (const work::EngineReport& engine : result.engines) {
    for (std::size_t part = 0; part < work::kStepParts; ++part) result.parts[part] += engine.parts[part];
  }
  result.cache_bytes_moved = serving.cache_bytes_moved();
  result.simulated_groups = costs.runs();
  result.hottest = hottest_links(machine, result.makespan);
  Digest digest;
  digest.add(serving.digest());
  static_cast<RunStats&>(result) = run_stats(machine, digest);
  return result;
}

}  // namespace weft::scenario
