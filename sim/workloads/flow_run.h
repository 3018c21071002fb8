// Posts a list of flows on a machine's fabric, each at its time, and keeps when they started and ended.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/collectives/runner.h"
#include "sim/workloads/workload.h"

namespace weft::work {

struct FlowResult {
  Bytes bytes;
  Time start;
  Time end = Time::max();  // max: it did not end
  bool aborted = false;
};

class FlowRun final : private net::TransferListener, private EventTarget {
 public:
  // Both must outlive the run; flows keep their order as ids.
  FlowRun(coll::Machine& machine, const std::vector<FlowItem>& flows);

  void run();
  [[nodiscard]] const std::vector<FlowResult>& results() const { return results_; }
  [[nodiscard]] std::uint64_t digest() const;

 private:
  void on_event(std::uint64_t flow) override;
  void on_source_free(TransferId, std::uint64_t) override {}
  void on_delivered(TransferId transfer, std::uint64_t flow) override;
  void on_aborted(TransferId transfer, std::uint64_t flow) override;

  coll::Machine& machine_;
  const std::vector<FlowItem>& flows_;
  ComponentId component_;
  std::vector<FlowResult> results_;
};

}  // namespace weft::work
