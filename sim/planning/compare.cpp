#include "sim/planning/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/planning/error_range.h"
#include "sim/scenario/configuration_text.h"
#include "sim/scenario/scenario_layers.h"
#include "sim/scenario/stated_error.h"
#include "sim/scenario/what_if.h"

namespace weft::plan {
namespace {

// Tells the observer how many runs of all are done; a run by itself knows only its own items.
class OverallProgress final : public scenario::RunObserver {
 public:
  OverallProgress(scenario::RunObserver& observer, std::uint64_t total) : observer_{observer}, total_{total} {}
  void on_progress(const Simulator& simulator, std::uint64_t, std::uint64_t) override {
    observer_.on_progress(simulator, done_, total_);
  }
  void on_begin(Simulator& simulator) override { observer_.on_begin(simulator); }
  void on_end() override {
    ++done_;
    observer_.on_end();
  }

 private:
  scenario::RunObserver& observer_;
  std::uint64_t done_ = 0;
  std::uint64_t total_;
};

// Splits a workload into what is compared: each collective, and all flows together.
std::vector<work::Workload> parts_of(work::Workload workload) {
  std::vector<work::Workload> parts;
  if (workload.training || !workload.training_jobs.empty() || workload.inference) {
    parts.push_back(std::move(workload));
    return parts;
  }
  for (work::CollectiveItem& item : workload.collectives) {
    work::Workload part;
    part.collectives.push_back(std::move(item));
    part.collectives.front().count = 1;
    parts.push_back(std::move(part));
  }
  if (!workload.flows.empty() || !workload.jobs.empty()) {
    work::Workload part;
    part.flows = std::move(workload.flows);
    part.options = std::move(workload.options);
    part.jobs = std::move(workload.jobs);
    parts.push_back(std::move(part));
  }
  return parts;
}

ComparedWorkload describe(const std::string& scenario, const work::Workload& part) {
  ComparedWorkload row;
  row.scenario = scenario;
  if (part.training || part.inference) {
    row.kind = part.training ? "training" : "inference";
  } else if (!part.training_jobs.empty()) {
    row.kind = "training_jobs";
  } else if (part.collectives.empty()) {
    row.kind = "flows";
    for (const work::FlowItem& flow : part.flows) row.bytes += flow.bytes;
  } else {
    const work::CollectiveItem& item = part.collectives.front();
    row.kind = coll::name_of(item.call);
    row.bytes = coll::sizes_of(item.call, static_cast<int>(item.devices.size())).reported;
  }
  return row;
}

ComparedRun compared_run(const scenario::Scenario& scenario, const scenario::RunResult& result, const CostedCluster& costed) {
  ComparedRun run;
  run.time = result.training ? result.training->iteration : result.makespan;
  if (result.training) {
    run.tokens_per_second = result.training->tokens_per_second;
    run.mfu = result.training->mfu;
    run.exposed = scenario::exposed_by_link(*scenario.workload.training, scenario.cluster.topology, *result.training);
    run.ranks = static_cast<int>(result.training->gpus);
  }
  if (result.inference) {
    run.tokens_per_second = result.inference->tokens_per_second;
    run.ranks = static_cast<int>(result.inference->gpus);
  }
  if (result.training) {
    Duration exposed;
    for (const Duration each : run.exposed) exposed += each;
    run.error =
        step_error(scenario.cluster, scenario.workload.training->model, std::min(1.0, exposed.seconds() / run.time.seconds()));
  } else if (!result.collectives.empty()) {
    const std::vector<DeviceId>& devices = scenario.workload.collectives.front().devices;
    std::set<std::int32_t> hosts;
    for (const DeviceId device : devices) hosts.insert(scenario.cluster.topology.host_of(device));
    run.error = collective_error(scenario.cluster, {.operation = coll::name_of(result.collectives.front().call),
                                                    .gpus = static_cast<int>(devices.size()),
                                                    .nodes = static_cast<int>(hosts.size())});
  }
  run.idle_gpus = idle_gpus(scenario);
  run.cost = cost_of_run(costed, scenario, result);
  if (!result.collectives.empty()) {
    const coll::CollectiveResult& call = result.collectives.front();
    run.busbw_gigabytes_per_second = call.bus_bandwidth_gbps();
    run.algorithm = call.choice.algorithm;
    run.protocol = call.choice.protocol;
    run.channels = call.choice.channels;
    run.ranks = call.ranks;
    run.nodes = call.nodes;
    run.exposed[static_cast<std::size_t>(call.nodes > 1 ? scenario::LinkClass::kNetwork
                                                        : scenario::node_class(scenario.cluster.topology))] = call.time;
  }
  if (!result.hottest.empty()) {
    run.busiest_link = result.hottest.front().name;
    run.busiest_utilization = result.hottest.front().utilization;
  }
  return run;
}

// Each thing a tenth better, by itself.
std::vector<SensitivityPoint> sensitivity_of(scenario::Scenario& scenario, const ComparedRun& base, double better,
                                             scenario::RunObserver* observer, Comparison& comparison) {
  std::vector<SensitivityPoint> points;
  for (const std::string_view name : scenario::what_if_names()) {
    const bool of_gpu = name == "gpu_speed" || name == "hbm_speed" || name == "launch_cost";
    if (of_gpu && !scenario.workload.training && !scenario.workload.inference) continue;
    std::optional<net::Cluster> changed = scenario::with_better(scenario.cluster, name, better);
    if (!changed) continue;
    std::swap(scenario.cluster, *changed);
    const scenario::RunResult result = scenario::run_scenario(scenario, observer);
    std::swap(scenario.cluster, *changed);
    comparison.events += result.events;
    comparison.transfers += result.transfers;
    comparison.wall_seconds += result.wall_seconds;
    comparison.interrupted = result.interrupted;
    if (result.interrupted) break;
    const Duration time = result.training ? result.training->iteration : result.makespan;
    const double before = base.time.seconds();
    points.push_back({std::string{name}, time, before > 0 ? 1 - time.seconds() / before : 0});
  }
  std::ranges::stable_sort(points, std::ranges::greater{}, &SensitivityPoint::gain);
  return points;
}

// Which GPUs a workload leaves idle: what stands beside it is of those that work.
std::string idle_note(const scenario::Scenario& scenario, const std::string& kind, std::int64_t idle, std::size_t endpoints) {
  return fmt::format("{}: {} of {}: {} of its {} GPUs are idle, and dollars and watts are of all of them",
                     scenario.cluster.name, kind, scenario.name, idle, endpoints);
}

// Loads scenario by scenario, each on every cluster, and says what the comparison is of.
std::vector<scenario::Scenario> load_all(const std::vector<std::string>& scenarios, const std::vector<std::string>& clusters,
                                         const scenario::Overrides& overrides, const CostBooks& books, Diagnostics& diagnostics,
                                         Comparison& comparison) {
  std::vector<scenario::Scenario> loaded;
  loaded.reserve(scenarios.size() * clusters.size());
  for (const std::string& scenario : scenarios) {
    for (const std::string& cluster : clusters) {
      scenario::Overrides one = overrides;
      one.sets.emplace_back("cluster", yaml_scalar(cluster));
      loaded.push_back(scenario::load_scenario(scenario, one, diagnostics));
      if (&scenario != &scenarios.front()) continue;
      const net::Cluster& made = loaded.back().cluster;
      ProfileStatement profile = scenario::profile_statement(made);
      profile.stated_error = scenario::error_of_others(made);
      comparison.clusters.push_back({.name = made.name,
                                     .file = cluster,
                                     .profile = std::move(profile),
                                     .configuration = made.resolved.to_json(),
                                     .nodes = made.topology.host_count(),
                                     .endpoints = made.topology.endpoints().size(),
                                     .costed = cost_of(made.topology, books, &made.profile)});
    }
  }
  if (!loaded.empty()) {
    comparison.seed = loaded.front().simulation.seed;
    const net::Fidelity first = loaded.front().simulation.fidelity;
    const auto differs = [&](const scenario::Scenario& scenario) { return scenario.simulation.fidelity != first; };
    comparison.fidelity = net::to_string(first);
    if (std::ranges::any_of(loaded, differs)) comparison.fidelity = "mixed";
  }
  for (std::size_t s = 0; s < scenarios.size(); ++s) {
    comparison.configuration += (s == 0 ? "[" : ", ") + scenario::run_configuration(loaded[s * clusters.size()]);
  }
  comparison.configuration += "]";
  return loaded;
}

}  // namespace

std::optional<double> ComparedWorkload::ratio(std::size_t i) const {
  if (!runs.front() || !runs[i] || runs.front()->time <= Duration{}) return std::nullopt;
  return runs[i]->time.seconds() / runs.front()->time.seconds();
}

bool ComparedWorkload::is_within_error(std::size_t i) const {
  if (!runs.front() || !runs[i]) return false;
  const std::optional<double> error = std::max(runs.front()->error, runs[i]->error);
  return error && runs.front()->error && runs[i]->error &&
         plan::is_within_error(runs.front()->time.seconds(), runs[i]->time.seconds(), *error);
}

Comparison compare(const std::vector<std::string>& scenarios, const std::vector<std::string>& clusters,
                   const scenario::Overrides& overrides, const CompareSettings& settings, Diagnostics& diagnostics,
                   scenario::RunObserver* observer) {
  if (std::ranges::any_of(scenario::changes_of(overrides.sets), scenario::names_cluster)) {
    throw ConfigError("--set cluster=...: the clusters of a comparison are those of --clusters");
  }
  Comparison comparison;
  std::vector<scenario::Scenario> loaded = load_all(scenarios, clusters, overrides, settings.books, diagnostics, comparison);

  // By scenario and cluster: the parts. What the clusters' parts describe is the same but for the size of rounded shares.
  std::vector<std::vector<work::Workload>> parts;
  std::uint64_t total = 0;
  for (scenario::Scenario& scenario : loaded) {
    parts.push_back(parts_of(std::move(scenario.workload)));
    total += parts.back().size() * (settings.sensitivity ? 1 + scenario::what_if_names().size() : 1);
  }
  std::optional<OverallProgress> progress;
  if (observer != nullptr) progress.emplace(*observer, total);

  const auto note = [&](const std::string& text) {
    if (std::ranges::find(comparison.notes, text) == comparison.notes.end()) comparison.notes.push_back(text);
  };
  Digest digest;
  for (std::size_t s = 0; s < scenarios.size(); ++s) {
    const std::size_t first = s * clusters.size();
    for (std::size_t part = 0; part < parts[first].size(); ++part) {
      ComparedWorkload row = describe(loaded[first].name, parts[first][part]);
      row.runs.resize(clusters.size());
      for (std::size_t c = 0; c < clusters.size() && !comparison.interrupted; ++c) {
        scenario::Scenario& scenario = loaded[first + c];
        scenario.workload = std::move(parts[first + c][part]);
        const scenario::RunResult result = scenario::run_scenario(scenario, progress ? &*progress : nullptr);
        comparison.interrupted = result.interrupted;
        comparison.events += result.events;
        comparison.transfers += result.transfers;
        comparison.wall_seconds += result.wall_seconds;
        if (result.interrupted) break;
        digest.add(result.digest);
        comparison.cut_short |= result.cut_short;
        std::ranges::for_each(result.notes, note);
        row.runs[c] = compared_run(scenario, result, comparison.clusters[c].costed);
        if (row.runs[c]->idle_gpus > 0) {
          note(idle_note(scenario, row.kind, row.runs[c]->idle_gpus, comparison.clusters[c].endpoints));
        }
        if (settings.sensitivity) {
          row.runs[c]->sensitivity =
              sensitivity_of(scenario, *row.runs[c], settings.better, progress ? &*progress : nullptr, comparison);
          for (const SensitivityPoint& point : row.runs[c]->sensitivity) digest.add(point.time);
        }
      }
      comparison.workloads.push_back(std::move(row));
    }
  }
  comparison.digest = digest.value();
  return comparison;
}

}  // namespace weft::plan
