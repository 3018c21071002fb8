#include "sim/workloads/job_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/digest.h"
#include "sim/workloads/cut_reason.h"

namespace weft::work {

JobRun::JobRun(net::Machine& machine, const std::vector<JobItem>& jobs, std::uint64_t first_key)
    : machine_{machine},
      jobs_{jobs},
      first_key_{first_key},
      component_{machine.simulator.add_component("jobs")},
      states_(jobs.size()),
      results_(jobs.size()) {}

void JobRun::start() {
  std::uint64_t key = first_key_;
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    states_[j].first_key = key;
    for (const JobTransfer& transfer : jobs_[j].transfers) {
      const FootprintId footprint = machine_.fabric.add_footprint(machine_.router.route(transfer.from, transfer.to, {key++}));
      if (jobs_[j].has_transport) machine_.fabric.set_transport(footprint, jobs_[j].transport);
      if (machine_.router.expects_changes()) machine_.fabric.set_up(footprint);
      states_[j].footprints.push_back(footprint);
    }
    machine_.simulator.schedule(jobs_[j].start, Phase::kAction, component_, *this, j);
  }
}

// Each job has one event pending at most: its start, or the end of its compute time.
void JobRun::on_event(std::uint64_t job) {
  if (states_[job].computing) {
    send(job);
  } else {
    begin_iteration(job);
  }
}

void JobRun::begin_iteration(std::size_t job) {
  const Time now = machine_.simulator.now();
  results_[job].iterations.push_back({.start = now, .sent = Time::max()});
  states_[job].computing = true;
  machine_.simulator.schedule(now + jobs_[job].compute, Phase::kAction, component_, *this, job);
}

void JobRun::send(std::size_t job) {
  State& state = states_[job];
  const JobItem& item = jobs_[job];
  state.computing = false;
  state.pending = item.transfers.size();
  results_[job].iterations.back().sent = machine_.simulator.now();
  for (std::size_t i = 0; i < item.transfers.size(); ++i) {
    net::Transfer transfer;
    transfer.footprint = state.footprints[i];
    transfer.bytes = item.transfers[i].bytes;
    transfer.rate_cap = item.rate_cap;
    transfer.resend = true;
    transfer.priority = static_cast<std::uint8_t>(item.priority);
    transfer.tag = job;
    machine_.fabric.post(transfer, *this);
  }
}

void JobRun::on_delivered(TransferId, std::uint64_t job) {
  if (--states_[job].pending > 0) return;
  results_[job].iterations.back().end = machine_.simulator.now();
  const auto done = static_cast<std::int64_t>(results_[job].iterations.size());
  if (done < jobs_[job].iterations && !results_[job].aborted) begin_iteration(job);
}

void JobRun::on_aborted(TransferId, std::uint64_t job) {
  if (results_[job].aborted) return;
  results_[job].aborted = {.at = machine_.simulator.now(), .why = what_is_cut(jobs_[job], states_[job])};
}

std::string JobRun::what_is_cut(const JobItem& job, const State& state) const {
  std::string why{kLostForGood};
  for (std::size_t i = 0; i < job.transfers.size(); ++i) {
    const JobTransfer& transfer = job.transfers[i];
    why = why_aborted(machine_, state.footprints[i], {transfer.from, transfer.to, {state.first_key + i}});
    if (why != kLostForGood) break;
  }
  return why;
}

std::size_t JobRun::unfinished() const {
  std::size_t count = 0;
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    const std::vector<JobIteration>& done = results_[j].iterations;
    const bool all = static_cast<std::int64_t>(done.size()) == jobs_[j].iterations && done.back().end != Time::max();
    if (!all && !results_[j].aborted) ++count;
  }
  return count;
}

std::uint64_t JobRun::digest() const {
  Digest digest;
  for (const JobResult& job : results_) {
    for (const JobIteration& iteration : job.iterations) digest.add(iteration.start).add(iteration.sent).add(iteration.end);
  }
  return digest.value();
}

}  // namespace weft::work
