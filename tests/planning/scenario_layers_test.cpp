#include "sim/scenario/scenario_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/core/error.h"
#include "sim/planning/compare.h"
#include "sim/planning/sweep/sweep.h"
#include "sim/scenario/run_scenario.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/what_if.h"
#include "tests/support/temp_folder.h"

namespace weft::plan {
namespace {

using ::testing::HasSubstr;
using Sets = std::vector<std::pair<std::string, std::string>>;

// Two clusters that differ in nodes, node, fabric and profile; a scenario for each, and one of the first with all of that set
// over its cluster.
class ScenarioLayersTest : public ::testing::Test {
 protected:
  ScenarioLayersTest() {
    write("slow.yaml", "kind: profile\nname: slow\nparameters: {device.launch.host_cost: {value: 50 us, source: assumed}}\n");
    write("quick.yaml", "kind: profile\nname: quick\nparameters: {device.launch.host_cost: {value: 1 us, source: assumed}}\n");
    const std::string node =
        "node:\n  devices:\n    - {name: gpu0..3, kind: gpu}\n    - {name: nvswitch0, kind: nvswitch}\n    - {name: nic0, "
        "kind: nic}\n"
        "    - {name: cpu0, kind: cpu}\n  links:\n    - {between: [gpu0..3, nvswitch0], type: nvlink4, width: WIDTH}\n"
        "    - {between: [gpu0..3, cpu0], type: pcie5, lanes: 16}\n    - {between: [nic0, cpu0], type: pcie5, lanes: 16}\n";
    const auto with_width = [&](const std::string& width) {
      std::string text = node;
      return text.replace(text.find("WIDTH"), 5, width);
    };
    const std::string fabric = "fabric: {type: single_switch, link: {type: ethernet, rate: RATE Gb/s, latency: 1 us}}\n";
    const auto with_rate = [&](const std::string& rate) {
      std::string text = fabric;
      return text.replace(text.find("RATE"), 4, rate);
    };
    write("first.yaml", "name: first\nprofile: slow.yaml\nnodes: 1\n" + with_width("18") + with_rate("400"));
    write("second.yaml", "name: second\nprofile: quick.yaml\nnodes: 3\n" + with_width("6") + with_rate("100"));
    write("of_first.yaml", "cluster: first.yaml\n" + kOverrides + kWorkload);
    write("of_second.yaml", "cluster: second.yaml\n" + kWorkload);
    write("inline.yaml",
          "cluster:\n  name: first\n  nodes: 1\n  node: {type: dgx_h100}\n  fabric: {type: single_switch, link: {type: "
          "ethernet, rate: 400 Gb/s, latency: 1 us}}\n  nccl: {ALGO: Tree}\n" +
              kOverrides + kWorkload);
  }

  [[nodiscard]] scenario::Scenario load(const std::string& file, Sets sets = {}) const {
    scenario::Overrides overrides;
    overrides.sets = std::move(sets);
    Diagnostics diagnostics;
    return scenario::load_scenario(folder_ / file, overrides, diagnostics);
  }
  void write(const std::string& name, const std::string& text) const { static_cast<void>(folder_.write(name, text)); }
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_ / name).string(); }

  // The same cluster to the last key, and the same results.
  void expect_second(const scenario::Scenario& swapped) const {
    const scenario::Scenario written = load("of_second.yaml");
    EXPECT_EQ(swapped.cluster.resolved.to_json(), written.cluster.resolved.to_json());
    const scenario::RunResult expected = scenario::run_scenario(written);
    const scenario::RunResult result = scenario::run_scenario(swapped);
    EXPECT_EQ(result.digest, expected.digest);
    EXPECT_EQ(result.makespan, expected.makespan);
  }

  static inline const std::string kOverrides =
      "overrides:\n  nodes: 2\n  profile: slow.yaml\n  fabric.link.latency: 9 us\n  nccl.ALGO: Tree\n";
  static inline const std::string kWorkload = "workload: {collectives: [{kind: all_reduce, bytes: 1 MiB, count: 4}]}\n";
  weft::test::TempFolder folder_;
};

