#include "sim/network/routing/host_routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sim/network/builtin.h"
#include "sim/network/router.h"
#include "tests/network/cluster_support.h"

namespace weft::net {
namespace {

using namespace weft::literals;

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
    const std::vector<DeviceId> used = router.nics_of(gpu);
    ASSERT_FALSE(used.empty()) << cluster.topology.name(gpu);
    for (const DeviceId nic : used) EXPECT_EQ(router.path_class(gpu, nic), best) << cluster.topology.name(gpu);
  }
}

// GPUs that are alike differ neither in the way to their NIC nor in the way back.
TEST_P(ShippedHostTest, GpusThatAreAlikeHaveAlikeWaysOut) {
  const Cluster cluster = test::shipped(GetParam());
  const HostRoutes routes{cluster.topology};
  const HostTemplate& host = cluster.topology.template_of_host(0);
  const std::uint32_t number = cluster.topology.host(0).host_template;
  for (const std::uint32_t gpu : host.of_kind(DeviceKind::kGpu)) {
    const std::uint32_t first = routes.alike(number, gpu);
    EXPECT_LE(first, gpu);
    EXPECT_EQ(routes.alike(number, first), first);
    const auto nics = routes.nics_of(number, gpu);
    const auto nics_of_first = routes.nics_of(number, first);
    ASSERT_EQ(nics.size(), nics_of_first.size());
    if (nics.empty()) continue;
    const std::uint32_t nic = nics.front();
    const std::uint32_t nic_of_first = nics_of_first.front();
    const RouteFragment* out = routes.find(number, gpu, nic);
    const RouteFragment* out_of_first = routes.find(number, first, nic_of_first);
    EXPECT_EQ(out->path_class, out_of_first->path_class);
    EXPECT_EQ(out->cost.latency(), out_of_first->cost.latency());
    EXPECT_EQ(out->links.size(), out_of_first->links.size());
    const RouteFragment* in = routes.find(number, nic, gpu);
    const RouteFragment* in_of_first = routes.find(number, nic_of_first, first);
    EXPECT_EQ(in->cost.latency(), in_of_first->cost.latency());
    EXPECT_EQ(in->links.size(), in_of_first->links.size());
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
  for (const DeviceId gpu : all_of(cluster.topology, DeviceKind::kGpu)) used.push_back(router.nics_of(gpu).front());
  std::ranges::sort(used);
  EXPECT_EQ(used.size(), 72U);
  EXPECT_EQ(std::ranges::adjacent_find(used), used.end());
}

TEST(HostRoutesTest, RailsOfADgxAreAlikeAndGpusFarFromTheOnlyNicAreNot) {
  const Cluster dgx = test::shipped("dgx_h100");
  const HostRoutes rails{dgx.topology};
  for (const std::uint32_t gpu : dgx.topology.template_of_host(0).of_kind(DeviceKind::kGpu)) EXPECT_EQ(rails.alike(0, gpu), 0U);
  TopologyBuilder builder;
  const std::uint32_t pcie = builder.add_spec({.type = "pcie5", .rate = Bandwidth{64_GBps}, .latency = Duration{}});
  // Socket 0 has the NIC and a GPU, socket 1 another GPU.
  HostTemplate host{.name = "far", .devices = {}, .links = {}, .labels = {}};
  for (const auto& [name, kind] :
       {std::pair{"gpu0", DeviceKind::kGpu}, std::pair{"gpu1", DeviceKind::kGpu}, std::pair{"cpu0", DeviceKind::kCpu},
        std::pair{"cpu1", DeviceKind::kCpu}, std::pair{"nic0", DeviceKind::kNic}}) {
    host.devices.push_back({.name = name, .kind = kind, .forwarding = {}, .labels = {}});
  }
  for (const auto& [from, to] : {std::pair{0U, 2U}, std::pair{1U, 3U}, std::pair{2U, 3U}, std::pair{2U, 4U}}) {
    const auto first = static_cast<std::uint32_t>(host.links.size());
    host.links.push_back({.from = from, .to = to, .spec = pcie, .twin = first + 1, .labels = {}});
    host.links.push_back({.from = to, .to = from, .spec = pcie, .twin = first, .labels = {}});
  }
  builder.add_host(builder.add_template(std::move(host)));
  const Topology topology = std::move(builder).freeze();
  const HostRoutes far{topology};
  EXPECT_EQ(far.alike(0, 0), 0U);
  EXPECT_EQ(far.alike(0, 1), 1U);
}

TEST(HostRoutesTest, RoutersThatShareThemOnTwoThreadsAnswerAsOneByItself) {
  const Cluster cluster = test::shipped("gb200_nvl72");
  const auto shared = std::make_shared<const HostRoutes>(cluster.topology);
  const std::vector<DeviceId> gpus = all_of(cluster.topology, DeviceKind::kGpu);
  const auto routes = [&](const std::shared_ptr<const HostRoutes>& hosts) {
    const Router router{cluster.topology, make_routing_policy("ecmp"), 1, hosts};
    std::vector<Footprint> found;
    for (const DeviceId from : gpus) {
      found.push_back(router.route(from, router.nics_of(from).front(), {}));
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
