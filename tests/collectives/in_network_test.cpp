// Collectives that the network's switches add up and copy: how long they take and what their links carry, by hand, in both
// fidelities.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "sim/collectives/builtin.h"
#include "sim/collectives/executor.h"
#include "sim/collectives/runner.h"
#include "tests/support/topologies.h"

namespace weft::coll {
namespace {

using namespace literals;
using net::Fidelity;

// `nodes` nodes of `gpus` GPUs on one NVSwitch, each with a NIC of its own; all NICs on one switch.
net::Topology rails(int nodes, int gpus, Bandwidth nvlink, Bandwidth nic, Duration latency) {
  net::TopologyBuilder builder;
  net::HostTemplate host;
  const auto add = [&](const std::string& name, net::DeviceKind kind) {
    net::TemplateDevice device;
    device.name = name;
    device.kind = kind;
    device.forwarding.header = Bytes{0};
    host.devices.push_back(device);
    return static_cast<std::uint32_t>(host.devices.size() - 1);
  };
  const std::uint32_t fast = builder.add_spec(testing::plain_link(nvlink, latency));
  const std::uint32_t slow = builder.add_spec(testing::plain_link(nic, latency));
  const std::uint32_t nvswitch = add("nvswitch0", net::DeviceKind::kNvSwitch);
  std::vector<std::uint32_t> nics;
  for (int g = 0; g < gpus; ++g) {
    const std::uint32_t gpu = add("gpu" + std::to_string(g), net::DeviceKind::kGpu);
    const std::uint32_t bridge = add("pcie" + std::to_string(g), net::DeviceKind::kPcieSwitch);
    nics.push_back(add("nic" + std::to_string(g), net::DeviceKind::kNic));
    testing::add_template_cable(host, gpu, nvswitch, fast);
    testing::add_template_cable(host, gpu, bridge, fast);
    testing::add_template_cable(host, bridge, nics.back(), fast);
  }
  const std::uint32_t id = builder.add_template(host);
  for (int n = 0; n < nodes; ++n) builder.add_host(id);
  const DeviceId hub = builder.add_switch(testing::plain_switch("hub"));
  for (int n = 0; n < nodes; ++n) {
    for (const std::uint32_t port : nics) builder.add_cable(builder.device_of(static_cast<std::uint32_t>(n), port), hub, slow);
  }
  return std::move(builder).freeze();
}

// `hosts` hosts on each of two leaves, which one spine joins; all cables alike.
net::Topology two_leaves(int hosts, Bandwidth rate, Duration latency) {
  net::TopologyBuilder builder;
  testing::add_bare_hosts(builder, 2 * hosts);
  const DeviceId spine = builder.add_switch(testing::plain_switch("spine"));
  const std::vector<DeviceId> leaves{builder.add_switch(testing::plain_switch("leaf0")),
                                     builder.add_switch(testing::plain_switch("leaf1"))};
  const std::uint32_t cable = builder.add_spec(testing::plain_link(rate, latency));
  for (const DeviceId leaf : leaves) builder.add_cable(leaf, spine, cable);
  for (int i = 0; i < 2 * hosts; ++i)
    builder.add_cable(builder.device_of(static_cast<std::uint32_t>(i), 0), leaves[static_cast<std::size_t>(i / hosts)], cable);
  return std::move(builder).freeze();
}

// One call with no costs but the links'. Blocks leave slices to proxies, eight slots ahead.
class InNetwork final : private ExecutorListener {
 public:
  InNetwork(net::Topology topology, Fidelity fidelity) : topology_{std::move(topology)} {
    machine_ =
        std::make_unique<net::Machine>(topology_, "spray", 1, 0, net::FabricChoice{.fidelity = fidelity, .packet = &settings_});
  }

  // As textbooks have it, in one message; switches add up at `rate`, 0: at that of their links, and take `latency` for it.
  Duration run_textbook(Bytes bytes, Bandwidth rate = {}, Duration latency = {}) {
    StepCosts costs;
    costs.switch_rate = rate;
    costs.switch_latency = latency;
    return run("in_network", Collective::kAllReduce, bytes, 1, costs);
  }

  Duration run(const std::string& algorithm, Collective kind, Bytes bytes, int channels = 1) {
    StepCosts costs;
    costs.rendezvous = false;
    costs.slots = 8;
    return run(algorithm, kind, bytes, channels, costs);
  }

  Duration run(const std::string& algorithm, Collective kind, Bytes bytes, int channels, const StepCosts& costs) {
    const auto ranks = static_cast<int>(topology_.endpoints().size());
    const Communicator communicator{topology_, topology_.endpoints(), rank_order_rings(ranks, channels)};
    Executor executor{machine_->simulator, machine_->fabric, machine_->router, communicator};
    const CollectiveCall call{.kind = kind, .bytes = bytes};
    const Choice choice{.algorithm = algorithm, .channels = channels, .chunk = 128_KiB};
    const std::unique_ptr<Schedule> schedule = make_algorithm(algorithm)->plan(communicator, call, choice);
    executor.start(*schedule, costs, Grain::kChunk, *this);
    machine_->simulator.run();
    EXPECT_FALSE(executor.running()) << executor.blocked();
    machine_->fabric.check_conservation();
    return done_.since_start();
  }

