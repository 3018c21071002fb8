#include <gtest/gtest.h>

#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::call;
using weft::testing::Group;
using weft::testing::plan;

// Two nodes of three. Channel 1: chains 1 2 0 and 4 5 3, and node 1's head stands for the switch.
TEST(CollNetChainTest, AChainOnEachNodeEndsAtItsHead) {
  const Group group{{3, 3}, 2};
  const auto collnet = plan(group.communicator(), call(Collective::kAllReduce, 128_B), "collnet_chain", 2, 64_B);
  EXPECT_TRUE(collnet->step(0, 1, 0, 0).receive_from.empty());
  EXPECT_EQ(collnet->step(0, 1, 0, 0).send_to, Peers{2});
  EXPECT_EQ(collnet->step(2, 1, 0, 0).send_to, Peers{1});
  const Step head = collnet->step(1, 1, 0, 0);
  EXPECT_EQ(head.receive_from, Peers{2});
  EXPECT_EQ(head.send_to, Peers{4});
  EXPECT_TRUE(head.send_in_switch);
  EXPECT_EQ(collnet->step(1, 1, 1, 0).receive_from, Peers{4});
  EXPECT_EQ(collnet->step(1, 1, 1, 0).send_to, Peers{2});
  // The head that stands for the switch is one like the others, and has the switch's lane besides.
  EXPECT_EQ(collnet->step(4, 1, 0, 0).receive_from, Peers{5});
  EXPECT_EQ(collnet->step(4, 1, 0, 0).send_to, Peers{4});
  EXPECT_EQ(collnet->step(4, 1, 1, 0).receive_from, Peers{4});
  EXPECT_EQ(collnet->step(4, 1, 1, 0).send_to, Peers{5});
  ASSERT_EQ(collnet->step_count(4, 1, 2), 1);
  EXPECT_EQ(collnet->step_count(1, 1, 2), 0);
  EXPECT_TRUE(collnet->step(4, 1, 2, 0).receive_in_switch && collnet->step(4, 1, 2, 0).multicasts());
  EXPECT_EQ(collnet->step(4, 1, 2, 0).receive_from, Peers::view(std::vector<Rank>{1, 4}));
  EXPECT_EQ(collnet->step(4, 1, 2, 0).send_to, Peers::view(std::vector<Rank>{1, 4}));
}

TEST(CollNetChainTest, ALinkCarriesEveryByteOnceEachWay) {
  const Group group{{3, 3}};
  const auto collnet = plan(group.communicator(), call(Collective::kAllReduce, 1000_B), "collnet_chain", 1, 64_B);
  const auto traffic = weft::testing::traffic_of_steps(*collnet);
  ASSERT_EQ(traffic.size(), 10U);
  for (const auto& [edge, bytes] : traffic) EXPECT_EQ(bytes, 1000);
}

}  // namespace
}  // namespace weft::coll
