// How often what breaks: rates per component, from what a cluster was seen to do.
//
//   kind: failure_rates
//   name: llama3_2024
//   source: "..."
//   date: 2024-07
//   observed: {for: 54 d, running: 90 %, components: {gpu: 16384, node: 2048, nic: 16384, cable: 49152, switch: 1280}}
//   within: 1.5                                          # clusters are as the book says within this factor
//   causes:
//     - {cause: faulty GPU, per: gpu, count: 148}          # seen so often there and then
//     - {cause: power supply, per: node, mtbf: 20 years}   # or stated: mean time between failures of one component
//
// Model: failures of components are independent and come at constant rates (Poisson); a failure of any component stops the
// whole job; what is `per: job` comes equally often in small and in large jobs.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/config/params.h"
#include "sim/network/topology.h"
#include "sim/planning/reliability/long_time.h"

namespace weft::plan {

enum class Component : std::uint8_t { kGpu, kNode, kNic, kCable, kSwitch, kJob };
inline constexpr std::size_t kComponents = 6;
[[nodiscard]] std::string_view to_string(Component component);  // "gpu", "node", "nic", "cable", "switch", "job"

// How many of each; one job.
struct ComponentCounts {
  std::array<double, kComponents> count{0, 0, 0, 0, 0, 1};
  [[nodiscard]] double of(Component c) const { return count[static_cast<std::size_t>(c)]; }
  double& of(Component c) { return count[static_cast<std::size_t>(c)]; }
};
// Cables and switches of the fabric between hosts; what is inside a host counts as its node.
[[nodiscard]] ComponentCounts count_components(const net::Topology& topology);
// A part of a cluster with so many GPUs: everything in proportion.
[[nodiscard]] ComponentCounts part_of(const ComponentCounts& all, double gpus);
// The keys gpu, node, nic, cable, switch of a map; absent: 0.
[[nodiscard]] ComponentCounts read_components(ParamReader& params);

struct FailureCause {
  std::string name;
  Component per = Component::kGpu;
  double per_hour = 0;  // of one component
};

struct FailureRates {
  std::string name;
  std::string source;
  std::string date;
  double within = 1.5;  // clusters that were published fail as often as this, within the factor
  std::vector<FailureCause> causes;

  [[nodiscard]] double per_hour(const ComponentCounts& components) const;  // of any cause
  [[nodiscard]] LongTime time_to_failure(const ComponentCounts& components) const;
};

[[nodiscard]] FailureRates read_failure_rates(const ConfigNode& node, Diagnostics& diagnostics);
// A file, or the name of one that ships under configs/reliability. ConfigError with every error of the file.
[[nodiscard]] FailureRates load_failure_rates(const std::string& file_or_name);

// Books by the size of a job: that of the largest size that is no more than the job's.
class FailureBooks {
 public:
  // For jobs of any size.
  explicit FailureBooks(FailureRates rates);
  // The shipped books, each for the jobs that it was observed on: docs/goodput.md.
  [[nodiscard]] static FailureBooks shipped();
  [[nodiscard]] const FailureRates& of(std::int64_t gpus) const;

 private:
  std::map<std::int64_t, FailureRates> from_;  // by least GPUs; the first from 0
};

}  // namespace weft::plan
