// The data sheet of a GPU, read from YAML: configs/gpus/NAME.yaml, a file of the user's own, or a map in a cluster.
//
//   kind: gpu
//   name: h100_sxm
//   description: H100 SXM5, 80 GB of HBM3
//   aliases: [h100, H100 80GB HBM3]          # short names, and as drivers call it, without the maker's name
//   architecture: hopper
//   compute_capability: 9.0                  # of AMD's GPUs in its place: gcn: gfx942
//   profile: h100_sxm                        # shipped profile of how it behaves: its own or the nearest generation's
//   sources: {sheet: {title: "...", date: 2024}, paper: {title: "...", date: 2023}}
//   sms: {value: 132, source: paper}
//   clock: {value: 1.83 GHz, source: paper}          # at which the peaks of its matrix units hold
//   vector_clock: {value: 1.98 GHz, source: paper}   # at which those of fp32 and fp64 hold; absent: as `clock`
//   l2: {value: 50 MiB, source: paper}               # the last-level cache
//   memory: {value: 80 GB, source: sheet}
//   bandwidth: {value: 3.35 TB/s, source: sheet}     # of the memory
//   power: {value: 700 W, source: sheet}
//   nvlink: {links: 18, rate: 25 GB/s, source: sheet}  # rate: one link, one direction; AMD's: infinity_fabric
//   pcie: {generation: 5, lanes: 16, source: sheet}
//   peaks:                                   # dense; of matrix units where there are any
//     source: sheet                          # of those that do not name one: fp8: {value: ..., source: ...}
//     bf16: 989 TFLOP/s
//     fp4: unsupported                       # no units for it; a type that is not listed is one that nobody stated
//
// `base: h100_sxm` (a name or a file) takes everything but name, description and aliases from another GPU, and what is written
// here replaces it; a figure then brings a source of its own. What is absent is an error where a run needs it.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/config/node.h"
#include "sim/core/config/params.h"
#include "sim/core/units.h"

namespace weft::net {

enum class NumberType : std::uint8_t { kFp64, kFp32, kTf32, kFp16, kBf16, kFp8, kFp4, kInt8 };
inline constexpr std::size_t kNumberTypes = 8;
[[nodiscard]] std::string_view to_string(NumberType type);  // "bf16"

// One figure as the file has it.
struct GpuFigure {
  std::string key;    // "peaks.bf16"
  std::string value;  // "989 TFLOP/s", "unsupported"
  std::string source;
  std::string date;
};

struct GpuSpec {
  std::string name = {};  // "h200_sxm"
  std::string description = {};
  std::vector<std::string> aliases = {};
  std::string architecture = {};
  int sm = 0;            // compute capability x 10; 0: not NVIDIA's, or not said
  std::string gcn = {};  // "gfx942"; empty: not AMD's
  std::string profile = {};
  // Operations a second. 0: no units for the type; nothing: not stated.
  std::array<std::optional<double>, kNumberTypes> peaks = {};
  // 0 of the following: not stated.
  double hbm_bytes_per_second = 0;
  std::int64_t hbm_bytes = 0;
  int sms = 0;
  double clock_ghz = 0;
  double vector_clock_ghz = 0;
  std::int64_t l2_bytes = 0;
  double tdp_watts = 0;
  int links = 0;  // NVLinks, or those of Infinity Fabric
  Bandwidth link_rate = {};
  int pcie_generation = 0;
  int pcie_lanes = 0;
  std::vector<GpuFigure> figures = {};  // in the order above
  ConfigNode node = {};

  [[nodiscard]] const std::optional<double>& stated(NumberType type) const { return peaks[static_cast<std::size_t>(type)]; }
  // ConfigError, located in the file, where the type's rate is not stated.
  [[nodiscard]] double peak(NumberType type) const;
  // ConfigError, located in the file, for the first of these top keys that it does not state. `what` names who needs it.
  void check_states(std::initializer_list<std::string_view> keys, std::string_view what) const;
};

// A shipped GPU by its name or an alias, or the GPU of a .yaml file. Null where nothing is known of it.
[[nodiscard]] const GpuSpec* find_gpu(std::string_view name);
// As a machine or a log names it: "NVIDIA H100 80GB HBM3", "Tesla V100-SXM2-32GB". Words at the end that nothing is known of
// are let pass.
[[nodiscard]] const GpuSpec* find_gpu_of_machine(std::string_view name);
// ConfigError, with the nearest name, in place of null.
[[nodiscard]] const GpuSpec& gpu_spec(std::string_view name);
// The nearest name, then all: the note below an error of the caller's.
[[nodiscard]] std::string gpu_names_note(std::string_view name);
// In byte order of their names. Those that cannot be read throw ConfigError.
[[nodiscard]] std::vector<const GpuSpec*> shipped_gpus();

// The GPU that a value of a configuration names (as find_gpu()), or the map itself. A name is looked for as
// ../gpus/NAME.yaml beside the value's file, then among the shipped ones. Null after an error.
[[nodiscard]] std::shared_ptr<const GpuSpec> read_gpu(const ConfigNode& node, Diagnostics& diagnostics);

}  // namespace weft::net
