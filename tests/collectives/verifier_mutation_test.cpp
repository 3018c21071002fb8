// Changes one thing in schedules that are right and shows that the verifier sees every change that has a meaning.
//
// Not every change has one. What is left out, by rule:
//  - the offset of a chunk that is empty, or of an operand that the step does not use: nothing is read or written there;
//  - steps that move no bytes and have no peers: the copies of an empty chunk;
//  - making a copy within a rank larger: the copy after it may write the same bytes again, rightly;
//  - sending the same message to every rank of a multicast by itself: another schedule, but a right one;
//  - swapping two neighbouring steps of a lane that commute: they share no connection in the same direction, and neither writes
//    bytes that the other reads or writes. Then every connection still carries the same messages in the same order and every
//    buffer ends the same, in whichever order the two run; only a deadlock may come of it, which a schedule may or may not
//    stand. (Example: "receive, then send the next chunk" of a ring's loops, or "send, then receive" of a pairwise round.) The
//    same goes for two neighbouring steps that are both empty, and for two of one kind and size that only pass messages on:
//    those cannot be told apart. Two that add what they receive to the same bytes give the same sum.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
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
  std::vector<int> ranks_of_nodes;
  Bytes bytes;
  Bytes chunk = 48_B;
};

std::string text(const Case& c) {
  std::string text = c.algorithm + ' ' + std::string{to_string(c.kind)} + " on nodes of";
  for (const int ranks : c.ranks_of_nodes) text += ' ' + std::to_string(ranks);
  return text + ", " + std::to_string(c.bytes.count()) + " B";
}

