#include "sim/planning/sweep/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "sim/planning/sweep/point_run.h"
#include "tests/planning/sweep/sweep_files.h"

namespace weft::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SweepTest : public SweepFiles {
 protected:
  [[nodiscard]] Sweep sweep(const std::string& sections, const scenario::Overrides& overrides = {}) const {
    return Sweep{write(kOneFlow + sections), overrides};
  }
  // Every point as "a/b/c".
  [[nodiscard]] std::vector<std::string> points(const std::string& sections) const {
    const Sweep read = sweep(sections);
    std::vector<std::string> texts;
    for (const std::uint64_t point : read.points()) {
      std::string text;
      for (const auto& value : read.values(point)) text += (text.empty() ? "" : "/") + (value ? value->yaml : std::string{"-"});
      texts.push_back(text);
    }
    return texts;
  }
  [[nodiscard]] std::string error(const std::string& sections) const {
    return message_of([&] { static_cast<void>(check_sweep(sweep(sections))); });
  }
};

TEST_F(SweepTest, CrossesTheAxesOfAGridWithTheLastOneFastest) {
  EXPECT_THAT(points("grid:\n  a: [1, 2]\n  b: [x, y, z]\n"), ElementsAre("1/x", "1/y", "1/z", "2/x", "2/y", "2/z"));
}

TEST_F(SweepTest, CrossesAGridWithAList) {
  EXPECT_THAT(points("grid:\n  a: [1, 2]\nlist:\n  - {b: 3, c: 4}\n  - {c: 5}\n"),
              ElementsAre("1/3/4", "1/-/5", "2/3/4", "2/-/5"));
}

TEST_F(SweepTest, LeavesOutWhatMissesAConstraint) {
  EXPECT_THAT(points("grid:\n  x.tensor: [1, 2, 4]\n  x.pipeline: [1, 2, 4]\nwhere: [tensor * pipeline == 4, tensor > 1]\n"),
              ElementsAre("2/2", "4/1"));
}

TEST_F(SweepTest, DerivesValuesFromOthers) {
  EXPECT_THAT(points("grid:\n  x.tensor: [1, 2]\nderive:\n  x.data: 8 / tensor\n  x.bytes: data * 1 KiB\nwhere: data <= 8\n"),
              ElementsAre("1/8/8 KiB", "2/4/4 KiB"));
}

TEST_F(SweepTest, ConstraintsSeeWhatTheScenarioStates) {
  EXPECT_THAT(points("grid:\n  a: [1, 4, 9]\nwhere: a <= cluster.nodes\n"), ElementsAre("1", "4"));
}

TEST_F(SweepTest, DrawsAreTheSameEachTimeAndFollowTheSeed) {
  const auto drawn = [](int seed) {
    return "random: {count: 8, seed: " + std::to_string(seed) + ", axes: {a: {from: 1, to: 1000000}}}\n";
  };
  EXPECT_EQ(points(drawn(1)), points(drawn(1)));
  EXPECT_NE(points(drawn(1)), points(drawn(2)));
}

TEST_F(SweepTest, ALatinHypercubeTakesOneValueOfEachPartOfEachAxis) {
  const std::vector<std::string> texts =
      points("latin_hypercube: {count: 10, axes: {a: {from: 0, to: 9}, b: {from: 0, to: 99}}}\n");
  std::set<int> a;
  std::set<int> tens_of_b;
  for (const std::string& text : texts) {
    a.insert(std::stoi(text));
    tens_of_b.insert(std::stoi(text.substr(text.find('/') + 1)) / 10);
  }
  EXPECT_EQ(a.size(), 10U);
  EXPECT_EQ(tens_of_b.size(), 10U);
}

TEST_F(SweepTest, PutsTheValuesInPlace) {
  const Sweep read = sweep("set: {simulation.seed: 7}\ngrid:\n  cluster.fabric.link.rate: [400 Gb/s]\n");
  const ConfigNode scenario = read.scenario_of(read.values(read.points().front()));
  EXPECT_EQ(scenario.find("cluster")->find("fabric")->find("link")->find("rate")->scalar(), "400 Gb/s");
  EXPECT_EQ(scenario.find("simulation")->find("seed")->scalar(), "7");
}

TEST_F(SweepTest, ColumnsCarryTheUnitOfTheirValues) {
  const SweepPlan plan = check_sweep(sweep(
      "grid:\n  cluster.fabric.link.rate: [100 Gb/s]\n  cluster.fabric.link.latency: [1 us]\n  workload.flows[0].bytes: [1 "
      "MB]\n  simulation.seed: [1]\n"));
  std::vector<std::string> names;
  for (const SweepColumn& column : plan.axes) names.push_back(column.name);
  EXPECT_THAT(names, ElementsAre("cluster.fabric.link.rate_gbps", "cluster.fabric.link.latency_ns", "workload.flows[0].bytes",
                                 "simulation.seed"));
}

