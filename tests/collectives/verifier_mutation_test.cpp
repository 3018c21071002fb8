// Changes one thing in schedules that are right and shows that the verifier sees every change that has a meaning.
//
// Not every change has one. What is left out, by rule:
//  - the offset of a chunk that is empty, or of an operand that the step does not use: nothing is read or written there;
//  - swapping two neighbouring steps of a lane that commute: they share no connection in the same direction, and neither writes
//    bytes that the other reads or writes. Then every connection still carries the same messages in the same order and every
//    buffer ends the same, in whichever order the two run; only a deadlock may come of it, which a schedule may or may not
//    stand. (Example: "receive, then send the next chunk" of a ring's loops, or "send, then receive" of a pairwise round.) The
//    same goes for two neighbouring steps that are both empty: their messages cannot be told apart.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "sim/collectives/verifier.h"
#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::Group;
using weft::testing::TableSchedule;

struct Case {
  std::string algorithm;
  Collective kind = Collective::kAllReduce;
  int ranks = 2;
  Bytes bytes;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string algorithm : {"ring", "plain_ring", "direct", "pairwise"}) {
    for (const auto name :
         {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "alltoall", "sendrecv", "gather", "scatter"}) {
      const Collective kind = *collective_from(name);
      if (!make_algorithm(algorithm)->supports(kind)) continue;
      for (const int ranks : {2, 3, 5}) {
        for (const Bytes bytes : {4_B, 400_B, 1020_B}) all.push_back({algorithm, kind, ranks, bytes});
      }
    }
  }
  return all;
}

// Calls `visit(table, steps, i)` for step i of every lane; what it changes is undone.
template <class Visit>
void for_each_step(TableSchedule& table, const Visit& visit) {
  for (Rank rank = 0; rank < table.ranks(); ++rank) {
    for (int channel = 0; channel < table.channels(); ++channel) {
      for (int lane = 0; lane < table.lanes(rank, channel); ++lane) {
        TableSchedule::Lane& steps = table.lane(rank, channel, lane);
        const TableSchedule::Lane original = steps;
        for (std::size_t i = 0; i < original.size(); ++i) {
          visit(rank, steps, i);
          steps = original;
        }
      }
    }
  }
}

class MutationTest : public ::testing::Test {
 protected:
  // Runs `mutate` on every step of every case; it answers whether it made a change that must be seen.
  template <class Mutate>
  void expect_all_seen(const Mutate& mutate) {
    for (const Case& c : cases()) {
      const Group group{c.ranks, 2};
      const CollectiveCall call{.kind = c.kind, .bytes = c.bytes, .element_size = 4, .root = c.ranks - 1};
      TableSchedule table{*weft::testing::plan(group.communicator(), call, c.algorithm, 2, 48_B)};
      ASSERT_EQ(verify(table, call).value_or("none"), "none");
      for_each_step(table, [&](Rank rank, TableSchedule::Lane& steps, std::size_t i) {
        mutate(rank, steps, i, [&](const std::string& what) {
          ++mutants_;
          EXPECT_TRUE(verify(table, call).has_value())
              << what << " step " << i << " of rank " << rank << ": " << c.algorithm << ' ' << to_string(c.kind) << " on "
              << c.ranks << " ranks, " << c.bytes.count() << " B";
        });
      });
    }
    EXPECT_GT(mutants_, 1000);
  }

  int mutants_ = 0;
};

bool overlap(bool has_a, const Chunk& a, Bytes a_bytes, bool has_b, const Chunk& b, Bytes b_bytes) {
  return has_a && has_b && a.buffer == b.buffer && a.offset < b.offset + b_bytes.count() &&
         b.offset < a.offset + a_bytes.count();
}

bool share_a_rank(const Peers& a, const Peers& b) {
  return std::any_of(a.begin(), a.end(), [&](Rank rank) { return std::count(b.begin(), b.end(), rank) > 0; });
}

bool commute(const Step& a, const Step& b) {
  if (a.bytes == 0_B && b.bytes == 0_B) return true;
  return !share_a_rank(a.receive_from, b.receive_from) && !share_a_rank(a.send_to, b.send_to) &&
         !overlap(a.store, a.destination, a.bytes, b.store, b.destination, b.bytes) &&
         !overlap(a.store, a.destination, a.bytes, b.use_source, b.source, b.bytes) &&
         !overlap(a.use_source, a.source, a.bytes, b.store, b.destination, b.bytes);
}

