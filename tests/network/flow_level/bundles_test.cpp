#include "sim/network/flow_level/bundles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "sim/core/random.h"
#include "sim/network/flow_level/flow_fabric.h"
#include "tests/support/topologies.h"

namespace weft::net {
namespace {

using namespace literals;

constexpr std::uint32_t kResources = 60;

// Every resource from `first` to `last`, both included, at one usage.
std::vector<Usage> range(std::uint32_t first, std::uint32_t last, double usage = 1.0) {
  std::vector<Usage> usages;
  for (std::uint32_t i = first; i <= last; ++i) usages.push_back({ResourceId{i}, usage});
  return usages;
}

class BundlesTest : public ::testing::Test {
 protected:
  BundlesTest() {
    for (std::uint32_t i = 0; i < kResources; ++i) bundles_.add_resource(i < 40 ? 1.0 : 2.0);
  }
  void set(std::uint32_t footprint, const std::vector<Usage>& usages) {
    bundles_.set(FootprintId{footprint}, usages);
    told_[footprint] = usages;
  }
  // Each resource's bundle says of every footprint what the footprint says of the resource.
  void expect_exact() const {
    for (const auto& [footprint, usages] : told_) {
      std::map<std::uint32_t, double> by_bundle;
      bundles_.for_each(FootprintId{footprint}, usages, [&](std::uint32_t bundle, double usage) {
        EXPECT_TRUE(by_bundle.emplace(bundle, usage).second) << "bundle " << bundle << " twice";
      });
      std::map<std::uint32_t, double> by_resource;
      for (const Usage& usage : usages) by_resource[usage.resource.value()] = usage.usage;
      for (std::uint32_t i = 0; i < kResources; ++i) {
        const auto said = by_bundle.find(bundles_.of(ResourceId{i}));
        const auto true_usage = by_resource.find(i);
        ASSERT_EQ(said != by_bundle.end(), true_usage != by_resource.end()) << "footprint " << footprint << ", resource " << i;
        if (said != by_bundle.end()) {
          EXPECT_EQ(said->second, true_usage->second);
        }
      }
    }
  }

