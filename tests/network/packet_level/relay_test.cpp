// GPUs that relay for others to their own NIC (PXN): what waits for the NIC lies in memory and holds no NVLink up, and the NIC
// takes the queue pairs of all GPUs in turn.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "sim/network/builtin.h"
#include "sim/network/packet_level/packet_fabric.h"
#include "sim/network/router.h"
#include "tests/network/cluster_support.h"

namespace weft::net {
namespace {

using namespace literals;

constexpr Bytes kBytes = 20_MB;

class RelayTest : public ::testing::Test, private TransferListener {
 protected:
  // `nic`: of both nodes, that it goes over; empty: it stays in the node.
  void send(const std::string& from, const std::string& to, const std::string& nic = "") {
    FlowKey key;
    if (!nic.empty()) key.nics = {device("n0." + nic), device("n1." + nic)};
    const FootprintId footprint = fabric_.add_footprint(router_.route(device(from), device(to), key));
    fabric_.post({.footprint = footprint, .bytes = kBytes, .tag = ends_.size()}, *this);
    ends_.emplace_back();
  }
  // Returns when each was there, in the order they were sent.
  std::vector<double> run_us() {
    simulator_.run();
    fabric_.check_conservation();
    std::vector<double> us;
    for (const Time end : ends_) us.push_back(end.since_start().us());
    return us;
  }

 private:
  void on_source_free(TransferId, std::uint64_t) override {}
  void on_delivered(TransferId, std::uint64_t tag) override { ends_[tag] = simulator_.now(); }
  void on_aborted(TransferId, std::uint64_t) override { ADD_FAILURE(); }
  [[nodiscard]] DeviceId device(const std::string& name) const { return cluster_.topology.find(name).value(); }

  Cluster cluster_ = test::load(
      "{nodes: 2, node: {type: dgx_h100}, fabric: {type: single_switch, link: {type: infiniband, rate: ndr, latency: 150 "
      "ns}}}");
  Router router_{cluster_.topology, make_routing_policy("ecmp"), 1};
  Simulator simulator_;
  PacketFabric fabric_{simulator_, router_, PacketSettings{}, 1};
  std::vector<Time> ends_;
};

// Three GPUs send 60 MB over the NIC of gpu0: 1.2 ms at 50 GB/s. Another's 20 MB to gpu0 share its NVLink with them, of some
// 400 GB/s: all 80 MB take 0.2 ms. If they came no faster than the NIC takes them, a packet after three of these, it would be
// the 1.2.
TEST_F(RelayTest, WhatWaitsForTheNicHoldsNoNeighbourUp) {
  for (const char* gpu : {"n0.gpu1", "n0.gpu2", "n0.gpu3"}) send(gpu, "n1.gpu0", "nic0");
  send("n0.gpu4", "n0.gpu0");
  const std::vector<double> us = run_us();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(us[i], 1200, 100) << i;
  EXPECT_LT(us[3], 250);
}

// Its own and those of three others, 80 MB in all: each has a quarter of the NIC to the end.
TEST_F(RelayTest, ItsOwnQueuePairsTakeTurnsWithThoseOfOthers) {
  for (const char* gpu : {"n0.gpu0", "n0.gpu1", "n0.gpu2", "n0.gpu3"}) send(gpu, "n1.gpu0", "nic0");
  const std::vector<double> us = run_us();
  const auto [first, last] = std::ranges::minmax_element(us);
  EXPECT_NEAR(*last, 1600, 130);
  EXPECT_GT(*first, 0.97 * *last);
}

}  // namespace
}  // namespace weft::net
