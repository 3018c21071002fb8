#include "sim/workloads/flow_run.h"

#include "sim/core/digest.h"

namespace weft::work {

FlowRun::FlowRun(coll::Machine& machine, const std::vector<FlowItem>& flows)
    : machine_{machine}, flows_{flows}, component_{machine.simulator.add_component("flows")} {
  results_.reserve(flows.size());
  for (const FlowItem& flow : flows) results_.push_back({.bytes = flow.bytes, .start = flow.start});
}

void FlowRun::run() {
  for (std::size_t i = 0; i < flows_.size(); ++i)
    machine_.simulator.schedule(flows_[i].start, Phase::kAction, component_, *this, i);
  machine_.simulator.run();
  if (!machine_.simulator.stopped()) machine_.fabric.check_conservation();
}

void FlowRun::on_event(std::uint64_t flow) {
  // The flow's number is its entropy, as a queue pair's number is to a switch's hash.
  const FlowItem& item = flows_[flow];
  net::Transfer transfer;
  transfer.footprint = machine_.fabric.add_footprint(machine_.router.route(item.from, item.to, {flow}));
  transfer.bytes = item.bytes;
  transfer.rate_cap = item.rate_cap;
  transfer.priority = static_cast<std::uint8_t>(item.priority);
  transfer.tag = flow;
  machine_.fabric.post(transfer, *this);
}

void FlowRun::on_delivered(TransferId, std::uint64_t flow) { results_[flow].end = machine_.simulator.now(); }

void FlowRun::on_aborted(TransferId, std::uint64_t flow) { results_[flow].aborted = true; }

std::uint64_t FlowRun::digest() const {
  Digest digest;
  for (const FlowResult& flow : results_) digest.add(flow.start).add(flow.end);
  return digest.value();
}

}  // namespace weft::work
