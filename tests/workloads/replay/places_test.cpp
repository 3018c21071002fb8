#include "sim/workloads/replay/places.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/network/builtin.h"
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

std::string difference(const net::Topology& topology, const std::vector<std::size_t>& places,
                       std::string_view routing = "adaptive") {
  const net::Router router{topology, net::make_routing_policy(routing), 1};
  return difference_of_places(four_ranks(topology, places), router);
}

TEST(PlacesTest, HostsInOnePatternAreAlike) {
  const net::Topology topology = weft::testing::star(4, 100_Gbps, 0_us);
  EXPECT_EQ(difference(topology, {0, 1, 2, 3}), "");
  EXPECT_EQ(difference(topology, {3, 1, 0, 2}), "");
}

TEST(PlacesTest, AGroupInOneHostIsNotLikeOneOverTwo) {
  const net::Topology topology = weft::testing::star(4, 100_Gbps, 0_us);
  EXPECT_EQ(difference(topology, {0, 1, 2, 2}), "'b' of rank 2 lies otherwise than 'a' of rank 0");
}

TEST(PlacesTest, PairsThatOtherLinksJoinAreNotAlike) {
  const net::Topology topology = net::test::shipped("dgx1_v100").topology;
  // Two NVLinks join 0 and 3, and 1 and 2, one joins 0 and 1, none joins 1 and 6.
  EXPECT_EQ(difference(topology, {0, 3, 1, 2}), "");
  EXPECT_EQ(difference(topology, {0, 3, 0, 1}), "'b' of rank 2 lies otherwise than 'a' of rank 0");
  EXPECT_EQ(difference(topology, {0, 1, 1, 6}), "'b' of rank 2 lies otherwise than 'a' of rank 0");
}

TEST(PlacesTest, GroupsBelowOversubscribedSwitchesRepeatInOnePattern) {
  // Two hosts a leaf, which has one cable up.
  const net::Topology topology = net::test::hosts_on(6, "type: leaf_spine, leaf_ports: 3, oversubscription: 2");
  EXPECT_EQ(difference(topology, {0, 1, 2, 3}), "");
  EXPECT_EQ(difference(topology, {0, 2, 1, 3}), "");
  EXPECT_EQ(difference(topology, {0, 2, 1, 4}), "");
  EXPECT_EQ(difference(topology, {0, 1, 2, 4}), "'b' lies otherwise below oversubscribed switches than 'a'");
}

TEST(PlacesTest, CablesUpThatOthersLoadOtherwiseAreNotAlike) {
  const net::Topology topology = net::test::hosts_on(6, "type: leaf_spine, leaf_ports: 3, oversubscription: 2");
  // The second leaf is below both groups: the first one's second, the other's first.
  EXPECT_EQ(difference(topology, {0, 2, 3, 4}), "'b' lies otherwise below oversubscribed switches than 'a'");
  EXPECT_EQ(difference(topology, {0, 2, 4, 3}), "");
}

TEST(PlacesTest, FlowsThatTakeOnePathOfSeveralAreNotAlike) {
  // Two hosts a leaf, which has two cables up.
  const net::Topology topology = net::test::hosts_on(4, "type: leaf_spine, leaf_ports: 4");
  EXPECT_EQ(difference(topology, {0, 2, 1, 3}, "adaptive"), "");
  EXPECT_EQ(difference(topology, {0, 1, 2, 3}, "ecmp"), "");
  EXPECT_EQ(difference(topology, {0, 2, 1, 3}, "ecmp"), "'a' crosses switches that pick one of several links for a flow");
  // One cable up leaves nothing to pick.
  const net::Topology narrow = net::test::hosts_on(4, "type: leaf_spine, leaf_ports: 3, oversubscription: 2");
  EXPECT_EQ(difference(narrow, {0, 2, 1, 3}, "ecmp"), "");
}

TEST(PlacesTest, LinksOfATorusAreNotAlike) {
  const net::Topology topology = net::test::hosts_on(4, "type: torus, dims: [4]");
  EXPECT_EQ(difference(topology, {0, 1, 2, 3}), "'a' crosses switches that are no tree of even links");
}

TEST(PlacesTest, UnfoldedRanksLeadThemselves) {
  const net::Topology topology = weft::testing::star(4, 100_Gbps, 0_us);
  Program program = four_ranks(topology, {0, 1, 2, 3});
  unfold(program);
  for (Rank r = 0; r < 4; ++r) EXPECT_EQ(program.ranks[static_cast<std::size_t>(r)].leader, r);
}

TEST(PlacesTest, RanksThatRunOneProgramWithoutMessagesAreFolded) {
  const net::Topology topology = weft::testing::star(4, 100_Gbps, 0_us);
  Program program = four_ranks(topology, {0, 1, 2, 3});
  const auto leaders = [&] {
    std::vector<Rank> found;
    for (const ProgramRank& rank : program.ranks) found.push_back(rank.leader);
    return found;
  };
  const std::vector<Rank> alone = {0, 1, 2, 3};
  unfold(program);
  fold_alike(program);
  EXPECT_EQ(leaders(), (std::vector<Rank>{0, 0, 0, 0}));
  unfold(program);
  program.ranks[2].peers = {3};
  fold_alike(program);
  EXPECT_EQ(leaders(), alone) << "a message is to somebody";
  program.ranks[2].peers.clear();
  program.programs.emplace_back();
  program.ranks[3].program = 1;
  fold_alike(program);
  EXPECT_EQ(leaders(), alone) << "another program";
  program.ranks[3].program = 0;
  program.groups[1].ranks = {2};
  fold_alike(program);
  EXPECT_EQ(leaders(), alone) << "a smaller group";
}

}  // namespace
}  // namespace weft::work::test
