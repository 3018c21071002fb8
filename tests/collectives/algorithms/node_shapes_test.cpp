// Every algorithm on nodes of many shapes, and on channels with uneven shares: the data end right on every rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/collectives/verifier.h"
#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::Group;

std::string text(const std::vector<int>& ranks_of_nodes) {
  std::string text = "nodes of";
  for (const int ranks : ranks_of_nodes) text += ' ' + std::to_string(ranks);
  return text;
}

// Calls `visit(algorithm's name, collective)` for all that fit.
template <class Visit>
void for_each_pair(const Visit& visit) {
  for (const std::string_view name : algorithms().names()) {
    for (int kind = 0; kind <= static_cast<int>(Collective::kScatter); ++kind) {
      if (make_algorithm(name)->supports(static_cast<Collective>(kind)))
        visit(std::string{name}, static_cast<Collective>(kind));
    }
  }
}

void expect_right(const Communicator& communicator, const CollectiveCall& call, const Choice& choice) {
  const auto schedule = make_algorithm(choice.algorithm)->plan(communicator, call, choice);
  EXPECT_EQ(verify(*schedule, call).value_or("none"), "none")
      << choice.algorithm << ' ' << to_string(call.kind) << " of " << call.bytes.count() << " B";
}

// One node, equal nodes, as many as a power of two and not, nodes of different sizes, more ranks than heads on a node.
const std::vector<std::vector<int>> kShapes = {{2},
                                               {7},
                                               {33},
                                               {2, 2},
                                               {3, 3},
                                               {4, 4, 4, 4},
                                               {2, 2, 2, 2, 2},
                                               {8, 8, 8},
                                               {5, 3},
                                               {1, 4, 2},
                                               {1, 1, 1, 1, 1, 1, 6},
                                               {9, 9},
                                               {10, 8, 12}};

TEST(NodeShapesTest, DataEndRight) {
  for (const auto& shape : kShapes) {
    for (const bool dealt_out : {false, true}) {
      const Group group{shape, 2, dealt_out};
      SCOPED_TRACE(text(shape) + (dealt_out ? ", ranks dealt out" : ""));
      const int n = group.communicator().ranks();
      for_each_pair([&](const std::string& name, Collective kind) {
        for (const Bytes bytes : {12_B, Bytes{4 * 997}}) {
          const CollectiveCall call{.kind = kind, .bytes = bytes, .element_size = 4, .root = n - 1};
          expect_right(group.communicator(), call, {.algorithm = name, .channels = 2, .chunk = 48_B});
        }
      });
    }
  }
}

// Algorithms that treat ranks of one node and of others apart: more shapes, on one channel and on several.
TEST(NodeShapesTest, DataEndRightInHierarchies) {
  for (const auto& shape :
       std::vector<std::vector<int>>{{4}, {4, 4}, {2, 2, 2}, {8, 8}, {1, 1, 1}, {3, 2}, {5, 2, 1}, {2, 5, 3, 5}}) {
    for (const bool dealt_out : {false, true}) {
      for (const int channels : {1, 3}) {
        const Group group{shape, channels, dealt_out};
        SCOPED_TRACE(text(shape) + (dealt_out ? ", ranks dealt out" : ""));
        for (const std::string name : {"hierarchical", "multi_rail", "deepep_dispatch", "deepep_combine"}) {
          const bool reduces = make_algorithm(name)->supports(Collective::kAllReduce);
          for (const Bytes bytes : {4_B, 1000_B, 4096_B}) {
            const CollectiveCall call{.kind = reduces ? Collective::kAllReduce : Collective::kAllToAll, .bytes = bytes};
            expect_right(group.communicator(), call, {.algorithm = name, .channels = channels});
          }
        }
      }
    }
  }
}

// A chunk, a loop of n chunks, and 4 B less and more of each.
TEST(NodeShapesTest, DataEndRightAroundTheEndsOfChunksAndLoops) {
  for (const auto& shape : std::vector<std::vector<int>>{{4}, {2, 2, 2}}) {
    const Group group{shape, 1};
    SCOPED_TRACE(text(shape));
    const int n = group.communicator().ranks();
    for_each_pair([&](const std::string& name, Collective kind) {
      for (const std::int64_t end : {64, 64 * n, 2 * 64 * n, 64 * n * n}) {
        for (const std::int64_t more : {-4, 0, 4}) {
          const CollectiveCall call{.kind = kind, .bytes = Bytes{end + more}, .element_size = 4, .root = 1};
          expect_right(group.communicator(), call, {.algorithm = name, .channels = 1, .chunk = 64_B});
        }
      }
    });
  }
}

// NCCL's planner gives shares to these.
const std::vector<std::string> kPlanned = {"ring", "tree", "nvls", "nvls_tree", "collnet_direct", "collnet_chain", "pat"};

// Four channels: half the data in small chunks, none, a few units, the odd rest in one chunk.
std::vector<ChannelShare> uneven_shares(std::int64_t bytes) {
  const std::int64_t half = bytes / 32 * 16;
  const std::int64_t few = std::min<std::int64_t>(bytes - half, 48);
  return {{Bytes{half}, 32_B}, {0_B, 64_B}, {Bytes{few}, 16_B}, {Bytes{bytes - half - few}, 1_MiB}};
}

TEST(NodeShapesTest, DataEndRightWithUnevenShares) {
  for (const auto& shape : std::vector<std::vector<int>>{{1}, {5}, {3, 3, 3}}) {
    const Group group{shape, 4};
    SCOPED_TRACE(text(shape));
    const int n = group.communicator().ranks();
    for_each_pair([&](const std::string& name, Collective kind) {
      if (std::find(kPlanned.begin(), kPlanned.end(), name) == kPlanned.end()) return;
      for (const Bytes bytes : {0_B, 4_B, 1020_B, 4100_B}) {
        const CollectiveCall call{.kind = kind, .bytes = bytes, .element_size = 4, .root = 0};
        const CallSizes sizes = sizes_of(call, n);
        Choice choice{.algorithm = name, .channels = 4};
        choice.shares = uneven_shares(std::min(sizes.input, sizes.output).count());
        expect_right(group.communicator(), call, choice);
      }
    });
  }
}

// The fluid form of a channel has the bytes of its own share, and an empty channel has none.
TEST(NodeShapesTest, FluidFlowsFollowTheShares) {
  const Group group{{3, 3}, 4};
  for (const std::string name : {"ring", "tree"}) {
    const CollectiveCall call{.kind = Collective::kAllReduce, .bytes = 4100_B};
    Choice choice{.algorithm = name, .channels = 4};
    choice.shares = uneven_shares(4100);
    const auto schedule = make_algorithm(name)->plan(group.communicator(), call, choice);
    ASSERT_EQ(schedule->fluid_flow_count(), 3);
    const auto busiest = weft::testing::busiest_edges(*schedule);
    const int channels[] = {0, 2, 3};
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(schedule->fluid_flow(i).channel, channels[i]) << name;
      EXPECT_EQ(schedule->fluid_flow(i).bytes.count(), busiest[static_cast<std::size_t>(i)]) << name;
    }
  }
}

}  // namespace
}  // namespace weft::coll
