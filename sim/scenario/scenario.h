// A scenario: a cluster, a workload and how to simulate it, as one YAML file says.
//
//   cluster: ../clusters/dgx_h100_superpod.yaml   # or inline
//   overrides: {nodes: 4}                         # any key path of the cluster; goes with it (scenario_layers.h)
//   workload: {collectives: [{kind: all_reduce, bytes: 1 GiB}]}
//   simulation: {fidelity: flow, grain: auto, seed: 1, until: 25 ms}  # hybrid: packet_part.h
//   measure: {from: 5 ms, to: 25 ms, series: [queue], every: 1 us}      # measure.h
//   faults: [{pause: {link: "s0->h1", at: 20 us, for: forever}}]        # faults.h
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/collectives/executor.h"
#include "sim/collectives/nccl/settings.h"
#include "sim/core/config/node.h"
#include "sim/core/config/params.h"
#include "sim/network/cluster.h"
#include "sim/network/fidelity.h"
#include "sim/scenario/faults.h"
#include "sim/scenario/measure.h"
#include "sim/scenario/packet_part.h"
#include "sim/workloads/workload.h"

namespace weft::net {
class PartProcesses;  // part_processes.h
}

namespace weft::scenario {

// All parameter groups of all layers, for profiles.
[[nodiscard]] const ParamGroups& all_param_groups();

struct SimulationOptions {
  net::Fidelity fidelity = net::Fidelity::kFlow;
  coll::Grain grain = coll::Grain::kAuto;
  std::uint64_t seed = 1;
  std::uint64_t shuffle_ties = 0;
  // The run ends then, whatever is still going on; none: when everything is done.
  std::optional<Time> until = {};
  int iterations = 2;    // of a training step; the last one is reported
  bool skip = true;      // iterations of a program that repeat others to the picosecond
  bool fold = true;      // of ranks that do alike on places that lie alike, one is simulated
  bool must_fit = true;  // a training step that does not fit its GPUs is refused
  // In how many parts packets of flows run side by side, at most; none: the scenario's load says (parts_choice.h).
  std::optional<int> partitions = {};
  // Not of the file: what one run may use; results do not depend on them.
  int threads = 1;
  net::PartProcesses* processes = nullptr;  // each with parts of a fabric of packets; null: this one alone

  // All of it is packets, or a part.
  [[nodiscard]] bool has_packets() const { return net::has_packets(fidelity); }
};

// The command line's words over a file.
struct Overrides {
  std::vector<std::pair<std::string, std::string>> sets = {};  // --set key.path=value, of the file given
  std::optional<std::filesystem::path> profile = {};
  std::optional<net::Fidelity> fidelity = {};
  std::optional<coll::Grain> grain = {};
  std::optional<std::uint64_t> seed = {};
  std::optional<std::uint64_t> shuffle_ties = {};
  std::vector<std::pair<std::string, std::string>> nccl = {};
};

struct Scenario {
  std::string name;
  net::Cluster cluster;
  work::Workload workload;
  SimulationOptions simulation;
  MeasureOptions measure;
  Faults faults;
  coll::nccl::Settings nccl;
  ConfigNode resolved;
  PacketPart packet_part = {};  // of hybrid fidelity
};

// All throw ConfigError with every error found; warnings stay in `diagnostics`.
[[nodiscard]] Scenario load_scenario(const std::filesystem::path& file, const Overrides& overrides, Diagnostics& diagnostics);
[[nodiscard]] net::Cluster load_cluster(const std::filesystem::path& file, const Overrides& overrides,
                                        Diagnostics& diagnostics);
[[nodiscard]] net::Cluster load_cluster(const ConfigNode& file, const Overrides& overrides, Diagnostics& diagnostics);

// The cluster's own `nccl:` map, then the command line's.
[[nodiscard]] coll::nccl::Settings nccl_settings(const net::Cluster& cluster, const Overrides& overrides);
// The error, at the key, where NCCL has no such variable or cannot take the value that `map`, an `nccl:` map, gives it.
[[nodiscard]] std::optional<Diagnostic> wrong_setting(const ConfigNode& map, const std::string& key, std::string_view value);

}  // namespace weft::scenario
