#include "record.h"

#include <algorithm>

namespace weft::measure {

std::string record_members(const Measurement& measurement, const std::string& clock) {
  constexpr std::size_t kMostKept = 32;
  const Summary summary = summarize(measurement.samples_us);
  JsonObject record = measurement.what;
  record.add("gpus", measurement.gpus);
  record.add("median_us", summary.median).add("mean_us", summary.mean).add("min_us", summary.min).add("max_us", summary.max);
  record.add("p25_us", summary.p25).add("p75_us", summary.p75).add("samples", measurement.samples_us.size());
  const std::size_t kept = std::min(kMostKept, measurement.samples_us.size());
  record.add("samples_us", std::vector<double>(measurement.samples_us.begin(),
                                               measurement.samples_us.begin() + static_cast<std::ptrdiff_t>(kept)));
  record.add("inner", measurement.inner).add("warmup", measurement.warmup);
  if (!clock.empty()) record.add_raw("clock", clock);
  return record.members();
}

}  // namespace weft::measure
