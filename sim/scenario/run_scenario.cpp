#include "sim/scenario/run_scenario.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <utility>

#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/core/json_writer.h"
#include "sim/core/memory.h"
#include "sim/network/packet_probe.h"
#include "sim/network/parted_fabric.h"
#include "sim/scenario/flow_summary.h"
#include "sim/scenario/packet_part.h"
#include "sim/scenario/packets_only.h"
#include "sim/scenario/parts_choice.h"
#include "sim/scenario/time_story.h"

namespace weft::scenario {
namespace {

struct FlowWatch {
  RunObserver* observer = nullptr;
  const net::Fabric* flows = nullptr;  // counts what is done where the workload is flows
  std::uint64_t done = 0;
  std::uint64_t total = 0;
};

void flow_watch_hook(void* context, const Simulator& simulator) {
  const FlowWatch& watch = *static_cast<const FlowWatch*>(context);
  const std::uint64_t done = watch.flows != nullptr ? watch.flows->totals().delivered : watch.done;
  watch.observer->on_progress(simulator, done, watch.total);
}

class ScenarioRun {
 public:
  // `parts`: null in one part; must outlive the run.
  ScenarioRun(const Scenario& scenario, const net::Partition* parts, RunObserver* observer, coll::StepObserver* steps)
      : scenario_{scenario},
        steps_{steps},
        machine_{scenario.cluster.topology,
                 scenario.cluster.routing,
                 scenario.simulation.seed,
                 scenario.simulation.shuffle_ties,
                 {.fidelity = scenario.simulation.fidelity,
                  .packet = &scenario.cluster.packet,
                  .parts = parts,
                  .threads = scenario.simulation.threads,
                  .processes = scenario.simulation.processes,
                  .packet_links = scenario.packet_part.links}},
        flows_{machine_, scenario.workload, scenario.simulation.seed},
        jobs_{machine_, scenario.workload.jobs, scenario.workload.flows.size()},
        faults_{machine_, scenario.faults, &flows_},
        meter_{machine_, scenario.measure, &flows_},
        watch_{observer, scenario.workload.flows.empty() ? nullptr : &machine_.fabric, 0,
               scenario.workload.collectives.size()} {
    if (observer == nullptr) return;
    machine_.simulator.set_progress_hook(flow_watch_hook, &watch_, 100'000);
    observer->on_begin(machine_.simulator);
  }

  RunResult run() {
    std::string ignored = ignored_note(scenario_.simulation.fidelity, packets_only(scenario_.cluster, scenario_.workload));
    if (!ignored.empty()) notes_.insert(std::move(ignored));
    if (scenario_.simulation.fidelity == net::Fidelity::kFlow) {
      for (std::string& note : approximated(scenario_.cluster, !scenario_.faults.downs.empty())) notes_.insert(std::move(note));
    }
    meter_.start();
    if (!scenario_.workload.collectives.empty()) {
      run_collectives();
    } else {
      run_flows();
    }
    result_.interrupted = machine_.simulator.stopped();
    report_network();
    result_.hottest =
        scenario_.workload.collectives.empty() ? hottest_links(machine_, span_) : tally_.hottest(result_.makespan);
    if (!result_.flows.empty() && machine_.fabric.sees_every_wait()) {
      result_.time_story = time_story(machine_, scenario_.workload, result_.flows, result_.network.ports);
    }
    static_cast<RunStats&>(result_) = run_stats(machine_, digest_);
    result_.hybrid = machine_.fabric.division();
    if (result_.hybrid) notes_.insert(hybrid_note(*result_.hybrid));
    result_.notes.assign(notes_.begin(), notes_.end());
    return std::move(result_);
  }

 private:
  void run_collectives() {
    std::vector<std::unique_ptr<coll::CollectiveRunner>> runners;
    std::vector<std::vector<DeviceId>> groups;
    Time last_end;
    for (const work::CollectiveItem& item : scenario_.workload.collectives) {
      const auto known = std::ranges::find(groups, item.devices);
      const auto index = static_cast<std::size_t>(known - groups.begin());
      if (known == groups.end()) {
        groups.push_back(item.devices);
        runners.push_back(std::make_unique<coll::CollectiveRunner>(machine_, scenario_.cluster.profile, item.devices));
      }
      coll::RunOptions options;
      options.algorithm = item.algorithm;
      options.channels = item.channels;
      options.grain = scenario_.simulation.grain;
      options.settings = scenario_.nccl;
      options.packet_kinds = scenario_.packet_part.collectives;
      options.steps = steps_;
      options.walked = coll::RunOptions::kMemory;
      coll::CollectiveResult done = run_calls(*runners[index], item, options);
      if (machine_.simulator.stopped()) break;
      last_end = done.ended;
      digest_.add(done.digest).add(done.time).add(item.count);
      notes_.insert(done.notes.begin(), done.notes.end());
      result_.collectives.push_back(std::move(done));
      result_.counts.push_back(item.count);
      ++watch_.done;
    }
    // Timers of a transport (retransmission, congestion control) run on when all is delivered.
    const bool is_done = machine_.fabric.has_timers() && !machine_.simulator.stopped();
    span_ = (is_done ? last_end : machine_.simulator.now()) - Time{};
  }

  // Calls on an idle machine repeat exactly, so one is simulated and counted as often as it is called: all of them, or, as long
  // as faults are to come, those that end before the next one. Up to the last fault the machine's clock is the scenario's.
  coll::CollectiveResult run_calls(coll::CollectiveRunner& runner, const work::CollectiveItem& item, coll::RunOptions options) {
    const Faults& faults = scenario_.faults;
    std::optional<coll::CollectiveResult> first;
    Int128 time = 0;  // of all calls, ps
    for (std::int64_t left = item.count; left > 0;) {
      const Time begin = machine_.simulator.now();
      options.keep_pending = faults.next_change(begin) != Time::max();
      if (options.keep_pending) options.iterations = 1;
      coll::CollectiveResult done = runner.run(item.call, options);
      if (machine_.simulator.stopped()) return done;
      std::int64_t same = options.keep_pending ? 1 : left;
      Duration took = done.time;
      Duration last = done.time;
      if (options.keep_pending) {
        took = machine_.simulator.now() - begin;
        last = done.ended - begin;
        const Time next = faults.next_change(machine_.simulator.now());
        const bool steady = next == faults.next_change(begin - Duration::from_ps(1)) && took > Duration{};
        if (steady) same = std::min(left, 1 + (next - machine_.simulator.now()) / took);
        machine_.simulator.run_until(machine_.simulator.now() + (same - 1) * took);
      }
      tally_.add(same, done.simulated);
      advance_clock(same - 1, took);
      result_.makespan = clock_ + last;
      advance_clock(1, took);
      time += static_cast<Int128>(same) * done.time.ps();
      left -= same;
      if (!first) {
        first = std::move(done);
        continue;
      }
      digest_.add(done.digest).add(done.time).add(same);
      if (done.time != first->time) notes_.insert("faults made calls of one entry unequal: its time is their mean");
      first->ended = done.ended;
      first->messages += done.messages;
    }
    first->time = Duration::from_ps(static_cast<std::int64_t>(time / item.count));
    return *std::move(first);
  }

  void advance_clock(std::int64_t calls, Duration each) {
    const Int128 sum = static_cast<Int128>(clock_.ps()) + static_cast<Int128>(calls) * each.ps();
    if (sum > Duration::max().ps()) {
      throw ClockError("the collectives together would take more than 106 days, the range of simulated time");
    }
    clock_ = Duration::from_ps(static_cast<std::int64_t>(sum));
  }

  void run_flows() {
    watch_.total = scenario_.workload.flows.size();
    flows_.start();
    jobs_.start();
    const std::optional<Time> until = scenario_.simulation.until;
    if (machine_.parted != nullptr) {
      machine_.parted->run();
    } else if (until) {
      machine_.simulator.run_until(*until);
    } else {
      machine_.simulator.run();
    }
    flows_.settle();
    if (!until && !machine_.simulator.stopped()) check_done();
    if (!scenario_.workload.flows.empty()) digest_.add(flows_.digest());
    if (!scenario_.workload.jobs.empty()) digest_.add(jobs_.digest());
    result_.flows = flows_.results();
    result_.jobs = jobs_.results();
    if (scenario_.workload.options.size() > 1) {
      for (std::size_t i = 0; i < result_.flows.size(); ++i) {
        const work::MessageCounts* counts = flows_.messages(i);
        result_.messages.push_back(counts == nullptr ? std::nullopt : std::optional{*counts});
      }
    }
    Time last_end;
    for (const work::FlowResult& flow : result_.flows) {
      if (flow.end != Time::max()) last_end = std::max(last_end, flow.end);
    }
    tell_aborted_flows();
    for (std::size_t j = 0; j < result_.jobs.size(); ++j) {
      const work::JobResult& job = result_.jobs[j];
      for (const work::JobIteration& iteration : job.iterations) {
        if (iteration.end != Time::max()) last_end = std::max(last_end, iteration.end);
      }
      if (!job.aborted) continue;
      result_.cut_short = true;
      last_end = std::max(last_end, job.aborted->at);
      notes_.insert(fmt::format("{} was aborted in iteration {} of {} at {} us: {}", scenario_.workload.jobs[j].name,
                                job.iterations.size(), scenario_.workload.jobs[j].iterations, us_text(job.aborted->at - Time{}),
                                job.aborted->why));
    }
    if (until && flows_.unfinished() + jobs_.unfinished() > 0) {
      last_end = machine_.simulator.now();
      if (!machine_.simulator.stopped()) tell_unfinished();
    }
    result_.makespan = last_end - Time{};
    span_ = result_.makespan;
  }

  // The scenario's own end is no failure, but what it cut off is said.
  void tell_unfinished() {
    std::string what;
    const auto add = [&what](std::uint64_t unfinished, std::size_t all, std::string_view things) {
      if (unfinished > 0) what += fmt::format("{}{} of {} {}", what.empty() ? "" : " and ", unfinished, all, things);
    };
    add(flows_.unfinished(), scenario_.workload.flows.size(), "flows");
    add(jobs_.unfinished(), scenario_.workload.jobs.size(), "jobs");
    notes_.insert(fmt::format("simulation.until ended the run at {} us: {} had not ended",
                              us_text(machine_.simulator.now() - Time{}), what));
  }

  // The first ones with their reasons.
  void tell_aborted_flows() {
    const auto aborted = static_cast<std::size_t>(std::ranges::count_if(result_.flows, &work::FlowResult::aborted));
    if (aborted == 0) return;
    result_.cut_short = true;
    for (const work::FlowCut& cut : flows_.first_cuts()) {
      const work::FlowItem& flow = scenario_.workload.flows[cut.flow];
      notes_.insert(fmt::format("flow {} from {} to {} was aborted at {} us: {}", cut.flow,
                                scenario_.cluster.topology.name(flow.from), scenario_.cluster.topology.name(flow.to),
                                us_text(cut.at - Time{}), cut.why));
    }
    if (const std::size_t told = flows_.first_cuts().size(); aborted > told) {
      notes_.insert(fmt::format("{} more flows were aborted", aborted - told));
    }
  }

  // Nothing happens any more: all is delivered, or the scenario itself has seen to it that something never is.
  void check_done() {
    const std::size_t left = flows_.unfinished() + jobs_.unfinished();
    if (left > 0 && (scenario_.faults.may_block() || has_losses() || machine_.fabric.probe().deadlock())) {
      notes_.insert(fmt::format("{} of {} flows and jobs did not end", left,
                                scenario_.workload.flows.size() + scenario_.workload.jobs.size()));
      result_.cut_short = true;
      return;
    }
    machine_.fabric.check_conservation();
  }

  // Without acknowledgements what is lost stays lost, and its message never ends.
  [[nodiscard]] bool has_losses() const {
    for (std::size_t i = 0; i < machine_.topology.link_count(); ++i) {
      if (machine_.fabric.probe().port(LinkId::from_index(i)).drops > 0) return true;
    }
    return false;
  }

  void report_network() {
    NetworkReport& report = result_.network;
    meter_.finish(Time{} + span_);
    report.from = meter_.from();
    report.to = meter_.to();
    report.is_packet = scenario_.simulation.has_packets();
    report.flow_rates = meter_.flow_rates();
    report.jain_index = jain_index();
    report.sample_times = meter_.times();
    report.series = meter_.take_series();
    if (report.is_packet || scenario_.measure.stated) report.ports = meter_.ports();
    if (!report.is_packet) return;
    const net::PacketProbe& packets = machine_.fabric.probe();
    report.pauses = packets.pauses();
    report.storms = packets.storms();
    report.deadlock = packets.deadlock();
    report.packet_hops = packets.packet_hops();
    for (const work::FlowResult& flow : result_.flows) {
      report.flow_counters.push_back(flow.footprint.valid() ? packets.flow(flow.footprint) : net::FlowCounters{});
    }
    for (const net::PauseRecord& pause : report.pauses) digest_.add(pause.start).add(pause.end);
    for (const net::StormRecord& storm : report.storms) digest_.add(storm.detected).add(storm.restored);
    digest_.add(report.packet_hops);
  }

  // (sum x)^2 / (n sum x^2) over the rates of all flows that have one.
  [[nodiscard]] std::optional<double> jain_index() const {
    double sum = 0;
    double squares = 0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < result_.flows.size(); ++i) {
      const std::vector<FlowMeasure>& measured = result_.network.flow_rates;
      const std::optional<double> rate = measured.empty() ? rate_gbps(result_.flows[i]) : measured[i].rate_gbps;
      if (!rate) continue;
      sum += *rate;
      squares += *rate * *rate;
      ++count;
    }
    return squares > 0 ? std::optional{sum * sum / (static_cast<double>(count) * squares)} : std::nullopt;
  }

