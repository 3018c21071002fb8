#include "sim/collectives/nccl/tuning_tables.h"

#include "sim/collectives/nccl/release_rules.h"
#include "sim/core/error.h"

namespace weft::coll::nccl {
namespace {

constexpr std::array<std::string_view, kAlgos> kAlgoNames = {"Tree",     "Ring", "CollNetDirect", "CollNetChain", "NVLS",
                                                             "NVLSTree", "PAT"};
constexpr std::array<std::string_view, kAlgos> kRegisteredNames = {
    "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
constexpr std::array<std::string_view, kProtos> kProtoNames = {"LL", "LL128", "Simple"};

// us in LL, LL128, Simple. src/graph/tuning.cc of each release, here and below; models/nccl §5.1, §5.2, §5.8. The table that
// 2.28.9 printed on 4 x H200 agrees.
using Latency = std::array<float, kProtos>;
constexpr Latency kRingBase = {6.6F, 14.0F, 8.4F};
constexpr Since<Latency> kTreeBase[] = {{kOldestRelease, {6.8F, 14.0F, 0}}, {release(23, 4), {6.8F, 14.0F, 8.4F}}};
constexpr Since<Latency> kCollNetBase[] = {{kOldestRelease, {6.8F, 14.0F, 0}}, {release(19, 1), {}}};
constexpr Since<Latency> kNvlsBase[] = {{kOldestRelease, {0, 0, 23.0F}}, {release(19, 1), {}}};
constexpr Latency kPatBase = {8.0F, 8.0F, 8.0F};

constexpr Latency kRingSteps[3] = {{0.6F, 1.9F, 3.4F}, {1.0F, 2.5F, 5.7F}, {2.7F, 4.0F, 14.0F}};  // NVLink, PCIe, network
constexpr Since<Latency> kTreeNvlink[] = {
    {kOldestRelease, {0.6F, 1.25F, 4.0F}}, {release(19, 1), {0.6F, 1.25F, 28.0F}}, {release(23, 4), {0.6F, 1.25F, 4.0F}}};
constexpr Since<Latency> kTreePci[] = {
    {kOldestRelease, {1.0F, 1.9F, 6.0F}}, {release(19, 1), {1.0F, 1.9F, 28.0F}}, {release(23, 4), {1.0F, 1.9F, 4.0F}}};
constexpr Since<Latency> kTreeNet[] = {
    {kOldestRelease, {5.0F, 8.5F, 14.0F}}, {release(19, 1), {5.0F, 8.5F, 28.0F}}, {release(23, 4), {5.0F, 8.5F, 14.0F}}};
// Simple only.
struct Steps {
  float nvlink = 0;
  float pci = 0;
  float net = 0;
};
constexpr Since<Steps> kCollNetDirectSteps[] = {{kOldestRelease, {8.0F, 8.0F, 10.7F}}, {release(19, 1), {3.7F, 3.7F, 31.0F}}};
constexpr Since<Steps> kCollNetChainSteps[] = {{kOldestRelease, {4.75F, 8.0F, 14.0F}}, {release(19, 1), {2.8F, 2.8F, 30.0F}}};
constexpr Since<Steps> kNvlsSteps[] = {
    {kOldestRelease, {0, 0, 18.0F}}, {release(19, 1), {23.0F, 0, 18.0F}}, {release(21, 5), {25.0F, 0, 18.0F}}};
constexpr Since<Steps> kNvlsTreeSteps[] = {{kOldestRelease, {0, 0, 19.0F}},
                                           {release(19, 1), {23.0F, 0, 14.0F}},
                                           {release(21, 5), {25.0F, 0, 14.0F}},
                                           {release(28, 9), {25.0F, 0, 20.9F}}};
constexpr Since<Steps> kPatSteps[] = {{kOldestRelease, {}}, {release(28, 3), {4.0F, 4.0F, 14.0F}}};

// GB/s on one, two and more nodes. Volta's and Ampere's never changed; before 2.25 newer GPUs are Hopper's.
using Cap = std::array<double, 3>;
constexpr Cap kLlVolta = {39.0, 39.0, 20.4};
constexpr Cap kLlAmpere = {87.7, 22.5, 19.0};
constexpr Since<Cap> kLlHopper[] = {{kOldestRelease, kLlAmpere}, {release(21, 5), {141.0, 45.0, 35.0}}};
constexpr Since<Cap> kLlBlackwell[] = {
    {kOldestRelease, kLlAmpere}, {release(21, 5), {141.0, 45.0, 35.0}}, {kFirstWithSm100, {282.0, 90.0, 70.0}}};
constexpr Cap kLl128 = {20.0, 20.0, 20.0};
constexpr Cap kRingLl128Hopper = {36.7, 36.7, 36.7};
constexpr Since<Cap> kRingLl128Blackwell[] = {{kOldestRelease, kRingLl128Hopper},
                                              {kFirstWithSm100, {73.4, 73.4, 73.4}},
                                              {release(28, 7), {73.4, 34.6, 73.4}},
                                              {release(29, 2), {34.5, 34.6, 34.5}},
                                              {release(29, 7), {40.0, 40.0, 40.0}}};
constexpr Cap kTreeLl128Hopper = {36.7, 36.7, 29.0};
constexpr Since<Cap> kTreeLl128Blackwell[] = {
    {kOldestRelease, kTreeLl128Hopper}, {kFirstWithSm100, {73.4, 73.4, 58.0}}, {release(28, 3), {55.6, 31.67, 20.0}}};
constexpr Cap kTreeVolta = {26.5, 18.5, 10.0};
constexpr Cap kTreeAmpere = {24.0, 23.6, 17.8};
constexpr Cap kTreeHopper = {38.7, 41.4, 36.0};
constexpr Since<Cap> kTreeBlackwell[] = {
    {kOldestRelease, kTreeHopper}, {kFirstWithSm100, {77.4, 82.8, 72.0}}, {release(28, 3), {70.0, 42.8, 24.0}}};
constexpr Since<Cap> kNvlsTreeHopper[] = {{kOldestRelease, {}}, {release(28, 3), {0.0, 57.7, 45.5}}};
constexpr Since<Cap> kNvlsTreeBlackwell[] = {{kOldestRelease, {}},
                                             {release(28, 3), {0.0, 96.0, 43.1}},
                                             {release(28, 9), {0.0, 96.0, 43.8}},
                                             {release(30, 3), {0.0, 96.0, 80.0}}};

// Formulas.
constexpr Since<NvlsModel> kNvlsModel[] = {{kOldestRelease, NvlsModel::kPlain},
                                           {release(19, 1), NvlsModel::kLesser},
                                           {release(27, 3), NvlsModel::kLesserByRanks},
                                           {release(28, 3), NvlsModel::kByEfficiency}};
constexpr Since<bool> kNvlsCountsSwitch[] = {{kOldestRelease, false}, {release(19, 1), true}};
constexpr Since<double> kNvlsGatherPart[] = {{kOldestRelease, 5.0 / 6.0}, {release(23, 4), 1.0}};
constexpr Since<bool> kNvlsTreeCorrection[] = {{kOldestRelease, false}, {release(29, 2), true}};
constexpr Since<double> kPatPart[] = {{kOldestRelease, 0.85}, {release(24, 3), 0.75}};
constexpr Since<double> kPeerUs[] = {{kOldestRelease, 0.5}, {release(19, 1), 0.4}};
constexpr Since<bool> kRingLlByKind[] = {{kOldestRelease, true}, {release(21, 5), false}};
// With PAT rings of one GPU per node got their full bandwidth and the tree's latency, and one step fewer between nodes.
constexpr Since<bool> kBeforePat[] = {{kOldestRelease, true}, {kFirstWithPat, false}};
constexpr Since<bool> kWeightedCollNetGather[] = {{kOldestRelease, true}, {release(27, 3), false}};

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

TuningTables tuning_tables(NcclVersion version) {
  TuningTables t;
  const auto base = [&](Algo algo) -> Latency& { return t.base_latency[index_of(algo)]; };
  base(Algo::kTree) = rule(kTreeBase, version);
  base(Algo::kRing) = kRingBase;
  base(Algo::kCollNetDirect) = base(Algo::kCollNetChain) = rule(kCollNetBase, version);
  base(Algo::kNvls) = base(Algo::kNvlsTree) = rule(kNvlsBase, version);
  base(Algo::kPat) = kPatBase;

  for (std::size_t over = 0; over < t.hw_latency.size(); ++over) t.hw_latency[over][index_of(Algo::kRing)] = kRingSteps[over];
  t.hw_latency[kOverNvlink][index_of(Algo::kTree)] = rule(kTreeNvlink, version);
  t.hw_latency[kOverPci][index_of(Algo::kTree)] = rule(kTreePci, version);
  t.hw_latency[kOverNet][index_of(Algo::kTree)] = rule(kTreeNet, version);
  const auto simple = [&](Algo algo, const Steps& steps) {
    t.hw_latency[kOverNvlink][index_of(algo)][index_of(Proto::kSimple)] = steps.nvlink;
    t.hw_latency[kOverPci][index_of(algo)][index_of(Proto::kSimple)] = steps.pci;
    t.hw_latency[kOverNet][index_of(algo)][index_of(Proto::kSimple)] = steps.net;
  };
  simple(Algo::kCollNetDirect, rule(kCollNetDirectSteps, version));
  simple(Algo::kCollNetChain, rule(kCollNetChainSteps, version));
  simple(Algo::kNvls, rule(kNvlsSteps, version));
  simple(Algo::kNvlsTree, rule(kNvlsTreeSteps, version));
  simple(Algo::kPat, rule(kPatSteps, version));

  t.ll = {kLlVolta, kLlAmpere, rule(kLlHopper, version), rule(kLlBlackwell, version)};
  t.ring_ll128 = {kLl128, kLl128, kRingLl128Hopper, rule(kRingLl128Blackwell, version)};
  t.tree_ll128 = {kLl128, kLl128, kTreeLl128Hopper, rule(kTreeLl128Blackwell, version)};
  t.tree = {kTreeVolta, kTreeAmpere, kTreeHopper, rule(kTreeBlackwell, version)};
  t.nvls = rule(kNvlsModel, version);
  if (t.nvls == NvlsModel::kByEfficiency) {
    t.nvls_tree = {kTreeVolta, kTreeAmpere, rule(kNvlsTreeHopper, version), rule(kNvlsTreeBlackwell, version)};
    t.nvls_efficiency = {0.0F, 0.0F, 0.85F, 0.74F};
  }
  t.nvls_counts_switch = rule(kNvlsCountsSwitch, version);
  t.nvls_gather_part = rule(kNvlsGatherPart, version);
  t.nvls_tree_correction = rule(kNvlsTreeCorrection, version);
  t.pat_part = rule(kPatPart, version);
  t.peer_us = rule(kPeerUs, version);
  t.ring_ll_by_kind = rule(kRingLlByKind, version);
  t.half_net_ll128 = t.counts_every_node = rule(kBeforePat, version);
  t.lone_gpu_pays_tree_latency = !rule(kBeforePat, version);
  t.weighted_collnet_gather = rule(kWeightedCollNetGather, version);
  return t;
}

float tree_correction(Proto proto, int index) {
  WEFT_CHECK(index >= 0 && index < kNvlsTreeCorrections);
  return kTreeCorrection[static_cast<std::size_t>(proto)][static_cast<std::size_t>(index)];
}

}  // namespace weft::coll::nccl
