// Ways that are named device by device, over two switches with two spines between them (two_spines.h).
#include "sim/network/routing/named_way.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/network/builtin.h"
#include "sim/network/router.h"
#include "tests/support/two_spines.h"

namespace weft::net {
namespace {

using namespace literals;

class NamedWayTest : public ::testing::Test {
 protected:
  DeviceId device(const std::string& name) const { return *topology_.find(name); }
  NamedWay way(const std::vector<std::string>& names, bool complete) const {
    NamedWay made{.devices = {}, .complete = complete};
    for (const std::string& name : names) made.devices.push_back(device(name));
    return made;
  }
  FoundWay find(const std::string& from, const std::string& to, const NamedWay& named) const {
    return find_named_way(
        topology_, device(from), device(to), named, [](DeviceId, std::span<const LinkId> links) { return links.back(); },
        [this](LinkId link) { return link != down_; });
  }
  std::vector<std::string> links(const FoundWay& found) const {
    std::vector<std::string> names;
    for (const LinkId link : found.links) names.push_back(topology_.name(link));
    return names;
  }
  LinkId link(const std::string& name) const {
    for (std::size_t i = 0; i < topology_.link_count(); ++i) {
      if (topology_.name(LinkId::from_index(i)) == name) return LinkId::from_index(i);
    }
    return {};
  }

  Topology topology_ = testing::two_spines();
  LinkId down_;
};

using Names = std::vector<std::string>;

TEST_F(NamedWayTest, GoesThroughWhatIsNamedAndTheShortestWayBetween) {
  EXPECT_EQ(links(find("h0", "h2", way({"s3"}, false))), (Names{"h0->s0", "s0->s3", "s3->s1", "s1->h2"}));
  EXPECT_EQ(links(find("h0", "h2", way({"s2", "s1"}, false))), (Names{"h0->s0", "s0->s2", "s2->s1", "s1->h2"}));
}

TEST_F(NamedWayTest, ARouteNamesEveryDevice) {
  EXPECT_EQ(links(find("h0", "h2", way({"s0", "s2", "s1"}, true))), (Names{"h0->s0", "s0->s2", "s2->s1", "s1->h2"}));
  const FoundWay gap = find("h0", "h2", way({"s0", "s1"}, true));
  EXPECT_EQ(gap.why, "no link leads from 's0' to 's1'");
  EXPECT_EQ(gap.at, 1U);
  EXPECT_EQ(gap.advice, "links from 's0' lead to h0, h1, s2, s3");
}

TEST_F(NamedWayTest, NoDeviceIsVisitedTwice) {
  EXPECT_EQ(find("h0", "h2", way({"s2", "s0"}, false)).why, "the way visits 's0' twice");
  EXPECT_EQ(find("h0", "h2", way({"s0", "s2", "s0", "s3", "s1"}, true)).why, "the way visits 's0' twice");
  EXPECT_EQ(find("h0", "h1", way({"s2"}, false)).why, "the way visits 's0' twice") << "there and back over the only leaf";
  EXPECT_EQ(find("h0", "h0", way({"s0"}, false)).why, "the way visits 'h0' twice");
}

TEST_F(NamedWayTest, HostsPassNothingOn) {
  EXPECT_EQ(find("h0", "h2", way({"h1"}, false)).why, "'h1' is a host, which passes nothing on");
}

TEST_F(NamedWayTest, AClosedLinkIsNone) {
  down_ = link("s0->s3");
  EXPECT_EQ(find("h0", "h2", way({"s0", "s3", "s1"}, true)).why, "no link leads from 's0' to 's3'");
  // Through s3 all the same: by s2 and s1, but then s1 would come twice.
  EXPECT_EQ(find("h0", "h2", way({"s3"}, false)).why, "the way visits 's1' twice");
}

TEST_F(NamedWayTest, TheRouterTakesItWhateverThePolicy) {
  for (const char* policy : {"spray", "ecmp", "adaptive", "valiant"}) {
    Router router{topology_, make_routing_policy(policy), 1};
    const FlowKey key{7, {}, router.add_named_way(device("h0"), device("h2"), way({"s3"}, false), 7)};
    const Footprint footprint = router.route(device("h0"), device("h2"), key);
    ASSERT_EQ(footprint.usages.size(), 4U) << policy;
    for (const Usage& usage : footprint.usages) EXPECT_EQ(usage.usage, 1.0) << policy;
    std::vector<NextHop> hops;
    router.next_hops(device("s0"), device("h0"), device("h2"), key, hops);
    ASSERT_EQ(hops.size(), 1U);
    EXPECT_EQ(topology_.name(hops[0].link), "s0->s3");
  }
}

TEST_F(NamedWayTest, AFailureBreaksItAndARepairMendsIt) {
  Router router{topology_, make_routing_policy("ecmp"), 1};
  const FlowKey key{7, {}, router.add_named_way(device("h0"), device("h2"), way({"s0", "s3", "s1"}, true), 7)};
  router.set_link_state(link("s0->s3"), false);
  EXPECT_FALSE(router.find_route(device("h0"), device("h2"), key));
  EXPECT_TRUE(router.find_route(device("h0"), device("h2"), {7})) << "the policy has another way";
  router.set_link_state(link("s0->s3"), true);
  EXPECT_TRUE(router.find_route(device("h0"), device("h2"), key));
}

}  // namespace
}  // namespace weft::net