  const Scenario& scenario_;
  coll::StepObserver* steps_;
  net::Machine machine_;
  work::FlowRun flows_;
  work::JobRun jobs_;
  FaultInjector faults_;
  RunMeter meter_;
  LinkTally tally_{machine_};
  FlowWatch watch_;
  Digest digest_;
  std::set<std::string> notes_;
  Duration span_;   // what the links' counters cover
  Duration clock_;  // of the scenario, when the next collective starts
  RunResult result_;
};

// Copies the counts that every kind of run has.
template <class Run>
void copy_counts(const Run& run, RunResult& result) {
  result.hottest = run.hottest;
  result.makespan = run.makespan;
  static_cast<RunStats&>(result) = static_cast<const RunStats&>(run);
  result.interrupted = run.interrupted;
}

RunResult training_result(const Scenario& scenario, RunObserver* observer, work::ReplayObserver* operations) {
  RunResult result;
  result.training = run_training(scenario, observer, operations);
  check_memory(scenario, *scenario.workload.training, *result.training);
  copy_counts(result.training->run, result);
  result.notes = result.training->notes;
  return result;
}

RunResult training_jobs_result(const Scenario& scenario, RunObserver* observer) {
  RunResult result;
  TrainingJobsResult run = run_training_jobs(scenario, observer);
  copy_counts(run.run, result);
  for (const TrainingJobResult& job : run.jobs) {
    for (const std::string& note : job.together.notes) result.notes.push_back(fmt::format("{}: {}", job.name, note));
  }
  result.training_jobs = std::move(run.jobs);
  return result;
}

RunResult inference_result(const Scenario& scenario, RunObserver* observer, work::ServingObserver* serving) {
  RunResult result;
  result.inference = run_inference(scenario, observer, {.serving_observer = serving});
  copy_counts(*result.inference, result);
  result.notes = result.inference->notes;
  return result;
}

// Leaves what is not in parts to the first of several processes.
void leave_to_the_first(const Scenario& scenario) {
  const net::PartProcesses* const processes = scenario.simulation.processes;
  if (processes != nullptr && processes->rank() > 0) throw net::ServedOthers{};
}

// In parts where the scenario allows it; once more in one, where it turns out that it does not.
RunResult network_result(const Scenario& scenario, RunObserver* observer, coll::StepObserver* steps) {
  PartsChoice choice = choose_parts(scenario);
  if (choice.in_parts()) {
    try {
      RunResult result = ScenarioRun{scenario, &choice.partition, observer, steps}.run();
      result.parts = choice.partition.parts;
      return result;
    } catch (const net::CannotRunInParts& error) {
      choice.why_one = error.what();
      if (observer != nullptr) observer->on_end();
    }
  }
  leave_to_the_first(scenario);
  RunResult result = ScenarioRun{scenario, nullptr, observer, steps}.run();
  if (scenario.simulation.processes != nullptr) result.notes.push_back("one of the processes did it all: " + choice.why_one);
  result.why_one_part = std::move(choice.why_one);
  return result;
}

RunResult result_of(const Scenario& scenario, RunObserver* observer, work::ReplayObserver* operations,
                    coll::StepObserver* steps, work::ServingObserver* serving) {
  const bool is_network =
      !scenario.workload.training && scenario.workload.training_jobs.empty() && !scenario.workload.inference;
  if (!is_network) leave_to_the_first(scenario);
  if (scenario.workload.training) return training_result(scenario, observer, operations);
  if (!scenario.workload.training_jobs.empty()) return training_jobs_result(scenario, observer);
  if (scenario.workload.inference) return inference_result(scenario, observer, serving);
  RunResult result = network_result(scenario, observer, steps);
  if (observer != nullptr) observer->on_end();
  return result;
}

}  // namespace

RunResult run_scenario(const Scenario& scenario, RunObserver* observer, work::ReplayObserver* operations,
                       coll::StepObserver* steps, work::ServingObserver* serving) {
  const MemoryPhase running{"running the scenario"};
  const auto wall_begin = std::chrono::steady_clock::now();
  RunResult result = result_of(scenario, observer, operations, steps, serving);
  result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_begin).count();
  return result;
}

std::uint64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace weft::scenario
