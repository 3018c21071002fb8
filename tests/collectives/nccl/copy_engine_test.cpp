// Which calls NCCL gives to copy engines: src/enqueue.cc (taskAppend) and src/ce_coll.cc.
#include "sim/collectives/nccl/copy_engine.h"

#include <gtest/gtest.h>

#include "tests/collectives/nccl/machines.h"

namespace weft::coll::nccl {
namespace {

TEST(CopyEngineTest, ThePolicyOfNoBlocksTakesThemFrom228) {
  for (const Collective kind : {Collective::kAllGather, Collective::kAllToAll, Collective::kGather, Collective::kScatter}) {
    EXPECT_TRUE(picks_copy_engines({.kind = kind}, given({{"CTA_POLICY", "ZERO"}, {"version", "2.28.3"}})));
    EXPECT_FALSE(picks_copy_engines({.kind = kind}, given({{"CTA_POLICY", "ZERO"}, {"version", "2.27.7"}})));
    EXPECT_FALSE(picks_copy_engines({.kind = kind}, given({{"CTA_POLICY", "EFFICIENCY"}})));
    EXPECT_FALSE(picks_copy_engines({.kind = kind}, {}));
  }
  EXPECT_FALSE(picks_copy_engines({.kind = Collective::kAllReduce}, given({{"CTA_POLICY", "2"}})));
  EXPECT_FALSE(picks_copy_engines({.kind = Collective::kAllToAll, .by_pair = true}, given({{"CTA_POLICY", "2"}})));
}

// More than 8 Mi elements a rank, of Blackwell, from 2.29 on.
TEST(CopyEngineTest, LargeGathersOfBlackwellTakeThemByThemselves) {
  constexpr std::int64_t kElements = 8 << 20;
  const auto picks = [](std::int64_t elements, int sm, const Settings& settings = {}) {
    return picks_copy_engines({.kind = Collective::kAllGather, .elements = elements, .sm = sm}, settings);
  };
  EXPECT_FALSE(picks(kElements, 100));
  EXPECT_TRUE(picks(kElements + 1, 100));
  EXPECT_FALSE(picks(kElements + 1, 90));
  EXPECT_FALSE(picks(kElements + 1, 100, given({{"version", "2.28"}})));
  EXPECT_TRUE(picks(1, 100, given({{"SYM_CE_THRESHOLD", "0"}})));
}

}  // namespace
}  // namespace weft::coll::nccl
