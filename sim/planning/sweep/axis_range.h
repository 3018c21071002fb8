// Ranges of values between two ends: written out in steps for a grid, or drawn from.
//
//   {from: 1 MiB, to: 1 GiB, scale: log2}              1, 2, 4, ... 1024 MiB: each twice the one before
//   {from: 1 us, to: 1 ms, scale: log10}               1, 10, 100, 1000 us
//   {from: 1 us, to: 1 ms, scale: log10, count: 7}     seven, evenly spaced in the logarithm
//   {from: 100 Gb/s, to: 800 Gb/s, step: 100 Gb/s}     eight
//   {from: 0.0, to: 1, count: 5}                       0, 0.25, 0.5, 0.75, 1
//
// Ends are whole numbers, numbers, shares (5 %), sizes, times or rates. All but plain numbers and shares are whole by nature
// (of bytes, picoseconds, bits per second), and what is computed is rounded to the nearest; arithmetic is the same on every
// machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/config/node.h"
#include "sim/core/config/params.h"

namespace weft::plan {

class AxisRange {
 public:
  // More values are refused before they are made.
  static constexpr std::int64_t kMaxValues = 1'000'000;

  // Reads from, to and scale of a map; of one whose values are stepped through, step and count as well.
  enum class Use { kStepped, kDrawn };
  AxisRange(const ConfigNode& node, Use use, Diagnostics& diagnostics);

  // All values, as text of YAML. ConfigError where they are none, too many, or not all different.
  [[nodiscard]] std::vector<std::string> values() const;
  // The value at `share` in [0, 1) of the way, on the range's scale; whole numbers are equally likely, both ends included.
  [[nodiscard]] std::string drawn(double share) const;

 private:
  enum class Kind { kInteger, kNumber, kBytes, kTime, kRate };
  struct End {
    Kind kind = Kind::kNumber;
    std::int64_t whole = 0;
    double number = 0;
  };
  [[nodiscard]] static End end_of(const ConfigNode& node);
  [[nodiscard]] std::string text(const End& end) const;
  [[nodiscard]] std::string between(double share) const;
  [[nodiscard]] std::string evenly(std::int64_t index, std::int64_t last) const;
  [[nodiscard]] std::vector<std::string> stepped() const;
  [[nodiscard]] std::vector<std::string> multiplied() const;
  [[nodiscard]] std::vector<std::string> counted() const;
  void check_ends(Diagnostics& diagnostics) const;

  ConfigNode node_;
  End from_;
  End to_;
  End step_;
  bool has_step_ = false;
  std::int64_t count_ = 0;  // 0: not stated
  std::int64_t base_ = 0;   // of the logarithm; 0: linear
};

}  // namespace weft::plan