  // Bytes that each link between devices of these names carried, if all carried as much; else -1.
  [[nodiscard]] double carried(const std::string& from, const std::string& to) const {
    double each = -1;
    for (std::size_t i = 0; i < topology_.link_count(); ++i) {
      const net::Link& link = topology_.link(LinkId::from_index(i));
      if (!is(link.from, from) || !is(link.to, to)) continue;
      const double bytes = machine_->fabric.counters(ResourceId::from_index(i)).bytes;
      if (each >= 0 && std::abs(bytes - each) > 1e-6 * each) return -1;
      each = bytes;
    }
    return each;
  }

 private:
  void on_collective_done(Time at) override { done_ = at; }
  [[nodiscard]] bool is(DeviceId device, const std::string& name) const {
    const std::string whole = topology_.name(device);
    return whole.find(name) != std::string::npos;
  }

  net::Topology topology_;
  net::PacketSettings settings_;
  std::unique_ptr<net::Machine> machine_;
  Time done_;
};

constexpr Fidelity kBoth[] = {Fidelity::kFlow, Fidelity::kPacket};

// Four hosts of 50 GB/s on one switch, 1 us a link. Each byte goes once up, to who stands for the switch, and once down, at the
// same time: S/B, and the latency of two links each way, 4 us. A packet of 4 KiB is sent on when it is whole: 82 ns more.
TEST(InNetworkTest, SharpSendsAndReceivesAtOnce) {
  for (const Fidelity fidelity : kBoth) {
    for (const Bytes bytes : {4_KiB, 64_KiB, 1_MiB, 16_MiB, 256_MiB}) {
      for (const std::string algorithm : {"collnet_direct", "collnet_chain"}) {
        InNetwork net{testing::star(4, 50_GBps, 1_us), fidelity};
        const double expected = static_cast<double>(bytes.count()) / 50e9 * 1e6 + 4.0;
        EXPECT_NEAR(net.run(algorithm, Collective::kAllReduce, bytes).us(), expected, 0.05 * expected)
            << algorithm << " of " << bytes.count() << " B, packets: " << (fidelity == Fidelity::kPacket);
        EXPECT_NEAR(net.carried("h", "s0"), static_cast<double>(bytes.count()), 1.0);
        EXPECT_NEAR(net.carried("s0", "h"), static_cast<double>(bytes.count()), 1.0);
      }
    }
  }
}

// The same with a total that the switch itself copies to all: S/B, and one way over two links.
TEST(InNetworkTest, AllReduceTurnsAtTheSwitch) {
  for (const Fidelity fidelity : kBoth) {
    for (const Bytes bytes : {4_KiB, 64_KiB, 16_MiB}) {
      InNetwork net{testing::star(4, 50_GBps, 1_us), fidelity};
      const double expected = static_cast<double>(bytes.count()) / 50e9 * 1e6 + 2.0;
      EXPECT_NEAR(net.run_textbook(bytes).us(), expected, 0.1) << "packets: " << (fidelity == Fidelity::kPacket);
      EXPECT_NEAR(net.carried("h", "s0"), static_cast<double>(bytes.count()), 1.0);
      EXPECT_NEAR(net.carried("s0", "h"), static_cast<double>(bytes.count()), 1.0);
    }
  }
}

// Two leaves of four hosts below one spine, with one cable each: they carry the sum of four hosts, so 4:1 costs nothing. The
// longest way is over four links, and turns at the spine.
TEST(InNetworkTest, AllReduceTurnsAtTheTopmostSwitchAndCablesCarrySums) {
  for (const Fidelity fidelity : kBoth) {
    for (const Bytes bytes : {4_KiB, 16_MiB}) {
      InNetwork net{two_leaves(4, 50_GBps, 1_us), fidelity};
      const double expected = static_cast<double>(bytes.count()) / 50e9 * 1e6 + 4.0;
      EXPECT_NEAR(net.run_textbook(bytes).us(), expected, 0.25) << "packets: " << (fidelity == Fidelity::kPacket);
      for (const auto& [from, to] : {std::pair{"leaf", "spine"}, std::pair{"spine", "leaf"}, std::pair{"h", "leaf"}})
        EXPECT_NEAR(net.carried(from, to), static_cast<double>(bytes.count()), 1.0) << from;
    }
  }
}

TEST(InNetworkTest, AllReduceMovesAtTheTreesRateAndPaysForAddingUp) {
  for (const Fidelity fidelity : kBoth) {
    InNetwork net{testing::star(4, 50_GBps, 1_us), fidelity};
    EXPECT_NEAR(net.run_textbook(16_MiB, 20_GBps, 3_us).us(), 16.0 * (1 << 20) / 20e9 * 1e6 + 2.0 + 3.0, 0.3);
  }
}

// Three nodes of four GPUs, 400 GB/s to the NVSwitch, NICs of 50 GB/s. All-reduce of S: each NIC carries the share of its head,
// S/4, once each way. A GPU gives its data to the NVSwitch, S, and as a head the total of its share, S/4; it takes as much.
// Bound by the NICs: S/4 at 50 GB/s.
TEST(InNetworkTest, NvlsOfSeveralNodesSendsAHeadsShareThroughItsNic) {
  constexpr double kShare = 16.0 * (1 << 20);
  for (const Fidelity fidelity : kBoth) {
    InNetwork net{rails(3, 4, 400_GBps, 50_GBps, 500_ns), fidelity};
    const double us = net.run("nvls", Collective::kAllReduce, 64_MiB, 4).us();
    EXPECT_NEAR(net.carried("nic", "hub"), kShare, 1.0);
    EXPECT_NEAR(net.carried("hub", "nic"), kShare, 1.0);
    EXPECT_NEAR(net.carried("gpu", "nvswitch"), 5 * kShare, 1.0);
    EXPECT_NEAR(net.carried("nvswitch", "gpu"), 5 * kShare, 1.0);
    const double bound = kShare / 50e9 * 1e6;
    EXPECT_GE(us, bound);
    EXPECT_LE(us, 1.1 * bound);
  }
}

// The same with scatter and gather between GPUs: a GPU gives three quarters of its data to other heads, and three times the
// total of its own quarter.
TEST(InNetworkTest, CollNetDirectSendsAHeadsShareThroughItsNic) {
  constexpr double kShare = 16.0 * (1 << 20);
  for (const Fidelity fidelity : kBoth) {
    InNetwork net{rails(3, 4, 400_GBps, 50_GBps, 500_ns), fidelity};
    const double us = net.run("collnet_direct", Collective::kAllReduce, 64_MiB, 4).us();
    EXPECT_NEAR(net.carried("nic", "hub"), kShare, 1.0);
    EXPECT_NEAR(net.carried("hub", "nic"), kShare, 1.0);
    EXPECT_NEAR(net.carried("gpu", "nvswitch"), 6 * kShare, 1.0);
    EXPECT_NEAR(net.carried("nvswitch", "gpu"), 6 * kShare, 1.0);
    const double bound = kShare / 50e9 * 1e6;
    EXPECT_GE(us, bound);
    EXPECT_LE(us, 1.1 * bound);
  }
}

// All-gather of blocks of b: a NIC sends its block once, however many it is copied to, and receives those of its rail, 2 b.
// Each GPU gives the NVSwitch the three blocks of its rail and takes all twelve.
TEST(InNetworkTest, NvlsAllGatherOfSeveralNodesStaysOnRails) {
  constexpr double kBlock = 4.0 * (1 << 20);
  for (const Fidelity fidelity : kBoth) {
    InNetwork net{rails(3, 4, 400_GBps, 50_GBps, 500_ns), fidelity};
    static_cast<void>(net.run("nvls", Collective::kAllGather, 48_MiB, 4));
    EXPECT_NEAR(net.carried("nic", "hub"), kBlock, 1.0);
    EXPECT_NEAR(net.carried("hub", "nic"), 2 * kBlock, 1.0);
    EXPECT_NEAR(net.carried("gpu", "nvswitch"), 3 * kBlock, 1.0);
    EXPECT_NEAR(net.carried("nvswitch", "gpu"), 12 * kBlock, 1.0);
  }
}

// Reduce-scatter is the reverse: contributions to the blocks of two other nodes out, the sum of the own block in.
TEST(InNetworkTest, NvlsReduceScatterOfSeveralNodesStaysOnRails) {
  constexpr double kBlock = 4.0 * (1 << 20);
  for (const Fidelity fidelity : kBoth) {
    InNetwork net{rails(3, 4, 400_GBps, 50_GBps, 500_ns), fidelity};
    static_cast<void>(net.run("nvls", Collective::kReduceScatter, 48_MiB, 4));
    EXPECT_NEAR(net.carried("nic", "hub"), 2 * kBlock, 1.0);
    EXPECT_NEAR(net.carried("hub", "nic"), kBlock, 1.0);
    EXPECT_NEAR(net.carried("gpu", "nvswitch"), 12 * kBlock, 1.0);
    EXPECT_NEAR(net.carried("nvswitch", "gpu"), 3 * kBlock, 1.0);
  }
}

// One node: a head's own copy crosses its links too, so that every GPU sends and receives S(1 + 1/n) (models/nccl §3.4).
TEST(InNetworkTest, NvlsCarriesAHeadsOwnCopyToTheSwitchAndBack) {
  constexpr double kShare = 16.0 * (1 << 20);
  for (const Fidelity fidelity : kBoth) {
    InNetwork net{rails(1, 4, 400_GBps, 50_GBps, 500_ns), fidelity};
    const double us = net.run("nvls", Collective::kAllReduce, 64_MiB, 4).us();
    EXPECT_NEAR(net.carried("gpu", "nvswitch"), 5 * kShare, 1.0);
    EXPECT_NEAR(net.carried("nvswitch", "gpu"), 5 * kShare, 1.0);
    const double bound = 5 * kShare / 400e9 * 1e6;
    EXPECT_GE(us, bound);
    EXPECT_LE(us, 1.1 * bound);
  }
}

}  // namespace
}  // namespace weft::coll