TEST_F(MutationTest, SeesEveryStepThatIsDropped) {
  expect_all_seen([](Rank, TableSchedule::Lane& steps, std::size_t i, const auto& check) {
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(i));
    check("dropped");
  });
}

TEST_F(MutationTest, SeesEveryStepThatIsDoubled) {
  expect_all_seen([](Rank, TableSchedule::Lane& steps, std::size_t i, const auto& check) {
    if (steps[i].receive_from.empty() && steps[i].send_to.empty()) return;  // copying the same bytes twice changes nothing
    const Step step = steps[i];
    steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(i), step);
    check("doubled");
  });
}

TEST_F(MutationTest, SeesEverySwapOfNeighboursThatDoNotCommute) {
  expect_all_seen([](Rank, TableSchedule::Lane& steps, std::size_t i, const auto& check) {
    if (i + 1 == steps.size() || commute(steps[i], steps[i + 1])) return;
    std::swap(steps[i], steps[i + 1]);
    check("swapped");
  });
}

// The other side of the rule: a swap that commutes leaves the result right, or ends in a deadlock.
TEST_F(MutationTest, SwapsThatCommuteLeaveTheDataRight) {
  int swaps = 0;
  for (const Case& c : cases()) {
    const Group group{c.ranks, 2};
    const CollectiveCall call{.kind = c.kind, .bytes = c.bytes, .element_size = 4, .root = 0};
    TableSchedule table{*weft::testing::plan(group.communicator(), call, c.algorithm, 2, 48_B)};
    for_each_step(table, [&](Rank, TableSchedule::Lane& steps, std::size_t i) {
      if (i + 1 == steps.size() || !commute(steps[i], steps[i + 1])) return;
      std::swap(steps[i], steps[i + 1]);
      ++swaps;
      const std::string error = verify(table, call).value_or("none");
      EXPECT_TRUE(error == "none" || error.find("deadlock") != std::string::npos) << error;
    });
  }
  EXPECT_GT(swaps, 100);
}

TEST_F(MutationTest, SeesEveryChangeOfAPeer) {
  const auto other_ranks = [](Rank self, Rank peer, int ranks) {
    std::vector<Rank> others;
    for (Rank rank = 0; rank < ranks; ++rank) {
      if (rank != self && rank != peer) others.push_back(rank);
    }
    return others;
  };
  expect_all_seen([&](Rank rank, TableSchedule::Lane& steps, std::size_t i, const auto& check) {
    const Step step = steps[i];
    constexpr int kMost = 5;
    for (const Rank peer : step.receive_from) {
      for (const Rank other : other_ranks(rank, peer, kMost)) {
        steps[i].receive_from = other;
        check("receives from another rank:");
      }
    }
    steps[i] = step;
    for (const Rank peer : step.send_to) {
      for (const Rank other : other_ranks(rank, peer, kMost)) {
        steps[i].send_to = other;
        check("sends to another rank:");
      }
    }
  });
}

TEST_F(MutationTest, SeesEveryChangeOfAnOffset) {
  expect_all_seen([](Rank, TableSchedule::Lane& steps, std::size_t i, const auto& check) {
    const Step step = steps[i];
    if (step.bytes == 0_B) return;
    for (const std::int64_t shift : {-48, -16, -1, 1, 16, 48}) {
      if (step.use_source) {
        steps[i].source.offset = step.source.offset + shift;
        check("reads elsewhere:");
        steps[i] = step;
      }
      if (step.store) {
        steps[i].destination.offset = step.destination.offset + shift;
        check("writes elsewhere:");
        steps[i] = step;
      }
    }
  });
}

TEST_F(MutationTest, SeesEveryChangeOfASize) {
  expect_all_seen([](Rank, TableSchedule::Lane& steps, std::size_t i, const auto& check) {
    const Step step = steps[i];
    for (const std::int64_t change : {-16, -1, 1, 16}) {
      if (step.bytes.count() + change < 0) continue;
      steps[i].bytes = Bytes{step.bytes.count() + change};
      check("has another size:");
    }
  });
}

TEST_F(MutationTest, SeesEveryOperandThatIsLeftOut) {
  expect_all_seen([](Rank, TableSchedule::Lane& steps, std::size_t i, const auto& check) {
    const Step step = steps[i];
    if (step.bytes == 0_B) return;
    if (step.use_source) {
      steps[i].use_source = false;
      check("reads nothing:");
      steps[i] = step;
    }
    if (step.store) {
      steps[i].store = false;
      check("keeps nothing:");
    }
  });
}

}  // namespace
}  // namespace weft::coll
