// ECMP by weights: of many flows each link has its part, within what binomial draws leave.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/network/builtin.h"
#include "sim/network/router.h"
#include "tests/support/topologies.h"

namespace weft::net {
namespace {

using namespace literals;

// A host on each of two switches, and two ways between: over s2, and over s3, whose cables have these rates and weights.
Topology two_ways(Bandwidth second_rate, double first_weight) {
  TopologyBuilder builder;
  testing::add_bare_hosts(builder, 2);
  LinkSpec plain = testing::plain_link(300_Gbps, 1_us);
  const std::uint32_t host = builder.add_spec(plain);
  plain.weight = first_weight;
  const std::uint32_t first = builder.add_spec(plain);
  const std::uint32_t second = builder.add_spec(testing::plain_link(second_rate, 1_us));
  std::vector<DeviceId> s;
  for (int i = 0; i < 4; ++i) s.push_back(builder.add_switch(testing::plain_switch("s" + std::to_string(i))));
  for (std::uint32_t h = 0; h < 2; ++h) {
    builder.add_cable(builder.device_of(h, 0), s[h], host);
    builder.add_cable(s[h], s[2], first);
    builder.add_cable(s[h], s[3], second);
  }
  return std::move(builder).freeze();
}

// The share of flows that go by s2.
double first_share(const Topology& topology, const char* routing, std::uint64_t flows) {
  const Router router{topology, make_routing_policy(routing), 1};
  const DeviceId s2 = *topology.find("s2");
  std::uint64_t first = 0;
  for (std::uint64_t flow = 0; flow < flows; ++flow) {
    const Footprint way = router.route(*topology.find("h0"), *topology.find("h1"), {flow});
    for (const Usage& usage : way.usages) {
      if (topology.link(LinkId{usage.resource.value()}).to == s2) ++first;
    }
  }
  return static_cast<double>(first) / static_cast<double>(flows);
}

constexpr std::uint64_t kFlows = 10'000;

void expect_share(double found, double share) {
  EXPECT_NEAR(found, share, 4 * std::sqrt(share * (1 - share) / static_cast<double>(kFlows)));
}

TEST(WeightedEcmp, WeightsOfLinksShareThreeToOne) {
  expect_share(first_share(two_ways(300_Gbps, 3), R"({"type": "ecmp", "weights": "links"})", kFlows), 0.75);
  expect_share(first_share(two_ways(300_Gbps, 1), R"({"type": "ecmp", "weights": "links"})", kFlows), 0.5);
  expect_share(first_share(two_ways(300_Gbps, 0.25), R"({"type": "ecmp", "weights": "links"})", kFlows), 0.2);
}

TEST(WeightedEcmp, CapacityIsAWeightOfItsOwn) {
  expect_share(first_share(two_ways(100_Gbps, 1), R"({"type": "ecmp", "weights": "capacity"})", kFlows), 0.75);
  expect_share(first_share(two_ways(100_Gbps, 1), "ecmp", kFlows), 0.5);
  expect_share(first_share(two_ways(300_Gbps, 3), "ecmp", kFlows), 0.5);
}

}  // namespace
}  // namespace weft::net