  Bundles bundles_;
  std::map<std::uint32_t, std::vector<Usage>> told_;
};

TEST_F(BundlesTest, ResourcesThatNobodyUsesAreOneOfEachCapacity) { EXPECT_EQ(bundles_.size(), 2U); }

TEST_F(BundlesTest, WhatIsTakenAlikeStaysTogether) {
  set(0, range(0, 39));
  EXPECT_EQ(bundles_.size(), 2U);
  set(1, range(0, 19));  // half of it
  EXPECT_EQ(bundles_.size(), 3U);
  set(2, range(10, 49));  // a part of each, and of the other capacity
  EXPECT_EQ(bundles_.size(), 5U);
  set(3, range(10, 49));
  EXPECT_EQ(bundles_.size(), 5U);
  expect_exact();
}

TEST_F(BundlesTest, DifferentUsagesSplit) {
  std::vector<Usage> usages = range(0, 39, 0.5);
  for (std::size_t i = 20; i < 30; ++i) usages[i].usage = 0.25;
  set(0, usages);
  EXPECT_EQ(bundles_.size(), 3U);
  expect_exact();
}

TEST_F(BundlesTest, AFootprintOfFewResourcesHasThemToItself) {
  set(0, range(0, 39));
  set(1, {{ResourceId{3}, 1.0}, {ResourceId{50}, 2.0}});
  EXPECT_EQ(bundles_.size(), 4U);
  EXPECT_EQ(bundles_.isolate(ResourceId{3}).size(), 0U);
  EXPECT_EQ(bundles_.isolate(ResourceId{4}).size(), 1U);
  expect_exact();
}

TEST_F(BundlesTest, ANewResourceJoinsOnlyWhatIsNotInUse) {
  EXPECT_TRUE(bundles_.add_resource(3.0));
  set(0, {{ResourceId{kResources}, 1.0}});
  EXPECT_TRUE(bundles_.add_resource(3.0));
  EXPECT_FALSE(bundles_.add_resource(3.0));
  EXPECT_FALSE(bundles_.add_resource(2.0));
  EXPECT_TRUE(bundles_.add_resource(4.0));
  bundles_.isolate(ResourceId::from_index(bundles_.resource_count() - 1));
  EXPECT_TRUE(bundles_.add_resource(4.0)) << "not to what was taken out by itself";
  expect_exact();
}

TEST_F(BundlesTest, RandomFootprintsThatChange) {
  RandomStream random{3, "bundles_test"};
  for (int round = 0; round < 200; ++round) {
    std::vector<Usage> usages;
    const std::uint64_t step = 1 + random.below(3);
    const double usage = 1.0 / static_cast<double>(1 + random.below(3));
    const std::uint64_t last = random.below(kResources);
    for (std::uint64_t i = random.below(10); i <= last; i += step)
      usages.push_back({ResourceId{static_cast<std::uint32_t>(i)}, i < 30 ? usage : 1.0});
    set(static_cast<std::uint32_t>(random.below(12)), usages);
    expect_exact();
  }
}

// Transfers over random unions of blocks of resources, as routes between tiers are: every rate is what the solver says of all
// resources one by one, and every resource has carried its share of every byte; a part of a bundle fails on the way.
TEST(FlowFabricTest, BundledResourcesShareAsEachByItself) {
  struct Ignored final : TransferListener {
    void on_source_free(TransferId, std::uint64_t) override {}
    void on_delivered(TransferId, std::uint64_t) override {}
    void on_aborted(TransferId, std::uint64_t) override {}
  } listener;
  RandomStream random{5, "bundles_test"};
  for (int round = 0; round < 50; ++round) {
    Simulator simulator;
    const Topology topology = testing::star(2, 100_Gbps, 0_ns);
    FlowFabric fabric{simulator, topology};
    FairShareSolver solver;
    constexpr std::uint32_t kBlock = 12;
    constexpr std::uint32_t kBlocks = 8;
    const std::size_t links = fabric.resource_count();
    for (std::size_t i = 0; i < links; ++i) solver.add_resource(fabric.capacity(ResourceId::from_index(i)));
    for (std::uint32_t i = 0; i < kBlock * kBlocks; ++i) {
      const double capacity = 1e-3 * (1 + i / kBlock % 3);
      fabric.add_resource("r", capacity);
      solver.add_resource(capacity);
    }
    std::vector<std::vector<Usage>> usages;
    std::vector<TransferId> transfers;
    std::vector<FairShareFlow> flows;
    const auto post = [&] {
      Footprint footprint;
      for (std::uint32_t block = 0; block < kBlocks; ++block) {
        if (random.below(3) == 0) continue;
        const double usage = 1.0 / static_cast<double>(1 + random.below(4));
        for (std::uint32_t i = 0; i < kBlock; ++i)
          footprint.usages.push_back({ResourceId::from_index(links + block * kBlock + i), usage});
      }
      if (random.below(4) == 0 && !footprint.usages.empty()) footprint.usages.resize(footprint.usages.size() - 5);
      if (footprint.usages.empty()) return;
      usages.push_back(footprint.usages);
      transfers.push_back(
          fabric.post({.footprint = fabric.add_footprint(std::move(footprint)), .bytes = Bytes{1'000'000'000}}, listener));
    };
    const auto expect_rates = [&] {
      flows.clear();
      for (const std::vector<Usage>& each : usages) flows.push_back({.usages = each});
      solver.solve(flows);
      for (std::size_t f = 0; f < flows.size(); ++f)
        EXPECT_NEAR(fabric.rate(transfers[f]), flows[f].rate, 1e-12 * flows[f].rate);
    };
    for (int i = 0; i < 6; ++i) post();
    simulator.run_until(Time{} + 1_us);
    expect_rates();
    for (int i = 0; i < 6; ++i) post();  // splits what moves already
    simulator.run_until(Time{} + 2_us);
    expect_rates();
    for (std::size_t r = 0; r < kBlock * kBlocks; ++r) {
      const ResourceId resource = ResourceId::from_index(links + r);
      double expected = 0;
      for (std::size_t f = 0; f < usages.size(); ++f) {
        for (const Usage& usage : usages[f])
          if (usage.resource == resource) expected += usage.usage * fabric.moved_bytes(transfers[f]);
      }
      EXPECT_NEAR(fabric.counters(resource).bytes, expected, 1e-9 * expected + 1e-9);
    }
    const ResourceId failed = ResourceId::from_index(links + random.below(kBlock * kBlocks));
    std::vector<std::vector<Usage>> left;
    std::vector<TransferId> left_transfers;
    for (std::size_t f = 0; f < usages.size(); ++f) {
      if (std::ranges::find(usages[f], failed, &Usage::resource) != usages[f].end()) continue;
      left.push_back(usages[f]);
      left_transfers.push_back(transfers[f]);
    }
    fabric.fail(failed);
    usages = left;
    transfers = left_transfers;
    simulator.run_until(Time{} + 3_us);
    EXPECT_EQ(fabric.totals().aborted, fabric.totals().posted - left.size());
    expect_rates();
  }
}

}  // namespace
}  // namespace weft::net
