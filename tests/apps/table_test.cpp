#include "sim/apps/table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/apps/progress.h"
#include "sim/core/words.h"
#include "sim/measured/readers/nccl_tests_row.h"

namespace weft::apps {
namespace {

using namespace weft::literals;

coll::CollectiveResult point(coll::Collective kind, Bytes bytes, int ranks, Duration time) {
  coll::CollectiveResult result;
  result.call.kind = kind;
  result.call.bytes = bytes;
  result.sizes = coll::sizes_of(result.call, ranks);
  result.choice = {.algorithm = "ring", .protocol = "Simple", .channels = 24};
  result.ranks = ranks;
  result.time = time;
  return result;
}

TEST(FitNumberTest, DropsDecimalsUntilTheWidthHoldsIt) {
  EXPECT_EQ(fit_number(19.019, 7), "  19.02");
  EXPECT_EQ(fit_number(9274.48, 7), "9274.48");
  EXPECT_EQ(fit_number(12345.6, 7), "12345.6");
  EXPECT_EQ(fit_number(123456.7, 7), " 123457");
  EXPECT_EQ(fit_number(1234567.8, 7), "1234568");
  EXPECT_EQ(fit_number(12345678.0, 7), "1.2e+07");
  EXPECT_EQ(fit_number(0.0, 6), "  0.00");
}

TEST(ShortTextTest, HasThreeDigitsAndAUnit) {
  EXPECT_EQ(short_count(0), "0");
  EXPECT_EQ(short_count(999), "999");
  EXPECT_EQ(short_count(1'900'000), "1.90 M");
  EXPECT_EQ(short_count(999'999), "1.00 M");
  EXPECT_EQ(short_time(43'628'000'000_ps), "43.6 ms");
  EXPECT_EQ(short_time(Duration{}), "0 ps");
  EXPECT_EQ(short_bytes(1536), "1.50 KiB");
  EXPECT_EQ(short_bytes(500.0 * (1 << 20)), "500 MiB");
}

// The project's own reader of nccl-tests logs takes our rows by our header.
TEST(SweepTableTest, IsReadByTheReaderOfNcclTests) {
  const std::string columns = sweep_columns();
  const std::size_t begin = columns.find("#       size");
  ASSERT_NE(begin, std::string::npos);
  const std::string names = columns.substr(begin + 1, columns.find('\n', begin) - begin - 1);
  const measured::detail::Layout layout = measured::detail::layout_of_header(words_of(names));
  ASSERT_FALSE(layout.empty());

  // 1 GiB over 4 ranks in 4,000 us: 268.44 GB/s, times 2 x 3 / 4 on the bus (models/nccl §8.2).
  std::string row = sweep_row(point(coll::Collective::kAllReduce, 1_GiB, 4, 4'000_us), "float");
  ASSERT_EQ(row.back(), '\n');
  row.pop_back();
  const measured::detail::RowReading reading = measured::detail::read_row(row, layout, true);
  ASSERT_EQ(reading.state, measured::detail::RowState::kComplete) << reading.message;
  EXPECT_EQ(reading.row.bytes, 1_GiB);
  EXPECT_EQ(reading.row.count, 268'435'456);
  EXPECT_EQ(reading.row.type, "float");
  EXPECT_EQ(reading.row.redop, "sum");
  EXPECT_EQ(reading.row.root, -1);
  ASSERT_TRUE(reading.row.out_of_place);
  EXPECT_EQ(reading.row.out_of_place->time_us, 4'000.0);
  EXPECT_EQ(reading.row.out_of_place->algbw_gigabytes_per_second, 268.44);
  EXPECT_EQ(reading.row.out_of_place->busbw_gigabytes_per_second, 402.65);
}

TEST(SweepTableTest, StandsUnderTheColumnsOfNcclTests) {
  // A row of a real log (all_gather, 4 GPUs), as far as ours goes.
  const std::string real = "     1048576         65536     float    none      -1    20.58   50.95   38.21";
  const std::string ours = sweep_row(point(coll::Collective::kAllGather, 1_MiB, 4, 20'580_ns), "float");
  EXPECT_EQ(ours.substr(0, real.size()), real);
}

TEST(SweepTableTest, NamesTheRootWhereThereIsOne) {
  coll::CollectiveResult reduce = point(coll::Collective::kReduce, 1_MiB, 4, 10_us);
  reduce.call.root = 3;
  EXPECT_NE(sweep_row(reduce, "half").find("    half     sum       3  "), std::string::npos);
  EXPECT_NE(sweep_row(point(coll::Collective::kBroadcast, 1_MiB, 4, 10_us), "half").find("    none       0  "),
            std::string::npos);
}

TEST(SweepTableTest, MarksATextbookAlgorithmByADash) {
  coll::CollectiveResult textbook = point(coll::Collective::kAllReduce, 1_MiB, 4, 10_us);
  textbook.choice = {.algorithm = "plain_ring", .protocol = "", .channels = 1};
  EXPECT_NE(sweep_row(textbook, "float").find("plain_ring       -         1\n"), std::string::npos);
}

TEST(TableTest, AlignsColumnsToTheirWidestCell) {
  Table table;
  table.add_column("link", Table::Align::kLeft);
  table.add_column("bytes");
  table.add_row({"a->b", "1048576"});
  table.add_row({"leaf0->spine1", "8"});
  EXPECT_EQ(table.text(),
            "# link             bytes\n"
            "  a->b           1048576\n"
            "  leaf0->spine1        8\n");
}

TEST(ProgressLineTest, SaysHowFarAndHowLong) {
  // A quarter took 30 s: three times as long is left.
  EXPECT_EQ(progress_line("sizes", 8, 32, 60'000'000, 5_ms, 30.0),
            "[######------------------]  8/32 sizes  2.00 M events/s  simulated 5.00 ms  ETA 1:30");
  EXPECT_EQ(progress_line("sizes", 8, 32, 30.0), "[######------------------]  8/32 sizes  ETA 1:30");
  EXPECT_EQ(progress_line("flows", 0, 0, 0, Duration{}, 0.0), "0 flows  simulated 0 ps");  // of how many is not known
}

}  // namespace
}  // namespace weft::apps