// Algorithms that look at nodes are also tried on nodes of several ranks.
std::vector<Case> cases() {
  const std::vector<std::vector<int>> shapes = {{1, 1}, {1, 1, 1}, {1, 1, 1, 1, 1}, {3}, {2, 2}, {3, 1, 2}};
  const std::vector<std::string> by_node = {"tree",         "nvls_tree",  "collnet_chain",   "collnet_direct", "nccl_p2p",
                                            "hierarchical", "multi_rail", "deepep_dispatch", "deepep_combine"};
  std::vector<Case> all;
  for (const std::string_view name : algorithms().names()) {
    const std::string algorithm{name};
    const bool looks_at_nodes = std::find(by_node.begin(), by_node.end(), algorithm) != by_node.end();
    for (int kind = 0; kind <= static_cast<int>(Collective::kScatter); ++kind) {
      const auto collective = static_cast<Collective>(kind);
      if (!make_algorithm(algorithm)->supports(collective)) continue;
      for (const auto& shape : shapes) {
        const bool several_a_node = std::any_of(shape.begin(), shape.end(), [](int ranks) { return ranks > 1; });
        if (several_a_node && !looks_at_nodes) continue;
        all.push_back({algorithm, collective, shape, 4_B});
        all.push_back({algorithm, collective, shape, 400_B});
        if (shape.size() <= 3 && !several_a_node) all.push_back({algorithm, collective, shape, 1020_B});  // more loops
      }
    }
  }
  // Blocks too large for PAT to aggregate.
  for (const Collective kind : {Collective::kAllGather, Collective::kReduceScatter})
    all.push_back({"pat", kind, {1, 1, 1, 1, 1}, 5_MiB, 2_MiB});
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

bool is_local(const Step& step) { return step.receive_from.empty() && step.send_to.empty(); }

class MutationTest : public ::testing::Test {
 protected:
  // Runs `mutate` on every step of every case; it answers whether it made a change that must be seen.
  template <class Mutate>
  void expect_all_seen(const Mutate& mutate) {
    for (const Case& c : cases()) {
      const Group group{c.ranks_of_nodes, 2};
      const CollectiveCall call{.kind = c.kind, .bytes = c.bytes, .element_size = 4, .root = group.communicator().ranks() - 1};
      const auto schedule = weft::testing::plan(group.communicator(), call, c.algorithm, 2, c.chunk);
      TableSchedule table{*schedule};  // its steps look into the schedule's lists of peers
      ASSERT_EQ(verify(table, call).value_or("none"), "none");
      for_each_step(table, [&](Rank rank, TableSchedule::Lane& steps, std::size_t i) {
        if (steps[i].bytes == 0_B && is_local(steps[i])) return;
        mutate(rank, steps, i, [&](const std::string& what) {
          ++mutants_;
          EXPECT_TRUE(verify(table, call).has_value()) << what << " step " << i << " of rank " << rank << ": " << text(c);
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
bool receive_from_one_connection(const Step& a, const Step& b) {
  return a.receive_connection == b.receive_connection && share_a_rank(a.receive_from, b.receive_from);
}
bool send_to_one_connection(const Step& a, const Step& b) {
  return a.send_connection == b.send_connection && share_a_rank(a.send_to, b.send_to);
}

// Adds what it receives to what is there, and does nothing else.
bool adds_in_place(const Step& step) {
  return !step.receive_from.empty() && step.send_to.empty() && step.use_source && step.store && step.source == step.destination;
}

bool commute(const Step& a, const Step& b) {
  if (a.bytes == 0_B && b.bytes == 0_B) return true;
  if (adds_in_place(a) && adds_in_place(b) && a.destination == b.destination && a.bytes == b.bytes)
    return !receive_from_one_connection(a, b);
  const bool only_pass_on = !a.use_source && !a.store && !b.use_source && !b.store;
  if (only_pass_on && a.bytes == b.bytes && a.receive_from == b.receive_from && a.send_to == b.send_to) return true;
  return !receive_from_one_connection(a, b) && !send_to_one_connection(a, b) &&
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
    if (is_local(steps[i])) return;  // copying the same bytes twice changes nothing
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
    const Group group{c.ranks_of_nodes, 2};
    const CollectiveCall call{.kind = c.kind, .bytes = c.bytes, .element_size = 4, .root = 0};
    const auto schedule = weft::testing::plan(group.communicator(), call, c.algorithm, 2, c.chunk);
    TableSchedule table{*schedule};
    for_each_step(table, [&](Rank, TableSchedule::Lane& steps, std::size_t i) {
      if (i + 1 == steps.size() || !commute(steps[i], steps[i + 1])) return;
      std::swap(steps[i], steps[i + 1]);
      ++swaps;
      const std::string error = verify(table, call).value_or("none");
      EXPECT_TRUE(error == "none" || error.find("deadlock") != std::string::npos) << error << ", " << text(c);
    });
  }
  EXPECT_GT(swaps, 100);
}

// Calls `visit(peers)` with one peer changed to another rank, and with one left out.
template <class Visit>
void for_each_other_list(const Peers& peers, int ranks, const Visit& visit) {
  const std::vector<Rank> original(peers.begin(), peers.end());
  for (std::size_t k = 0; k < original.size(); ++k) {
    std::vector<Rank> list = original;
    for (Rank other = 0; other < ranks; ++other) {
      if (other == original[k]) continue;
      list[k] = other;
      visit(Peers::view(list));
    }
    if (original.size() == 1) continue;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(k));
    visit(Peers::view(list));
  }
}

TEST_F(MutationTest, SeesEveryChangeOfAPeer) {
  constexpr int kMost = 6;
  expect_all_seen([&](Rank, TableSchedule::Lane& steps, std::size_t i, const auto& check) {
    const Step step = steps[i];
    for_each_other_list(step.receive_from, kMost, [&](const Peers& peers) {
      steps[i].receive_from = peers;
      check("receives from other ranks:");
    });
    steps[i] = step;
    for_each_other_list(step.send_to, kMost, [&](const Peers& peers) {
      steps[i].send_to = peers;
      check("sends to other ranks:");
    });
  });
}

TEST_F(MutationTest, SeesEveryChangeOfAConnection) {
  expect_all_seen([](Rank, TableSchedule::Lane& steps, std::size_t i, const auto& check) {
    const Step step = steps[i];
    if (!step.receive_from.empty()) {
      steps[i].receive_connection ^= 1;
      check("receives by the other connection:");
      steps[i] = step;
    }
    if (!step.send_to.empty()) {
      steps[i].send_connection ^= 1;
      check("sends by the other connection:");
    }
  });
}

TEST_F(MutationTest, SeesEverySwitchThatAddsUpTooMuchOrTooLittle) {
  expect_all_seen([](Rank, TableSchedule::Lane& steps, std::size_t i, const auto& check) {
    const Step step = steps[i];
    if (!step.receive_from.empty()) {
      steps[i].receive_in_switch = !step.receive_in_switch;
      check("adds up elsewhere:");
      steps[i] = step;
    }
    if (step.send_to.size() == 1) {
      steps[i].send_in_switch = !step.send_in_switch;
      check("is added up elsewhere:");
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
      if (step.bytes.count() + change < 0 || (change > 0 && is_local(step))) continue;
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
