#include "sim/collectives/nccl/tuning_tables.h"

#include "sim/core/error.h"

namespace weft::coll::nccl {
namespace {

constexpr std::array<std::string_view, kAlgos> kAlgoNames = {"Tree",     "Ring", "CollNetDirect", "CollNetChain", "NVLS",
                                                             "NVLSTree", "PAT"};
constexpr std::array<std::string_view, kAlgos> kRegisteredNames = {
    "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
constexpr std::array<std::string_view, kProtos> kProtoNames = {"LL", "LL128", "Simple"};

constexpr std::size_t kSimple = static_cast<std::size_t>(Proto::kSimple);

// Release 2.30 (models/nccl §5.1, §5.2). The table that 2.28.9 printed on 4 x H200 agrees with it.
constexpr TuningTables tables_2_30() {
  TuningTables t;
  t.base_latency = {{{6.8F, 14.0F, 8.4F}, {6.6F, 14.0F, 8.4F}, {}, {}, {}, {}, {8.0F, 8.0F, 8.0F}}};
  t.hw_latency[kOverNvlink] = {
      {{0.6F, 1.25F, 4.0F}, {0.6F, 1.9F, 3.4F}, {0, 0, 3.7F}, {0, 0, 2.8F}, {0, 0, 25.0F}, {0, 0, 25.0F}, {0, 0, 4.0F}}};
  t.hw_latency[kOverPci] = {{{1.0F, 1.9F, 4.0F}, {1.0F, 2.5F, 5.7F}, {0, 0, 3.7F}, {0, 0, 2.8F}, {}, {}, {0, 0, 4.0F}}};
  t.hw_latency[kOverNet] = {
      {{5.0F, 8.5F, 14.0F}, {2.7F, 4.0F, 14.0F}, {0, 0, 31.0F}, {0, 0, 30.0F}, {0, 0, 18.0F}, {0, 0, 20.9F}, {0, 0, 14.0F}}};
  t.ll = {{{39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0}, {282.0, 90.0, 70.0}}};
  t.ring_ll128 = {{{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 36.7}, {40.0, 40.0, 40.0}}};
  t.tree_ll128 = {{{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 29.0}, {55.6, 31.67, 20.0}}};
  t.tree = {{{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {70.0, 42.8, 24.0}}};
  t.nvls_tree = {{{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {0.0, 57.7, 45.5}, {0.0, 96.0, 80.0}}};
  t.nvls_efficiency = {0.0F, 0.0F, 0.85F, 0.74F};
  return t;
}

// src/graph/tuning.cc of 2.29.7; 2.29.2 has 34.5 for rings in LL128.
constexpr TuningTables tables_2_29() {
  TuningTables t = tables_2_30();
  t.nvls_tree[kBlackwell][2] = 43.8;
  return t;
}

// src/graph/tuning.cc of 2.28.9; 2.28.3 has 73.4 for two nodes too, and 43.1 for NVLSTree.
constexpr TuningTables tables_2_28() {
  TuningTables t = tables_2_29();
  t.ring_ll128[kBlackwell] = {73.4, 34.6, 73.4};
  t.nvls_tree_correction = false;
  return t;
}

// models/nccl §5.8: other Blackwell rows, NVLSTree's network latency, NVLS by its plain speeds.
constexpr TuningTables tables_2_27() {
  TuningTables t = tables_2_30();
  t.hw_latency[kOverNet][index_of(Algo::kNvlsTree)][kSimple] = 14.0F;
  t.ring_ll128[kBlackwell] = {73.4, 73.4, 73.4};
  t.tree_ll128[kBlackwell] = {73.4, 73.4, 58.0};
  t.tree[kBlackwell] = {77.4, 82.8, 72.0};
  t.nvls_tree = {};
  t.nvls_by_efficiency = false;
  t.nvls_gather_by_ranks = true;
  t.nvls_tree_correction = false;
  return t;
}

// No Blackwell rows yet: newer GPUs are taken for Hopper.
constexpr TuningTables tables_2_23() {
  TuningTables t = tables_2_27();
  for (Caps* caps : {&t.ll, &t.ring_ll128, &t.tree_ll128, &t.tree}) (*caps)[kBlackwell] = (*caps)[kHopper];
  t.nvls_gather_by_ranks = false;
  return t;
}

// models/nccl §5.8; the flags as src/graph/tuning.cc of 2.21.5 has them.
constexpr TuningTables tables_2_21() {
  TuningTables t = tables_2_23();
  t.base_latency[index_of(Algo::kTree)][kSimple] = 0.0F;
  for (PerAlgoProto<float>& latency : t.hw_latency) latency[index_of(Algo::kTree)][kSimple] = 28.0F;
  t.has_pat = false;
  t.half_net_ll128 = true;
  t.lone_gpu_pays_tree_latency = false;
  t.counts_every_node = true;
  t.weighted_collnet_gather = true;
  t.ll128_on_listed_gpus = true;
  t.nvls_gathers = false;  // src/enqueue.cc of 2.20 and 2.21
  t.falls_back_to_ring = true;
  return t;
}

constexpr TuningTables tables_2_19() {
  TuningTables t = tables_2_21();
  t.hw_latency[kOverNvlink][index_of(Algo::kNvls)][kSimple] = 23.0F;
  t.hw_latency[kOverNvlink][index_of(Algo::kNvlsTree)][kSimple] = 23.0F;
  t.ll[kHopper] = t.ll[kAmpere];
  t.ll[kBlackwell] = t.ll[kAmpere];
  t.gather_counts_every_node = true;
  t.nvls_gathers = true;
  t.ring_ll_by_kind = true;  // src/graph/tuning.cc up to 2.20
  return t;
}

constexpr TuningTables tables_2_18() {
  TuningTables t = tables_2_19();
  t.nvls_gathers = false;
  t.base_latency[index_of(Algo::kCollNetDirect)] = {6.8F, 14.0F, 0.0F};
  t.base_latency[index_of(Algo::kCollNetChain)] = {6.8F, 14.0F, 0.0F};
  t.base_latency[index_of(Algo::kNvls)][kSimple] = 23.0F;
  t.base_latency[index_of(Algo::kNvlsTree)][kSimple] = 23.0F;
  PerAlgoProto<float>& nvlink = t.hw_latency[kOverNvlink];
  nvlink[index_of(Algo::kTree)][kSimple] = 4.0F;
  nvlink[index_of(Algo::kCollNetDirect)][kSimple] = 8.0F;
  nvlink[index_of(Algo::kCollNetChain)][kSimple] = 4.75F;
  nvlink[index_of(Algo::kNvls)][kSimple] = 0.0F;
  nvlink[index_of(Algo::kNvlsTree)][kSimple] = 0.0F;
  PerAlgoProto<float>& pci = t.hw_latency[kOverPci];
  pci[index_of(Algo::kTree)][kSimple] = 6.0F;
  pci[index_of(Algo::kCollNetDirect)][kSimple] = 8.0F;
  pci[index_of(Algo::kCollNetChain)][kSimple] = 8.0F;
  PerAlgoProto<float>& net = t.hw_latency[kOverNet];
  net[index_of(Algo::kTree)][kSimple] = 14.0F;
  net[index_of(Algo::kCollNetDirect)][kSimple] = 10.7F;
  net[index_of(Algo::kCollNetChain)][kSimple] = 14.0F;
  net[index_of(Algo::kNvlsTree)][kSimple] = 19.0F;
  return t;
}

constexpr TuningTables k2_18 = tables_2_18();
constexpr TuningTables k2_19 = tables_2_19();
constexpr TuningTables k2_21 = tables_2_21();
constexpr TuningTables k2_23 = tables_2_23();
constexpr TuningTables k2_27 = tables_2_27();
constexpr TuningTables k2_28 = tables_2_28();
constexpr TuningTables k2_29 = tables_2_29();
constexpr TuningTables k2_30 = tables_2_30();

// models/nccl §5.5, S = 64 B, 128 B, ... 512 MiB.
constexpr std::array<std::array<float, kNvlsTreeCorrections>, kProtos> kTreeCorrection = {{
    {1.0F, 1.0F, 1.0F, 1.0F, 0.9F, 0.8F, 0.7F, 0.7F, 0.7F, 0.7F, 0.6F, 0.5F,
     0.4F, 0.4F, 0.5F, 0.6F, 0.7F, 0.8F, 0.9F, 1.0F, 1.0F, 1.0F, 1.0F, 1.0F},
    {1.0F, 1.0F, 1.0F, 1.0F, 1.0F, 0.9F, 0.8F, 0.8F, 0.8F, 0.7F, 0.6F, 0.6F,
     0.6F, 0.6F, 0.6F, 0.6F, 0.8F, 0.9F, 0.9F, 0.9F, 0.9F, 1.0F, 1.0F, 1.0F},
    {0.9F, 0.9F, 0.9F, 0.9F, 0.9F, 0.9F, 0.9F, 0.8F, 0.7F, 0.6F, 0.6F, 0.5F,
     0.5F, 0.5F, 0.5F, 0.6F, 0.7F, 0.8F, 0.7F, 0.7F, 0.8F, 0.9F, 0.9F, 0.9F},
}};

}  // namespace

std::string_view to_string(Algo algo) { return kAlgoNames[index_of(algo)]; }
std::string_view to_string(Proto proto) { return kProtoNames[static_cast<std::size_t>(proto)]; }
std::span<const std::string_view, kAlgos> algo_names() { return kAlgoNames; }
std::span<const std::string_view, kProtos> proto_names() { return kProtoNames; }
std::string_view registered_name(Algo algo) { return kRegisteredNames[index_of(algo)]; }

const TuningTables& tuning_tables(NcclVersion version) {
  switch (version) {
    case NcclVersion::k2_18:
      return k2_18;
    case NcclVersion::k2_19:
      return k2_19;
    case NcclVersion::k2_21:
      return k2_21;
    case NcclVersion::k2_23:
      return k2_23;
    case NcclVersion::k2_27:
      return k2_27;
    case NcclVersion::k2_28:
      return k2_28;
    case NcclVersion::k2_29:
      return k2_29;
    case NcclVersion::k2_30:
      break;
  }
  return k2_30;
}

float tree_correction(Proto proto, int index) {
  WEFT_CHECK(index >= 0 && index < kNvlsTreeCorrections);
  return kTreeCorrection[static_cast<std::size_t>(proto)][static_cast<std::size_t>(index)];
}

}  // namespace weft::coll::nccl
