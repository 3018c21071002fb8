#include "sim/collectives/nccl/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "sim/core/config/nearest.h"
#include "sim/core/error.h"

namespace weft::coll::nccl {
namespace {

// What acts in this version.
constexpr std::array<std::string_view, 4> kModelled = {"ALGO", "MAX_NCHANNELS", "MIN_NCHANNELS", "PROTO"};

// What NCCL knows beside these and this version only notes (nccl-model, throughout). The second group changes no timing.
constexpr std::array<std::string_view, 50> kKnown = {"ALLGATHERV_ENABLE",
                                                     "ALLOC_P2P_NET_LL_BUFFERS",
                                                     "BUFFSIZE",
                                                     "CGA_CLUSTER_SIZE",
                                                     "COLLNET_ENABLE",
                                                     "COLLNET_NODE_THRESHOLD",
                                                     "CROSS_NIC",
                                                     "CTA_POLICY",
                                                     "CUMEM_ENABLE",
                                                     "GDRCOPY_ENABLE",
                                                     "GDR_FLUSH_DISABLE",
                                                     "GRAPH_FILE",
                                                     "GRAPH_MIXING_SUPPORT",
                                                     "GRAPH_REGISTER",
                                                     "IB_ADAPTIVE_ROUTING",
                                                     "IB_AR_THRESHOLD",
                                                     "IB_DISABLE",
                                                     "IB_HCA",
                                                     "IB_MERGE_NICS",
                                                     "IB_QPS_PER_CONNECTION",
                                                     "IB_SPLIT_DATA_ON_QPS",
                                                     "LAUNCH_MODE",
                                                     "LL128_BUFFSIZE",
                                                     "LL128_NTHREADS",
                                                     "LL_BUFFSIZE",
                                                     "MAX_P2P_NCHANNELS",
                                                     "MIN_P2P_NCHANNELS",
                                                     "NCHANNELS_PER_NET_PEER",
                                                     "NET_GDR_LEVEL",
                                                     "NET_GDR_READ",
                                                     "NET_OVERHEAD",
                                                     "NET_SHARED_BUFFERS",
                                                     "NTHREADS",
                                                     "NVB_DISABLE",
                                                     "NVLSTREE_MAX_CHUNKSIZE",
                                                     "NVLS_CHUNKSIZE",
                                                     "NVLS_ENABLE",
                                                     "NVLS_NCHANNELS",
                                                     "P2P_DISABLE",
                                                     "P2P_LEVEL",
                                                     "P2P_LL_THRESHOLD",
                                                     "P2P_NET_CHUNKSIZE",
                                                     "P2P_NVL_CHUNKSIZE",
                                                     "P2P_PCI_CHUNKSIZE",
                                                     "P2P_PXN_LEVEL",
                                                     "PAT_ENABLE",
                                                     "PXN_DISABLE",
                                                     "SHM_DISABLE",
                                                     "THREAD_THRESHOLDS",
                                                     "TOPO_FILE"};
constexpr std::array<std::string_view, 8> kHarmless = {"DEBUG",          "DEBUG_FILE",   "DEBUG_SUBSYS",  "GRAPH_DUMP_FILE",
                                                       "TOPO_DUMP_FILE", "TUNER_PLUGIN", "SOCKET_IFNAME", "RUNTIME_CONNECT"};

std::string_view bare(std::string_view key) { return key.starts_with("NCCL_") ? key.substr(5) : key; }

bool contains(const auto& list, std::string_view key) { return std::ranges::find(list, key) != list.end(); }

std::optional<int> parse_positive(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1 || value > 64) return std::nullopt;
  return value;
}

}  // namespace

void Settings::set(std::string_view key, std::string_view value) {
  const std::string_view name = bare(key);
  if (!contains(kModelled, name) && !contains(kKnown, name) && !contains(kHarmless, name)) {
    std::vector<std::string> names;
    for (const std::string_view known : kModelled) names.push_back(fmt::format("NCCL_{}", known));
    for (const std::string_view known : kKnown) names.push_back(fmt::format("NCCL_{}", known));
    for (const std::string_view known : kHarmless) names.push_back(fmt::format("NCCL_{}", known));
    const std::string near = nearest(fmt::format("NCCL_{}", name), names);
    throw ConfigError({Diagnostic{.where = {},
                                  .message = fmt::format("unknown NCCL variable 'NCCL_{}'", name),
                                  .source_line = {},
                                  .length = 1,
                                  .note = near.empty() ? std::string{} : fmt::format("did you mean '{}'?", near)}});
  }
  if ((name == "MIN_NCHANNELS" || name == "MAX_NCHANNELS") && !parse_positive(value)) {
    throw ConfigError(fmt::format("NCCL_{}: expected a number of channels from 1 to 64, got '{}'", name, value));
  }
  values_[std::string{name}] = value;
}

void Settings::set_from_log(std::string_view key, std::string_view value) { values_[std::string{bare(key)}] = value; }

std::optional<std::string> Settings::find(std::string_view key) const {
  const auto found = values_.find(std::string{key});
  return found == values_.end() ? std::nullopt : std::optional{found->second};
}

std::optional<int> Settings::integer(std::string_view key) const {
  const auto text = find(key);
  return text ? parse_positive(*text) : std::nullopt;
}

std::vector<std::string> Settings::ignored() const {
  std::vector<std::string> list;
  for (const auto& [key, value] : values_) {
    // NVLS is not modelled yet, so switching it off is what every prediction already assumes.
    const bool as_modelled = contains(kModelled, key) || contains(kHarmless, key) || (key == "NVLS_ENABLE" && value == "0");
    if (!as_modelled) list.push_back(fmt::format("NCCL_{}={}", key, value));
  }
  return list;
}

}  // namespace weft::coll::nccl
