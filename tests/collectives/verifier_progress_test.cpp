// Lanes that wait for each other's progress, reductions inside a rank, and schedules in place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/collectives/verifier.h"
#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using ::testing::HasSubstr;
using weft::testing::call;
using weft::testing::TableSchedule;

Step copy(Chunk source, Chunk destination, Bytes bytes = 64_B) {
  Step step;
  step.bytes = bytes;
  step.use_source = step.store = true;
  step.source = source;
  step.destination = destination;
  return step;
}
Step after(Step step, int lane, std::int64_t steps) {
  step.after = {.channel = 0, .lane = lane, .steps = steps};
  return step;
}
Step wait(int lane, std::int64_t steps) { return after(Step{}, lane, steps); }

const Chunk kIn{Buffer::kInput, 0};
const Chunk kOut{Buffer::kOutput, 0};
const Chunk kTemp{Buffer::kScratch, 0};

// One rank: lane 0 copies to scratch, lane 1 from there to the output.
TableSchedule two_lanes(const Step& second) {
  TableSchedule table{1, 1};
  table.lane(0, 0, 0) = {copy(kIn, kTemp)};
  table.lane(0, 0, 1) = {second};
  return table;
}
std::string error(const Schedule& schedule, Bytes bytes = 64_B) {
  return verify(schedule, call(Collective::kAllReduce, bytes)).value_or("none");
}

TEST(VerifierProgressTest, WaitingOrdersLanes) {
  EXPECT_EQ(error(two_lanes(after(copy(kTemp, kOut), 0, 1))), "none");
  EXPECT_THAT(error(two_lanes(copy(kTemp, kOut))), HasSubstr("in no fixed order"));
}

TEST(VerifierProgressTest, AStepMayOnlyWait) {
  TableSchedule table = two_lanes(wait(0, 1));
  table.lane(0, 0, 1).push_back(copy(kTemp, kOut));
  EXPECT_EQ(error(table), "none");
}

// Steps that another lane does after the step waited for are not ordered.
TEST(VerifierProgressTest, OnlyTheStepsWaitedForAreOrdered) {
  TableSchedule table{1, 1};
  table.lane(0, 0, 0) = {copy(kIn, {Buffer::kScratch, 64}), copy(kIn, kTemp)};
  table.lane(0, 0, 1) = {after(copy(kTemp, kOut), 0, 1)};
  EXPECT_THAT(error(table), HasSubstr("in no fixed order"));
  table.lane(0, 0, 1) = {after(copy(kTemp, kOut), 0, 2)};
  EXPECT_EQ(error(table), "none");
}

TEST(VerifierProgressTest, LanesThatWaitForEachOtherAreADeadlockWithBothNamed) {
  TableSchedule table{1, 1};
  table.lane(0, 0, 0) = {after(copy(kIn, kTemp), 1, 1)};
  table.lane(0, 0, 1) = {after(copy(kIn, kOut), 0, 1)};
  EXPECT_EQ(error(table),
            "all_reduce on 1 ranks: deadlock: rank 0 channel 0 lane 0 step 0 waits for rank 0 channel 0 lane 1 step 0; rank 0 "
            "channel 0 lane 1 step 0 waits for rank 0 channel 0 lane 0 step 0");
}

TEST(VerifierProgressTest, WaitingForWhatIsNotThereIsAnError) {
  EXPECT_THAT(error(two_lanes(after(copy(kTemp, kOut), 0, 2))),
              HasSubstr("lane 1 step 0: waits for 2 steps of lane 0 of channel 0, which are not there"));
  EXPECT_THAT(error(two_lanes(after(copy(kTemp, kOut), 2, 1))), HasSubstr("waits for 1 steps of lane 2"));
  EXPECT_THAT(error(two_lanes(after(copy(kTemp, kOut), 1, 1))), HasSubstr("waits for its own lane"));
}

TEST(VerifierProgressTest, AccumulatingAddsToTheDestination) {
  // Two ranks that exchange into scratch and add there.
  TableSchedule table{2, 1};
  for (const Rank rank : {0, 1}) {
    Step send;
    send.send_to = 1 - rank;
    send.bytes = 64_B;
    send.use_source = true;
    send.source = kIn;
    Step receive;
    receive.receive_from = 1 - rank;
    receive.bytes = 64_B;
    receive.store = true;
    receive.destination = kTemp;
    Step add = copy(kTemp, kOut);
    add.accumulate = true;
    table.lane(rank) = {send, receive, copy(kIn, kOut), add};
  }
  EXPECT_EQ(error(table), "none");
  table.lane(0).erase(table.lane(0).begin() + 2);
  EXPECT_THAT(error(table), HasSubstr("step 2: adds to output[0], which is undefined"));
}

TEST(VerifierProgressTest, AccumulatingWithoutKeepingIsAnError) {
  TableSchedule table{1, 1};
  Step step = copy(kIn, kOut);
  step.store = false;
  step.accumulate = true;
  table.lane(0) = {step};
  EXPECT_THAT(error(table), HasSubstr("adds to its destination, but keeps nothing there"));
}

class InPlace final : public Schedule {
 public:
  explicit InPlace(TableSchedule table) : table_{std::move(table)} {}
  [[nodiscard]] int ranks() const override { return table_.ranks(); }
  [[nodiscard]] int channels() const override { return table_.channels(); }
  [[nodiscard]] int lanes(Rank rank, int channel) const override { return table_.lanes(rank, channel); }
  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override {
    return table_.step_count(rank, channel, lane);
  }
  [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t i) const override {
    return table_.step(rank, channel, lane, i);
  }
  [[nodiscard]] bool in_place() const override { return true; }

 private:
  TableSchedule table_;
};

// Two ranks swap: each keeps its own part of one buffer and exchanges the other. All-gather: rank r's block lies at r already.
// Reduce-scatter: the result of rank r is to lie at r.
TEST(VerifierProgressTest, InPlaceTheSmallerBufferIsAPartOfTheLarger) {
  for (const Collective kind : {Collective::kAllGather, Collective::kReduceScatter}) {
    TableSchedule table{2, 1};
    for (const Rank rank : {0, 1}) {
      const bool gather = kind == Collective::kAllGather;
      const Chunk mine{Buffer::kOutput, 32 * rank};
      const Chunk others{Buffer::kOutput, 32 * (1 - rank)};
      Step send;
      send.send_to = 1 - rank;
      send.bytes = 32_B;
      send.use_source = true;
      send.source = gather ? mine : others;
      Step receive;
      receive.receive_from = 1 - rank;
      receive.bytes = 32_B;
      receive.store = true;
      receive.use_source = !gather;
      receive.source = receive.destination = gather ? others : mine;
      table.lane(rank) = {send, receive};
    }
    EXPECT_EQ(verify(InPlace{table}, call(kind, 64_B)).value_or("none"), "none");
    table.lane(1)[0].source = {Buffer::kInput, 0};
    EXPECT_THAT(verify(InPlace{table}, call(kind, 64_B)).value_or("none"),
                HasSubstr("32 bytes at input[0] are outside the buffer"));
  }
}

}  // namespace
}  // namespace weft::coll
