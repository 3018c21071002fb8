// Every algorithm obeys these: the data end right, fluid form and steps carry the same bytes, names and registry agree.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/collectives/verifier.h"
#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::Group;
using weft::testing::plan;

std::vector<Collective> collectives_of(const Algorithm& algorithm) {
  std::vector<Collective> all;
  for (int kind = 0; kind <= static_cast<int>(Collective::kScatter); ++kind) {
    if (algorithm.supports(static_cast<Collective>(kind))) all.push_back(static_cast<Collective>(kind));
  }
  return all;
}

// Calls `visit(schedule, call)` for every algorithm and collective on `ranks` ranks, with sizes that divide badly.
template <class Visit>
void for_each_schedule(int ranks, const Visit& visit) {
  struct Shape {
    Bytes bytes;
    int channels;
    Bytes chunk;
  };
  const Shape shapes[] = {{4_B, 2, 2_MiB},  // most chunks are empty
                          {Bytes{16 * ranks}, 1, 16_B},
                          {Bytes{4 * 941}, 2, 48_B},  // several loops, the last one short; some channels unequal
                          {Bytes{4 * 5003}, 3, 2_MiB}};
  for (const std::string_view name : algorithms().names()) {
    const auto algorithm = make_algorithm(name);
    for (const Collective kind : collectives_of(*algorithm)) {
      for (const Shape& shape : shapes) {
        const Group group{ranks, shape.channels};
        const CollectiveCall call{.kind = kind, .bytes = shape.bytes, .element_size = 4, .root = ranks / 2};
        const Choice choice{.algorithm = std::string{name}, .protocol = "", .channels = shape.channels, .chunk = shape.chunk};
        const auto schedule = algorithm->plan(group.communicator(), call, choice);
        SCOPED_TRACE(std::string{name} + ' ' + std::string{to_string(kind)} + " of " + std::to_string(shape.bytes.count()) +
                     " B on " + std::to_string(ranks) + " ranks");
        visit(*schedule, call);
      }
    }
  }
}

TEST(AllAlgorithmsTest, EveryCollectiveHasAnAlgorithm) {
  for (int kind = 0; kind <= static_cast<int>(Collective::kScatter); ++kind) {
    EXPECT_TRUE(std::any_of(algorithms().names().begin(), algorithms().names().end(), [&](std::string_view name) {
      return make_algorithm(name)->supports(static_cast<Collective>(kind));
    })) << kind;
  }
}

TEST(AllAlgorithmsTest, DataEndRightOnOneTo33Ranks) {
  for (int ranks = 1; ranks <= 33; ++ranks) {
    for_each_schedule(ranks, [](const Schedule& schedule, const CollectiveCall& call) {
      EXPECT_EQ(verify(schedule, call).value_or("none"), "none");
    });
  }
}

bool works_in_switches(const Schedule& schedule) {
  for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
    for (int channel = 0; channel < schedule.channels(); ++channel) {
      for (int lane = 0; lane < schedule.lanes(rank, channel); ++lane) {
        if (schedule.step_count(rank, channel, lane) == 0) continue;
        const Step step = schedule.step(rank, channel, lane, 0);
        if (step.send_in_switch || step.receive_in_switch) return true;
      }
    }
  }
  return false;
}

// Data that switches add up and copy crosses each port once, so there the flow's edges stand for ports, not for pairs.
TEST(AllAlgorithmsTest, FluidFlowsNameEveryEdgeOnceWithItsBytes) {
  for (const int ranks : {1, 2, 3, 5, 8, 13}) {
    for_each_schedule(ranks, [](const Schedule& schedule, const CollectiveCall&) {
      if (!schedule.has_fluid_flows() || works_in_switches(schedule)) return;
      const auto busiest = weft::testing::busiest_edges(schedule);
      ASSERT_EQ(busiest.size(), static_cast<std::size_t>(schedule.fluid_flow_count()));
      for (std::size_t i = 0; i < busiest.size(); ++i) {
        EXPECT_EQ(schedule.fluid_flow(static_cast<std::int64_t>(i)).bytes.count(), busiest[i]) << "flow " << i;
      }
    });
  }
}

std::int64_t largest_message(const Schedule& schedule) {
  std::int64_t largest = 0;
  for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
    for (int channel = 0; channel < schedule.channels(); ++channel) {
      for (int lane = 0; lane < schedule.lanes(rank, channel); ++lane) {
        for (std::int64_t i = 0; i < schedule.step_count(rank, channel, lane); ++i) {
          const Step step = schedule.step(rank, channel, lane, i);
          if (!step.send_to.empty() || !step.receive_from.empty()) largest = std::max(largest, step.bytes_of_peer(0).count());
        }
      }
    }
  }
  return largest;
}

TEST(AllAlgorithmsTest, TheLargestMessageIsTheLargestFluidStep) {
  for (const int ranks : {1, 2, 3, 8}) {
    for_each_schedule(ranks, [](const Schedule& schedule, const CollectiveCall&) {
      if (!schedule.has_fluid_flows()) return;
      std::int64_t largest = 0;
      for (std::int64_t i = 0; i < schedule.fluid_flow_count(); ++i)
        largest = std::max(largest, schedule.fluid_flow(i).step_bytes.count());
      EXPECT_EQ(largest, largest_message(schedule));
    });
  }
}

TEST(AllAlgorithmsTest, NothingIsDoneForNoBytes) {
  for (const std::string_view name : algorithms().names()) {
    const auto algorithm = make_algorithm(name);
    for (const Collective kind : collectives_of(*algorithm)) {
      const Group group{4, 2};
      const auto schedule =
          plan(group.communicator(), {.kind = kind, .bytes = 0_B, .element_size = 4, .root = 0}, std::string{name}, 2);
      EXPECT_EQ(schedule->fluid_flow_count(), 0);
      for (Rank rank = 0; rank < 4; ++rank) {
        for (int lane = 0; lane < schedule->lanes(rank, 1); ++lane) EXPECT_EQ(schedule->step_count(rank, 1, lane), 0);
      }
    }
  }
}

}  // namespace
}  // namespace weft::coll
