#include "sim/network/flow_level/rerouting.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/support/fabric_run.h"
#include "tests/support/two_spines.h"

namespace weft::net {
namespace {

using namespace literals;

class ReroutingTest : public ::testing::Test {
 protected:
  LinkId link(const std::string& from, const std::string& to) {
    const Topology& t = run_.topology();
    for (const LinkId id : t.out_links(*t.find(from))) {
      if (t.link(id).to == *t.find(to)) return id;
    }
    return {};
  }
  void set(const std::string& a, const std::string& b, bool up) {
    const std::array both = {link(a, b), link(b, a)};
    rerouting_.set_link_state(both, up);
  }
  double bytes(const std::string& from, const std::string& to) {
    return run_.fabric().counters(ResourceId{link(from, to).value()}).bytes;
  }
  // The spine that the hash gives the flow posted first, and the other one.
  std::pair<std::string, std::string> spines() {
    for (const Usage& usage : run_.fabric().footprint(FootprintId{0}).usages) {
      if (usage.resource.value() == link("s0", "s2").value()) return {"s2", "s3"};
    }
    return {"s3", "s2"};
  }

  testing::FabricRun run_{testing::two_spines(), "ecmp"};
  Rerouting rerouting_{run_.router(), run_.fabric()};
};

TEST_F(ReroutingTest, AFlowGoesOnOverTheOtherWay) {
  run_.post("h0", "h2", 1_MB);
  run_.run_until(Time{} + 20_us);  // 250 kB
  const auto [first, second] = spines();
  set("s0", first, false);
  run_.finish();
  EXPECT_EQ(run_.delivered(0), Time{} + 80_us);
  EXPECT_NEAR(bytes("s0", first), 250e3, 1e-3);
  EXPECT_NEAR(bytes("s0", second), 750e3, 1e-3);
  EXPECT_NEAR(bytes("h0", "s0"), 1e6, 1e-3);
}

TEST_F(ReroutingTest, WhoIsThereAlreadySharesTheLink) {
  run_.post("h0", "h2", 1_MB);
  const auto [first, second] = spines();
  set("s1", second, false);  // h1's flow is on the first way whatever its hash says
  run_.post("h1", "h3", 1_MB);
  run_.run_until(Time{} + 40_us);
  EXPECT_NEAR(bytes("s0", first), 500e3, 1e-3);
  run_.finish();
  EXPECT_EQ(run_.delivered(0), Time{} + 160_us);
  EXPECT_EQ(run_.delivered(1), Time{} + 160_us);
}

TEST_F(ReroutingTest, AFlowReturnsWhenItsWayIsBack) {
  run_.post("h0", "h2", 1_MB);
  const auto [first, second] = spines();
  run_.run_until(Time{} + 20_us);
  set("s0", first, false);
  run_.run_until(Time{} + 40_us);
  set("s0", first, true);
  run_.finish();
  EXPECT_EQ(run_.delivered(0), Time{} + 80_us);
  EXPECT_NEAR(bytes("s0", first), 750e3, 1e-3);
  EXPECT_NEAR(bytes("s0", second), 250e3, 1e-3);
}

TEST_F(ReroutingTest, AFlowWithoutAnotherWayIsAborted) {
  run_.post("h0", "h2", 1_MB);
  run_.post_at(Time{} + 60_us, "h0", "h3", 1_MB);
  run_.run_until(Time{} + 40_us);
  set("h0", "s0", false);
  run_.run_until(Time{} + 50_us);
  EXPECT_TRUE(run_.aborted(0));
  set("h0", "s0", true);
  run_.finish();
  EXPECT_EQ(run_.delivered(1), Time{} + 140_us);
}

// Half of a coupled footprint's bytes go over each of two paths, and an engine takes all of them.
TEST_F(ReroutingTest, WhatIsNotTheRoutersStays) {
  const ResourceId engine = run_.fabric().add_resource("engine", (50_Gbps).bytes_per_ps());
  Footprint both = run_.router().route(*run_.topology().find("h0"), *run_.topology().find("h2"), {});
  both.couple(run_.router().route(*run_.topology().find("h1"), *run_.topology().find("h3"), {}));
  both.usages.push_back({engine, 2.0});
  const FootprintId id = run_.fabric().add_footprint(both);
  set("s0", "s2", false);
  double over = 0;
  for (const Usage& usage : run_.fabric().footprint(id).usages) {
    EXPECT_NE(usage.resource.value(), link("s0", "s2").value());
    if (usage.resource.value() == link("s0", "s3").value()) over = usage.usage;
  }
  EXPECT_EQ(over, 2.0);
  EXPECT_EQ(run_.fabric().footprint(id).usages.back().resource, engine);
  EXPECT_EQ(run_.fabric().footprint(id).usages.back().usage, 2.0);
  EXPECT_EQ(run_.fabric().footprint(id).paths.size(), 2U);
}

}  // namespace
}  // namespace weft::net
