#include "sim/core/config/quantity.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cstdint>
#include <limits>
#include <string>

namespace weft {
namespace {

using namespace weft::literals;

TEST(QuantityTest, ReadsEveryUnitOfDuration) {
  EXPECT_EQ(parse_duration("7 ps"), 7_ps);
  EXPECT_EQ(parse_duration("7 ns"), 7_ns);
  EXPECT_EQ(parse_duration("1.5 us"), 1'500_ns);
  EXPECT_EQ(parse_duration("7ms"), 7_ms);
  EXPECT_EQ(parse_duration("7 s"), 7_s);
  EXPECT_EQ(parse_duration("2 min"), 120_s);
  EXPECT_EQ(parse_duration("2 h"), 7'200_s);
  EXPECT_EQ(parse_duration("2 d"), 172'800_s);
  EXPECT_EQ(parse_duration("-3 ns"), Duration::from_ns(-3));
  EXPECT_EQ(parse_duration("1e3 ns"), 1_us);
}

TEST(QuantityTest, ReadsDecimalFractionsExactly) {
  // 0.1 has no exact double, and 9'007'199.254740993 s needs 53 bits and one more in picoseconds.
  EXPECT_EQ(parse_duration("0.1 us"), 100'000_ps);
  EXPECT_EQ(parse_duration("9007.199254740993 s"), 9'007'199'254'740'993_ps);
  EXPECT_EQ(parse_bandwidth("0.1 Gb/s"), Bandwidth::from_bits_per_second(100'000'000));
  EXPECT_EQ(parse_bytes("0.1 kB"), Bytes{100});
  EXPECT_EQ(parse_bytes("1.5 KiB"), Bytes{1'536});
}

TEST(QuantityTest, RoundsToTheNearestPicosecondAndBitButRefusesFractionsOfBytes) {
  EXPECT_EQ(parse_duration("0.4 ps"), 0_ps);
  EXPECT_EQ(parse_duration("0.5 ps"), 1_ps);
  EXPECT_EQ(parse_duration("-0.5 ps"), Duration::from_ps(-1));
  EXPECT_EQ(parse_duration("1.0004 ns"), 1'000_ps);
  EXPECT_EQ(parse_duration("1.0005 ns"), 1'001_ps);
  EXPECT_EQ(parse_bandwidth("1.4 b/s"), Bandwidth::from_bits_per_second(1));
  EXPECT_EQ(parse_bandwidth("1.5 b/s"), Bandwidth::from_bits_per_second(2));
  EXPECT_EQ(parse_bytes("1.5 B"), std::nullopt);
  EXPECT_EQ(parse_bytes("0.0001 kB"), std::nullopt);
  EXPECT_EQ(parse_bytes("1.000 B"), Bytes{1});
}

TEST(QuantityTest, TellsBitsFromBytesByCase) {
  EXPECT_EQ(parse_bandwidth("400 Gb/s"), 400_Gbps);
  EXPECT_EQ(parse_bandwidth("400 Gbps"), 400_Gbps);
  EXPECT_EQ(parse_bandwidth("50 GB/s"), 400_Gbps);
  EXPECT_EQ(parse_bandwidth("900 GB/s"), 900_GBps);
  EXPECT_EQ(parse_bandwidth("1 KiB/s"), Bandwidth::from_bits_per_second(8'192));
  EXPECT_EQ(parse_bandwidth("1.6 Tb/s"), 1'600_Gbps);
  EXPECT_EQ(parse_bandwidth("400 gb/s"), std::nullopt);
  EXPECT_EQ(parse_bandwidth("400 GBPS"), std::nullopt);
  EXPECT_EQ(parse_bandwidth("400 Gb"), std::nullopt);
  EXPECT_EQ(parse_bytes("64 Kib"), std::nullopt);
  EXPECT_EQ(parse_bytes("64 kb"), std::nullopt);
}

TEST(QuantityTest, ReadsEveryUnitOfSize) {
  EXPECT_EQ(parse_bytes("8 B"), Bytes{8});
  EXPECT_EQ(parse_bytes("10 MB"), Bytes{10'000'000});
  EXPECT_EQ(parse_bytes("64 KiB"), Bytes{65'536});
  EXPECT_EQ(parse_bytes("64 kB"), Bytes{64'000});
  EXPECT_EQ(parse_bytes("64 KB"), Bytes{64'000});
  EXPECT_EQ(parse_bytes("1 GiB"), 1_GiB);
  EXPECT_EQ(parse_bytes("2 TiB"), Bytes{2'199'023'255'552});
  EXPECT_EQ(parse_bytes("1 PB"), Bytes{1'000'000'000'000'000});
}

TEST(QuantityTest, RefusesWhatIsNotANumberAndOneUnit) {
  for (const char* text :
       {"",      " ",     "500",    "ns",     "500 n s", "500  ",   " 500 ns", "5,0 ns", "0x5 ns", "05 ns",      "+5 ns",
        "5. ns", ".5 ns", "--5 ns", "inf ns", "nan ns",  "5 ns ns", "5\tns",   "5 NS",   "1e ns",  "5 \xC2\xB5s"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << "'" << text << "'";
  }
}

TEST(QuantityTest, RefusesWhatDoesNotFit) {
  // 2^63 - 1 ps is the last Duration.
  EXPECT_EQ(parse_duration("9223372036854775807 ps"), Duration::max());
  EXPECT_EQ(parse_duration("9223372036854775808 ps"), std::nullopt);
  EXPECT_EQ(parse_duration("9223372.036854775807 s"), Duration::max());
  EXPECT_EQ(parse_duration("107 d"), std::nullopt);
  // 2^62 bytes are the last size, 4096 PiB.
  EXPECT_EQ(parse_bytes("4096 PiB"), Bytes{std::int64_t{1} << 62});
  EXPECT_EQ(parse_bytes("4611686018427387905 B"), std::nullopt);
  EXPECT_EQ(parse_bytes("4097 PiB"), std::nullopt);
  EXPECT_EQ(parse_nccl_size("4194304T"), Bytes{std::int64_t{1} << 62});
  EXPECT_EQ(parse_nccl_size("4194305T"), std::nullopt);
  EXPECT_EQ(parse_bandwidth("1e30 b/s"), std::nullopt);
  EXPECT_EQ(parse_bytes("1e999999999999 B"), std::nullopt);
  EXPECT_EQ(parse_bytes(std::string(60, '9') + " B"), std::nullopt);
}

TEST(QuantityTest, ReadsIntegersWithoutGuessingTheirBase) {
  EXPECT_EQ(parse_integer("0"), 0);
  EXPECT_EQ(parse_integer("-12"), -12);
  EXPECT_EQ(parse_integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  for (const char* text : {"", "010", "0x10", "1_000", "1e3", "1.0", "+1", " 1", "9223372036854775808", "one"}) {
    EXPECT_EQ(parse_integer(text), std::nullopt) << text;
  }
}

TEST(QuantityTest, ReadsNumbersAndRatios) {
  EXPECT_EQ(parse_number("-1.5"), -1.5);
  EXPECT_EQ(parse_number("2e-6"), 2e-6);
  EXPECT_EQ(parse_number("1E6"), 1e6);
  for (const char* text : {"", "inf", "nan", ".inf", "0x1p3", "1e999", "1,5", "01.5", "1."}) {
    EXPECT_EQ(parse_number(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_ratio("5 %"), 0.05);
  EXPECT_EQ(parse_ratio("0.7%"), 0.007);
  EXPECT_EQ(parse_ratio("0.05"), 0.05);
  EXPECT_EQ(parse_ratio("150 %"), 1.5);
  EXPECT_EQ(parse_ratio("%"), std::nullopt);
  EXPECT_EQ(parse_ratio("5 %%"), std::nullopt);
  EXPECT_EQ(parse_ratio("1e1 %"), std::nullopt);
}

TEST(QuantityTest, TakesOnlyTheWordsTrueAndFalseForBooleans) {
  EXPECT_EQ(parse_bool("true"), true);
  EXPECT_EQ(parse_bool("false"), false);
  for (const char* text : {"on", "off", "yes", "Y", "True", "1", ""}) EXPECT_EQ(parse_bool(text), std::nullopt) << text;
}

TEST(QuantityTest, ReadsSizesAsNcclTestsTakesThem) {
  EXPECT_EQ(parse_nccl_size("8"), Bytes{8});
  EXPECT_EQ(parse_nccl_size("128M"), 128_MiB);
  EXPECT_EQ(parse_nccl_size("4G"), 4_GiB);
  EXPECT_EQ(parse_nccl_size("4g"), 4_GiB);
  EXPECT_EQ(parse_nccl_size("1.5K"), Bytes{1'536});
  EXPECT_EQ(parse_nccl_size("2T"), Bytes{2LL << 40});
  for (const char* text : {"", "G", "4GB", "4 G", "-4G", "4X", "0.3"}) EXPECT_EQ(parse_nccl_size(text), std::nullopt) << text;
}

TEST(QuantityTest, WritesHumanUnits) {
  EXPECT_EQ(to_string(0_ps), "0 s");
  EXPECT_EQ(to_string(999_ps), "999 ps");
  EXPECT_EQ(to_string(1'500_ns), "1.5 us");
  EXPECT_EQ(to_string(167'772'160_ps), "167.77216 us");
  EXPECT_EQ(to_string(Duration::from_ns(-45)), "-45 ns");
  EXPECT_EQ(to_string(0_B), "0 B");
  EXPECT_EQ(to_string(1'023_B), "1023 B");
  EXPECT_EQ(to_string(64_KiB), "64 KiB");
  EXPECT_EQ(to_string(10_MB), "10 MB");
  EXPECT_EQ(to_string(64_GB), "64 GB");
  EXPECT_EQ(to_string(1_GiB), "1 GiB");
  EXPECT_EQ(to_string(400_Gbps), "400 Gb/s");
  EXPECT_EQ(to_string(450_GBps), "3.6 Tb/s");
  EXPECT_EQ(to_string(Bandwidth{}), "0 b/s");
  EXPECT_EQ(to_string(Ratio{0.05}), "5 %");
  EXPECT_EQ(number_text(0.1), "0.1");
}

TEST(QuantityTest, ASizeOfAnOptionIsNcclsOrHasItsUnit) {
  EXPECT_EQ(parse_size("1G"), Bytes{std::int64_t{1} << 30});
  EXPECT_EQ(parse_size("1 GiB"), Bytes{std::int64_t{1} << 30});
  EXPECT_EQ(parse_size("1 GB"), Bytes{1'000'000'000});
  EXPECT_EQ(parse_size("1 G"), std::nullopt);
}

TEST(QuantityTest, ReadsBackWhatItWrites) {
  for (std::int64_t magnitude = 1; magnitude < 4'000'000'000'000'000'000; magnitude = magnitude * 3 + 1) {
    for (const std::int64_t value : {magnitude, -magnitude, magnitude * 2, (magnitude >> 20) << 20}) {
      EXPECT_EQ(parse_duration(to_string(Duration::from_ps(value))), Duration::from_ps(value)) << value;
      if (std::abs(value) <= std::int64_t{1} << 62) {
        EXPECT_EQ(parse_bytes(to_string(Bytes{value})), Bytes{value}) << value;
      }
      EXPECT_EQ(parse_bandwidth(to_string(Bandwidth::from_bits_per_second(value))), Bandwidth::from_bits_per_second(value))
          << value;
    }
    const double ratio = 1.0 / static_cast<double>(magnitude);
    EXPECT_EQ(parse_ratio(to_string(Ratio{ratio})), ratio);
    EXPECT_EQ(parse_number(number_text(ratio)), ratio);
  }
  for (const std::int64_t value : {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_EQ(parse_duration(to_string(Duration::from_ps(value))), Duration::from_ps(value));
  }
}

TEST(QuantityTest, DoesNotDependOnTheLocale) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"}) std::setlocale(LC_ALL, name);
  EXPECT_EQ(parse_number("1.5"), 1.5);
  EXPECT_EQ(number_text(1.5), "1.5");
  std::setlocale(LC_ALL, before.c_str());
}

}  // namespace
}  // namespace weft
