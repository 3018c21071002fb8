// Every cost and every choice that NCCL 2.30.7's own code gave for the golden machines (models/nccl §A).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/collectives/nccl/planner.h"
#include "sim/collectives/nccl/tuning.h"
#include "tests/collectives/nccl/golden_file.h"

namespace weft::coll::nccl {
namespace {

std::string lower(std::string_view text) {
  std::string result;
  for (const char c : text) result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

Algo algo_of(const std::string& name) {
  for (std::size_t a = 0; a < kAlgos; ++a) {
    if (lower(to_string(static_cast<Algo>(a))) == lower(name)) return static_cast<Algo>(a);
  }
  throw std::runtime_error("no algorithm " + name);
}

Proto proto_of(const std::string& name) {
  for (std::size_t p = 0; p < kProtos; ++p) {
    if (lower(to_string(static_cast<Proto>(p))) == lower(name)) return static_cast<Proto>(p);
  }
  throw std::runtime_error("no protocol " + name);
}

Collective kind_of(const std::string& name) {
  for (std::size_t k = 0; k < kTunedCollectives; ++k) {
    std::string known = std::string{to_string(tuned_collective(k))};
    std::erase(known, '_');
    if (known == lower(name)) return tuned_collective(k);
  }
  throw std::runtime_error("no collective " + name);
}

// The golden calls are of bytes for all-gather and of floats for reduce-scatter, the same number for each rank: with 72 ranks
// 512 B are 504 and 288. (So the reduce-scatter of 128 B, none each, is missing there.)
Bytes whole_blocks(Collective kind, std::int64_t bytes, int ranks) {
  if (kind == Collective::kAllGather) return Bytes{bytes / ranks * ranks};
  if (kind == Collective::kReduceScatter) return Bytes{bytes / (4 * ranks) * 4 * ranks};
  return Bytes{bytes};
}

class TuningGoldenTest : public ::testing::TestWithParam<std::string> {};

TEST_P(TuningGoldenTest, CostsEqualToThePrintedDigits) {
  const golden::File file = golden::read(GetParam());
  const TuningModel model{file.comm, {}};
  ASSERT_FALSE(file.costs.empty());
  for (const golden::CostEntry& entry : file.costs) {
    const Cost& cost = model.cost(kind_of(entry.collective), algo_of(entry.algo), proto_of(entry.proto));
    const std::string what = entry.collective + " " + entry.algo + "/" + entry.proto;
    // C++ streams print six digits, latencies four.
    EXPECT_EQ(fmt::format("{:.4g}", cost.latency_us), entry.latency) << what;
    EXPECT_EQ(fmt::format("{:.6g}", cost.bandwidth_GBps), entry.bandwidth) << what;
  }
}

TEST_P(TuningGoldenTest, LeavesOutWhatNcclLeavesOut) {
  // The golden files list what has a bandwidth; NVLS is listed there for gathers of more than 32 GPUs too, though NCCL does not
  // use it (models/nccl §5.6).
  const golden::File file = golden::read(GetParam());
  const TuningModel model{file.comm, {}};
  for (std::size_t k = 0; k < kTunedCollectives; ++k) {
    const Collective kind = tuned_collective(k);
    for (std::size_t a = 0; a < kAlgos; ++a) {
      for (std::size_t p = 0; p < kProtos; ++p) {
        const auto algo = static_cast<Algo>(a);
        const auto proto = static_cast<Proto>(p);
        const bool listed = std::ranges::any_of(file.costs, [&](const golden::CostEntry& entry) {
          return kind_of(entry.collective) == kind && algo_of(entry.algo) == algo && proto_of(entry.proto) == proto;
        });
        const bool unused = algo == Algo::kNvls && file.comm.ranks_per_node > 32 && kind != Collective::kAllReduce;
        EXPECT_EQ(model.cost(kind, algo, proto).enabled, listed && !unused)
            << to_string(kind) << ' ' << to_string(algo) << '/' << to_string(proto);
      }
    }
  }
}

TEST_P(TuningGoldenTest, ChoosesWhatNcclChooses) {
  const golden::File file = golden::read(GetParam());
  const TuningModel model{file.comm, {}};
  ASSERT_GE(file.rows.size(), 5 * 22U);  // each collective at most of the sizes from 64 B to 8 GiB
  for (const golden::SelectionRow& row : file.rows) {
    const std::string what = fmt::format("{} {}", row.collective, row.bytes);
    const Collective kind = kind_of(row.collective);
    const Bytes bytes = whole_blocks(kind, row.bytes, file.comm.ranks);
    const Selection chosen = model.select(kind, bytes);
    const LaunchShape shape = launch_shape(model, kind, chosen.algo, chosen.proto, bytes);
    EXPECT_EQ(lower(to_string(chosen.algo)), lower(row.algo)) << what;
    EXPECT_EQ(lower(to_string(chosen.proto)), lower(row.proto)) << what;
    EXPECT_EQ(shape.channels, row.channels) << what;
    EXPECT_EQ(shape.warps(), row.warps) << what;
    EXPECT_EQ(fmt::format("{:.3f}", chosen.estimate_us), row.estimate_us) << what;
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, TuningGoldenTest, ::testing::ValuesIn(golden::names()), [](const auto& param) {
  std::string name = param.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST(TuningGoldenTest, TheFilesAreReadWhole) {
  std::size_t costs = 0;
  std::size_t rows = 0;
  for (const std::string& name : golden::names()) {
    const golden::File file = golden::read(name);
    costs += file.costs.size();
    rows += file.rows.size();
  }
  // grep -o ' us ' *.txt | wc -l; grep -cE '^[A-Za-z]+,[0-9]' *.txt. Files of further machines only add.
  EXPECT_GE(costs, 400U);
  EXPECT_GE(rows, 2915U);
}

}  // namespace
}  // namespace weft::coll::nccl
