#include <fmt/format.h>

#include "sim/collectives/nccl/release_rules.h"
#include "sim/collectives/nccl/tuning_formulas.h"

namespace weft::coll::nccl {
namespace {

// Which algorithms NCCL has written for which collective (models/nccl §3, table).
bool exists(Collective kind, Algo algo, NcclVersion version) {
  switch (algo) {
    case Algo::kRing:
      return true;
    case Algo::kTree:
    case Algo::kCollNetChain:
    case Algo::kNvlsTree:
      return kind == Collective::kAllReduce;
    case Algo::kCollNetDirect:
      return kind == Collective::kAllReduce || (is_gather(kind) && version >= kFirstWithCollNetGather);
    case Algo::kNvls:
      return kind == Collective::kAllReduce || (is_gather(kind) && version >= kFirstWithNvlsGather);
    case Algo::kPat:
      break;
  }
  return is_gather(kind);
}

std::string why_no_nvls(const CommInfo& comm, const Settings& settings) {
  const auto asked = settings.integer("NVLS_ENABLE");
  if (asked && *asked == 0) return "NCCL_NVLS_ENABLE=0";
  if (!comm.nvls || !comm.nvls_graph) return "no NVSwitch with multicast (or GPUs before sm90)";
  if (comm.ranks_per_node < rule(kLeastNvlsGpus, comm.version)) return "at most two GPUs in the node";
  if (comm.nvls_graph->channel_count() < 2) return "fewer than two heads";
  return {};
}

std::string why_no_collnet(const CommInfo& comm, const Settings& settings) {
  if (comm.nodes == 1) return "one node";
  if (!comm.collnet) return "no SHARP (NCCL_COLLNET_ENABLE=1 and a network that has it)";
  const int threshold = settings.integer("COLLNET_NODE_THRESHOLD").value_or(2);
  if (comm.nodes < threshold) return fmt::format("{} nodes, fewer than NCCL_COLLNET_NODE_THRESHOLD={}", comm.nodes, threshold);
  return {};
}

std::string why_no_algorithm(const CommInfo& comm, const Settings& settings, Collective kind, Algo algo) {
  if (!exists(kind, algo, comm.version)) return fmt::format("NCCL has no {} for {}", to_string(algo), to_string(kind));
  constexpr int kCollNetLocalRanks = 8;
  constexpr int kNvlsGatherLocalRanks = 32;
  switch (algo) {
    case Algo::kRing:
    case Algo::kTree:
      return {};
    case Algo::kCollNetDirect:
    case Algo::kCollNetChain: {
      if (std::string why = why_no_collnet(comm, settings); !why.empty()) return why;
      if (algo == Algo::kCollNetDirect && !comm.nvswitch) return "no NVSwitch";
      if (comm.ranks_per_node > kCollNetLocalRanks) return "more than 8 GPUs in a node";
      if (graph_of(comm, algo) == nullptr) return "the search found no channels";
      if (is_gather(kind) && graph_of(comm, algo)->channel_count() < comm.ranks_per_node) return "fewer NICs than GPUs";
      return {};
    }
    case Algo::kNvls: {
      if (std::string why = why_no_nvls(comm, settings); !why.empty()) return why;
      if (is_gather(kind) && comm.ranks_per_node > kNvlsGatherLocalRanks) return "more than 32 GPUs in a node";
      if (comm.nodes == 1) return {};
      if (is_gather(kind) && comm.version < kFirstNvlsGatherOverNodes) return "several nodes";
      if (std::string why = why_no_collnet(comm, settings); !why.empty()) return why;
      return is_gather(kind) && comm.nvls_graph->channel_count() < comm.ranks_per_node ? "fewer heads than GPUs"
                                                                                       : std::string{};
    }
    case Algo::kNvlsTree:
      if (comm.nodes == 1) return "one node";
      return why_no_nvls(comm, settings);
    case Algo::kPat:
      break;
  }
  if (comm.version < kFirstWithPat) return "not before NCCL 2.23";
  if (comm.min_sm < 60) return "GPUs before sm60";
  const int asked = settings.integer("PAT_ENABLE").value_or(2);
  if (asked == 0) return "NCCL_PAT_ENABLE=0";
  if (asked == 2 && comm.nodes != comm.ranks) return "more than one GPU per node (NCCL_PAT_ENABLE=1 lifts this)";
  return {};
}

bool is_float8(const CollectiveCall& call) { return call.element_size == 1 && !is_of_integers(call); }

// "min of 32-bit floats"
std::string described(const CollectiveCall& call) {
  return fmt::format("{} of {}-bit {}", coll::to_string(call.reduction), 8 * call.element_size,
                     is_of_integers(call) ? "integers" : "floats");
}

// NVSwitches add up sums of all but single bytes, and the least and the largest of integers and 16-bit floats.
// (ncclNvlsSupported in NCCL's src/include/device.h, alike from 2.18 to 2.30.) NCCL runs averages as sums of scaled data, which
// they do not add.
bool adds_in_nvswitch(const CollectiveCall& call) {
  if (call.element_size == 1 || call.element_size > 8) return false;
  if (call.reduction == Reduction::kSum) return true;
  const bool of_order = call.reduction == Reduction::kMin || call.reduction == Reduction::kMax;
  return of_order && (is_of_integers(call) || call.element_size == 2);
}

// NCCL's plugin for SHARP offers these (ncclSharpReduceSupport in src/sharp_plugin.c of Mellanox/nccl-rdma-sharp-plugins), and
// NCCL asks it before it takes CollNet. Averages and scaled sums are sums to it. Model: switches know 8-bit integers and
// bfloat16, as those of NDR do.
bool adds_in_network(const CollectiveCall& call) {
  return call.element_size <= 8 && !is_float8(call) && call.reduction != Reduction::kProduct;
}

bool has_ll128(const CommInfo& comm) {
  switch (rule(kLl128Gpus, comm.version)) {
    case Ll128Gpus::kVoltaToHopper:
      return comm.min_sm == 70 || comm.min_sm == 80 || comm.min_sm == 90;
    case Ll128Gpus::kAndTwoBlackwells:
      return comm.min_sm == 70 || comm.min_sm == 80 || comm.min_sm == 90 || comm.min_sm == 100 || comm.min_sm == 120;
    case Ll128Gpus::kFromVolta:
      break;
  }
  return comm.min_sm >= 70;
}

// models/nccl §5.6: where NCCL trusts 128-byte stores to arrive whole.
std::string why_no_ll128(const CommInfo& comm, const Settings& settings, const Graph& graph) {
  const bool c2c = comm.version < kFirstWithLl128C2c || settings.integer("LL128_C2C").value_or(1) != 0;
  const bool over_relays = comm.min_sm >= 90 && c2c;
  const PathClass farthest = over_relays ? PathClass::kPxn : PathClass::kPxb;
  if (graph.type_inter > farthest) return fmt::format("LL128: a {} path to a NIC", net::to_string(graph.type_inter));
  if (graph.type_intra > PathClass::kNvb) return fmt::format("LL128: a {} path between GPUs", net::to_string(graph.type_intra));
  if (!has_ll128(comm)) return fmt::format("LL128: GPUs of sm{}", comm.min_sm);
  const bool alike = comm.min_sm == comm.max_sm || (comm.min_sm >= 90 && comm.version >= kFirstWithMixedLl128);
  return alike ? std::string{} : "LL128: GPUs of several generations";
}

}  // namespace

std::string why_disabled(const CommInfo& comm, const Settings& settings, Collective kind, Algo algo, Proto proto,
                         bool ll128_forced) {
  if (comm.ranks <= 1) return "one rank";
  if (std::string why = why_no_algorithm(comm, settings, kind, algo); !why.empty()) return why;
  if (algo != Algo::kRing && algo != Algo::kTree && proto != Proto::kSimple) {
    return fmt::format("{} runs in the Simple protocol only", to_string(algo));
  }
  if (proto == Proto::kLl128 && !ll128_forced) return why_no_ll128(comm, settings, *graph_of(comm, algo));
  return {};
}

std::string why_not_for_data(const CommInfo& comm, Collective kind, Algo algo, const CollectiveCall& call) {
  const bool gathers = kind == Collective::kAllGather;
  if (!gathers && !reduces(kind)) return {};
  const bool collnet = algo == Algo::kCollNetDirect || algo == Algo::kCollNetChain || (algo == Algo::kNvls && comm.nodes > 1);
  if (is_nvls(algo) && gathers && !rule(kNvlsGathers, comm.version))
    return "this release gathers bytes, which NVSwitches do not add up";
  if (is_nvls(algo) && !gathers && !adds_in_nvswitch(call)) {
    return fmt::format("NVSwitches have no {}", described(call));
  }
  if (collnet && !gathers && !adds_in_network(call)) return fmt::format("SHARP has no {}", described(call));
  const bool scaled = call.reduction == Reduction::kAverage || call.reduction == Reduction::kScaledSum;
  if (algo == Algo::kPat && !gathers && scaled) return "PAT scales no data";
  return {};
}

float inexact_factor(const CommInfo& comm, Collective kind, Algo algo, const CollectiveCall& call) {
  constexpr int kExactRanks = 8;
  constexpr float kLastChoice = 1024;
  const bool inexact =
      comm.version >= kFirstWithFloat8 && algo == Algo::kRing && comm.ranks > kExactRanks && reduces(kind) && is_float8(call);
  return inexact ? kLastChoice : 1.0F;
}

}  // namespace weft::coll::nccl
