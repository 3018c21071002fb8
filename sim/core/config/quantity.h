// Text of quantities, as it stands in YAML files and on command lines, to and from the types of core/units.h.
//
//   parse_bandwidth("400 Gb/s")  == 400_Gbps       parse_bandwidth("50 GB/s") == 400_Gbps      // case tells bits from bytes
//   parse_duration("1.5 us")     == 1'500_ns       parse_bytes("64 KiB")      == Bytes{65'536}  // KiB is 1024, kB is 1000
//   parse_duration("500")        == nullopt        parse_bytes("64 Kib")      == nullopt        // a unit is needed, and the
//   right one parse_ratio("5 %")           == 0.05           parse_integer("010")       == nullopt        // octal or ten?
//   refused to_string(1'500_ns)          == "1.5 us"       to_string(Bytes{65'536})   == "64 KiB"
//
// Decimal text goes to integers through 128-bit arithmetic, never through a double: 0.1 us is exactly 100'000 ps. What falls
// between two picoseconds or two bits per second goes to the nearest (ties away from zero); a fraction of a byte is refused,
// and so are more than 2^62 bytes. Nothing here looks at the locale. A space between number and unit is optional; everything
// else is spelled exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/core/units.h"

namespace weft {

// A share of something: "5 %" and "0.05" are the same. May exceed 1 (oversubscription), may not be negative by default.
struct Ratio {
  double value = 0;
  constexpr auto operator<=>(const Ratio&) const = default;
};

[[nodiscard]] std::optional<Duration> parse_duration(std::string_view text);  // ps ns us ms s min h d
[[nodiscard]] std::optional<Bytes> parse_bytes(std::string_view text);  // B, kB MB GB TB PB, KiB MiB GiB TiB PiB (KB is kB)
[[nodiscard]] std::optional<Bandwidth> parse_bandwidth(
    std::string_view text);                                               // b/s ... Tb/s, bps ... Tbps, B/s ... TB/s, KiB/s ...
[[nodiscard]] std::optional<double> parse_number(std::string_view text);  // finite decimal: -1.5, 2e-6; no hex, inf or nan
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);  // decimal digits with an optional '-'
[[nodiscard]] std::optional<double> parse_ratio(std::string_view text);          // "5 %", "0.05"
[[nodiscard]] std::optional<bool> parse_bool(std::string_view text);             // true, false; never on, yes, Y

// A size as nccl-tests' -b and -e take it: "8", "128M", "4G", "1.5K"; K, M, G, T in either case are powers of 1024.
[[nodiscard]] std::optional<Bytes> parse_nccl_size(std::string_view text);
// A size in an option of the command line, the same in all of them: as nccl-tests take it, or with its unit, "1 GB".
[[nodiscard]] std::optional<Bytes> parse_size(std::string_view text);

// The shortest human form that parses back to the same value.
[[nodiscard]] std::string to_string(Duration duration);
[[nodiscard]] std::string to_string(Bytes bytes);
[[nodiscard]] std::string to_string(Bandwidth bandwidth);
[[nodiscard]] std::string to_string(Ratio ratio);      // "5 %"
[[nodiscard]] std::string number_text(double number);  // shortest text that reads back as the same double

}  // namespace weft
