// The executor's loop of calls, its protocols and its steps in switches: times derived by hand on one switch whose links have a
// round rate and no latency.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "sim/collectives/executor.h"
#include "sim/collectives/runner.h"
#include "tests/support/schedules.h"
#include "tests/support/topologies.h"

namespace weft::coll {
namespace {

using namespace literals;
using weft::testing::TableSchedule;

enum class Place : std::uint8_t { kNodes, kNvlink };

// `ranks` on one switch, hosts or GPUs of one: 1 GB/s each way, 1000 bytes a microsecond.
class Switch final : private ExecutorListener {
 public:
  explicit Switch(int ranks, int channels = 1, Place place = Place::kNodes)
      : topology_{(place == Place::kNvlink ? testing::nvlink_star : star)(ranks, kRate, 0_ns)},
        machine_{topology_, "spray", 1},
        communicator_{topology_, topology_.endpoints(), rank_order_rings(ranks, channels)},
        executor_{machine_.simulator, machine_.fabric, machine_.router, communicator_} {}

  Duration run(const Schedule& schedule, const StepCosts& costs, const LaunchPlan& launches = {}) {
    const Time begin = machine_.simulator.now();
    executor_.start(schedule, costs, Grain::kChunk, *this, launches);
    machine_.simulator.run();
    EXPECT_FALSE(executor_.running()) << executor_.blocked();
    machine_.fabric.check_conservation();
    return done_ - begin;
  }
  // When call i ended, from the start of the last run.
  std::vector<Duration> intervals() {
    std::vector<Duration> all;
    for (std::size_t i = 1; i < executor_.call_ends().size(); ++i)
      all.push_back(executor_.call_ends()[i] - executor_.call_ends()[i - 1]);
    return all;
  }
  double bytes_over(std::size_t link) { return machine_.fabric.counters(ResourceId::from_index(link)).bytes; }
  net::Machine& machine() { return machine_; }

