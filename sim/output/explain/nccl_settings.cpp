#include "sim/output/explain/nccl_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/collectives/nccl/settings.h"
#include "sim/core/words.h"

namespace weft::output {
namespace {

using coll::nccl::KnownSetting;

// The variables that are modelled; NCCL's documentation and models/nccl have more.
const std::map<std::string_view, std::string_view> kMeanings{
    {"ALGO", "which algorithms NCCL may choose from"},
    {"ALLOC_P2P_NET_LL_BUFFERS", "sends and receives over the network may use LL, for which each connection then has buffers"},
    {"BUFFSIZE", "buffer of a channel's connection for the protocol Simple; it has 8 slots"},
    {"COLLNET_ENABLE", "all-reduces may be added up in the network's switches, with SHARP's plugin"},
    {"COLLNET_NODE_THRESHOLD", "nodes from which on CollNet is used"},
    {"CROSS_NIC", "whether a ring may leave a node by one NIC and enter the next node by another number"},
    {"GRAPH_FILE", "rings and trees are read from this file, in place of a search"},
    {"IB_QPS_PER_CONNECTION", "queue pairs of one connection over InfiniBand or RoCE, which paths are chosen for one by one"},
    {"LL128_BUFFSIZE", "buffer of a channel's connection for the protocol LL128"},
    {"LL128_C2C", "LL128 may be used over the link between CPU and GPU of one package"},
    {"LL128_NTHREADS", "threads of a thread block that runs LL128"},
    {"LL_BUFFSIZE", "buffer of a channel's connection for the protocol LL"},
    {"MAX_CTAS", "thread blocks, and so channels, at most"},
    {"MAX_NCHANNELS", "channels at most"},
    {"MAX_P2P_NCHANNELS", "channels of sends and receives at most"},
    {"MIN_CTAS", "thread blocks, and so channels, at least"},
    {"MIN_NCHANNELS", "channels at least"},
    {"MIN_P2P_NCHANNELS", "channels of sends and receives at least"},
    {"NCHANNELS_PER_NET_PEER", "channels of a send or receive between two nodes"},
    {"NET_GDR_LEVEL", "how far apart GPU and NIC may be for the NIC to read and write the GPU's memory"},
    {"NET_OVERHEAD",
     "what NCCL's tuning adds to a latency over the network; the choice follows from it, not the network's time"},
    {"NTHREADS", "threads of a thread block, but for LL128; fewer move less at a time"},
    {"NVB_DISABLE", "GPUs without a link to each other do not go through a third GPU's NVLinks"},
    {"NVLSTREE_MAX_CHUNKSIZE", "largest chunk of NVLS trees"},
    {"NVLS_CHUNKSIZE", "largest chunk of NVLS"},
    {"NVLS_ENABLE", "NVSwitches may add up and copy (NVLink SHARP)"},
    {"NVLS_NCHANNELS", "channels of NVLS"},
    {"P2P_DISABLE", "GPUs of a node do not read and write each other's memory, but go through the host's"},
    {"P2P_LEVEL", "how far apart two GPUs may be to read and write each other's memory"},
    {"P2P_LL_THRESHOLD", "size up to which a send or receive runs LL"},
    {"P2P_NET_CHUNKSIZE", "chunk of a send or receive between nodes"},
    {"P2P_NVL_CHUNKSIZE", "chunk of a send or receive over NVLink"},
    {"P2P_PCI_CHUNKSIZE", "chunk of a send or receive over PCIe"},
    {"P2P_PXN_LEVEL",
     "when a send goes through another GPU's NIC: 0 never, 1 where the GPU's own is far, 2 always that of the receiver's rail"},
    {"P2P_SCHEDULE_GROUP_SIZE", "ranks that a round of sends and receives visits together"},
    {"PAT_ENABLE", "all-gather and reduce-scatter may use PAT, trees of one GPU a node"},
    {"PROTO", "which protocols NCCL may choose from"},
    {"PXN_DISABLE", "no GPU sends through the NIC of another GPU of its node"},
    {"THREAD_THRESHOLDS", "bytes for each thread, under which NCCL takes fewer threads or channels"},
    {"VERSION", "no variable of NCCL: the release whose rules are followed"},
};

std::string effect_text(const KnownSetting& setting) {
  switch (setting.effect) {
    case KnownSetting::Effect::kModelled:
      return fmt::format("{}. Values: {}. Followed here", kMeanings.at(setting.name), setting.expected);
    case KnownSetting::Effect::kNoted:
      return "not followed here: a note of the result names it, and times are as without it";
    case KnownSetting::Effect::kNone:
      break;
  }
  return "changes no time, in NCCL and here";
}

}  // namespace

std::string nccl_setting_meaning(std::string_view name) {
  std::string wanted = lower_case(name);
  if (wanted.starts_with("nccl_")) wanted.erase(0, 5);
  for (const KnownSetting& setting : coll::nccl::known_settings()) {
    if (lower_case(setting.name) == wanted) return effect_text(setting);
  }
  return {};
}

std::vector<std::string> nccl_setting_names() {
  std::vector<std::string> names;
  for (const KnownSetting& setting : coll::nccl::known_settings()) names.push_back(fmt::format("NCCL_{}", setting.name));
  return names;
}

}  // namespace weft::output
