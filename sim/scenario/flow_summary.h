// Summarizes a list of flows for a person: how many ended, how long they took, the slowest.
//
// A flow's completion time (FCT) runs from its start to the delivery of its last byte. Flows that did not end are counted and
// left out of the rest.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "sim/core/units.h"
#include "sim/workloads/flow_run.h"

namespace weft::scenario {

struct FlowSummary {
  std::size_t flows = 0;
  std::size_t finished = 0;
  std::size_t aborted = 0;
  Bytes bytes;        // of the finished flows
  Duration last_end;  // since the start of the run
  Duration min_fct;
  Duration median_fct;  // the middle one, the lower of two
  Duration p99_fct;     // nearest rank
  Duration max_fct;
  double rate_gbps = 0;              // bytes of the finished flows from the first start to the last end
  std::vector<std::size_t> slowest;  // ids, longest FCT first, ties by id
};

[[nodiscard]] FlowSummary summarize_flows(std::span<const work::FlowResult> flows, std::size_t slowest = 5);

[[nodiscard]] inline bool has_ended(const work::FlowResult& flow) { return !flow.aborted && flow.end != Time::max(); }

// Mean rate from start to end in Gb/s; nothing for a flow that did not end, or took no time.
[[nodiscard]] std::optional<double> rate_gbps(const work::FlowResult& flow);

}  // namespace weft::scenario
