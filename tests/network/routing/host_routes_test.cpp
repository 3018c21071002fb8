#include "sim/network/routing/host_routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "sim/network/builtin.h"
#include "sim/network/router.h"
#include "tests/network/cluster_support.h"

namespace weft::net {
namespace {

std::vector<DeviceId> all_of(const Topology& topology, DeviceKind kind) {
  std::vector<DeviceId> found;
  for (std::size_t i = 0; i < topology.device_count(); ++i) {
    const DeviceId device = DeviceId::from_index(i);
    if (topology.kind(device) == kind) found.push_back(device);
  }
  return found;
}

class ShippedHostTest : public ::testing::TestWithParam<const char*> {};

// A GPU's NIC is one of those it reaches best by itself, without relays over other GPUs.
TEST_P(ShippedHostTest, AGpuUsesANicThatItReachesBest) {
  const Cluster cluster = test::shipped(GetParam());
  const Router router{cluster.topology, make_routing_policy("ecmp"), 1};
  const std::vector<DeviceId> nics = all_of(cluster.topology, DeviceKind::kNic);
  for (const DeviceId gpu : all_of(cluster.topology, DeviceKind::kGpu)) {
    PathClass best = PathClass::kDis;
    for (const DeviceId nic : nics) {
      if (cluster.topology.host_of(nic) != cluster.topology.host_of(gpu)) continue;
      const PathClass path_class = router.path_class(gpu, nic);
      if (path_class != PathClass::kPxn) best = std::min(best, path_class);
    }
    const DeviceId used = router.nic_of(gpu);
    ASSERT_TRUE(used.valid()) << cluster.topology.name(gpu);
    EXPECT_EQ(router.path_class(gpu, used), best) << cluster.topology.name(gpu);
  }
}
INSTANTIATE_TEST_SUITE_P(Hosts, ShippedHostTest,
                         ::testing::Values("dgx1_v100", "dgx2", "dgx_a100", "dgx_h100", "dgx_b200", "gb200_nvl72", "h200x4",
                                           "mi300x", "pcie8_serial"),
                         [](const auto& host) { return std::string{host.param}; });

// Each of the 72 GPUs of a rack is alone with one NIC on its PCIe.
TEST(HostRoutesTest, EveryGpuOfARackHasANicOfItsOwn) {
  const Cluster cluster = test::shipped("gb200_nvl72");
  const Router router{cluster.topology, make_routing_policy("ecmp"), 1};
  std::vector<DeviceId> used;
  for (const DeviceId gpu : all_of(cluster.topology, DeviceKind::kGpu)) used.push_back(router.nic_of(gpu));
  std::ranges::sort(used);
  EXPECT_EQ(used.size(), 72U);
  EXPECT_EQ(std::ranges::adjacent_find(used), used.end());
}

TEST(HostRoutesTest, RoutersThatShareThemOnTwoThreadsAnswerAsOneByItself) {
  const Cluster cluster = test::shipped("gb200_nvl72");
  const auto shared = std::make_shared<const HostRoutes>(cluster.topology);
  const std::vector<DeviceId> gpus = all_of(cluster.topology, DeviceKind::kGpu);
  const auto routes = [&](const std::shared_ptr<const HostRoutes>& hosts) {
    const Router router{cluster.topology, make_routing_policy("ecmp"), 1, hosts};
    std::vector<Footprint> found;
    for (const DeviceId from : gpus) {
      found.push_back(router.route(from, router.nic_of(from), {}));
      for (std::size_t i = 0; i < gpus.size(); i += 7) found.push_back(router.route(from, gpus[i], {}));
    }
    return found;
  };
  std::vector<std::vector<Footprint>> answers(2);
  std::vector<std::thread> threads;
  for (std::vector<Footprint>& answer : answers) threads.emplace_back([&] { answer = routes(shared); });
  for (std::thread& thread : threads) thread.join();
  const std::vector<Footprint> expected = routes(nullptr);
  for (const std::vector<Footprint>& answer : answers) {
    ASSERT_EQ(answer.size(), expected.size());
    for (std::size_t i = 0; i < answer.size(); ++i) {
      EXPECT_EQ(answer[i].usages, expected[i].usages);
      EXPECT_EQ(answer[i].latency, expected[i].latency);
    }
  }
}

}  // namespace
}  // namespace weft::net
