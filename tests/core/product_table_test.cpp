#include "sim/core/product_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sim/core/profile.h"
#include "tests/support/temp_folder.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ProductTableTest : public ::testing::Test {
 protected:
  // A profile that names `text` as its table, or holds it.
  Profile profile(const std::string& csv) {
    std::ofstream{folder_ / "gemms.csv"} << csv;
    return with("[gemms.csv]");
  }
  Profile with(const std::string& products) {
    std::ofstream{folder_ / "profile.yaml"} << "kind: profile\nname: mine\nproducts: " << products << "\n";
    return Profile::load(folder_ / "profile.yaml", {});
  }
  // The errors as file:line:column: message, without the folder.
  template <class Read>
  std::vector<std::string> errors_of(const Read& read) {
    std::vector<std::string> texts;
    try {
      static_cast<void>(read());
    } catch (const ConfigError& error) {
      for (const Diagnostic& d : error.diagnostics()) {
        texts.push_back(std::filesystem::path{d.where.file}.filename().string() + ':' + std::to_string(d.where.line) + ':' +
                        std::to_string(d.where.column) + ": " + d.message);
      }
    }
    return texts;
  }
  std::vector<std::string> csv_errors(const std::string& csv) {
    return errors_of([&] { return profile(csv); });
  }

  test::TempFolder folder_;
};

TEST_F(ProductTableTest, ReadsAFileInAnyOrderOfColumnsAndRowsOfTheProfile) {
  const Profile read = profile("# my GPU\ntype,m,n,k,time_us,quantized\nbf16,16,4096,8192,12.5,0\n\nfp8,1,2,3,4,1\n");
  ASSERT_NE(read.products(), nullptr);
  const std::vector<MeasuredProduct>& rows = read.products()->rows;
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0], (MeasuredProduct{.m = 16, .n = 4096, .k = 8192, .type = "bf16", .time = Duration::from_ps(12'500'000)}));
  EXPECT_TRUE(rows[1].quantized);
  const Profile own = with("[{m: 1, n: 2, k: 3, type: fp8, time: 4 us, scales: block}]");
  ASSERT_EQ(own.products()->rows.size(), 1U);
  EXPECT_EQ(own.products()->rows[0].scales, "block");
  EXPECT_EQ(Profile::defaults({}).products(), nullptr);
}

TEST_F(ProductTableTest, WhatItWritesItReads) {
  const std::vector<MeasuredProduct> rows{
      {.m = 16, .n = 4096, .k = 8192, .type = "bf16", .time = Duration::from_ps(12'345'678), .weight_copies = 6},
      {.m = 1, .n = 2, .k = 3, .type = "fp8", .time = Duration::from_us(4), .scales = "row", .quantized = true}};
  EXPECT_EQ(profile(product_table_csv(rows)).products()->rows, rows);
  const Profile own = with("[{m: 1, n: 2, k: 3, type: fp8, time: 4 us, scales: row, quantized: true}]");
  EXPECT_THAT(own.to_yaml(),
              HasSubstr("products:\n  - {m: 1, n: 2, k: 3, type: fp8, time: 4 us, scales: row, quantized: true}\n"));
}

TEST_F(ProductTableTest, SaysWhichFieldIsWrong) {
  EXPECT_THAT(csv_errors("m,n,k,type,time_us\n1,2,3,bf16,-4\n0,2,3,bf16,4\n1,2,3,bf61,4\n1,2,3,bf16\n"),
              ElementsAre("gemms.csv:2:12: time_us: expected a time above 0 in us, got '-4'",
                          "gemms.csv:3:1: m: expected a whole number of at least 1, got '0'",
                          "gemms.csv:4:7: unknown type 'bf61'", "gemms.csv:5:1: expected 5 values, got 4"));
  EXPECT_THAT(csv_errors("m,n,q,type,time_us\n"), ElementsAre("gemms.csv:1:5: unknown column 'q'"));
  EXPECT_THAT(csv_errors("m,n,k,type\n"), ElementsAre("gemms.csv:1:1: expected a column 'time_us'"));
  EXPECT_THAT(csv_errors(""), ElementsAre(HasSubstr("expected a line of names")));
  EXPECT_THAT(errors_of([&] { return with("[{m: 1, n: 2, k: 3, time: -4 us}]"); }), ElementsAre(StartsWith("profile.yaml:3:")));
  EXPECT_THAT(errors_of([&] { return with("[none.csv]"); }), ElementsAre(StartsWith("profile.yaml:3:")));
  EXPECT_THAT(errors_of([&] { return with("gemms.csv"); }),
              ElementsAre(HasSubstr("products: expected a list of files and products")));
}

TEST_F(ProductTableTest, OneShapeHasOneTime) {
  EXPECT_EQ(profile("m,n,k,type,time_us\n1,2,3,bf16,4\n1,2,3,bf16,4.0\n1,2,3,fp16,5\n").products()->rows.size(), 2U);
  const std::vector<std::string> errors = csv_errors("m,n,k,type,time_us\n1,2,3,bf16,4\n1,2,3,bf16,5\n");
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_THAT(errors[0], StartsWith("gemms.csv:3:1: 1 x 2 x 3 bf16 takes 5 us here, and 4 us in "));
  EXPECT_THAT(errors[0], HasSubstr("gemms.csv:2"));
}

}  // namespace
}  // namespace weft
