#include <gtest/gtest.h>

#include "sim/collectives/verifier.h"
#include "tests/support/ideal_time.h"
#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::call;
using weft::testing::Group;
using weft::testing::ideal_time;
using weft::testing::plan;

// Four GPUs and two NICs on a node: gpu0, gpu1 - switch 0 - nic0; gpu2, gpu3 - switch 1 - nic1, and the switches joined.
net::Topology two_rails(int nodes) {
  net::TopologyBuilder builder;
  net::HostTemplate host;
  host.name = "two_rails";
  const auto add = [&](std::string name, net::DeviceKind kind) {
    net::TemplateDevice device;
    device.name = std::move(name);
    device.kind = kind;
    host.devices.push_back(device);
  };
  for (int g = 0; g < 4; ++g) add("gpu" + std::to_string(g), net::DeviceKind::kGpu);
  for (int s = 0; s < 2; ++s) add("switch" + std::to_string(s), net::DeviceKind::kPcieSwitch);
  for (int k = 0; k < 2; ++k) add("nic" + std::to_string(k), net::DeviceKind::kNic);
  const std::uint32_t spec = builder.add_spec(weft::testing::plain_link(Bandwidth::from_bytes_per_second(1'000'000'000), {}));
  const std::pair<std::uint32_t, std::uint32_t> cables[] = {{0, 4}, {1, 4}, {2, 5}, {3, 5}, {4, 6}, {5, 7}, {4, 5}};
  for (const auto& [a, b] : cables) weft::testing::add_template_cable(host, a, b, spec);
  const std::uint32_t id = builder.add_template(host);
  for (int i = 0; i < nodes; ++i) builder.add_host(id);
  return std::move(builder).freeze();
}

// The leaders are gpu0 and gpu2, the first on each NIC's switch; only they speak between nodes, each with half of the data.
TEST(MultiRailTest, TheNearestGpuOfEachNicSpeaksForIt) {
  const net::Topology topology = two_rails(2);
  const Communicator communicator{topology, topology.endpoints(), Group::mixed_rings(8, 1)};
  const CollectiveCall of = call(Collective::kAllReduce, 4 * 256_B);
  const auto schedule = plan(communicator, of, "multi_rail");
  EXPECT_EQ(verify(*schedule, of).value_or("none"), "none");
  weft::testing::Traffic between;
  for (const auto& [edge, bytes] : weft::testing::traffic_of_steps(*schedule)) {
    if (edge.second.first / 4 != edge.second.second / 4) between[edge] = bytes;
  }
  // 2(nodes-1)/nodes of a shard of 512 B, each way.
  const weft::testing::Traffic expected{{{0, {0, 4}}, 512}, {{0, {4, 0}}, 512}, {{0, {2, 6}}, 512}, {{0, {6, 2}}, 512}};
  EXPECT_EQ(between, expected);
}

}  // namespace
}  // namespace weft::coll
