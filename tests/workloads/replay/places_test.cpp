#include "sim/workloads/replay/places.h"

#include <gtest/gtest.h>

#include "tests/network/cluster_support.h"
#include "tests/support/topologies.h"

namespace weft::work::test {
namespace {

using namespace weft::literals;

// Four ranks on four hosts in two groups of two, of which the first rank leads the others.
Program four_ranks(const net::Topology& topology, const std::vector<std::size_t>& places) {
  Program program;
  program.programs.emplace_back();
  program.groups = {{.name = "a", .ranks = {0, 1}}, {.name = "b", .ranks = {2, 3}}};
  for (Rank r = 0; r < 4; ++r) {
    program.ranks.push_back({.program = 0, .groups = {static_cast<std::uint32_t>(r / 2)}, .peers = {}, .leader = 0});
    program.devices.push_back(topology.endpoints()[places[static_cast<std::size_t>(r)]]);
  }
  return program;
}

TEST(PlacesTest, HostsInOnePatternAreAlike) {
  const net::Topology topology = weft::testing::star(4, 100_Gbps, 0_us);
  EXPECT_EQ(difference_of_places(four_ranks(topology, {0, 1, 2, 3}), topology), "");
  EXPECT_EQ(difference_of_places(four_ranks(topology, {3, 1, 0, 2}), topology), "");
}

TEST(PlacesTest, AGroupInOneHostIsNotLikeOneOverTwo) {
  const net::Topology topology = weft::testing::star(4, 100_Gbps, 0_us);
  EXPECT_EQ(difference_of_places(four_ranks(topology, {0, 1, 2, 2}), topology),
            "'b' of rank 2 lies otherwise than 'a' of rank 0");
}

TEST(PlacesTest, PairsThatOtherLinksJoinAreNotAlike) {
  const net::Topology topology = net::test::shipped("dgx1_v100").topology;
  // Two NVLinks join 0 and 3, and 1 and 2, one joins 0 and 1, none joins 1 and 6.
  EXPECT_EQ(difference_of_places(four_ranks(topology, {0, 3, 1, 2}), topology), "");
  EXPECT_EQ(difference_of_places(four_ranks(topology, {0, 3, 0, 1}), topology),
            "'b' of rank 2 lies otherwise than 'a' of rank 0");
  EXPECT_EQ(difference_of_places(four_ranks(topology, {0, 1, 1, 6}), topology),
            "'b' of rank 2 lies otherwise than 'a' of rank 0");
}

TEST(PlacesTest, UnfoldedRanksLeadThemselves) {
  const net::Topology topology = weft::testing::star(4, 100_Gbps, 0_us);
  Program program = four_ranks(topology, {0, 1, 2, 3});
  unfold(program);
  for (Rank r = 0; r < 4; ++r) EXPECT_EQ(program.ranks[static_cast<std::size_t>(r)].leader, r);
}

}  // namespace
}  // namespace weft::work::test