TEST_F(SweepTest, TheDigestFollowsEverythingThatDecidesTheResults) {
  const std::string grid = "grid:\n  simulation.seed: [1, 2]\n";
  const std::uint64_t digest = check_sweep(sweep(grid)).digest;
  EXPECT_EQ(check_sweep(sweep(grid)).digest, digest);
  EXPECT_NE(check_sweep(sweep("grid:\n  simulation.seed: [1, 3]\n")).digest, digest);
  EXPECT_NE(check_sweep(sweep(grid + "metrics: [makespan_ns]\n")).digest, digest);
  scenario::Overrides overrides;
  overrides.sets = {{"cluster.nodes", "5"}};
  EXPECT_NE(check_sweep(sweep(grid, overrides)).digest, digest);
}

TEST_F(SweepTest, RefusesAKeyPathThatNothingReads) {
  EXPECT_THAT(error("grid:\n  cluster.fabric.link.latncy: [1 us]\n"), HasSubstr("unknown key 'latncy'"));
  EXPECT_THAT(error("grid:\n  workload.flows[3].bytes: [1 MB]\n"), HasSubstr("'workload.flows' has 1 item (0)"));
  EXPECT_THAT(error("random: {count: 2, axes: {simulation.sed: {from: 1, to: 9}}}\n"), HasSubstr("unknown key 'sed'"));
}

TEST_F(SweepTest, RefusesASweepWithoutAPoint) {
  EXPECT_THAT(error(""), HasSubstr("the sweep varies nothing"));
  EXPECT_THAT(error("grid: {}\n"), HasSubstr("grid: expected key paths with their values, got an empty map"));
  EXPECT_THAT(error("grid:\n  simulation.seed: []\n"), HasSubstr("is empty: the sweep would have no point"));
  EXPECT_THAT(error("grid:\n  simulation.seed: [1, 2]\nwhere: seed > 2\n"),
              HasSubstr("where: no point of 2 meets every constraint"));
}

TEST_F(SweepTest, RefusesMorePointsThanAnyoneRuns) {
  const std::string thousand = ": {from: 1, to: 1000, step: 1}\n";
  EXPECT_THAT(error("grid:\n  a" + thousand + "  b" + thousand + "  c" + thousand),
              HasSubstr("the sweep has 1000000000 points, more than 1000000"));
}

TEST_F(SweepTest, RefusesNamesThatNothingStandsBehind) {
  EXPECT_THAT(error("grid:\n  simulation.seed: [1]\nwhere: sede > 0\n"),
              HasSubstr("'sede' is neither an axis nor a value of the scenario"));
  EXPECT_THAT(error("grid:\n  a.x: [1]\n  b.x: [1]\nwhere: x > 0\n"), HasSubstr("'x' may be 'a.x' or 'b.x'"));
  EXPECT_THAT(error("grid:\n  simulation.seed: [1]\nmetrics: [makespan]\n"), HasSubstr("unknown metric 'makespan'"));
  EXPECT_THAT(error("grid:\n  simulation.seed: [1]\nobjective: {minimize: mfuu}\n"), HasSubstr("did you mean 'mfu'?"));
  EXPECT_THAT(error("grid:\n  simulation.seed: [1]\nlist: [{simulation.seed: 2}]\n"), HasSubstr("is an axis already"));
}

TEST_F(SweepTest, AnAxisThatOverridesHideIsTold) {
  const std::string text =
      "scenario:\n  cluster: {nodes: 2, node: {type: host}}\n  overrides: {nodes: 4}\n  workload: {flows: []}\n"
      "grid:\n  cluster.nodes: [2, 4]\n";
  EXPECT_THAT(message_of([&] { static_cast<void>(Sweep{write(text), {}}); }), HasSubstr("vary overrides.nodes instead"));
}

TEST_F(SweepTest, APointThatCannotBeRunIsAResult) {
  const Sweep read = sweep("grid:\n  workload.flows[0].to: [h1, h9]\n");
  const SweepPlan plan = check_sweep(read);
  const std::atomic<bool> stop = false;
  const auto fine = run_point(read, plan, 0, stop);
  const auto refused = run_point(read, plan, 1, stop);
  ASSERT_TRUE(fine && refused);
  EXPECT_EQ(fine->error, "");
  // 1 MB at 100 Gb/s is 80 us; two cables of 1 us; 64 B at 100 Gb/s.
  EXPECT_DOUBLE_EQ(std::get<double>(fine->metrics.front()), 82'005.12);
  EXPECT_THAT(refused->error, HasSubstr("h9"));
  EXPECT_EQ(refused->digest, "");
}

}  // namespace
}  // namespace weft::plan
