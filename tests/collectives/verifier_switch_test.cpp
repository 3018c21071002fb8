// The verifier on steps that a switch does: adding up what several ranks send, and copying to several ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/collectives/verifier.h"
#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using ::testing::HasSubstr;
using weft::testing::TableSchedule;

const std::vector<Rank> kAll = {0, 1, 2, 3};
const CollectiveCall kCall{.kind = Collective::kAllReduce, .bytes = 64_B};

Step contribution(Rank to, Bytes bytes = 64_B) {
  Step step;
  step.bytes = bytes;
  step.use_source = true;
  step.send_to = to;
  step.send_in_switch = true;
  step.send_connection = 1;
  return step;
}
Step reduce_and_copy() {
  Step step;
  step.bytes = 64_B;
  step.receive_from = Peers::view(kAll);
  step.receive_in_switch = true;
  step.receive_connection = 1;
  step.send_to = Peers::view(kAll);
  step.send_in_switch = true;
  return step;
}
Step take(Rank from) {
  Step step;
  step.bytes = 64_B;
  step.receive_from = from;
  step.store = true;
  step.destination = {Buffer::kOutput, 0};
  return step;
}

// Four ranks, rank 2 the only head: its switch adds up all copies, its own too, and writes the sum to all.
TableSchedule one_head() {
  TableSchedule table{4, 1};
  for (const Rank rank : kAll) {
    table.lane(rank, 0, 0) = {contribution(2)};
    table.lane(rank, 0, 1) = {take(2)};
  }
  table.lane(2, 0, 2) = {reduce_and_copy()};
  return table;
}

std::string error(const TableSchedule& table) { return verify(table, kCall).value_or("none"); }

TEST(VerifierSwitchTest, AcceptsASumAndCopiesThatIncludeTheRankItself) { EXPECT_EQ(error(one_head()), "none"); }

TEST(VerifierSwitchTest, SizesOfWhatIsAddedUpMustAgree) {
  TableSchedule table = one_head();
  table.lane(3, 0, 0) = {contribution(2, 60_B)};
  EXPECT_EQ(error(table),
            "all_reduce on 4 ranks: rank 2 channel 0 lane 2 step 0: expects 64 bytes from rank 3, which sent 60 "
            "(rank 3 channel 0 lane 0 step 0)");
}

TEST(VerifierSwitchTest, TheKthOfEveryRankAreAddedUp) {
  TableSchedule table = one_head();
  for (const Rank rank : kAll) {
    Step half = contribution(2, 32_B);
    table.lane(rank, 0, 0) = {half, half};
    table.lane(rank, 0, 0)[1].source.offset = 32;
    table.lane(rank, 0, 1) = {take(2), take(2)};
    for (Step& step : table.lane(rank, 0, 1)) step.bytes = 32_B;
    table.lane(rank, 0, 1)[1].destination.offset = 32;
  }
  table.lane(2, 0, 2) = {reduce_and_copy(), reduce_and_copy()};
  for (Step& step : table.lane(2, 0, 2)) step.bytes = 32_B;
  EXPECT_EQ(error(table), "none");
  std::swap(table.lane(1, 0, 0)[0], table.lane(1, 0, 0)[1]);
  EXPECT_THAT(error(table), HasSubstr("rank 2 channel 0 lane 2 step 0: adds up different bytes of the inputs at byte 0"));
}

TEST(VerifierSwitchTest, ContributionsAndPlainMessagesAreToldApart) {
  TableSchedule table = one_head();
  table.lane(2, 0, 2)[0].receive_in_switch = false;
  EXPECT_EQ(error(table),
            "all_reduce on 4 ranks: rank 2 channel 0 lane 2 step 0: takes by itself what rank 0 sent for a switch to add up "
            "(rank 0 channel 0 lane 0 step 0)");
  table = one_head();
  table.lane(1, 0, 0)[0].send_in_switch = false;
  EXPECT_EQ(error(table),
            "all_reduce on 4 ranks: rank 2 channel 0 lane 2 step 0: has a switch add up what rank 1 sent past it "
            "(rank 1 channel 0 lane 0 step 0)");
}