TEST_F(ScenarioLayersTest, OverridesChangeTheClusterTheyStandBeside) {
  const scenario::Scenario scenario = load("of_first.yaml");
  EXPECT_EQ(scenario.cluster.topology.host_count(), 2U);
  EXPECT_EQ(scenario.cluster.nccl.at("ALGO"), "Tree");
}

TEST_F(ScenarioLayersTest, SettingTheClusterGivesWhatAScenarioWrittenForItGives) {
  expect_second(load("of_first.yaml", {{"cluster", file("second.yaml")}}));
}

TEST_F(ScenarioLayersTest, AnInlineClusterIsReplacedWholeTooByAFileAndByAMap) {
  expect_second(load("inline.yaml", {{"cluster", file("second.yaml")}}));
  expect_second(load("inline.yaml", {{"cluster", "{extends: " + file("second.yaml") + "}"}}));
}

TEST_F(ScenarioLayersTest, AScenarioThatExtendsAnotherAndNamesAClusterLeavesItsOverrides) {
  write("extending.yaml", "extends: of_first.yaml\ncluster: second.yaml\n");
  expect_second(load("extending.yaml"));
  write("extending_again.yaml", "extends: extending.yaml\nname: again\n");
  expect_second(load("extending_again.yaml"));
}

TEST_F(ScenarioLayersTest, WhatIsSaidBesideTheNewClusterOrOverItIsAboutIt) {
  write("extending.yaml", "extends: of_first.yaml\ncluster: second.yaml\noverrides: {nodes: 4}\n");
  EXPECT_EQ(load("extending.yaml").cluster.topology.host_count(), 4U);
  EXPECT_TRUE(load("extending.yaml").cluster.nccl.empty());
  // In either order: the cluster is named, and then changed.
  for (const bool first : {true, false}) {
    Sets sets{{"cluster", file("second.yaml")}, {"overrides.nodes", "4"}};
    if (!first) std::swap(sets[0], sets[1]);
    EXPECT_EQ(load("of_first.yaml", sets).cluster.topology.host_count(), 4U);
  }
  EXPECT_EQ(load("of_first.yaml", {{"cluster", file("second.yaml")}, {"cluster.nodes", "5"}}).cluster.topology.host_count(),
            5U);
}

// `overrides` of the file say 2 nodes.
TEST_F(ScenarioLayersTest, AChangeOfTheClusterIsLaidOverTheOverridesOfTheFile) {
  const scenario::Scenario changed = load("of_first.yaml", {{"cluster.nodes", "4"}});
  EXPECT_EQ(changed.cluster.topology.host_count(), 4U);
  EXPECT_EQ(changed.cluster.nccl.at("ALGO"), "Tree") << "what is not changed stays";
  EXPECT_EQ(load("inline.yaml", {{"cluster.nodes", "4"}}).cluster.topology.host_count(), 4U);
  EXPECT_EQ(load("of_first.yaml", {{"cluster", "{nodes: 4}"}}).cluster.topology.host_count(), 4U);
  EXPECT_EQ(load("of_first.yaml", {{"cluster.nodes", "4"}, {"overrides.nodes", "5"}}).cluster.topology.host_count(), 5U);
}

// A map without a node is none: it changes the cluster there is.
TEST_F(ScenarioLayersTest, PartOfAClusterIsLaidOverTheOneThereIs) {
  write("part.yaml", "extends: inline.yaml\ncluster: {nccl: {PROTO: LL}}\n");
  const scenario::Scenario scenario = load("part.yaml");
  EXPECT_EQ(scenario.cluster.nccl.at("PROTO"), "LL");
  EXPECT_EQ(scenario.cluster.nccl.at("ALGO"), "Tree");
}

TEST_F(ScenarioLayersTest, ASweepOfClustersRunsWhatScenariosWrittenForThemWould) {
  const auto second_of = [&](const std::string& sections) {
    const Sweep sweep{folder_.write("sweep.yaml", "kind: sweep\nscenario: of_first.yaml\n" + sections), {}};
    const ConfigNode node = sweep.scenario_of(sweep.values(sweep.points().back()));
    write("point.yaml", node.to_yaml());
    return load("point.yaml");
  };
  expect_second(second_of("grid: {cluster: [first.yaml, second.yaml]}\n"));
  expect_second(second_of("list: [{cluster: first.yaml}, {cluster: second.yaml}]\n"));
  expect_second(second_of("set: {cluster: second.yaml}\ngrid: {simulation.seed: [1]}\n"));
  expect_second(second_of("grid: {cluster: [{extends: first.yaml}, {extends: second.yaml}]}\n"));
  // The sweep says this over each cluster.
  EXPECT_EQ(second_of("set: {overrides.nodes: 2}\ngrid: {cluster: [first.yaml, second.yaml]}\n").cluster.topology.host_count(),
            2U);
  EXPECT_EQ(second_of("grid: {cluster.nodes: [1, 2], cluster: [second.yaml]}\n").cluster.topology.host_count(), 2U);
}

