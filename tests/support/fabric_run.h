// A topology, a router and a flow fabric with transfers whose ends are kept, for tests of the network layer.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/config/node.h"
#include "sim/core/config/params.h"
#include "sim/core/simulator.h"
#include "sim/network/builtin.h"
#include "sim/network/flow_level/flow_fabric.h"
#include "sim/network/router.h"

namespace weft::testing {

class FabricRun final : private net::TransferListener, private EventTarget {
 public:
  explicit FabricRun(net::Topology topology, std::string_view routing = "spray", std::uint64_t seed = 1)
      : topology_{std::move(topology)},
        component_{simulator_.add_component("test")},
        router_{topology_, net::make_routing_policy(routing), seed},
        fabric_{simulator_, topology_} {}

  [[nodiscard]] const net::Topology& topology() const { return topology_; }
  [[nodiscard]] net::FlowFabric& fabric() { return fabric_; }
  [[nodiscard]] net::Router& router() { return router_; }
  [[nodiscard]] Simulator& simulator() { return simulator_; }

  std::size_t post(const std::string& from, const std::string& to, Bytes bytes, Bandwidth cap = {}, int priority = 0) {
    return post_at(Time{}, from, to, bytes, cap, priority);
  }
  std::size_t post_at(Time at, const std::string& from, const std::string& to, Bytes bytes, Bandwidth cap = {},
                      int priority = 0, std::uint64_t entropy = 0) {
    const std::size_t index = items_.size();
    Item& item = items_.emplace_back();
    item.transfer.footprint =
        fabric_.add_footprint(router_.route(topology_.find(from).value(), topology_.find(to).value(), {entropy}));
    item.transfer.bytes = bytes;
    item.transfer.rate_cap = cap;
    item.transfer.priority = static_cast<std::uint8_t>(priority);
    item.transfer.tag = index;
    simulator_.schedule(at, Phase::kAction, component_, *this, index);
    return index;
  }
  // `iterations` times: wait `gap`, then send; the ends go to `ends`.
  void repeat(int /*job*/, int iterations, Duration gap, const std::string& from, const std::string& to, Bytes bytes,
              int priority, std::vector<Time>& ends) {
    const std::size_t index = post_at(Time{} + gap, from, to, bytes, {}, priority);
    items_[index].again = iterations - 1;
    items_[index].gap = gap;
    items_[index].ends = &ends;
  }

  // Nothing happens where the transfer has ended by then.
  void set_cap_at(Time at, std::size_t index, Bandwidth cap) {
    items_[index].caps.push_back(cap);
    simulator_.schedule(at, Phase::kAction, component_, *this, kSetsCap | (items_[index].caps.size() - 1) << 32 | index);
  }

  void run_until(Time end) { simulator_.run_until(end); }
  void finish() {
    simulator_.run();
    fabric_.check_conservation();
  }
  [[nodiscard]] Time delivered(std::size_t index) const { return items_[index].delivered; }
  [[nodiscard]] bool aborted(std::size_t index) const { return items_[index].aborted; }

 private:
  struct Item {
    net::Transfer transfer;
    Time delivered = Time::max();
    bool aborted = false;
    int again = 0;
    Duration gap;
    std::vector<Time>* ends = nullptr;
    TransferId id = {};
    std::vector<Bandwidth> caps = {};
  };
  static constexpr std::uint64_t kSetsCap = std::uint64_t{1} << 63;

  void on_event(std::uint64_t payload) override {
    Item& item = items_[payload & 0xFFFF'FFFF];
    if ((payload & kSetsCap) == 0) {
      item.id = fabric_.post(item.transfer, *this);
    } else if (item.delivered == Time::max()) {
      fabric_.set_rate_cap(item.id, item.caps[(payload & ~kSetsCap) >> 32]);
    }
  }
  void on_source_free(TransferId, std::uint64_t) override {}
  void on_delivered(TransferId, std::uint64_t tag) override {
    Item& item = items_[tag];
    item.delivered = simulator_.now();
    if (item.ends != nullptr) item.ends->push_back(simulator_.now());
    if (item.again-- > 0) simulator_.schedule(simulator_.now() + item.gap, Phase::kAction, component_, *this, tag);
  }
  void on_aborted(TransferId, std::uint64_t tag) override { items_[tag].aborted = true; }

  Simulator simulator_;
  net::Topology topology_;
  ComponentId component_;
  net::Router router_;
  net::FlowFabric fabric_;
  std::deque<Item> items_;
};

}  // namespace weft::testing
