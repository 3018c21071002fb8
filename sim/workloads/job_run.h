// Runs periodic jobs (JobItem) on a machine's fabric and keeps the times of every iteration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/network/machine.h"
#include "sim/workloads/workload.h"

namespace weft::work {

struct JobIteration {
  Time start;
  Time sent;               // compute ended, transfers were posted
  Time end = Time::max();  // max: it did not end
};

// A transfer of the job was lost for good.
struct JobAbort {
  Time at;
  std::string why;
};

struct JobResult {
  std::vector<JobIteration> iterations;  // an aborted job ends in the last one
  std::optional<JobAbort> aborted = {};
};

class JobRun final : private net::TransferListener, private EventTarget {
 public:
  // `first_key`: the transfers' entropies count up from it, apart from those of flows.
  JobRun(net::Machine& machine, const std::vector<JobItem>& jobs, std::uint64_t first_key);

  void start();
  [[nodiscard]] const std::vector<JobResult>& results() const { return results_; }
  [[nodiscard]] std::size_t unfinished() const;
  [[nodiscard]] std::uint64_t digest() const;

 private:
  struct State {
    std::uint64_t first_key = 0;  // of its transfers
    std::vector<FootprintId> footprints;
    std::size_t pending = 0;  // transfers
    bool computing = false;
  };

  void on_event(std::uint64_t job) override;
  void on_source_free(TransferId, std::uint64_t) override {}
  void on_delivered(TransferId transfer, std::uint64_t job) override;
  void on_aborted(TransferId transfer, std::uint64_t job) override;
  void begin_iteration(std::size_t job);
  void send(std::size_t job);
  [[nodiscard]] std::string what_is_cut(const JobItem& job, const State& state) const;

  net::Machine& machine_;
  const std::vector<JobItem>& jobs_;
  std::uint64_t first_key_;
  ComponentId component_;
  std::vector<State> states_;
  std::vector<JobResult> results_;
};

}  // namespace weft::work