 private:
  static constexpr Bandwidth kRate = Bandwidth::from_bytes_per_second(1'000'000'000);
  static net::Topology star(int count, Bandwidth rate, Duration latency) { return testing::star(count, rate, latency); }
  void on_collective_done(Time at) override { done_ = at; }
  net::Topology topology_;
  net::Machine machine_;
  Communicator communicator_;
  Executor executor_;
  Time done_;
};

Step sends(Rank to, Bytes bytes) {
  Step step;
  step.send_to = to;
  step.bytes = bytes;
  step.use_source = true;
  return step;
}

Step receives(Rank from, Bytes bytes) {
  Step step;
  step.receive_from = from;
  step.bytes = bytes;
  step.store = true;
  return step;
}

// Rank 0 sends `count` messages of 1000 bytes to rank 1.
TableSchedule stream(int count) {
  TableSchedule table{2, 1};
  for (int i = 0; i < count; ++i) {
    table.lane(0).push_back(sends(1, Bytes{1000}));
    table.lane(1).push_back(receives(0, Bytes{1000}));
  }
  return table;
}

constexpr StepCosts kPlain{.slots = 8, .rendezvous = false};

TEST(ExecutorLoopTest, ASenderGoesOnWhileItsMessagesTravel) {
  Switch one{2};
  StepCosts costs = kPlain;
  costs.hop = {0_us, 0_us, 5_us};  // bare hosts talk over the network
  // Four messages leave one after another; the last arrives a hop later.
  EXPECT_EQ(one.run(stream(4), costs), 4 * 1_us + 5_us);
  // A textbook's rendezvous pays the hop every time.
  costs.rendezvous = true;
  EXPECT_EQ(one.run(stream(4), costs), 4 * (1_us + 5_us));
}

// A communicator's connections outlive its calls, which may differ in protocol.
TEST(ExecutorLoopTest, ACallPaysItsOwnProtocolsHop) {
  Switch one{2};
  StepCosts costs = kPlain;
  for (const Duration hop : {1_us, 5_us, 1_us}) {
    costs.hop = {0_us, 0_us, hop};
    EXPECT_EQ(one.run(stream(4), costs), 4 * 1_us + hop);
  }
}

TEST(ExecutorLoopTest, ASenderWaitsForAFreeSlot) {
  Switch one{2};
  StepCosts costs = kPlain;
  costs.hop = {0_us, 0_us, 5_us};
  costs.slots = 1;
  // With one slot each message waits until the one before has been consumed: a hop after it left.
  EXPECT_EQ(one.run(stream(4), costs), 4 * (1_us + 5_us));
  costs.slots = 2;
  // Two leave at once (1 and 2 us) and arrive at 6 and 7; the next two leave at 6 and 7 and arrive at 12 and 13.
  EXPECT_EQ(one.run(stream(4), costs), 13_us);
}

TEST(ExecutorLoopTest, LaunchesSetThePaceWhereTheyTakeLonger) {
  Switch one{2};
  const LaunchPlan slow{.iterations = 6, .launch = 10_us, .settle = false};
  // Call i is issued at 10 (i + 1) us and takes 1 us.
  EXPECT_EQ(one.run(stream(1), kPlain, slow), 6 * 10_us + 1_us);
  // One thread launches for both ranks: a call every 20 us; the receiver's kernel is issued 10 us after the sender's.
  const LaunchPlan slower{.iterations = 6, .launch = 10_us, .ranks_per_thread = 2, .settle = false};
  EXPECT_EQ(one.run(stream(1), kPlain, slower), 6 * 20_us);
}

TEST(ExecutorLoopTest, CallsFollowEachOtherWhereLaunchesAreFast) {
  Switch one{2};
  StepCosts costs = kPlain;
  costs.start = 2_us;
  const LaunchPlan fast{.iterations = 6, .launch = 1_ns, .settle = false};
  // Each call: 2 us of start; over the network the sender's next one begins while its message takes 1 us.
  one.run(stream(1), costs, fast);
  for (const Duration interval : one.intervals()) EXPECT_EQ(interval, 2_us);
  // Over NVLink its thread block stores it, which ends a call; the receiver's kernel is one behind by its last message only.
  Switch node{2, 1, Place::kNvlink};
  node.run(stream(1), costs, fast);
  for (const Duration interval : node.intervals()) EXPECT_EQ(interval, 3_us);
}

// A thread block that copies at the wire's rate: over NVLink bytes leave as it stores them, to another node when a slice is
// whole.
TEST(ExecutorLoopTest, AProxySendsWholeSlices) {
  StepCosts costs = kPlain;
  costs.rate = Bandwidth::from_bytes_per_second(1'000'000'000);
  costs.memory.source = 1.0;  // receiving and keeping cost nothing
  Switch node{2, 1, Place::kNvlink};
  EXPECT_EQ(node.run(stream(4), costs), 4 * 1_us);
  // The first slice is whole after 1 us; then one leaves while the next is copied.
  Switch nodes{2};
  EXPECT_EQ(nodes.run(stream(4), costs), 1_us + 4 * 1_us);
}

TEST(ExecutorLoopTest, ASettledLoopEndsEarly) {
  Switch one{2};
  one.run(stream(1), kPlain, {.iterations = 1000, .launch = 10_us});
  EXPECT_LT(one.intervals().size(), 10U);
  EXPECT_EQ(one.intervals().back(), 10_us);
}

// A chain 0 -> 1 -> 2 of one message: a call takes two hops, but rank 0 starts the next while the message still travels
// (models/nccl_calibration §3.3).
TEST(ExecutorLoopTest, CallsOfAChainOverlap) {
  Switch one{3, 1, Place::kNvlink};
  TableSchedule chain{3, 1};
  chain.lane(0).push_back(sends(1, Bytes{1000}));
  Step middle = receives(0, Bytes{1000});
  middle.send_to = 2;
  chain.lane(1).push_back(middle);
  chain.lane(2).push_back(receives(1, Bytes{1000}));
  EXPECT_EQ(one.run(chain, kPlain), 2_us);
  one.run(chain, kPlain, {.iterations = 8, .launch = 1_ns, .settle = false});
  EXPECT_NEAR(static_cast<double>(one.intervals().back().ps()), 1e6, 2e3);
}

// The same chain with flags in the data: the middle rank follows as soon as the first tenth is there.
TEST(ExecutorLoopTest, CutThroughFollowsPassByPass) {
  Switch one{3, 1, Place::kNvlink};
  TableSchedule chain{3, 1};
  chain.lane(0).push_back(sends(1, Bytes{10'000}));
  Step middle = receives(0, Bytes{10'000});
  middle.send_to = 2;
  chain.lane(1).push_back(middle);
  chain.lane(2).push_back(receives(1, Bytes{10'000}));
  StepCosts costs = kPlain;
  EXPECT_EQ(one.run(chain, costs), 20_us);
  costs.rate = Bandwidth::from_bytes_per_second(1'000'000'000);
  costs.pass = Bytes{1000};
  costs.cut_through = true;
  // 10 us for the first rank's data, a pass until rank 1 follows; rank 2 follows a pass later and copies for 10 us.
  EXPECT_EQ(one.run(chain, costs), 12_us);
  // Between nodes the first rank takes 10 us and its proxy sends for 10; rank 1 follows the first bytes, and its proxy sends
  // when it has the last; rank 2 follows.
  Switch nodes{3};
  EXPECT_EQ(nodes.run(chain, costs), 10_us + 10_us + 10_us);
}

// It takes 5 us for each message of either channel, and does the next one while the last is on the wire.
TEST(ExecutorLoopTest, AGpusProxyThreadDoesOneMessageAfterAnother) {
  StepCosts costs = kPlain;
  costs.proxy = 5_us;
  Switch one{2};
  EXPECT_EQ(one.run(stream(4), costs), 4 * 5_us + 1_us);
  TableSchedule both{2, 2};
  for (int channel = 0; channel < 2; ++channel) {
    both.lane(0, channel).push_back(sends(1, Bytes{1000}));
    both.lane(1, channel).push_back(receives(0, Bytes{1000}));
  }
  Switch two{2, 2};
  EXPECT_EQ(two.run(both, costs), 2 * 5_us + 1_us);
  Switch inside{2, 1, Place::kNvlink};
  EXPECT_EQ(inside.run(stream(4), costs), 4 * 1_us) << "no proxy between GPUs of a node";
}

TEST(ExecutorLoopTest, AStepThatOnlyReceivesTakesItsThreadBlocksTime) {
  Switch one{2, 1, Place::kNvlink};
  StepCosts costs = kPlain;
  costs.rate = Bandwidth::from_bytes_per_second(1'000'000'000);
  costs.memory.receive = 2;
  EXPECT_EQ(one.run(stream(1), costs), 1_us + 2_us);
}

// Two lanes of a block, half its warps each, copy 1000 and `bytes` bytes after 1 us. With an exponent of 1 the warps of one
// lane alone move as much as the whole block.
Duration two_lanes(Bytes bytes) {
  class Halves final : public Schedule {
   public:
    explicit Halves(TableSchedule table) : table_{std::move(table)} {}
    [[nodiscard]] int ranks() const override { return table_.ranks(); }
    [[nodiscard]] int channels() const override { return 1; }
    [[nodiscard]] int lanes(Rank rank, int channel) const override { return table_.lanes(rank, channel); }
    [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override {
      return table_.step_count(rank, channel, lane);
    }
    [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t i) const override {
      return table_.step(rank, channel, lane, i);
    }
    [[nodiscard]] double warp_share(Rank, int, int) const override { return 0.5; }

   private:
    TableSchedule table_;
  };
  TableSchedule table{2, 1};
  for (const Bytes each : {Bytes{1000}, bytes}) {
    Step step;
    step.bytes = each;
    step.use_source = step.store = true;
    table.lane(0, 0, each == Bytes{1000} ? 0 : 1).push_back(step);
  }
  Switch one{2};
  const StepCosts costs{
      .slice = 1_us, .rate = Bandwidth::from_bytes_per_second(1'000'000'000), .thread_exponent = 1.0, .rendezvous = false};
  return one.run(Halves{table}, costs);
}

// Half a block each moves 500 bytes a microsecond; when the shorter one has ended, the rest goes at 1000.
TEST(ExecutorLoopTest, ALaneIsFasterFromWhenTheOtherLanesOfItsBlockHaveEnded) {
  EXPECT_EQ(two_lanes(Bytes{900}), 1_us + 1'800_ns + 100_ns);
  EXPECT_EQ(two_lanes(Bytes{3000}), 1_us + 2_us + 2_us);
  EXPECT_EQ(two_lanes(Bytes{5000}), 1_us + 2_us + 4_us);
}

TEST(ExecutorLoopTest, ThreadBlocksStartOneAfterAnother) {
  Switch one{2};
  StepCosts costs = kPlain;
  costs.start = 3_us;
  EXPECT_EQ(one.run(stream(1), costs), 4_us);
}

// Links serve now one channel better, now the other. Over many messages that evens out: no channel is left to end alone, at a
// rate that its thread block limits.
TEST(ExecutorLoopTest, UnequalServiceCostsNoBandwidth) {
  Switch one{2, 2};
  TableSchedule table{2, 2};
  constexpr int kMessages = 400;
  for (const int channel : {0, 1}) {
    for (int i = 0; i < kMessages; ++i) {
      table.lane(0, channel).push_back(sends(1, Bytes{1000}));
      table.lane(1, channel).push_back(receives(0, Bytes{1000}));
    }
  }
  StepCosts costs = kPlain;
  costs.service_spread = 0.5;
  costs.rate = Bandwidth::from_bytes_per_second(600'000'000);
  costs.memory.receive = 0.006;
  // 800 messages of 1 us; a channel that were always served better by half would end early and leave 133 of them at 0.6 GB/s.
  EXPECT_NEAR(one.run(table, costs).us(), 2 * kMessages, 0.02 * 2 * kMessages);
}

TEST(ExecutorLoopTest, AStepWaitsForTheProgressOfAnotherLane) {
  Switch one{2};
  TableSchedule table = stream(3);
  Step waits = sends(1, Bytes{1000});
  waits.after = {.channel = 0, .lane = 0, .steps = 3};
  table.lane(0, 0, 1).push_back(waits);
  table.lane(1).push_back(receives(0, Bytes{1000}));
  EXPECT_EQ(one.run(table, kPlain), 4_us);
}

// Rank 0 has the switch add up what ranks 1 to 3 hold and copies the sum to all of them: each member's bytes cross its own link
// once, the sum rank 0's, and back.
TEST(ExecutorLoopTest, ASwitchAddsUpAndCopies) {
  Switch one{4};
  const std::vector<Rank> others{1, 2, 3};
  TableSchedule table{4, 1};
  for (Rank rank = 1; rank < 4; ++rank) {
    Step share = sends(0, Bytes{1000});
    share.send_in_switch = true;
    table.lane(rank).push_back(share);
    table.lane(rank).push_back(receives(0, Bytes{1000}));
  }
  Step sum;
  sum.receive_from = Peers::view(others);
  sum.receive_in_switch = true;
  sum.use_source = true;
  sum.store = true;
  sum.bytes = Bytes{1000};
  Step copy;
  copy.send_to = Peers::view(others);
  copy.send_in_switch = true;
  copy.use_source = true;
  copy.bytes = Bytes{1000};
  table.lane(0).push_back(sum);
  table.lane(0).push_back(copy);
  EXPECT_EQ(one.run(table, kPlain), 2_us);
  double total = 0;
  for (std::size_t link = 0; link < one.machine().topology.link_count(); ++link) {
    EXPECT_LE(one.bytes_over(link), 1000.5);
    total += one.bytes_over(link);
  }
  EXPECT_NEAR(total, 8 * 1000.0, 1e-6);  // up and down of each of the four
}

}  // namespace
}  // namespace weft::coll
