// The command line.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "point.h"

namespace weft::measure {

struct Options {
  PointSet points = PointSet::kQuick;
  bool resume = false;
  bool force = false;
  bool hostname = false;
  bool help = false;
  bool version = false;
  int plan_for = 0;  // GPUs; prints the plan and ends
  std::string output = "measurements.jsonl";
  std::optional<double> budget_s = {};
  std::uint64_t seed = 1;
  std::vector<std::string> perftest = {};

  [[nodiscard]] double point_target_us() const { return points == PointSet::kFull ? 80'000 : 40'000; }
  [[nodiscard]] double budget() const { return budget_s.value_or(points == PointSet::kFull ? 480 : 120); }
};

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[nodiscard]] Options parse_options(const std::vector<std::string>& arguments);
[[nodiscard]] const char* help_text();

}  // namespace weft::measure
