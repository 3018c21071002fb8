// Runs a scenario and gathers what a person and a program want of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/collectives/runner.h"
#include "sim/network/packet_probe.h"
#include "sim/scenario/inference_run.h"
#include "sim/scenario/link_use.h"
#include "sim/scenario/run_observer.h"
#include "sim/scenario/run_stats.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/training_jobs_run.h"
#include "sim/scenario/training_run.h"
#include "sim/workloads/flow_run.h"
#include "sim/workloads/job_run.h"

namespace weft::scenario {

// The figures that packets tell, and those that `measure` asks for.
struct NetworkReport {
  bool is_packet = false;
  Time from;  // what rates and means are taken over
  Time to;
  std::vector<PortResult> ports;  // in link order; at flow fidelity only where measured
  std::vector<net::PauseRecord> pauses;
  std::vector<net::StormRecord> storms;
  std::vector<Time> sample_times;
  std::vector<Series> series;
  std::optional<net::Deadlock> deadlock;
  std::uint64_t packet_hops = 0;
  std::vector<FlowMeasure> flow_rates;           // by flow; empty where nothing was measured
  std::vector<net::FlowCounters> flow_counters;  // by flow, at packet fidelity
  std::optional<double> jain_index;              // of the flows' rates (Jain, Chiu and Hawe 1984)
};

struct RunResult : RunStats {
  std::vector<coll::CollectiveResult> collectives;  // one per item, the time of one call
  std::vector<std::int64_t> counts;
  std::vector<work::FlowResult> flows;
  std::vector<std::optional<work::MessageCounts>> messages;  // by flow, of several messages; empty where no flow has options
  std::vector<work::JobResult> jobs;
  std::optional<TrainingResult> training;
  std::vector<TrainingJobResult> training_jobs;
  std::optional<InferenceResult> inference;
  NetworkReport network;
  std::optional<net::HybridTotals> hybrid;  // what was packets, at hybrid fidelity
  std::string time_story;                   // where the time went; empty: nothing to tell
  std::vector<LinkUse> hottest;             // busiest links first, at most ten
  Duration makespan;
  std::size_t parts = 1;     // that the packets ran in, side by side
  std::string why_one_part;  // where it is one
  double wall_seconds = 0;   // of the simulation
  bool interrupted = false;
  bool cut_short = false;  // a flow or a job was aborted or can never end; notes say which and why
  std::vector<std::string> notes;
};

// With several processes (SimulationOptions::processes) it ends with net::ServedOthers in all but the first.
// `operations` hears of every operation of a training step, `steps` of every slice of collectives that are not part of one,
// `serving` of every step of engines.
[[nodiscard]] RunResult run_scenario(const Scenario& scenario, RunObserver* observer = nullptr,
                                     work::ReplayObserver* operations = nullptr, coll::StepObserver* steps = nullptr,
                                     work::ServingObserver* serving = nullptr);

// Highest resident memory of this process so far.
[[nodiscard]] std::uint64_t peak_memory_bytes();

}  // namespace weft::scenario
