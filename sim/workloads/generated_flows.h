// Flows that are drawn, not listed: background traffic and incasts.
//
//   background: {sizes: websearch, load: 30 %, until: 10 ms}          # Poisson, sources and destinations uniform
//   background: {cdf: [[0 B, 0], [10 kB, 50 %], [1 MB, 100 %]], ...}  # between the points sizes are uniform
//   background: {cdf_file: sizes.txt, ...}                            # lines "bytes percent"
//   incast: {senders: 60, to: random, bytes: 500 kB, every: 1 ms, until: 10 ms}
//
// All of them become entries of Workload::flows when the scenario is read, so that every one has an id and a result.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/config/params.h"
#include "sim/core/random.h"
#include "sim/workloads/workload.h"

namespace weft::work {

// A distribution of sizes by its cumulative probabilities: linear between points, which rise from probability 0 to 1.
class SizeDistribution {
 public:
  struct Point {
    double bytes = 0;
    double probability = 0;
  };
  // Returns what is wrong with the points; empty: nothing.
  [[nodiscard]] static std::string problem(std::span<const Point> points);
  // `points` must have no problem.
  explicit SizeDistribution(std::vector<Point> points) : points_{std::move(points)} {}

  [[nodiscard]] double mean() const;
  [[nodiscard]] Bytes draw(RandomStream& random) const;  // at least 1 B

  // "websearch" (DCTCP, Alizadeh et al. 2010) and "hadoop" (Facebook, Roy et al. 2015), with the points that the authors of
  // HPCC publish with their simulator; nothing for other names.
  [[nodiscard]] static std::optional<SizeDistribution> named(std::string_view name);

 private:
  std::vector<Point> points_;
};

// The one of `sizes`, `cdf` and `cdf_file` that the section states; nothing after an error.
[[nodiscard]] std::optional<SizeDistribution> read_sizes(ParamReader& section);
// The endpoints under `key`, all where it is not there.
[[nodiscard]] std::vector<DeviceId> read_hosts(ParamReader& section, std::string_view key, const net::Topology& topology);
// The section's `seed`, or the scenario's.
[[nodiscard]] std::uint64_t read_seed(ParamReader& section, const WorkloadContext& context);
// Reports more flows than a workload may have.
[[nodiscard]] bool has_room(ParamReader& section, double flows, const Workload& out);

void read_background(ParamReader& workload, const WorkloadContext& context, Workload& out);
void read_incast(ParamReader& workload, const WorkloadContext& context, Workload& out);

}  // namespace weft::work
