// The constants of NCCL's tuning model and the points in which its formulas differ, by release (models/nccl §5.1, §5.2, §5.8).
// NCCL estimates with them which algorithm and protocol is fastest. They say what NCCL believes, not how long a call takes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sim/collectives/call.h"
#include "sim/collectives/nccl/release.h"

namespace weft::coll::nccl {

// In NCCL's numbering, which decides ties.
enum class Algo : std::uint8_t { kTree, kRing, kCollNetDirect, kCollNetChain, kNvls, kNvlsTree, kPat };
enum class Proto : std::uint8_t { kLl, kLl128, kSimple };
constexpr std::size_t kAlgos = 7;
constexpr std::size_t kProtos = 3;
constexpr std::size_t index_of(Algo algo) { return static_cast<std::size_t>(algo); }
constexpr std::size_t index_of(Proto proto) { return static_cast<std::size_t>(proto); }
constexpr bool is_nvls(Algo algo) { return algo == Algo::kNvls || algo == Algo::kNvlsTree; }
constexpr bool is_gather(Collective kind) { return kind == Collective::kAllGather || kind == Collective::kReduceScatter; }

// As NCCL_ALGO and NCCL_PROTO take them: "Tree", "NVLSTree"; "LL", "LL128", "Simple".
[[nodiscard]] std::string_view to_string(Algo algo);
[[nodiscard]] std::string_view to_string(Proto proto);
[[nodiscard]] std::span<const std::string_view, kAlgos> algo_names();  // by number
[[nodiscard]] std::span<const std::string_view, kProtos> proto_names();
// As the schedules are registered: "tree", "nvls_tree", "collnet_direct".
[[nodiscard]] std::string_view registered_name(Algo algo);

template <class T>
using PerAlgoProto = std::array<std::array<T, kProtos>, kAlgos>;
// [architecture of the oldest GPU][one node, two nodes, more]
using Caps = std::array<std::array<double, 3>, 4>;
constexpr std::size_t kVolta = 0;
constexpr std::size_t kAmpere = 1;
constexpr std::size_t kHopper = 2;
constexpr std::size_t kBlackwell = 3;
// Rows of hw_latency.
constexpr std::size_t kOverNvlink = 0;
constexpr std::size_t kOverPci = 1;
constexpr std::size_t kOverNet = 2;

// How the model rates NVLS and NVLSTree (models/nccl §5.8).
enum class NvlsModel : std::uint8_t {
  kPlain,          // as other algorithms; NVLSTree at 7/10 of N/(2(N-1))
  kLesser,         // the lesser of the speeds, 5/6 of it
  kLesserByRanks,  // the same; all-gather (ppn-1)/ppn of the intra, 0.9 of the inter speed
  kByEfficiency,   // nvls_efficiency and the links' traffic
};

struct TuningTables {
  PerAlgoProto<float> base_latency = {};               // us
  std::array<PerAlgoProto<float>, 3> hw_latency = {};  // us a step
  Caps ll = {};                                        // GB/s, all channels together
  Caps ring_ll128 = {};                                // GB/s a channel, as those below
  Caps tree_ll128 = {};
  Caps tree = {};
  Caps nvls_tree = {};  // 0 where a release has no cap
  std::array<float, 4> nvls_efficiency = {};

  // Which formulas.
  NvlsModel nvls = NvlsModel::kByEfficiency;
  bool nvls_counts_switch = true;          // NVLS's latency has a step in the switch, NVLSTree's one a level; else one a node
  double nvls_gather_part = 1.0;           // of the bus bandwidth, for all-gather and reduce-scatter on NVLS
  bool nvls_tree_correction = true;        // NVLSTree is corrected by size on x86 with sm100
  double pat_part = 0.75;                  // of the bus bandwidth
  double peer_us = 0.4;                    // CollNetDirect, for each further peer
  bool ring_ll_by_kind = false;            // ring LL at 1/4 or 1/3 instead of 1/2
  bool half_net_ll128 = false;             // ring LL128 at 0.7 with one GPU per node
  bool lone_gpu_pays_tree_latency = true;  // one GPU per node: network steps cost what the tree's do
  bool counts_every_node = false;          // all-reduce rings: 2N steps between nodes instead of 2(N-1)
  bool weighted_collnet_gather = false;    // CollNetDirect all-gather: 0.85 to 0.95 of the intra speed
};

[[nodiscard]] TuningTables tuning_tables(NcclVersion version);

// The tree's bandwidth is multiplied by these at S = 64 B << index (models/nccl §5.5).
constexpr int kTreeCorrections = 23;
constexpr int kNvlsTreeCorrections = 24;
[[nodiscard]] float tree_correction(Proto proto, int index);

}  // namespace weft::coll::nccl
