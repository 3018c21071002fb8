// Ranks that talk through host memory: the sender writes there, the receiver reads from there. Two GPUs on one CPU, links of
// 1 GB/s, so that 1000 bytes take a microsecond. Times are derived by hand.
#include <gtest/gtest.h>

#include <utility>

#include "sim/collectives/communicator.h"
#include "sim/collectives/executor.h"
#include "sim/collectives/runner.h"
#include "tests/support/schedules.h"
#include "tests/support/topologies.h"

namespace weft::coll {
namespace {

using namespace literals;
using weft::testing::TableSchedule;

net::Topology two_gpus_on_a_cpu() {
  net::TopologyBuilder builder;
  net::HostTemplate host;
  for (const auto& [name, kind] : {std::pair{"gpu0", net::DeviceKind::kGpu}, std::pair{"gpu1", net::DeviceKind::kGpu},
                                   std::pair{"cpu0", net::DeviceKind::kCpu}}) {
    net::TemplateDevice device;
    device.name = name;
    device.kind = kind;
    device.forwarding.header = Bytes{0};
    host.devices.push_back(device);
  }
  const std::uint32_t spec = builder.add_spec(testing::plain_link(Bandwidth::from_bytes_per_second(1'000'000'000), 0_ns));
  testing::add_template_cable(host, 0, 2, spec);
  testing::add_template_cable(host, 1, 2, spec);
  builder.add_host(builder.add_template(host));
  return std::move(builder).freeze();
}

class HostMemory final : private ExecutorListener {
 public:
  // The two GPUs are of class PHB.
  explicit HostMemory(net::PathClass p2p_level = net::PathClass::kPxb)
      : topology_{two_gpus_on_a_cpu()},
        machine_{topology_, "spray", 1},
        communicator_{topology_, {topology_.device_of(0, 0), topology_.device_of(0, 1)}, rank_order_rings(2, 1)},
        executor_{machine_.simulator, machine_.fabric, machine_.router, communicator_, {.p2p_level = p2p_level}} {}

  Duration run(const Schedule& schedule, const StepCosts& costs) {
    executor_.start(schedule, costs, Grain::kChunk, *this);
    machine_.simulator.run();
    EXPECT_FALSE(executor_.running()) << executor_.blocked();
    machine_.fabric.check_conservation();
    return done_.since_start();
  }

 private:
  void on_collective_done(Time at) override { done_ = at; }
  net::Topology topology_;
  net::Machine machine_;
  Communicator communicator_;
  Executor executor_;
  Time done_;
};

constexpr StepCosts kEightSlots{.slots = 8, .rendezvous = false};

Step sends(Rank to) {
  Step step;
  step.send_to = to;
  step.bytes = Bytes{1000};
  step.use_source = true;
  return step;
}

Step receives(Rank from) {
  Step step;
  step.receive_from = from;
  step.bytes = Bytes{1000};
  step.store = true;
  return step;
}

TableSchedule one_message() {
  TableSchedule table{2, 1};
  table.lane(0).push_back(sends(1));
  table.lane(1).push_back(receives(0));
  return table;
}

TEST(ExecutorHostMemoryTest, AMessageIsWrittenThenRead) {
  StepCosts costs = kEightSlots;
  costs.hop = {0_us, 5_us, 0_us};
  // 1 us into the memory, 5 until the receiver knows, 1 out of it.
  EXPECT_EQ(HostMemory{}.run(one_message(), costs), 7_us);
  // Peer to peer the bytes cross both links at once.
  EXPECT_EQ(HostMemory{net::PathClass::kPhb}.run(one_message(), costs), 6_us);
}

TEST(ExecutorHostMemoryTest, LoadsAndStoresReachAShareOfTheLinks) {
  StepCosts costs = kEightSlots;
  costs.pcie_share = 0.5;
  EXPECT_EQ(HostMemory{}.run(one_message(), costs), 4_us);
}

TEST(ExecutorHostMemoryTest, TheReaderReadsAtItsThreadBlocksRate) {
  StepCosts costs = kEightSlots;
  costs.rate = Bandwidth::from_bytes_per_second(1'000'000'000);
  costs.memory.receive = 4;
  EXPECT_EQ(HostMemory{}.run(one_message(), costs), 5_us);
}

TEST(ExecutorHostMemoryTest, AKernelStartsLater) {
  StepCosts costs = kEightSlots;
  costs.host_start = 3_us;
  EXPECT_EQ(HostMemory{}.run(one_message(), costs), 5_us);
  EXPECT_EQ(HostMemory{net::PathClass::kPhb}.run(one_message(), costs), 1_us);
}

// Both ranks send, then pass on what they receive, then receive: each step of the middle moves 1000 bytes in and 1000 out. On
// the way out 30 bytes of requests for every 128 that come in share the link, so it takes 1 + 30/128 us; the others take one.
TEST(ExecutorHostMemoryTest, RequestsTakeRoomWhereOthersWrite) {
  TableSchedule table{2, 1};
  for (const Rank rank : {0, 1}) {
    Step passes_on = receives(1 - rank);
    passes_on.send_to = 1 - rank;
    table.lane(rank).push_back(sends(1 - rank));
    table.lane(rank).push_back(passes_on);
    table.lane(rank).push_back(receives(1 - rank));
  }
  EXPECT_NEAR(HostMemory{}.run(table, kEightSlots).us(), 1 + (1 + 30.0 / 128) + 1, 1e-3);
}

}  // namespace
}  // namespace weft::coll
