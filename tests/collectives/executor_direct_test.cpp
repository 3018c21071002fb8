// Receivers whose peers store into their memory over NVLink. Two GPUs on an NVSwitch, everything moves 1 GB/s, so that 1000
// bytes take a microsecond. Times are derived by hand.
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

constexpr Bandwidth kRate = Bandwidth::from_bytes_per_second(1'000'000'000);

net::Topology two_gpus(net::DeviceKind between) {
  net::TopologyBuilder builder;
  net::HostTemplate host;
  for (const auto& [name, kind] :
       {std::pair{"gpu0", net::DeviceKind::kGpu}, std::pair{"gpu1", net::DeviceKind::kGpu}, std::pair{"between", between}}) {
    net::TemplateDevice device;
    device.name = name;
    device.kind = kind;
    device.forwarding.header = Bytes{0};
    host.devices.push_back(device);
  }
  const std::uint32_t spec = builder.add_spec(testing::plain_link(kRate, 0_ns));
  testing::add_template_cable(host, 0, 2, spec);
  testing::add_template_cable(host, 1, 2, spec);
  builder.add_host(builder.add_template(host));
  return std::move(builder).freeze();
}

// One message of 1000 bytes from rank 0, which rank 1 keeps.
Duration one_message(net::DeviceKind between, const StepCosts& costs) {
  const net::Topology topology = two_gpus(between);
  net::Machine machine{topology, "spray", 1};
  const Communicator communicator{topology, {topology.device_of(0, 0), topology.device_of(0, 1)}, rank_order_rings(2, 1)};
  Executor executor{machine.simulator, machine.fabric, machine.router, communicator};
  TableSchedule table{2, 1};
  Step sends;
  sends.send_to = 1;
  sends.bytes = Bytes{1000};
  sends.use_source = true;
  Step receives;
  receives.receive_from = 0;
  receives.bytes = Bytes{1000};
  receives.store = true;
  table.lane(0).push_back(sends);
  table.lane(1).push_back(receives);
  struct Done final : ExecutorListener {
    void on_collective_done(Time t) override { at = t; }
    Time at;
  } done;
  executor.start(table, costs, Grain::kChunk, done);
  machine.simulator.run();
  return done.at.since_start();
}

// A step that sends costs one, keeping a half of that.
StepCosts half_to_keep() {
  StepCosts costs{.rate = kRate, .memory = {.store = 0.5}, .slots = 8, .rendezvous = false};
  return costs;
}

TEST(ExecutorDirectTest, AReceiverKeepsWhatItIsSent) {
  EXPECT_NEAR(one_message(net::DeviceKind::kNvSwitch, half_to_keep()).us(), 1 + 0.5, 1e-3);
}

TEST(ExecutorDirectTest, StoredByItsPeerItIsThereWhenItCame) {
  StepCosts costs = half_to_keep();
  costs.direct = 0.4;
  EXPECT_NEAR(one_message(net::DeviceKind::kNvSwitch, costs).us(), 1, 1e-3);
}

TEST(ExecutorDirectTest, ABusyPortShowsAllOfIt) {
  StepCosts costs = half_to_keep();
  costs.direct = 0.4;
  costs.port.raw = kRate;  // one block fills it
  EXPECT_NEAR(one_message(net::DeviceKind::kNvSwitch, costs).us(), 1 + 0.4, 1e-3);
}

// One block keeps a port of three times its rate busy for a third of the time, half of two thirds.
TEST(ExecutorDirectTest, ByTheCubeOfWhatIsBusy) {
  StepCosts costs = half_to_keep();
  costs.direct = 0.4;
  costs.port.raw = Bandwidth::from_bytes_per_second(3'000'000'000);
  EXPECT_NEAR(one_message(net::DeviceKind::kNvSwitch, costs).us(), 1 + 0.4 / 8, 1e-3);
}

TEST(ExecutorDirectTest, NotOverPcie) {
  StepCosts costs = half_to_keep();
  costs.direct = 0.4;
  EXPECT_NEAR(one_message(net::DeviceKind::kCpu, costs).us(), 1 + 0.5, 1e-3);
}

}  // namespace
}  // namespace weft::coll