TEST_F(ScenarioLayersTest, ExpressionsOfASweepSeeTheClusterOfTheirPoint) {
  const Sweep sweep{folder_.write("sweep.yaml",
                                  "kind: sweep\nscenario: of_first.yaml\ngrid: {cluster: [first.yaml, second.yaml]}\n"
                                  "derive:\n  workload.collectives[0].count: cluster.nodes * 2\n"),
                    {}};
  EXPECT_EQ(sweep.values(0)[1]->yaml, "2");
  EXPECT_EQ(sweep.values(1)[1]->yaml, "6");
}

TEST_F(ScenarioLayersTest, AComparisonRunsWhatScenariosWrittenForItsClustersWould) {
  Diagnostics diagnostics;
  const Comparison comparison =
      compare({file("of_first.yaml")}, {file("second.yaml"), file("first.yaml")}, {}, {}, diagnostics, nullptr);
  scenario::Scenario written = load("of_second.yaml");
  written.workload.collectives.front().count = 1;  // a comparison is of one call
  ASSERT_TRUE(comparison.workloads.front().runs.front());
  EXPECT_EQ(comparison.workloads.front().runs.front()->time, scenario::run_scenario(written).makespan);
  EXPECT_EQ(comparison.clusters.front().nodes, 3U);
  EXPECT_EQ(comparison.clusters.back().nodes, 1U);
}

TEST_F(ScenarioLayersTest, AComparisonNamesGpusThatHaveNothingToDo) {
  write("two_ranks.yaml", "cluster: first.yaml\nworkload: {collectives: [{kind: all_reduce, bytes: 1 MiB, ranks: [0, 1]}]}\n");
  Diagnostics diagnostics;
  const Comparison comparison =
      compare({file("two_ranks.yaml")}, {file("first.yaml"), file("second.yaml")}, {}, {}, diagnostics, nullptr);
  EXPECT_EQ(comparison.workloads.front().runs[0]->idle_gpus, 4 - 2);
  EXPECT_EQ(comparison.workloads.front().runs[1]->idle_gpus, 12 - 2);
  EXPECT_THAT(comparison.notes, ::testing::Contains(HasSubstr("10 of its 12 GPUs are idle")));
}

TEST_F(ScenarioLayersTest, AComparisonTakesChangesOfItsClustersButNoOtherCluster) {
  Diagnostics diagnostics;
  scenario::Overrides overrides;
  overrides.sets = {{"cluster.nodes", "2"}};
  EXPECT_EQ(compare({file("of_first.yaml")}, {file("second.yaml")}, overrides, {}, diagnostics, nullptr).clusters.front().nodes,
            2U);
  overrides.sets = {{"cluster", file("first.yaml")}};
  EXPECT_THROW(static_cast<void>(compare({file("of_first.yaml")}, {file("second.yaml")}, overrides, {}, diagnostics, nullptr)),
               ConfigError);
}

// Made from the cluster's own words: with nothing better it is the same.
TEST_F(ScenarioLayersTest, AWhatIfOfNothingBetterIsTheClusterItself) {
  scenario::Scenario scenario = load("of_first.yaml");
  const scenario::RunResult expected = scenario::run_scenario(scenario);
  auto made = scenario::with_better(scenario.cluster, "network_rate", 0.0);
  ASSERT_TRUE(made);
  scenario.cluster = std::move(*made);
  const scenario::RunResult result = scenario::run_scenario(scenario);
  EXPECT_EQ(result.digest, expected.digest);
  EXPECT_EQ(result.makespan, expected.makespan);
}

}  // namespace
}  // namespace weft::plan
