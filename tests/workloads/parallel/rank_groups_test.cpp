#include "sim/workloads/parallel/rank_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sim/core/error.h"

namespace weft::work::test {
namespace {

using Ranks = std::vector<Rank>;

Ranks dense(const RankGrid& grid, Rank rank, std::vector<Axis> axes) { return grid.group(rank, axes); }
Ranks expert(const RankGrid& grid, Rank rank, std::vector<Axis> axes) { return grid.expert_group(rank, axes); }

TEST(GroupsOfTest, GroupsOfSixteenRanksAreMegatronsExample) {
  // models/workloads §2.8: t = 2, d = 2, p = 4.
  const std::vector<int> sizes{2, 2, 4};
  EXPECT_EQ(groups_of(sizes, {true, false, false}),
            (std::vector<Ranks>{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}}));
  EXPECT_EQ(groups_of(sizes, {false, true, false}),
            (std::vector<Ranks>{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}}));
  EXPECT_EQ(groups_of(sizes, {false, false, true}),
            (std::vector<Ranks>{{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15}}));
}

TEST(GroupsOfTest, KnownAnswer27SeventhGroupOfThreeReplicas) {
  // models/workloads §8, 27: sizes 2 (tp), 3 (dp), 4 (pp).
  const std::vector<int> sizes{2, 3, 4};
  EXPECT_EQ(groups_of(sizes, {false, true, false})[7], (Ranks{19, 21, 23}));
}

TEST(GroupsOfTest, MaskedAxesOfAGroupRunFastestFirst) {
  const std::vector<int> sizes{2, 3, 2};
  EXPECT_EQ(groups_of(sizes, {true, false, true}), (std::vector<Ranks>{{0, 1, 6, 7}, {2, 3, 8, 9}, {4, 5, 10, 11}}));
  EXPECT_EQ(groups_of(sizes, {true, true, true}), (std::vector<Ranks>{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}));
  EXPECT_EQ(groups_of(sizes, {false, false, false}).size(), 12U);
}

TEST(RankGridTest, KnownAnswer26GroupsOfRankFive) {
  // models/workloads §8, 26.
  const RankGrid grid{{.tensor = 2, .pipeline = 4, .data = 2}};
  EXPECT_EQ(grid.world(), 16);
  EXPECT_EQ(dense(grid, 5, {Axis::kTensor}), (Ranks{4, 5}));
  EXPECT_EQ(dense(grid, 5, {Axis::kData}), (Ranks{5, 7}));
  EXPECT_EQ(dense(grid, 5, {Axis::kPipeline}), (Ranks{1, 5, 9, 13}));
  EXPECT_EQ(grid.position(5, Axis::kTensor), 1);
  EXPECT_EQ(grid.position(5, Axis::kData), 0);
  EXPECT_EQ(grid.position(5, Axis::kPipeline), 1);
}

TEST(RankGridTest, RanksFollowTheFormulasOfBothGrids) {
  // models/workloads §2.8: rank = tp + t (cp + c (dp + d pp)) and rank = tp + t_e (ep + e (dp_e + d_e pp)), with t_e = 1, e
  // = 8.
  const ParallelPlan plan{.tensor = 2, .pipeline = 3, .data = 4, .context = 2, .expert = 8, .expert_tensor = 1};
  const RankGrid grid{plan};
  for (Rank rank = 0; rank < grid.world(); ++rank) {
    EXPECT_EQ(grid.position(rank, Axis::kTensor), rank % 2);
    EXPECT_EQ(grid.position(rank, Axis::kContext), rank / 2 % 2);
    EXPECT_EQ(grid.position(rank, Axis::kData), rank / 4 % 4);
    EXPECT_EQ(grid.position(rank, Axis::kPipeline), rank / 16);
    EXPECT_EQ(grid.position(rank, Axis::kExpert), rank % 8);
  }
  EXPECT_EQ(expert(grid, 19, {Axis::kExpert}), (Ranks{16, 17, 18, 19, 20, 21, 22, 23}));
  EXPECT_EQ(expert(grid, 19, {Axis::kData}), (Ranks{19, 27}));  // d_e = 48 / (1 x 8 x 3) = 2
  EXPECT_EQ(expert(grid, 19, {Axis::kTensor}), (Ranks{19}));
  EXPECT_EQ(expert(grid, 19, {Axis::kPipeline}), dense(grid, 19, {Axis::kPipeline}));
  EXPECT_EQ(dense(grid, 19, {Axis::kData, Axis::kContext}), (Ranks{17, 19, 21, 23, 25, 27, 29, 31}));
}

