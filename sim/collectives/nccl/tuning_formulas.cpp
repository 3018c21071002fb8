#include "sim/collectives/nccl/tuning_formulas.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "sim/core/whole_numbers.h"

namespace weft::coll::nccl {
namespace {

bool is_chain(Collective kind) { return kind == Collective::kBroadcast || kind == Collective::kReduce; }
bool is_collnet(Algo algo) { return algo == Algo::kCollNetDirect || algo == Algo::kCollNetChain; }

int steps_of(Collective kind, int ranks) {
  if (kind == Collective::kAllReduce) return 2 * (ranks - 1);
  return is_gather(kind) ? ranks - 1 : ranks;
}

std::size_t scale_of(const CommInfo& comm) { return comm.nodes <= 2 ? static_cast<std::size_t>(comm.nodes - 1) : 2; }

float ranks_per_node(const CommInfo& comm) { return static_cast<float>(comm.ranks) / static_cast<float>(comm.nodes); }

bool amd(const CommInfo& comm) { return !comm.mixed_cpus && comm.cpu.vendor == net::CpuVendor::kAmd; }

// One node: by the GPU. More: by the CPU, which polls for the network (models/nccl §5.2).
double ll_cap(const CommInfo& comm, const TuningTables& t) {
  if (comm.nodes == 1) return t.ll[architecture(comm)][0];
  const bool second = comm.mixed_cpus || comm.cpu.vendor == net::CpuVendor::kAmd;
  return t.ll[second ? kAmpere : kVolta][scale_of(comm)];
}

// A channel's speed for NVLS and NVLSTree (models/nccl §5.3, §5.8).
float nvls_speed(const CommInfo& comm, const TuningTables& t, const Graph& graph, Collective kind, Algo algo) {
  const float intra = graph.bandwidth_intra;
  const float inter = graph.bandwidth_inter;
  const float per_node = ranks_per_node(comm);
  if (t.nvls == NvlsModel::kPlain) return comm.nodes <= 2 ? intra : inter;
  if (t.nvls != NvlsModel::kByEfficiency) {
    if (algo == Algo::kNvlsTree) return std::min(intra, comm.nodes <= 2 ? inter : inter / 2);
    if (t.nvls == NvlsModel::kLesserByRanks && is_gather(kind))
      return std::min(intra * (per_node - 1) / per_node, 0.9F * inter);
    return std::min(intra, inter);
  }
  const int heads = graph.channel_count();
  const auto count = static_cast<float>(heads);
  float within = intra * t.nvls_efficiency[architecture(comm)] * (count - 1) / count;
  within *= kind == Collective::kAllReduce ? 2.0F : (per_node - 1) / per_node;
  const float between = inter * (comm.nodes <= 2 && algo == Algo::kNvlsTree ? 2.0F : 1.0F);
  const float cap = algo == Algo::kNvlsTree ? static_cast<float>(t.nvls_tree[architecture(comm)][scale_of(comm)])
                                            : std::numeric_limits<float>::max();
  return std::min({within, between, cap});
}

float ring_bus(const CommInfo& comm, const TuningTables& t, const Graph& graph, Collective kind, Proto proto, float bus) {
  const double wide = bus;
  if (proto == Proto::kLl) {
    const bool slow = comm.nodes > 1 || kind == Collective::kAllReduce || kind == Collective::kReduce;
    const double part = t.ring_ll_by_kind ? (slow ? 1.0 / 4.0 : 1.0 / 3.0) : 0.5;
    return static_cast<float>(std::min(ll_cap(comm, t), wide * part));
  }
  if (proto == Proto::kLl128) {
    const double part = t.half_net_ll128 && ranks_per_node(comm) < 2 ? 0.7 : 0.92;
    return static_cast<float>(std::min(wide * part, graph.channel_count() * t.ring_ll128[architecture(comm)][scale_of(comm)]));
  }
  return bus;
}

float tree_bus(const CommInfo& comm, const TuningTables& t, const Graph& graph, Proto proto, float bus) {
  const int channels = graph.channel_count();
  const std::size_t arch = architecture(comm);
  const std::size_t scale = scale_of(comm);
  bus = static_cast<float>(std::min(bus * 0.92, channels * t.tree[arch][scale]));
  if (proto == Proto::kLl) bus = static_cast<float>(std::min(static_cast<double>(bus) / 3.8, ll_cap(comm, t)));
  if (proto == Proto::kLl128) {
    const double part = comm.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0;
    bus = static_cast<float>(std::min(bus * part, channels * t.tree_ll128[arch][scale]));
  }
  if (graph.pattern == GraphPattern::kTree) bus = static_cast<float>(bus * 0.85);
  return bus;
}

float collnet_direct_bus(const CommInfo& comm, const TuningTables& t, const Graph& graph, Collective kind, float bus) {
  const float per_node = ranks_per_node(comm);
  if (is_gather(kind)) {
    if (!t.weighted_collnet_gather) return per_node * std::min(graph.bandwidth_intra, graph.bandwidth_inter * 0.9F);
    const float weight = (per_node - 1) / 7;
    return static_cast<float>(per_node * graph.bandwidth_intra * (weight * 0.85 + (1 - weight) * 0.95));
  }
  float factor = static_cast<float>(per_node / (1.0 * graph.channel_count()));  // GPUs per NIC
  factor -= (factor - 1) / 2;
  bus /= factor;
  return comm.min_sm >= 90 ? static_cast<float>(bus * 0.85) : bus;
}

// us that the CPU takes to post to the network; NCCL_NET_OVERHEAD is in ns.
float net_overhead(const CommInfo& comm, const Settings& settings) {
  if (const auto ns = settings.integer("NET_OVERHEAD"); ns && *ns != -2) return static_cast<float>(*ns * 0.001);
  return amd(comm) && comm.cpu.arch == net::CpuArch::kX86 ? 2.0F : 1.0F;
}

// Steps of a ring that cross between nodes.
int ring_inter_steps(const CommInfo& comm, const TuningTables& t, Collective kind) {
  if (comm.nodes == 1) return 0;
  if (kind == Collective::kAllReduce) return t.counts_every_node ? 2 * comm.nodes : 2 * (comm.nodes - 1);
  return comm.nodes - 1;
}

struct StepLatency {
  float intra = 0;
  float inter = 0;
};

float ring_latency(const CommInfo& comm, const TuningTables& t, const Settings& settings, Collective kind, Proto proto,
                   std::size_t within, StepLatency step) {
  const float base = t.base_latency[index_of(Algo::kRing)][index_of(proto)];
  const int steps = steps_of(kind, comm.ranks);
  if (is_chain(kind)) {
    const std::size_t over = comm.nodes == 1 ? within : kOverNet;
    if (comm.ring.same_channels) return base + t.hw_latency[over][index_of(Algo::kRing)][index_of(proto)];
    // In the Simple protocol the pipeline's chunks wait for each other, which the tree's entry stands for.
    const Algo row = proto == Proto::kSimple ? Algo::kTree : Algo::kRing;
    return base + static_cast<float>(steps) * t.hw_latency[over][index_of(row)][index_of(proto)];
  }
  float overhead = 0;
  if (comm.nodes > 1) overhead = net_overhead(comm, settings) * (proto == Proto::kSimple ? 3.0F : 1.0F);
  const int inter_steps = ring_inter_steps(comm, t, kind);
  return base + (static_cast<float>(steps - inter_steps) * std::max(step.intra, overhead) +
                 static_cast<float>(inter_steps) * step.inter);
}

}  // namespace

const Graph* graph_of(const CommInfo& comm, Algo algo) {
  const auto found = [](const std::optional<Graph>& graph) { return graph ? &*graph : nullptr; };
  switch (algo) {
    case Algo::kRing:
      return &comm.ring;
    case Algo::kCollNetDirect:
      return found(comm.collnet_direct);
    case Algo::kCollNetChain:
      return found(comm.collnet_chain);
    case Algo::kNvls:
    case Algo::kNvlsTree:
      return found(comm.nvls_graph);
    case Algo::kTree:
    case Algo::kPat:
      break;
  }
  return &comm.tree;
}

std::size_t architecture(const CommInfo& comm) {
  if (comm.min_sm >= 100) return kBlackwell;
  if (comm.min_sm >= 90) return kHopper;
  return comm.min_sm >= 80 ? kAmpere : kVolta;
}

float model_bandwidth(const CommInfo& comm, const TuningTables& tables, Collective kind, Algo algo, Proto proto) {
  const Graph* graph = graph_of(comm, algo);
  if (graph == nullptr || comm.ranks <= 1) return 0;
  if (algo != Algo::kRing && algo != Algo::kTree && proto != Proto::kSimple) return 0;
  if (is_nvls(algo) && graph->channel_count() < 2) return 0;

  float speed = comm.nodes <= 2 || is_collnet(algo) ? graph->bandwidth_intra : graph->bandwidth_inter;
  if (is_nvls(algo)) speed = nvls_speed(comm, tables, *graph, kind, algo);
  float bus = static_cast<float>(graph->channel_count()) * speed;
  if (algo == Algo::kRing) bus = ring_bus(comm, tables, *graph, kind, proto, bus);
  if (algo == Algo::kTree) bus = tree_bus(comm, tables, *graph, proto, bus);
  if (algo == Algo::kPat) bus = static_cast<float>(bus * tables.pat_part);
  if (algo == Algo::kCollNetDirect) bus = collnet_direct_bus(comm, tables, *graph, kind, bus);

  // From what the links carry to what the caller sees.
  if (algo != Algo::kRing && is_gather(kind)) {
    return is_nvls(algo) ? static_cast<float>(bus * tables.nvls_gather_part) : bus;
  }
  if (algo == Algo::kRing || (is_nvls(algo) && tables.nvls == NvlsModel::kByEfficiency)) {
    return bus * static_cast<float>((1.0 * comm.ranks) / steps_of(kind, comm.ranks));
  }
  if (algo == Algo::kNvlsTree && tables.nvls == NvlsModel::kPlain) {
    return bus * static_cast<float>(.70 * comm.nodes / (2 * std::max(comm.nodes - 1, 1)));
  }
  if (is_nvls(algo)) return bus * static_cast<float>(5.0 / 6.0);
  return bus * 0.5F;
}

float model_latency(const CommInfo& comm, const TuningTables& tables, const Settings& settings, Collective kind, Algo algo,
                    Proto proto) {
  const Graph* graph = graph_of(comm, algo);
  if (graph == nullptr || comm.ranks <= 1) return 0;
  const std::size_t within = graph->type_intra == PathClass::kNvl ? kOverNvlink : kOverPci;
  const int per_node = comm.ranks / comm.nodes;
  const bool lone = tables.lone_gpu_pays_tree_latency && comm.ranks == comm.nodes;
  StepLatency step;
  step.intra = tables.hw_latency[within][index_of(algo)][index_of(proto)];
  // On POWER the tree is not held back (models/nccl §5.1).
  if (comm.cpu.arch == net::CpuArch::kPower && within == kOverPci && algo == Algo::kTree && proto == Proto::kSimple) {
    step.intra = tables.hw_latency[kOverPci][index_of(Algo::kRing)][index_of(proto)];
  }
  step.inter = tables.hw_latency[kOverNet][index_of(lone ? Algo::kTree : algo)][index_of(proto)] + graph->latency_inter;
  if (proto == Proto::kSimple) step.inter += graph->latency_inter;  // the flush

  const float base = tables.base_latency[index_of(algo)][index_of(proto)];
  const auto levels = static_cast<float>(floor_log2(comm.nodes));
  const float network = tables.hw_latency[kOverNet][index_of(algo)][index_of(proto)];
  switch (algo) {
    case Algo::kRing:
      return ring_latency(comm, tables, settings, kind, proto, within, step);
    case Algo::kTree:
      return base + 2 * (static_cast<float>(per_node - 1) * step.intra + levels * step.inter);
    case Algo::kCollNetDirect:
      return static_cast<float>(
          base +
          (2 * (static_cast<float>(std::min(1, per_node - 1)) * step.intra + (per_node - 1) * tables.peer_us) + step.inter));
    case Algo::kCollNetChain:
      return base + (static_cast<float>(2 * (per_node - 1)) * step.intra + step.inter);
    case Algo::kNvls:
      if (!tables.nvls_counts_switch) return base + (comm.nodes > 1 ? network : 0);
      return base + (comm.nodes > 1 ? step.intra + step.inter : step.intra);
    case Algo::kNvlsTree:
      if (!tables.nvls_counts_switch) return base + 2 * static_cast<float>(comm.nodes - 1) * network;
      return base + (step.intra + 2 * levels * step.inter);
    case Algo::kPat:
      break;
  }
  return static_cast<float>(base + (levels * (step.inter / 3.5) + comm.ranks * 2.8));
}

}  // namespace weft::coll::nccl
