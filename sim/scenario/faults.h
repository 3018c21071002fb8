// Faults are what a scenario does to its network on purpose, the list `faults:`
//
//   - {drop: {flow: 0, link: "s0->h1", every: 256}}          # or probability: 1 %, packets: [5]; of: acks; from, until
//   - {pause: {link: "s3->h1", priority: 3, at: 20 us, for: 100 quanta}}     # or a duration, or forever
//   - {cnp: {flow: 0, at: 0 us}}
//   - {link_down: {link: "leaf0->spine1", at: 1 ms, until: 2 ms, every: 5 ms, count: 3}}   # the cable, both directions
//
// All but link_down are of packet fidelity. Flows are named by their number in the workload.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sim/core/config/params.h"
#include "sim/network/fidelity.h"
#include "sim/network/machine.h"
#include "sim/network/packet_level/faults.h"
#include "sim/workloads/flow_run.h"

namespace weft::scenario {

struct DropFault {
  net::DropRule rule;
  std::optional<std::size_t> flow = {};  // rule.flow, before flows have queue pairs
};

struct CnpFault {
  std::size_t flow = 0;
  Time at;
};

struct LinkDown {
  LinkId link;
  Time at;
  Time until = Time::max();  // max: it stays down
};

struct Faults {
  std::vector<DropFault> drops;
  std::vector<net::ForcedPause> pauses;
  std::vector<CnpFault> cnps;
  std::vector<LinkDown> downs;

  // A transfer may never end because of them.
  [[nodiscard]] bool may_block() const { return !drops.empty() || !pauses.empty(); }
  // The first time after `now` at which something begins or ends; max: nothing any more.
  [[nodiscard]] Time next_change(Time now) const;
};

// A pause quantum is 512 bit times of the link (models/network §1.8). Rounded up to the picosecond, all quanta together.
[[nodiscard]] Duration pause_time(std::int64_t quanta, Bandwidth rate);

// The list under `faults` of a scenario with `flows` flows.
[[nodiscard]] Faults read_faults(ParamReader& scenario, const net::Topology& topology, std::size_t flows,
                                 net::Fidelity fidelity);

// Puts faults to work on a machine, before its run.
class FaultInjector final : private EventTarget {
 public:
  // `flows`: null where the workload has none. All must outlive the run.
  FaultInjector(net::Machine& machine, const Faults& faults, work::FlowRun* flows);

 private:
  void on_event(std::uint64_t down) override;
  net::Machine& machine_;
  const Faults& faults_;
};

}  // namespace weft::scenario
