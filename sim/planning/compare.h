// The same workloads on several clusters, side by side.
//
// Every collective of every scenario is run by itself on each cluster, so that the busiest link that stands beside its time is
// its own; the flows of a scenario are run together and count as one workload, and so do a training step and a serving run.
// With books (cost/costed_cluster.h) each run says what it costs and draws; with `sensitivity` each is run again with one thing
// of its cluster a tenth better (what_if.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/config/params.h"
#include "sim/core/result_header.h"
#include "sim/planning/cost/costed_cluster.h"
#include "sim/scenario/link_classes.h"
#include "sim/scenario/run_scenario.h"
#include "sim/scenario/scenario.h"

namespace weft::plan {

struct ComparedCluster {
  std::string name;
  std::string file;
  ProfileStatement profile;
  std::string configuration;  // JSON
  std::size_t nodes = 0;
  std::size_t endpoints = 0;
  CostedCluster costed;
};

// A run in which one thing of the cluster was better.
struct SensitivityPoint {
  std::string parameter;  // of what_if_names()
  Duration time;
  double gain = 0;  // time saved, of the run's own time
};

struct CompareSettings {
  CostBooks books = {};
  bool sensitivity = false;
  double better = 0.1;  // how much
};

// One workload on one cluster.
struct ComparedRun {
  Duration time;                          // of one call or iteration; of flows and of serving, until the last ended
  double busbw_gigabytes_per_second = 0;  // 0 for flows
  std::string algorithm;
  std::string protocol;
  int channels = 0;
  int ranks = 0;
  int nodes = 0;
  std::int64_t idle_gpus = 0;  // of the cluster's, those that the workload does not use
  std::string busiest_link;    // empty: nothing crossed a link
  double busiest_utilization = 0;
  double tokens_per_second = 0;     // 0: it makes no tokens
  double mfu = 0;                   // 0: no training step
  std::optional<double> error;      // share that the time may be off; none: not known
  scenario::ByLinkClass exposed{};  // communication that compute did not hide, of a training step; all of a collective's time
  RunCost cost;
  std::vector<SensitivityPoint> sensitivity;  // most gained first
};

struct ComparedWorkload {
  std::string scenario;
  std::string kind;                              // nccl-tests' name of the collective, "flows", "training" or "inference"
  Bytes bytes;                                   // nccl-tests' size column on the first cluster, or the sum of the flows
  std::vector<std::optional<ComparedRun>> runs;  // by cluster; empty: interrupted before

  // Time on cluster `i` over time on the first; empty where one is missing or took no time.
  [[nodiscard]] std::optional<double> ratio(std::size_t i) const;
  // Cluster `i` and the first differ by less than what the times of either may be off; false where that is not known.
  [[nodiscard]] bool is_within_error(std::size_t i) const;
};

struct Comparison {
  std::vector<ComparedCluster> clusters;
  std::vector<ComparedWorkload> workloads;
  std::vector<std::string> notes;
  std::string configuration;  // of each scenario as it ran on the first cluster: a JSON list
  std::uint64_t seed = 1;     // of the first scenario
  std::string fidelity;       // of all scenarios, or "mixed"
  std::uint64_t digest = 0;
  std::uint64_t events = 0;
  std::uint64_t transfers = 0;
  double wall_seconds = 0;
  bool interrupted = false;
  bool cut_short = false;  // as RunResult::cut_short, of any run
};

// Loads everything first, so that bad input is told before anything runs. The cluster that a scenario names is not used, nor
// are its `overrides` (scenario_layers.h): each run is what a scenario written for the cluster would be.
[[nodiscard]] Comparison compare(const std::vector<std::string>& scenarios, const std::vector<std::string>& clusters,
                                 const scenario::Overrides& overrides, const CompareSettings& settings,
                                 Diagnostics& diagnostics, scenario::RunObserver* observer);

}  // namespace weft::plan
