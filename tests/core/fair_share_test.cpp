#include "sim/core/fair_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace weft {
namespace {

// A system small enough to write down: flow f uses resource l as often as `uses` says.
class System {
 public:
  ResourceId resource(double capacity) {
    capacities_.push_back(capacity);
    return solver_.add_resource(capacity);
  }
  std::size_t flow(std::vector<Usage> usages, double weight = 1.0, double cap = FairShareSolver::kNoCap,
                   std::uint8_t priority = 0) {
    usages_.push_back(std::move(usages));
    flows_.push_back({.usages = {}, .weight = weight, .cap = cap, .priority = priority});
    return flows_.size() - 1;
  }
  void solve() {
    for (std::size_t f = 0; f < flows_.size(); ++f) flows_[f].usages = usages_[f];
    solver_.solve(flows_);
  }
  [[nodiscard]] double rate(std::size_t flow) const { return flows_[flow].rate; }
  [[nodiscard]] const std::vector<FairShareFlow>& flows() const { return flows_; }
  [[nodiscard]] const std::vector<double>& capacities() const { return capacities_; }

 private:
  FairShareSolver solver_;
  std::vector<double> capacities_;
  std::vector<std::vector<Usage>> usages_;
  std::vector<FairShareFlow> flows_;
};

TEST(FairShareTest, TwoFlowsSplitOneResource) {
  System s;
  const ResourceId l = s.resource(100);
  const auto a = s.flow({{l}});
  const auto b = s.flow({{l}});
  s.solve();
  EXPECT_EQ(s.rate(a), 50.0);
  EXPECT_EQ(s.rate(b), 50.0);
}

// models/network §7 K4: three links of 100 in a row, one flow over all, one cross flow on each. Every link: long + cross = 100.
TEST(FairShareTest, K4ParkingLotGivesEveryFlowHalf) {
  System s;
  const ResourceId l1 = s.resource(100);
  const ResourceId l2 = s.resource(100);
  const ResourceId l3 = s.resource(100);
  s.flow({{l1}, {l2}, {l3}});
  s.flow({{l1}});
  s.flow({{l2}});
  s.flow({{l3}});
  s.solve();
  for (std::size_t f = 0; f < 4; ++f) EXPECT_DOUBLE_EQ(s.rate(f), 50.0);
}

// models/network §7 K5. L2 is the first bottleneck: A, D, F get 50/3. Then L1: B = C = (100 - 50/3)/2 = 41.667. Then L3:
// E = 200 - 41.667 - 16.667 = 141.667.
TEST(FairShareTest, K5HeterogeneousMaxMin) {
  System s;
  const ResourceId l1 = s.resource(100);
  const ResourceId l2 = s.resource(50);
  const ResourceId l3 = s.resource(200);
  const auto a = s.flow({{l1}, {l2}});
  const auto b = s.flow({{l1}});
  const auto c = s.flow({{l1}, {l3}});
  const auto d = s.flow({{l2}});
  const auto e = s.flow({{l3}});
  const auto f = s.flow({{l2}, {l3}});
  s.solve();
  EXPECT_NEAR(s.rate(a), 50.0 / 3, 1e-9);
  EXPECT_NEAR(s.rate(d), 50.0 / 3, 1e-9);
  EXPECT_NEAR(s.rate(f), 50.0 / 3, 1e-9);
  EXPECT_NEAR(s.rate(b), (100 - 50.0 / 3) / 2, 1e-9);
  EXPECT_NEAR(s.rate(c), (100 - 50.0 / 3) / 2, 1e-9);
  EXPECT_NEAR(s.rate(e), 200 - (100 - 50.0 / 3) / 2 - 50.0 / 3, 1e-9);
}

TEST(FairShareTest, WeightsDivideInProportion) {
  System s;
  const ResourceId l = s.resource(80);
  const auto a = s.flow({{l}}, 3.0);
  const auto b = s.flow({{l}}, 1.0);
  s.solve();
  EXPECT_DOUBLE_EQ(s.rate(a), 60.0);
  EXPECT_DOUBLE_EQ(s.rate(b), 20.0);
}

TEST(FairShareTest, ACapLeavesTheRestToOthers) {
  System s;
  const ResourceId l = s.resource(100);
  const auto a = s.flow({{l}}, 1.0, 10.0);
  const auto b = s.flow({{l}});
  s.solve();
  EXPECT_DOUBLE_EQ(s.rate(a), 10.0);
  EXPECT_DOUBLE_EQ(s.rate(b), 90.0);
}

TEST(FairShareTest, UsageCountsHowOftenAByteCrosses) {
  // a crosses l twice: 2 a + b = 90 and a = b, so both get 30.
  System s;
  const ResourceId l = s.resource(90);
  const auto a = s.flow({{l, 2.0}});
  const auto b = s.flow({{l, 1.0}});
  s.solve();
  EXPECT_DOUBLE_EQ(s.rate(a), 30.0);
  EXPECT_DOUBLE_EQ(s.rate(b), 30.0);
}

TEST(FairShareTest, HigherPriorityTakesAllItCan) {
  System s;
  const ResourceId l = s.resource(100);
  const auto high = s.flow({{l}}, 1.0, 70.0, 1);
  const auto low = s.flow({{l}}, 1.0, FairShareSolver::kNoCap, 0);
  s.solve();
  EXPECT_DOUBLE_EQ(s.rate(high), 70.0);
  EXPECT_DOUBLE_EQ(s.rate(low), 30.0);
}

// Ten times 0.1 taken off 1 leaves 1.4e-16, at which a byte would take for ever: less than nothing, not a share.
TEST(FairShareTest, WhatRoundingLeavesOfAFullResourceIsNoShare) {
  System s;
  const ResourceId l = s.resource(1.0);
  for (int i = 0; i < 10; ++i) s.flow({{l}}, 1.0, 0.1, 1);
  const auto low = s.flow({{l}}, 1.0, FairShareSolver::kNoCap, 0);
  s.solve();
  EXPECT_EQ(s.rate(low), 0.0);
}

TEST(FairShareTest, AFlowThatNothingLimitsIsUnlimited) {
  System s;
  const auto free = s.flow({});
  const auto other = s.flow({{s.resource(5)}});
  s.solve();
  EXPECT_TRUE(std::isinf(s.rate(free)));
  EXPECT_DOUBLE_EQ(s.rate(other), 5.0);
}

TEST(FairShareTest, SymmetricFlowsGetBitIdenticalRates) {
  // All pairs of 24 endpoints, each with a sending and a receiving side of one awkward capacity.
  System s;
  std::vector<ResourceId> out;
  std::vector<ResourceId> in;
  for (int i = 0; i < 24; ++i) out.push_back(s.resource(0.0421337));
  for (int i = 0; i < 24; ++i) in.push_back(s.resource(0.0421337));
  for (std::size_t a = 0; a < 24; ++a) {
    for (std::size_t b = 0; b < 24; ++b) {
      if (a != b) s.flow({{out[a]}, {in[b]}});
    }
  }
  s.solve();
  for (const FairShareFlow& flow : s.flows()) EXPECT_EQ(flow.rate, s.flows()[0].rate);
  EXPECT_NEAR(s.flows()[0].rate, 0.0421337 / 23, 1e-15);
}

// A solver that shares no idea with ours: the common level of all free flows is found by bisection on feasibility; then every
// free flow that cannot grow alone is fixed.
std::vector<double> brute_force(const std::vector<double>& capacity, const std::vector<FairShareFlow>& flows) {
  std::vector<double> rate(flows.size(), 0.0);
  std::vector<bool> fixed(flows.size(), false);
  const auto rate_at = [&](std::size_t f, double level) {
    return fixed[f] ? rate[f] : std::min(flows[f].weight * level, flows[f].cap);
  };
  const auto feasible = [&](double level, double slack) {
    for (std::size_t l = 0; l < capacity.size(); ++l) {
      double load = 0;
      for (std::size_t f = 0; f < flows.size(); ++f) {
        for (const Usage& u : flows[f].usages) load += u.resource.index() == l ? u.usage * rate_at(f, level) : 0.0;
      }
      if (load > capacity[l] * (1 + slack)) return false;
    }
    return true;
  };
  while (std::ranges::find(fixed, false) != fixed.end()) {
    double low = 0;
    double high = 1e6;
    for (int i = 0; i < 200; ++i) {
      const double middle = (low + high) / 2;
      (feasible(middle, 0) ? low : high) = middle;
    }
    bool any = false;
    std::vector<std::size_t> stuck;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (fixed[f]) continue;
      if (flows[f].weight * low >= flows[f].cap) {
        stuck.push_back(f);
        continue;
      }
      for (const Usage& u : flows[f].usages) {
        double load = 0;
        for (std::size_t g = 0; g < flows.size(); ++g) {
          for (const Usage& v : flows[g].usages) load += v.resource == u.resource ? v.usage * rate_at(g, low) : 0.0;
        }
        if (load >= capacity[u.resource.index()] * (1 - 1e-12)) {
          stuck.push_back(f);
          break;
        }
      }
    }
    std::vector<double> at;
    for (const std::size_t f : stuck) at.push_back(rate_at(f, low));
    for (std::size_t i = 0; i < stuck.size(); ++i) {
      fixed[stuck[i]] = true;
      rate[stuck[i]] = at[i];
      any = true;
    }
    if (!any) break;
  }
  return rate;
}