TEST(VerifierSwitchTest, ACopyThatNobodyTakesAndARankLeftOutAreFound) {
  TableSchedule table = one_head();
  table.lane(3, 0, 1).clear();
  EXPECT_EQ(error(table), "all_reduce on 4 ranks: rank 3 never receives what rank 2 channel 0 lane 2 step 0 sent");
  table = one_head();
  table.lane(0, 0, 0).clear();
  EXPECT_THAT(error(table), HasSubstr("rank 2 channel 0 lane 2 step 0 waits for a message from rank 0"));
}

TEST(VerifierSwitchTest, ConnectionsOfOnePairDoNotMix) {
  TableSchedule table = one_head();
  for (const Rank rank : kAll) table.lane(rank, 0, 0)[0].send_connection = 0;
  table.lane(2, 0, 2)[0].receive_connection = 0;
  EXPECT_THAT(error(table), HasSubstr("takes by itself what rank 2 sent for a switch to add up"));
  table = one_head();
  table.lane(0, 0, 0)[0].send_connection = 4;
  EXPECT_THAT(error(table), HasSubstr("rank 0 channel 0 lane 0 step 0: a connection that is none of the 4"));
}

TEST(VerifierSwitchTest, ASwitchNeedsPeersAndOnlyASwitchReachesTheRankItself) {
  TableSchedule table = one_head();
  table.lane(1, 0, 1)[0].send_in_switch = true;
  EXPECT_THAT(error(table), HasSubstr("rank 1 channel 0 lane 1 step 0: a switch has nobody to send to"));
  table = one_head();
  table.lane(1, 0, 0)[0].receive_in_switch = true;
  EXPECT_THAT(error(table), HasSubstr("rank 1 channel 0 lane 0 step 0: a switch has nothing to add up"));
  table = one_head();
  table.lane(2, 0, 0)[0].send_in_switch = false;
  EXPECT_THAT(error(table), HasSubstr("rank 2 channel 0 lane 0 step 0: a message to or from itself"));
}

// A sum may stay with the rank that has the switch's work: a message to itself, for another of its lanes.
TEST(VerifierSwitchTest, ASumMayGoToTheRankItself) {
  const std::vector<Rank> both = {0, 1};
  TableSchedule table{2, 1};
  for (const Rank rank : both) {
    Step give;
    give.bytes = 64_B;
    give.use_source = true;
    give.source.offset = 0;
    give.send_to = 0;
    give.send_in_switch = true;
    give.send_connection = 1;
    table.lane(rank).push_back(give);
  }
  Step sum;
  sum.bytes = 64_B;
  sum.receive_from = Peers::view(both);
  sum.receive_in_switch = true;
  sum.receive_connection = 1;
  sum.send_to = 0;
  table.lane(0, 0, 1).push_back(sum);
  Step take;
  take.bytes = 64_B;
  take.receive_from = 0;
  take.store = true;
  take.destination = {Buffer::kOutput, 0};
  table.lane(0, 0, 2).push_back(take);
  const CollectiveCall reduce{.kind = Collective::kReduce, .bytes = 64_B, .element_size = 4, .root = 0};
  EXPECT_EQ(verify(table, reduce).value_or("none"), "none");
  table.lane(0, 0, 1)[0].receive_in_switch = false;
  EXPECT_THAT(verify(table, reduce).value_or("none"), HasSubstr("a message to or from itself"));
}

// A list longer than three, with a rank that stands twice.
TEST(VerifierSwitchTest, NobodyStandsTwiceInALongList) {
  const std::vector<Rank> twice = {0, 1, 2, 3, 1};
  TableSchedule table = one_head();
  table.lane(2, 0, 2)[0].send_to = Peers::view(twice);
  EXPECT_THAT(error(table), HasSubstr("rank 2 channel 0 lane 2 step 0: peer 1 stands twice"));
}

}  // namespace
}  // namespace weft::coll
