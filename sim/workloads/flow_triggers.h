// Flows that wait for others: a trigger starts them when others are through, as in htsim's connection matrices
// (connection_matrix.h).
#pragma once

#include <cstdint>
#include <vector>

namespace weft::work {

enum class TriggerKind : std::uint8_t {
  kOneshot,    // starts all its flows at once
  kMultishot,  // the next of them each time
  kBarrier,    // all of them, when it has been activated so many times
};

struct FlowTrigger {
  TriggerKind kind = TriggerKind::kOneshot;
  std::int64_t activations = 1;      // of a barrier
  std::vector<std::uint32_t> flows;  // that it starts, in order
};

// Triggers of a flow: numbers in FlowChains::triggers, from 1 on; 0: none.
struct FlowChain {
  std::uint32_t starts_by = 0;
  std::uint32_t on_sent = 0;  // activated when all has left the source, where there are ACKs when all is acknowledged
  std::uint32_t on_delivered = 0;
};

struct FlowChains {
  std::vector<FlowTrigger> triggers;
  std::vector<FlowChain> of_flow;  // by flow; flows beyond its end have none
};

// How far the triggers of a run are.
class TriggerRun {
 public:
  explicit TriggerRun(const FlowChains& chains) : chains_{chains}, activated_(chains.triggers.size(), 0) {}

  [[nodiscard]] bool waits(std::size_t flow) const { return chain(flow).starts_by != 0; }
  // start(flow): of each that begins now.
  template <typename Start>
  void sent(std::size_t flow, Start start) {
    activate(chain(flow).on_sent, start);
  }
  template <typename Start>
  void delivered(std::size_t flow, Start start) {
    activate(chain(flow).on_delivered, start);
  }

 private:
  [[nodiscard]] FlowChain chain(std::size_t flow) const {
    return flow < chains_.of_flow.size() ? chains_.of_flow[flow] : FlowChain{};
  }
  template <typename Start>
  void activate(std::uint32_t number, Start start) {
    if (number == 0) return;
    const FlowTrigger& trigger = chains_.triggers[number - 1];
    const std::int64_t times = ++activated_[number - 1];
    if (trigger.kind == TriggerKind::kMultishot) {
      if (times <= static_cast<std::int64_t>(trigger.flows.size())) start(trigger.flows[static_cast<std::size_t>(times - 1)]);
    } else if (times == (trigger.kind == TriggerKind::kBarrier ? trigger.activations : 1)) {
      for (const std::uint32_t flow : trigger.flows) start(flow);
    }
  }

  const FlowChains& chains_;
  std::vector<std::int64_t> activated_;  // times, by trigger
};

}  // namespace weft::work