TEST(FairShareTest, AgreesWithBruteForceOnTenThousandRandomSystems) {
  std::uint64_t state = 12345;
  const auto random = [&](std::uint64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % below;
  };
  for (int round = 0; round < 10'000; ++round) {
    System s;
    const std::uint64_t resources = 1 + random(6);
    std::vector<ResourceId> ids;
    for (std::uint64_t l = 0; l < resources; ++l) ids.push_back(s.resource(1.0 + static_cast<double>(random(1000)) / 7.0));
    const std::uint64_t flows = 1 + random(8);
    for (std::uint64_t f = 0; f < flows; ++f) {
      std::vector<Usage> usages;
      for (const ResourceId id : ids) {
        if (random(2) == 0) usages.push_back({id, 0.25 * static_cast<double>(1 + random(8))});
      }
      if (usages.empty()) usages.push_back({ids[random(resources)]});
      const double cap = random(4) == 0 ? 0.5 + static_cast<double>(random(40)) : FairShareSolver::kNoCap;
      s.flow(std::move(usages), 0.5 * static_cast<double>(1 + random(6)), cap);
    }
    s.solve();
    const std::vector<double> expected = brute_force(s.capacities(), s.flows());
    for (std::size_t f = 0; f < flows; ++f)
      ASSERT_NEAR(s.rate(f), expected[f], 1e-9 * std::max(1.0, expected[f])) << "round " << round << " flow " << f;
  }
}

