// A measured point becomes its parameters and its samples, as the members of a line of the measurement file.
#pragma once

#include <string>
#include <vector>

#include "json_line.h"
#include "statistics.h"

namespace weft::measure {

struct Measurement {
  JsonObject what;                 // what the point is, and what follows from its median
  std::vector<double> samples_us;  // per operation
  int inner = 1;
  int warmup = 0;
  std::vector<int> gpus = {};

  [[nodiscard]] double median_us() const { return summarize(samples_us).median; }
};

// Members without braces; `clock` is an object, or empty.
[[nodiscard]] std::string record_members(const Measurement& measurement, const std::string& clock);

}  // namespace weft::measure
