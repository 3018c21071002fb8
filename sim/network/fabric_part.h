// One part of a fabric in parts: a packet fabric with a clock and a router of its own. Internal to parted_fabric.cpp and
// part_reports.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/core/windowed_run.h"
#include "sim/network/builtin.h"
#include "sim/network/packet_level/packet_fabric.h"
#include "sim/network/packet_level/part_flows.h"
#include "sim/network/parted_fabric.h"

namespace weft::net {

class PartedFabric::Part final : public WindowedPart, private EventTarget, private TransferListener {
 public:
  Part(PartedFabric& owner, const Router& router, std::string_view routing, const PacketSettings& settings, std::uint64_t seed,
       std::size_t self)
      : owner_{owner},
        self_{self},
        router_{router, make_routing_policy(routing), seed},
        mail_{owner.room_, owner.partition_, self},
        posts_{simulator.add_component("flows")},
        fabric{simulator, router_, settings, seed, &mail_} {}

  Time run_window(std::uint64_t window, Time end) override {
    mail_.begin(window, end);
    fabric.take_in(owner_.room_, window - 1);
    simulator.run_until(end - Duration::from_ps(1));
    return std::min(simulator.next_time(), mail_.earliest());
  }

  // Starts or expects those of all flows that are its own.
  void prepare(const PartFlows& flows) {
    fabric.join_flows(flows);
    for (std::size_t tag = 0; tag < owner_.posted_.size(); ++tag) {
      const auto& [start, transfer] = owner_.posted_[tag];
      const Footprint& footprint = owner_.footprints_[transfer.footprint.index()];
      const bool from_here = owner_.partition_.of(footprint.paths[0].source) == self_;
      const bool to_here = owner_.partition_.of(footprint.paths[0].destination) == self_;
      if (from_here) simulator.schedule(start, Phase::kAction, posts_, *this, tag);
      if (to_here && !from_here) fabric.expect(transfer, *this);
    }
  }

 private:
  void on_event(std::uint64_t tag) override { fabric.post(owner_.posted_[tag].transfer, *this); }
  void on_source_free(TransferId, std::uint64_t) override {}
  void on_delivered(TransferId, std::uint64_t tag) override { owner_.ends_[tag] = simulator.now(); }
  void on_aborted(TransferId, std::uint64_t) override { throw CannotRunInParts("a flow was aborted"); }

  PartedFabric& owner_;
  std::size_t self_;
  Router router_;
  PartMail mail_;

 public:
  Simulator simulator;

 private:
  ComponentId posts_;

 public:
  PacketFabric fabric;
};

}  // namespace weft::net
