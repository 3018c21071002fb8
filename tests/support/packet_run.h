// A packet network for tests: bare hosts and switches joined by hand, flows between hosts, and what became of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/core/simulator.h"
#include "sim/network/builtin.h"
#include "sim/network/packet_level/packet_fabric.h"
#include "sim/network/router.h"
#include "sim/network/topology.h"
#include "tests/support/topologies.h"

namespace weft::testing {

// Hosts h0.. and store-and-forward switches s0.., cables added one by one. Under the conventions of models/network §7: packets
// of 1000 bytes without headers, switches that take no time.
class PacketRun final : private net::TransferListener {
 public:
  struct Cable {
    std::string a;
    std::string b;
    Bandwidth rate = Bandwidth::from_bits_per_second(100'000'000'000);
    Duration latency = Duration::from_us(1);
  };
  struct Flow {
    Time start;
    Time end = Time::max();  // of the message delivered last
    FootprintId footprint;
    bool aborted = false;
    int posted = 1;  // messages, and callbacks of each kind
    int freed = 0;
    int delivered = 0;
    int aborts = 0;
  };

  PacketRun(int hosts, int switches, const std::vector<Cable>& cables, const net::PacketSettings& settings = {},
            const std::string& routing = "ecmp", Bytes packet = Bytes{1000},
            const net::TemplateDevice& like = plain_switch("s", true))
      : topology_{build(hosts, switches, cables, packet, like)},
        router_{topology_, net::make_routing_policy(routing), 1},
        fabric_{simulator_, router_, settings, 1} {}

  // Its queue pair; the first message is posted now. Returns its number.
  std::size_t add(const std::string& from, const std::string& to, Bytes bytes, int priority = 0,
                  const net::FlowTransport* transport = nullptr) {
    const FootprintId footprint = fabric_.add_footprint(router_.route(device(from), device(to), {flows_.size()}));
    if (transport != nullptr) fabric_.set_transport(footprint, *transport);
    Flow& flow = flows_.emplace_back();
    flow.start = simulator_.now();
    flow.footprint = footprint;
    fabric_.post(
        {.footprint = footprint, .bytes = bytes, .priority = static_cast<std::uint8_t>(priority), .tag = flows_.size() - 1},
        *this);
    return flows_.size() - 1;
  }
  // Posts one more message on a flow's queue pair.
  void post(std::size_t flow, Bytes bytes, int priority = 0) {
    ++flows_[flow].posted;
    fabric_.post(
        {.footprint = flows_[flow].footprint, .bytes = bytes, .priority = static_cast<std::uint8_t>(priority), .tag = flow},
        *this);
  }

  void run() { simulator_.run(); }
  void run_until(Time end) { simulator_.run_until(end); }
  [[nodiscard]] Duration taken(std::size_t flow) const { return flows_[flow].end - flows_[flow].start; }
  [[nodiscard]] const Flow& flow(std::size_t flow) const { return flows_[flow]; }
  [[nodiscard]] std::size_t flows() const { return flows_.size(); }
  // Gb/s that a flow's receiver took in between two calls, on the wire.
  [[nodiscard]] std::int64_t delivered(std::size_t flow) const {
    return fabric_.flow(flows_[flow].footprint).delivered_wire_bytes;
  }
  // Rates of all flows from one time to another, Gb/s.
  std::vector<double> rates(Time from, Time to) {
    run_until(from);
    std::vector<std::int64_t> before;
    for (std::size_t i = 0; i < flows_.size(); ++i) before.push_back(delivered(i));
    run_until(to);
    std::vector<double> gbps;
    for (std::size_t i = 0; i < flows_.size(); ++i)
      gbps.push_back(static_cast<double>(delivered(i) - before[i]) * 8e3 / static_cast<double>((to - from).ps()));
    return gbps;
  }

  [[nodiscard]] DeviceId device(const std::string& name) const { return *topology_.find(name); }
  [[nodiscard]] LinkId link(const std::string& from, const std::string& to) const {
    for (const LinkId id : topology_.out_links(device(from))) {
      if (topology_.link(id).to == device(to)) return id;
    }
    return {};
  }
  [[nodiscard]] net::PortCounters port(const std::string& from, const std::string& to) const {
    return fabric_.port(link(from, to));
  }
  net::Router& router() { return router_; }
  net::PacketFabric& fabric() { return fabric_; }
  Simulator& simulator() { return simulator_; }
  const net::Topology& topology() { return topology_; }

 private:
  static net::Topology build(int hosts, int switches, const std::vector<Cable>& cables, Bytes packet,
                             net::TemplateDevice like) {
    net::TopologyBuilder builder;
    add_bare_hosts(builder, hosts);
    std::vector<DeviceId> made;
    for (int i = 0; i < switches; ++i) {
      like.name = "s" + std::to_string(i);
      made.push_back(builder.add_switch(like));
    }
    const auto find = [&](const std::string& name) {
      const auto number = static_cast<std::uint32_t>(std::stoul(name.substr(1)));
      return name[0] == 'h' ? builder.device_of(number, 0) : made[number];
    };
    for (const Cable& cable : cables)
      builder.add_cable(find(cable.a), find(cable.b), builder.add_spec(plain_link(cable.rate, cable.latency, packet)));
    return std::move(builder).freeze();
  }

  void on_source_free(TransferId, std::uint64_t tag) override { ++flows_[tag].freed; }
  void on_delivered(TransferId, std::uint64_t tag) override {
    flows_[tag].end = simulator_.now();
    ++flows_[tag].delivered;
  }
  void on_aborted(TransferId, std::uint64_t tag) override {
    flows_[tag].aborted = true;
    ++flows_[tag].aborts;
  }

  net::Topology topology_;
  Simulator simulator_;
  net::Router router_;
  net::PacketFabric fabric_;
  std::vector<Flow> flows_;
};

}  // namespace weft::testing
