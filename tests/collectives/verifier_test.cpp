#include "sim/collectives/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using ::testing::HasSubstr;
using weft::testing::call;
using weft::testing::TableSchedule;

Chunk input(std::int64_t offset = 0) { return {Buffer::kInput, offset}; }
Chunk output(std::int64_t offset = 0) { return {Buffer::kOutput, offset}; }
Chunk scratch(std::int64_t offset = 0) { return {Buffer::kScratch, offset}; }

Step send(Rank to, Bytes bytes, Chunk source) {
  Step step;
  step.send_to = to;
  step.bytes = bytes;
  step.use_source = true;
  step.source = source;
  return step;
}
Step receive(Rank from, Bytes bytes, Chunk destination) {
  Step step;
  step.receive_from = from;
  step.bytes = bytes;
  step.store = true;
  step.destination = destination;
  return step;
}
Step receive_and_add(Rank from, Bytes bytes, Chunk source, Chunk destination) {
  Step step = receive(from, bytes, destination);
  step.use_source = true;
  step.source = source;
  return step;
}
Step copy(Bytes bytes, Chunk source, Chunk destination) {
  Step step;
  step.bytes = bytes;
  step.use_source = true;
  step.source = source;
  step.store = true;
  step.destination = destination;
  return step;
}

const CollectiveCall kSwap = call(Collective::kSendRecv, 64_B);

// Two ranks that send each other 64 bytes, as sendrecv asks.
TableSchedule swap() {
  TableSchedule table{2, 1};
  for (const Rank rank : {0, 1}) table.lane(rank) = {send(1 - rank, 64_B, input()), receive(1 - rank, 64_B, output())};
  return table;
}

std::string error(const TableSchedule& table, const CollectiveCall& of, int slots = 2) {
  return verify(table, of, {.fifo_slots = slots}).value_or("none");
}

TEST(VerifierTest, AcceptsARightSchedule) { EXPECT_EQ(error(swap(), kSwap), "none"); }

TEST(VerifierTest, AcceptsAllReduceByExchangeOfWholeVectors) {
  TableSchedule table{2, 1};
  for (const Rank rank : {0, 1}) {
    table.lane(rank) = {send(1 - rank, 64_B, input()), receive_and_add(1 - rank, 64_B, input(), output())};
  }
  EXPECT_EQ(error(table, call(Collective::kAllReduce, 64_B)), "none");
}

TEST(VerifierTest, AcceptsAThreeWayReductionIntoTheRoot) {
  TableSchedule table{3, 1};
  table.lane(0) = {send(1, 64_B, input())};
  table.lane(2) = {send(1, 64_B, input())};
  Step sum = receive_and_add(0, 64_B, input(), output());
  sum.receive_from.add(2);
  table.lane(1) = {sum};
  EXPECT_EQ(error(table, call(Collective::kReduce, 64_B, 1)), "none");
}

TEST(VerifierTest, NamesTheByteThatIsMissing) {
  TableSchedule table = swap();
  table.lane(0)[1] = receive(1, 64_B, scratch());
  EXPECT_EQ(error(table, kSwap), "sendrecv on 2 ranks: rank 0 ends with output[0] undefined");
}

TEST(VerifierTest, NamesTheWrongByteAndItsContributors) {
  TableSchedule table{2, 1};
  table.lane(0) = {send(1, 64_B, input()), receive_and_add(1, 64_B, input(), output())};
  table.lane(1) = {send(0, 64_B, input()), receive(0, 64_B, output())};
  EXPECT_EQ(error(table, call(Collective::kAllReduce, 64_B)),
            "all_reduce on 2 ranks: rank 1 ends with output[0] made of input[0] of rank 0, not of input[0] of ranks 0 1");
}