// Flows over one path are solved in a way of their own: to the last bit what progressive filling gives them, which a stranger
// on a resource of its own makes them go through.
TEST(FairShareTest, FlowsOverOnePathGetTheSameRatesBesideAStranger) {
  std::uint64_t state = 4321;
  const auto random = [&](std::uint64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % below;
  };
  int at_cap = 0;
  int all = 0;
  for (int round = 0; round < 3'000; ++round) {
    System alone;
    System beside;
    std::vector<Usage> usages;
    const std::uint64_t resources = 1 + random(4);
    for (std::uint64_t l = 0; l < resources; ++l) {
      const double capacity = 1.0 + static_cast<double>(random(1000)) / 7.0;
      static_cast<void>(beside.resource(capacity));
      usages.push_back({alone.resource(capacity), static_cast<double>(1 + random(20)) / 18.0});
    }
    const std::uint64_t flows = 2 + random(96);
    const std::uint64_t kinds = 1 + random(flows);  // of caps and weights: from all alike to all different
    const double share = alone.capacities()[0] / static_cast<double>(flows);
    for (std::uint64_t f = 0; f < flows; ++f) {
      const std::uint64_t kind = random(kinds);
      const double weight = round % 2 == 0 ? 1.0 : static_cast<double>(1 + kind % 6) / 3.0;
      const double cap = kind % 5 == 4 ? FairShareSolver::kNoCap : share * static_cast<double>(1 + kind % 31) / 13.0;
      alone.flow(usages, weight, cap);
      beside.flow(usages, weight, cap);
    }
    beside.flow({{beside.resource(1e9)}});
    alone.solve();
    beside.solve();
    for (std::size_t f = 0; f < flows; ++f) {
      ASSERT_EQ(alone.rate(f), beside.rate(f)) << "round " << round << " flow " << f;
      at_cap += alone.rate(f) == alone.flows()[f].cap ? 1 : 0;
      ++all;
    }
  }
  // Both ends are met often.
  EXPECT_GT(at_cap, all / 10);
  EXPECT_LT(at_cap, all - all / 10);
}

}  // namespace
}  // namespace weft