TEST(RankGridTest, DataCanBeTheSlowestAxis) {
  const RankGrid grid{{.tensor = 2, .pipeline = 4, .data = 2, .order = "tp-cp-pp-ep-dp"}};
  EXPECT_EQ(dense(grid, 5, {Axis::kTensor}), (Ranks{4, 5}));
  EXPECT_EQ(dense(grid, 5, {Axis::kPipeline}), (Ranks{1, 3, 5, 7}));
  EXPECT_EQ(dense(grid, 5, {Axis::kData}), (Ranks{5, 13}));
}

TEST(RankGridTest, GroupsOfAxesPartitionTheRanks) {
  for (const char* order : {"tp-cp-ep-dp-pp", "tp-cp-pp-ep-dp", "pp-dp-ep-cp-tp", "dp-tp-cp-pp"}) {
    const RankGrid grid{{.tensor = 2, .pipeline = 3, .data = 4, .context = 2, .order = order}};
    for (const std::vector<Axis>& axes : {std::vector{Axis::kTensor}, {Axis::kData, Axis::kContext}, {Axis::kPipeline}}) {
      std::set<Ranks> groups;
      for (Rank rank = 0; rank < grid.world(); ++rank) {
        const Ranks group = dense(grid, rank, axes);
        EXPECT_EQ(std::count(group.begin(), group.end(), rank), 1) << order;
        groups.insert(group);
      }
      EXPECT_EQ(groups.size() * groups.begin()->size(), 48U) << order;
    }
  }
}

TEST(RankGridTest, WithoutSplitExpertsTheirReplicasAreAllOfDataAndContext) {
  const ParallelPlan plan{.tensor = 2, .pipeline = 2, .data = 2, .context = 2, .order = "tp-cp-pp-ep-dp"};
  const RankGrid grid{plan};
  EXPECT_EQ(expert(grid, 5, {Axis::kData}), dense(grid, 5, {Axis::kContext, Axis::kData}));
  EXPECT_EQ(expert(grid, 5, {Axis::kExpert}), (Ranks{5}));
  EXPECT_EQ(grid.position(5, Axis::kExpert), 0);
}

TEST(RankGridTest, AnAxisOfSizeOneMayBeLeftOut) {
  EXPECT_EQ(grid_problem({.tensor = 2, .data = 2, .order = "dp-tp"}), "");
  EXPECT_EQ(dense(RankGrid{{.tensor = 2, .data = 2, .order = "dp-tp"}}, 1, {Axis::kTensor}), (Ranks{1, 3}));
}

TEST(RankGridTest, RefusesOrdersThatAreNone) {
  EXPECT_EQ(grid_problem({.order = "tp-xp"}), "'xp' is no axis; an order joins tp, cp, ep, dp and pp with '-'");
  EXPECT_EQ(grid_problem({.order = ""}), "'' is no axis; an order joins tp, cp, ep, dp and pp with '-'");
  EXPECT_EQ(grid_problem({.order = "tp-dp-tp"}), "names tp twice");
  EXPECT_EQ(grid_problem({.tensor = 2, .pipeline = 4, .order = "tp-dp"}), "leaves out pp, whose size is 4");
  EXPECT_THROW((RankGrid{{.order = "tp-xp"}}), ConfigError);
}

TEST(RankGridTest, RefusesExpertsThatDoNotDivideTheRanks) {
  EXPECT_EQ(grid_problem({.tensor = 2, .data = 3, .expert = 4, .expert_tensor = 1}),
            "expert groups need a multiple of expert tensor 1 x expert 4 x pipeline 1 = 4 ranks, the plan has 6");
  EXPECT_EQ(grid_problem({.tensor = 2, .data = 4, .expert = 4, .expert_tensor = 1}), "");
}

TEST(RankGridTest, StagesOfExpertsAreThoseOfDenseLayers) {
  // With pp before dp, a stage is t c = 4 ranks away in the dense grid and t_e = 2 in the expert grid.
  EXPECT_EQ(grid_problem({.tensor = 2, .pipeline = 2, .data = 4, .context = 2, .expert = 2, .order = "tp-cp-pp-ep-dp"}),
            "neighbouring stages are 4 ranks apart for dense layers and 2 for experts; put pp last, or make the axes before it "
            "equal");
  EXPECT_EQ(grid_problem({.tensor = 2, .pipeline = 2, .data = 4, .expert = 2, .order = "tp-cp-pp-ep-dp"}), "");
}

}  // namespace
}  // namespace weft::work::test