TEST(VerifierTest, CountsARankOnlyOnce) {
  TableSchedule table{2, 1};
  table.lane(0) = {copy(64_B, input(), scratch()), send(1, 64_B, input()), receive_and_add(1, 64_B, scratch(), output())};
  table.lane(1) = {send(0, 64_B, input()), receive_and_add(0, 64_B, input(), scratch()), copy(64_B, scratch(), output())};
  ASSERT_EQ(error(table, call(Collective::kAllReduce, 64_B)), "none");
  // Rank 1 now adds up twice: its partial sum already holds rank 0.
  table.lane(0).push_back(send(1, 64_B, input()));
  table.lane(1).push_back(receive_and_add(0, 64_B, scratch(), output()));
  EXPECT_THAT(error(table, call(Collective::kAllReduce, 64_B)), HasSubstr("made of input[0] of ranks 0x2 1, not"));
}

TEST(VerifierTest, RefusesSumsOfDifferentBytes) {
  TableSchedule table{2, 1};
  for (const Rank rank : {0, 1}) {
    table.lane(rank) = {send(1 - rank, 32_B, input(0)), send(1 - rank, 32_B, input(32)),
                        receive_and_add(1 - rank, 32_B, input(0), output(0)),
                        receive_and_add(1 - rank, 32_B, input(32), output(32))};
  }
  ASSERT_EQ(error(table, call(Collective::kAllReduce, 64_B)), "none");
  table.lane(1)[3].source.offset = 31;
  EXPECT_EQ(
      error(table, call(Collective::kAllReduce, 64_B)),
      "all_reduce on 2 ranks: rank 1 channel 0 lane 0 step 3: adds up different bytes of the inputs at byte 0 of its chunk");
}

TEST(VerifierTest, RefusesToReadWhatIsUndefined) {
  TableSchedule table = swap();
  table.lane(1).push_back(copy(33_B, scratch(7), output()));
  EXPECT_EQ(error(table, kSwap), "sendrecv on 2 ranks: rank 1 channel 0 lane 0 step 2: reads scratch[7], which is undefined");
  table.lane(1)[2] = copy(8_B, input(), scratch(0));
  table.lane(1).push_back(copy(9_B, scratch(0), output()));
  EXPECT_THAT(error(table, kSwap), HasSubstr("step 3: reads scratch[8], which is undefined"));
}

TEST(VerifierTest, RefusesToReachOutsideTheBuffersOrIntoTheInput) {
  TableSchedule table = swap();
  table.lane(0)[0] = send(1, 64_B, input(1));
  EXPECT_THAT(error(table, kSwap), HasSubstr("rank 0 channel 0 lane 0 step 0: 64 bytes at input[1] are outside the buffer"));
  table = swap();
  table.lane(0)[1] = receive(1, 64_B, output(-1));
  EXPECT_THAT(error(table, kSwap), HasSubstr("step 1: 64 bytes at output[-1] are outside the buffer"));
  table = swap();
  table.lane(0)[1] = receive(1, 64_B, input());
  EXPECT_THAT(error(table, kSwap), HasSubstr("step 1: writes input[0]"));
}

TEST(VerifierTest, OnlyTheRootHasAnOutputOfReduceAndAnInputOfBroadcast) {
  TableSchedule table{2, 1};
  table.lane(0) = {send(1, 64_B, input()), copy(64_B, input(), output())};
  table.lane(1) = {receive_and_add(0, 64_B, input(), output())};
  EXPECT_THAT(error(table, call(Collective::kReduce, 64_B, 1)),
              HasSubstr("rank 0 channel 0 lane 0 step 1: 64 bytes at output[0]"));
  table.lane(0).pop_back();
  EXPECT_EQ(error(table, call(Collective::kReduce, 64_B, 1)), "none");
  table.lane(0).push_back(copy(64_B, input(), output()));
  EXPECT_THAT(error(table, call(Collective::kBroadcast, 64_B, 0)),
              HasSubstr("rank 1 channel 0 lane 0 step 0: 64 bytes at input[0]"));
}

TEST(VerifierTest, MatchesTheKthSendWithTheKthReceive) {
  TableSchedule table = swap();
  table.lane(0)[0] = send(1, 60_B, input());
  EXPECT_EQ(error(table, kSwap),
            "sendrecv on 2 ranks: rank 1 channel 0 lane 0 step 1: expects 64 bytes from rank 0, which sent 60 "
            "(rank 0 channel 0 lane 0 step 0)");
}

