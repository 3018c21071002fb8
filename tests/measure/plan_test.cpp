#include "plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "options.h"
#include "tests/support/temp_folder.h"

namespace weft::measure {
namespace {

NodeFacts node(int gpus, bool peers = true) {
  NodeFacts facts{.gpus = gpus, .peers = {}, .memory_bytes = std::int64_t{140} << 30};
  for (int from = 0; from < gpus; ++from) {
    for (int to = 0; to < gpus; ++to) {
      if (peers && from != to) facts.peers.emplace_back(from, to);
    }
  }
  return facts;
}

std::set<std::string> ids(const Plan& plan) {
  std::set<std::string> all;
  for (const Group& group : plan.groups) {
    for (const Point& point : group.points) all.insert(point.id());
  }
  return all;
}

bool skips(const Plan& plan, const std::string& what) {
  return std::any_of(plan.skips.begin(), plan.skips.end(), [&what](const Skip& skip) { return skip.what == what; });
}

TEST(PointTest, IsReadBackFromItsName) {
  Point point{.kind = "gemm", .parameters = {}};
  point.with("m", 128).with("type", "bf16");
  EXPECT_EQ(point.id(), "gemm m=128 type=bf16");
  const Point read = Point::parse(point.id());
  EXPECT_EQ(read.kind, "gemm");
  EXPECT_EQ(read.number_of("m"), 128);
  EXPECT_EQ(read.text_of("type"), "bf16");
  EXPECT_EQ(read.number_of("batch", 1), 1);
}

TEST(PlanTest, EveryPointHasANameOfItsOwn) {
  for (const int gpus : {1, 2, 4, 8}) {
    const Plan plan = make_plan(node(gpus), {});
    EXPECT_EQ(ids(plan).size(), plan.points()) << gpus << " GPUs";
  }
}

TEST(PlanTest, QuickIsPartOfFull) {
  const Plan whole = make_plan(node(4), {});
  const Plan full = part_of(whole, PointSet::kFull);
  const std::set<std::string> all = ids(full);
  const Plan quick = part_of(whole, PointSet::kQuick);
  EXPECT_LT(quick.points(), full.points() / 3);
  for (const std::string& id : ids(quick)) EXPECT_TRUE(all.contains(id)) << id;
}

TEST(PlanTest, QuickTimesSmallCallsOfFourCommunicatorsOfEachProtocol) {
  std::map<std::string, std::set<std::int64_t>> communicators;
  std::map<std::string, std::size_t> groups;
  const Plan quick = part_of(make_plan(node(2), {}), PointSet::kQuick);
  for (const Group& group : quick.groups) {
    std::set<std::int64_t> of_group;
    for (const Point& point : group.points) {
      if (point.text_of("launch") != "graph" || point.text_of("algorithm") != "Ring") continue;
      of_group.insert(point.number_of("communicator", 1));
      communicators[point.text_of("protocol")].insert(point.number_of("communicator", 1));
    }
    EXPECT_LE(of_group.size(), 1U);  // a group is a process and its communicator
    if (!of_group.empty()) ++groups[group.points.front().text_of("protocol")];
  }
  for (const char* protocol : {"LL", "LL128", "Simple"}) {
    EXPECT_EQ(communicators[protocol], (std::set<std::int64_t>{1, 2, 3, 4})) << protocol;
    EXPECT_EQ(groups[protocol], 4U) << protocol;
  }
}

TEST(PlanTest, FineIsApartFromFullAndHasThreeSizesInTwoPowers) {
  const Plan whole = make_plan(node(2), {});
  const Plan full = part_of(whole, PointSet::kFull);
  const std::set<std::string> fine = ids(part_of(whole, PointSet::kFine));
  EXPECT_EQ(full.points() + fine.size(), whole.points());
  for (const std::string& id : ids(full)) EXPECT_FALSE(fine.contains(id)) << id;
  for (const char* bytes : {"1024", "1536", "2048", "33554432"}) {
    const std::string id = std::string{"collective collective=reduce bytes="} + bytes +
                           " type=float ranks=2 layout=threads launch=graph algorithm=Ring protocol=Simple channels=1";
    EXPECT_TRUE(fine.contains(id)) << id;
  }
}

TEST(PlanTest, OneGpuSkipsWhatNeedsTwoAndSaysSo) {
  const Plan plan = make_plan(node(1), {});
  EXPECT_TRUE(skips(plan, "collectives"));
  EXPECT_TRUE(skips(plan, "peer copies"));
  for (const Group& group : plan.groups) EXPECT_EQ(group.worker, Worker::kDevice);
}

TEST(PlanTest, GpusWithoutPeerAccessKeepCopyEnginesAndCollectives) {
  const Plan plan = make_plan(node(2, false), {});
  EXPECT_TRUE(skips(plan, "peer copies by kernels"));
  const std::set<std::string> all = ids(plan);
  EXPECT_TRUE(all.contains("copy engine=copy_engine pattern=peer transfers=0>1 bytes=1048576"));
  EXPECT_FALSE(all.contains("copy engine=sm pattern=peer transfers=0>1 bytes=1048576"));
}

TEST(PlanTest, SettingsFromOutsideAreNotOverridden) {
  const Plan plan = make_plan(node(2), {{"NCCL_ALGO", "Ring"}});
  EXPECT_TRUE(skips(plan, "other NCCL settings"));
  for (const Group& group : plan.groups) EXPECT_TRUE(group.env.empty());
}

TEST(PlanTest, EachGroupHasOneSettingOfNccl) {
  for (const Group& group : make_plan(node(4), {}).groups) {
    for (const Point& point : group.points) {
      const std::string algorithm = point.text_of("algorithm");
      const bool forced = std::find(group.env.begin(), group.env.end(),
                                    std::pair<std::string, std::string>{"NCCL_ALGO", algorithm}) != group.env.end();
      EXPECT_EQ(forced, !algorithm.empty()) << point.id();
    }
  }
}

TEST(PlanTest, DoneIsNotMeasuredAgain) {
  Plan plan = part_of(make_plan(node(2), {}), PointSet::kQuick);
  std::set<std::string> done = ids(plan);
  const std::string left = *done.begin();
  done.erase(left);
  remove_done(plan, done);
  EXPECT_EQ(ids(plan), std::set<std::string>{left});
  EXPECT_EQ(plan.groups.size(), 1U);
}

TEST(PlanTest, OrderFollowsTheSeed) {
  const auto order = [](std::uint64_t seed) {
    Plan plan = make_plan(node(2), {});
    shuffle(plan, seed);
    return plan.groups.front().points.front().id() + plan.groups.back().points.back().id();
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

TEST(OptionsTest, FullAndQuickHaveTheirBudgets) {
  EXPECT_EQ(parse_options({}).budget(), 120);
  EXPECT_EQ(parse_options({"--full"}).budget(), 480);
  EXPECT_EQ(parse_options({"--full", "--budget", "60"}).budget(), 60);
}

TEST(OptionsTest, WhatIsUnknownOrContradictsIsRefused) {
  EXPECT_THROW(static_cast<void>(parse_options({"--ful"})), UsageError);
  EXPECT_THROW(static_cast<void>(parse_options({"--quick", "--full"})), UsageError);
  EXPECT_THROW(static_cast<void>(parse_options({"--fine", "--full"})), UsageError);
  EXPECT_THROW(static_cast<void>(parse_options({"--seed"})), UsageError);
  EXPECT_THROW(static_cast<void>(parse_options({"--budget", "2m"})), UsageError);
}

TEST(OptionsTest, TheMeasurementFileIsNoLogThatIsTakenOver) {
  const test::TempFolder folder;
  const std::string log = folder.write("log.txt", "bandwidth").string();
  const std::string link = (folder / "link").string();
  std::filesystem::create_hard_link(log, link);
  EXPECT_THROW(static_cast<void>(parse_options({"--perftest", log, "-o", log})), UsageError);
  EXPECT_THROW(static_cast<void>(parse_options({"-o", link, "--perftest", log})), UsageError);
  EXPECT_EQ(parse_options({"--perftest", log, "-o", (folder / "other").string()}).perftest.size(), 1U);
}

}  // namespace
}  // namespace weft::measure
