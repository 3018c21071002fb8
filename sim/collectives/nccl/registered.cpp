#include "sim/collectives/nccl/registered.h"

#include <algorithm>

#include "sim/collectives/nccl/copy_engine.h"
#include "sim/collectives/nccl/release_rules.h"
#include "sim/core/whole_numbers.h"
#include "sim/core/words.h"

// NCCL's src/register/coll_reg.cc, src/register/sendrecv_reg.cc (before 2.24: src/enqueue.cc), src/transport/nvls.cc
// (ncclNvlsRegResourcesQuery) and src/enqueue.cc, by release.
namespace weft::coll::nccl {
namespace {

// 2.23: peers of a node store into registered buffers. 2.24: NICs send from and receive into them.
constexpr NcclVersion kFirstOfPeers = release(23, 4);
constexpr NcclVersion kFirstOfNetwork = release(24, 3);
// ncclAlltoAll is registered where both buffers are, or in a graph; ncclGather and ncclScatter in graphs only.
constexpr NcclVersion kFirstCarefulSends = release(29, 2);
constexpr NcclVersion kFirstCtaPolicy = release(27, 3);

// NVLS's channels for eight heads; the more heads, the fewer.
struct SwitchChannels {
  int reduce_scatter = 5;
  int all_gather = 4;
  int all_reduce = 4;
};
constexpr Since<SwitchChannels> kHopperNode[] = {{kFirstRegistered, {}}};
constexpr Since<SwitchChannels> kBlackwellNode[] = {{kFirstRegistered, {}},
                                                    {release(25, 1), {.reduce_scatter = 6, .all_gather = 8, .all_reduce = 8}},
                                                    {release(27, 3), {.reduce_scatter = 6, .all_gather = 4, .all_reduce = 8}}};
// Over several nodes.
constexpr Since<SwitchChannels> kHopperNodes[] = {{kFirstRegistered, {}},
                                                  {release(20, 3), {.reduce_scatter = 6, .all_gather = 6, .all_reduce = 6}}};
constexpr Since<SwitchChannels> kBlackwellNodes[] = {{kFirstRegistered, {}},
                                                     {release(20, 3), {.reduce_scatter = 6, .all_gather = 6, .all_reduce = 6}},
                                                     {release(25, 1), {.reduce_scatter = 7, .all_gather = 7, .all_reduce = 7}},
                                                     {release(27, 3), {.reduce_scatter = 6, .all_gather = 6, .all_reduce = 7}}};
constexpr NcclVersion kFirstByHeads = release(27, 3);         // the numbers are for eight heads; before, for any
constexpr NcclVersion kFirstByFastNics = release(30, 7);      // Blackwell's all-reduces with NICs of 96 GB/s
constexpr NcclVersion kFirstByScatterSpeed = release(27, 3);  // reduce-scatters whose model is over 400 GB/s
constexpr int kHeadsOfNumbers = 8;

// Model: a host of an NVLink domain has 4 GPUs beside Grace and 8 beside others; what is larger is several hosts (MNNVL).
bool is_several_hosts(const CommInfo& comm) {
  const int of_a_host = comm.cpu.arch == net::CpuArch::kArm ? 4 : 8;
  return comm.ranks_per_node > of_a_host;
}

// Model: buffers that are registered with peers over PCIe save nothing.
bool has_peers(const CommInfo& comm) { return comm.ranks_per_node > 1 && comm.ring.type_intra <= net::PathClass::kNvb; }

bool is_on(const Settings& settings, std::string_view key) { return settings.integer(key).value_or(1) != 0; }

// ncclCommRegister's buffers, or in a graph whatever is captured.
bool may_register(const Settings& settings, const UserBuffers& buffers) {
  if (!buffers.registered) return false;
  return is_on(settings, "LOCAL_REGISTER") || (buffers.in_graph && is_on(settings, "GRAPH_REGISTER"));
}

}  // namespace

CtaPolicy cta_policy(const Settings& settings) {
  const std::string text = lower_case(settings.find("CTA_POLICY").value_or(""));
  if (text == "2" || text == "zero") return CtaPolicy::kZero;
  return text == "1" || text == "efficiency" ? CtaPolicy::kEfficiency : CtaPolicy::kDefault;
}

std::string idle_policy(const Settings& settings, bool registered, bool symmetric) {
  const CtaPolicy policy = cta_policy(settings);
  if (policy == CtaPolicy::kDefault) return {};
  if (settings.version() < kFirstCtaPolicy) return "NCCL before 2.27 has no NCCL_CTA_POLICY";
  if (policy == CtaPolicy::kEfficiency)
    return registered || symmetric ? "" : "NCCL_CTA_POLICY=1 is for registered buffers (-R 1)";
  if (settings.version() < kFirstCopyEngines) return "NCCL before 2.28 has no copy-engine collectives (NCCL_CTA_POLICY=2)";
  return symmetric ? "" : "NCCL_CTA_POLICY=2 is for symmetric buffers (-R 2)";
}

int registered_nvls_channels(const TuningModel& model, Collective kind) {
  const CommInfo& comm = model.comm();
  const Settings& settings = model.settings();
  const bool is_blackwell = comm.min_sm >= 100;
  const bool one_node = comm.nodes == 1;
  SwitchChannels of;
  if (one_node) of = is_blackwell ? rule(kBlackwellNode, comm.version) : rule(kHopperNode, comm.version);
  if (!one_node) of = is_blackwell ? rule(kBlackwellNodes, comm.version) : rule(kHopperNodes, comm.version);
  constexpr float kFastGBps = 400;
  constexpr float kFastNicGBps = 96;
  const float speed = model.cost(Collective::kReduceScatter, Algo::kNvls, Proto::kSimple).bandwidth_GBps;
  if (!one_node && comm.version >= kFirstByScatterSpeed && speed > kFastGBps) of.reduce_scatter = 7;
  if (!one_node && is_blackwell && comm.version >= kFirstByFastNics && comm.min_net_bandwidth >= kFastNicGBps)
    of.all_reduce = 10;
  int channels = of.all_reduce;
  if (kind == Collective::kAllGather) channels = of.all_gather;
  if (kind == Collective::kReduceScatter) channels = of.reduce_scatter;
  if (comm.version >= kFirstByHeads) {
    const int heads = comm.nvls_graph ? std::max(1, comm.nvls_graph->channel_count()) : kHeadsOfNumbers;
    channels = static_cast<int>(ceil_div(std::int64_t{channels} * kHeadsOfNumbers, std::int64_t{heads}));
  }
  return std::max(settings.integer("MIN_CTAS").value_or(1), std::min(settings.integer("MAX_CTAS").value_or(64), channels));
}

RegisteredBuffers registration(const TuningModel& model, const CollectiveCall& call, Algo algo, Proto proto, int channels,
                               const UserBuffers& buffers) {
  const CommInfo& comm = model.comm();
  const Settings& settings = model.settings();
  RegisteredBuffers of;
  if (!may_register(settings, buffers) || comm.version < kFirstRegistered) return of;
  if (is_nvls(algo)) {
    // Model: on one node. On several its few channels came out slower than more of them without, which NCCL would not take.
    of.in_switch = comm.nodes == 1 && !is_several_hosts(comm) && call.reduction != Reduction::kScaledSum;
    if (of.in_switch) of.channels = registered_nvls_channels(model, call.kind);
    return of;
  }
  if (proto != Proto::kSimple || (algo != Algo::kRing && algo != Algo::kTree)) return of;
  if (call.kind == Collective::kReduceScatter || call.kind == Collective::kReduce) return of;
  of.of_peers = comm.version >= kFirstOfPeers && has_peers(comm);
  const bool one_a_node = comm.nodes > 1 && comm.ranks_per_node == 1;
  of.of_network = comm.version >= kFirstOfNetwork && one_a_node && algo == Algo::kRing;
  if (of.of_network && call.kind != Collective::kAllReduce) of.channels = 1;
  constexpr int kFewest = 17;  // on one node 17 to 24 channels become 16
  constexpr int kMost = 24;
  if (of.of_peers && comm.nodes == 1 && channels >= kFewest && channels <= kMost) of.channels = kFewest - 1;
  return of;
}

RegisteredBuffers send_registration(const CommInfo& comm, const Settings& settings, Collective kind, Proto protocol,
                                    const UserBuffers& buffers) {
  RegisteredBuffers of;
  if (!may_register(settings, buffers) || protocol != Proto::kSimple) return of;
  const bool graphs_only = kind == Collective::kGather || kind == Collective::kScatter;
  if (comm.version >= kFirstCarefulSends && graphs_only && !buffers.in_graph) return of;
  of.of_peers = comm.version >= kFirstOfPeers && has_peers(comm);
  of.of_network = comm.version >= kFirstOfNetwork && comm.nodes > 1 && comm.ranks_per_node == 1;
  return of;
}

bool takes_nvls_for_few_blocks(const TuningModel& model, Collective kind, int channels, const UserBuffers& buffers) {
  const CommInfo& comm = model.comm();
  const Settings& settings = model.settings();
  if (comm.version < kFirstCtaPolicy || cta_policy(settings) != CtaPolicy::kEfficiency) return false;
  if (!may_register(settings, buffers) || !comm.nvls || is_several_hosts(comm)) return false;
  if (settings.find("ALGO") || settings.find("PROTO") || (comm.nodes > 1 && !comm.collnet)) return false;
  if (kind != Collective::kAllGather && kind != Collective::kReduceScatter) return false;
  return registered_nvls_channels(model, kind) <= channels;
}

}  // namespace weft::coll::nccl