TEST(VerifierTest, FindsAMessageNobodyTakes) {
  TableSchedule table = swap();
  table.lane(0).push_back(send(1, 0_B, input()));
  EXPECT_EQ(error(table, kSwap), "sendrecv on 2 ranks: rank 1 never receives what rank 0 channel 0 lane 0 step 2 sent");
}

TEST(VerifierTest, ADeadlockNamesWhatEveryRankWaitsFor) {
  TableSchedule table{2, 1};
  for (const Rank rank : {0, 1}) table.lane(rank) = {receive(1 - rank, 64_B, output()), send(1 - rank, 64_B, input())};
  EXPECT_EQ(error(table, kSwap),
            "sendrecv on 2 ranks: deadlock: rank 0 channel 0 lane 0 step 0 waits for a message from rank 1; "
            "rank 1 channel 0 lane 0 step 0 waits for a message from rank 0");
}

// Both send k messages before they take any: k slots are needed, and k are enough.
TEST(VerifierTest, ConnectionsHoldNoMoreThanTheirSlots) {
  TableSchedule table{2, 1};
  for (const Rank rank : {0, 1}) {
    for (int k = 0; k < 3; ++k) table.lane(rank).push_back(send(1 - rank, 16_B, input(16 * k)));
    for (int k = 0; k < 3; ++k) table.lane(rank).push_back(receive(1 - rank, 16_B, output(16 * k)));
  }
  const CollectiveCall of = call(Collective::kSendRecv, 48_B);
  EXPECT_EQ(error(table, of, 3), "none");
  EXPECT_EQ(error(table, of, 2),
            "sendrecv on 2 ranks: deadlock: rank 0 channel 0 lane 0 step 2 waits for a free slot to rank 1; "
            "rank 1 channel 0 lane 0 step 2 waits for a free slot to rank 0");
}

// In a ring every rank holds a message and wants to send it on: with one slot none can.
TEST(VerifierTest, ARingNeedsTwoSlots) {
  const weft::testing::Group group{4};
  const CollectiveCall of = call(Collective::kAllReduce, 1_KiB);
  const auto ring = weft::testing::plan(group.communicator(), of, "ring");
  EXPECT_FALSE(verify(*ring, of, {.fifo_slots = 2}).has_value());
  EXPECT_THAT(verify(*ring, of, {.fifo_slots = 1}).value_or("none"), HasSubstr("deadlock"));
}

TEST(VerifierTest, ALongDeadlockIsCutShort) {
  TableSchedule table{12, 1};
  for (Rank rank = 0; rank < 12; ++rank) table.lane(rank) = {receive((rank + 11) % 12, 64_B, output())};
  EXPECT_THAT(error(table, kSwap), HasSubstr("; and 4 more"));
}

TEST(VerifierTest, LanesMustNotTouchTheSameBytesInNoFixedOrder) {
  TableSchedule table = swap();
  table.lane(0, 0, 1) = {copy(16_B, input(), output(60 - 16))};
  EXPECT_EQ(error(table, kSwap),
            "sendrecv on 2 ranks: rank 0 channel 0 lane 1 step 0 and rank 0 channel 0 lane 0 step 1 use output[44] in no fixed "
            "order");
  // Scratch of the same offset is another buffer.
  table.lane(0, 0, 1) = {copy(16_B, input(), scratch(60 - 16))};
  EXPECT_EQ(error(table, kSwap), "none");
}

TEST(VerifierTest, NeighbouringBytesAndReadsAloneDoNotClash) {
  TableSchedule table{2, 1};
  for (const Rank rank : {0, 1}) {
    const Rank other = 1 - rank;
    table.lane(rank, 0, 0) = {send(other, 32_B, input(0)), send(other, 32_B, input(32))};
    table.lane(rank, 0, 1) = {receive(other, 32_B, output(0)), receive(other, 32_B, output(32))};
  }
  EXPECT_EQ(error(table, kSwap), "none");
  // A lane may write the same bytes twice; but then the last one is missing.
  table.lane(0, 0, 1)[1].destination.offset = 31;
  EXPECT_THAT(error(table, kSwap), HasSubstr("output[63] undefined"));
}

TEST(VerifierTest, MessagesPutLanesInOrder) {
  // Rank 0's lane 0 writes scratch, and rank 1's answer starts lane 1, which reads it.
  TableSchedule table{2, 1};
  table.lane(0, 0, 0) = {copy(64_B, input(), scratch()), send(1, 64_B, scratch())};
  table.lane(0, 0, 1) = {receive(1, 64_B, output()), copy(64_B, scratch(), scratch(64))};
  table.lane(1) = {receive(0, 64_B, output()), send(0, 64_B, input())};
  EXPECT_EQ(error(table, kSwap), "none");
  // Without waiting for the answer, nothing orders them.
  table.lane(0, 0, 1) = {copy(64_B, input(), scratch(0)), receive(1, 64_B, output())};
  EXPECT_THAT(error(table, kSwap),
              HasSubstr("rank 0 channel 0 lane 0 step 0 and rank 0 channel 0 lane 1 step 0 use scratch[0]"));
}

TEST(VerifierTest, TwoLanesMustNotRaceForAConnection) {
  TableSchedule table{2, 1};
  table.lane(0, 0, 0) = {send(1, 32_B, input(0)), receive(1, 64_B, output())};
  table.lane(0, 0, 1) = {send(1, 32_B, input(32))};
  table.lane(1) = {send(0, 64_B, input()), receive(0, 32_B, output(0)), receive(0, 32_B, output(32))};
  EXPECT_THAT(error(table, kSwap), HasSubstr("sends to rank 1 in no fixed order with rank 0 channel 0 lane 0 step 0"));
  table.lane(0, 0, 0) = {send(1, 64_B, input()), receive(1, 32_B, output(0))};
  table.lane(0, 0, 1) = {receive(1, 32_B, output(32))};
  table.lane(1) = {send(0, 32_B, input(0)), send(0, 32_B, input(32)), receive(0, 64_B, output())};
  EXPECT_THAT(error(table, kSwap), HasSubstr("receives from rank 1 in no fixed order"));
}

TEST(VerifierTest, RefusesStepsThatMakeNoSense) {
  TableSchedule table = swap();
  table.lane(0).push_back(send(2, 0_B, input()));
  EXPECT_THAT(error(table, kSwap), HasSubstr("step 2: peer 2 is not a rank"));
  table.lane(0)[2] = send(0, 0_B, input());
  EXPECT_THAT(error(table, kSwap), HasSubstr("step 2: a message to or from itself"));
  table.lane(0)[2] = send(1, 0_B, input());
  table.lane(0)[2].send_to.add(1);
  EXPECT_THAT(error(table, kSwap), HasSubstr("step 2: peer 1 stands twice"));
  table.lane(0)[2] = {};
  EXPECT_THAT(error(table, kSwap), HasSubstr("step 2: neither receives nor reads anything"));
  table.lane(0)[2] = copy(4_B, input(), scratch());
  table.lane(0)[2].store = false;
  EXPECT_THAT(error(table, kSwap), HasSubstr("step 2: neither sends nor keeps its result"));
  table.lane(0)[2] = copy(Bytes{-1}, input(), scratch());
  EXPECT_THAT(error(table, kSwap), HasSubstr("step 2: a negative number of bytes"));
}

TEST(VerifierTest, AStepMustNotOverwriteItsOwnSourceOutOfPlace) {
  TableSchedule table = swap();
  table.lane(0).push_back(copy(32_B, input(), scratch(0)));
  table.lane(0).push_back(copy(16_B, scratch(0), scratch(16)));
  EXPECT_EQ(error(table, kSwap), "none");
  table.lane(0)[3] = copy(17_B, scratch(0), scratch(15));
  EXPECT_THAT(error(table, kSwap), HasSubstr("step 3: writes scratch[15] over its own source"));
}

}  // namespace
}  // namespace weft::coll
