#include "sim/collectives/nccl/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "sim/collectives/nccl/choice_list.h"
#include "sim/collectives/nccl/version.h"
#include "sim/core/config/nearest.h"
#include "sim/core/error.h"
#include "sim/core/words.h"

namespace weft::coll::nccl {
namespace {

enum class Kind : std::uint8_t { kInteger, kIntegers, kPathLevel, kAlgorithms, kProtocols, kCtaPolicy, kText };

struct Variable {
  std::string_view name;
  Kind kind = Kind::kInteger;
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t multiple_of = 1;
  std::string_view expected;
};

constexpr std::string_view kQps = "IB_QPS_PER_CONNECTION";

// These variables act in this version, with the values that NCCL takes (models/nccl §1.3, §2.4, §3.6, §4.1, §4.5, §5.6).
constexpr std::array<Variable, 43> kModelled = {{
    {"ALGO", Kind::kAlgorithms, 0, 0, 1, ""},
    {"ALLOC_P2P_NET_LL_BUFFERS", Kind::kInteger, 0, 1, 1, "0 or 1"},
    {"BUFFSIZE", Kind::kInteger, 4096, 1073741824, 1, "a number of bytes from 4096 to 1073741824"},
    {"COLLNET_ENABLE", Kind::kInteger, 0, 1, 1, "0 or 1"},
    {"COLLNET_NODE_THRESHOLD", Kind::kInteger, 1, 2147483647, 1, "a number of nodes"},
    {"CROSS_NIC", Kind::kInteger, 0, 2, 1, "0, 1 or 2"},
    {"CTA_POLICY", Kind::kCtaPolicy, 0, 2, 1, "0, 1, 2, DEFAULT, EFFICIENCY or ZERO"},
    {"GRAPH_FILE", Kind::kText, 0, 0, 1, ""},
    {"GRAPH_REGISTER", Kind::kInteger, 0, 1, 1, "0 or 1"},
    {kQps, Kind::kInteger, 1, 1, 1, "1 (one queue pair a connection; more of them are not modelled)"},
    {"LL128_BUFFSIZE", Kind::kInteger, 16384, 1073741824, 1, "a number of bytes from 16384 to 1073741824"},
    {"LL128_C2C", Kind::kInteger, 0, 1, 1, "0 or 1"},
    {"LL128_NTHREADS", Kind::kInteger, 160, 640, 32, "a number of threads from 160 to 640, a multiple of 32"},
    {"LL_BUFFSIZE", Kind::kInteger, 256, 1073741824, 1, "a number of bytes from 256 to 1073741824"},
    {"LOCAL_REGISTER", Kind::kInteger, 0, 1, 1, "0 or 1"},
    {"MAX_CTAS", Kind::kInteger, 1, 64, 1, "a number of channels from 1 to 64"},
    {"MAX_NCHANNELS", Kind::kInteger, 1, 64, 1, "a number of channels from 1 to 64"},
    {"MAX_P2P_NCHANNELS", Kind::kInteger, 1, 64, 1, "a number of channels from 1 to 64"},
    {"MIN_CTAS", Kind::kInteger, 1, 64, 1, "a number of channels from 1 to 64"},
    {"MIN_NCHANNELS", Kind::kInteger, 1, 64, 1, "a number of channels from 1 to 64"},
    {"MIN_P2P_NCHANNELS", Kind::kInteger, 1, 64, 1, "a number of channels from 1 to 64"},
    {"NCHANNELS_PER_NET_PEER", Kind::kInteger, 1, 64, 1, "a number of channels from 1 to 64"},
    {"NET_GDR_LEVEL", Kind::kPathLevel, 0, 0, 1, "LOC, NVL, PIX, PXB, PHB, SYS or 0 to 5"},
    {"NET_OVERHEAD", Kind::kInteger, -2, 2147483647, 1, "a number of ns"},
    {"NTHREADS", Kind::kInteger, 64, 512, 32, "a number of threads from 64 to 512, a multiple of 32"},
    {"NVB_DISABLE", Kind::kInteger, 0, 1, 1, "0 or 1"},
    {"NVLSTREE_MAX_CHUNKSIZE", Kind::kInteger, 4096, 1073741824, 1, "a number of bytes from 4096 to 1073741824"},
    {"NVLS_CHUNKSIZE", Kind::kInteger, 4096, 1073741824, 1, "a number of bytes from 4096 to 1073741824"},
    {"NVLS_ENABLE", Kind::kInteger, 0, 2, 1, "0, 1 or 2"},
    {"NVLS_NCHANNELS", Kind::kInteger, 1, 64, 1, "a number of channels from 1 to 64"},
    {"P2P_DISABLE", Kind::kInteger, 0, 1, 1, "0 or 1"},
    {"P2P_LEVEL", Kind::kPathLevel, 0, 0, 1, "LOC, NVL, PIX, PXB, PHB, SYS or 0 to 5"},
    {"P2P_LL_THRESHOLD", Kind::kInteger, 0, 2147483647, 1, "a number of bytes"},
    {"P2P_NET_CHUNKSIZE", Kind::kInteger, 4096, 1073741824, 1, "a number of bytes from 4096 to 1073741824"},
    {"P2P_NVL_CHUNKSIZE", Kind::kInteger, 4096, 1073741824, 1, "a number of bytes from 4096 to 1073741824"},
    {"P2P_PCI_CHUNKSIZE", Kind::kInteger, 4096, 1073741824, 1, "a number of bytes from 4096 to 1073741824"},
    {"P2P_SCHEDULE_GROUP_SIZE", Kind::kInteger, 1, 2147483647, 1, "a number of ranks"},
    {"P2P_PXN_LEVEL", Kind::kInteger, 0, 2, 1, "0, 1 or 2"},
    {"PAT_ENABLE", Kind::kInteger, 0, 2, 1, "0, 1 or 2"},
    {"PROTO", Kind::kProtocols, 0, 0, 1, ""},
    {"PXN_DISABLE", Kind::kInteger, 0, 1, 1, "0 or 1"},
    {"SYM_CE_THRESHOLD", Kind::kInteger, 0, 9223372036854775807, 1, "a number of elements"},
    {"THREAD_THRESHOLDS", Kind::kIntegers, 0, 0, 1,
     "up to six numbers of bytes separated by blanks (tree LL, LL128, Simple; ring LL, LL128, Simple; -2 keeps one)"},
}};

// NCCL knows these besides, and this version only notes them (models/nccl, throughout). The second group changes no timing.
constexpr std::array<std::string_view, 40> kKnown = {"ALLGATHERV_ENABLE",
                                                     "CGA_CLUSTER_SIZE",
                                                     "CUMEM_ENABLE",
                                                     "GDRCOPY_ENABLE",
                                                     "GDR_FLUSH_DISABLE",
                                                     "GRAPH_MIXING_SUPPORT",
                                                     "IB_ADAPTIVE_ROUTING",
                                                     "IB_AR_THRESHOLD",
                                                     "IB_DISABLE",
                                                     "IB_GID_INDEX",
                                                     "IB_HCA",
                                                     "IB_MERGE_NICS",
                                                     "IB_PCI_RELAXED_ORDERING",
                                                     "IB_RETRY_CNT",
                                                     "IB_SL",
                                                     "IB_SPLIT_DATA_ON_QPS",
                                                     "IB_TC",
                                                     "IB_TIMEOUT",
                                                     "IB_USE_INLINE",
                                                     "LAUNCH_MODE",
                                                     "LAUNCH_ORDER_IMPLICIT",
                                                     "NETDEVS_POLICY",
                                                     "NET_FORCE_FLUSH",
                                                     "NET_FORCE_MERGE",
                                                     "NET_GDR_C2C",
                                                     "NET_GDR_READ",
                                                     "NET_MERGE_LEVEL",
                                                     "NET_SHARED_BUFFERS",
                                                     "NSOCKS_PERTHREAD",
                                                     "P2P_PER_CHANNEL_NET_BW",
                                                     "P2P_READ_ENABLE",
                                                     "P2P_USE_CUDA_MEMCPY",
                                                     "PROXY_APPEND_BATCH_SIZE",
                                                     "PXN_C2C",
                                                     "SHM_DISABLE",
                                                     "SHM_LOCALITY",
                                                     "SHM_USE_CUDA_MEMCPY",
                                                     "SOCKET_NTHREADS",
                                                     "SYM_CTAS",
                                                     "TOPO_FILE"};
constexpr std::array<std::string_view, 8> kHarmless = {"DEBUG",          "DEBUG_FILE",   "DEBUG_SUBSYS",  "GRAPH_DUMP_FILE",
                                                       "TOPO_DUMP_FILE", "TUNER_PLUGIN", "SOCKET_IFNAME", "RUNTIME_CONNECT"};

// Not a variable of NCCL, but the release whose behaviour is wanted.
constexpr std::string_view kVersion = "VERSION";

std::string_view bare(std::string_view key) { return key.starts_with("NCCL_") ? key.substr(5) : key; }

bool contains(const auto& list, std::string_view key) { return std::ranges::find(list, key) != list.end(); }

const Variable* modelled(std::string_view key) {
  const auto found = std::ranges::find(kModelled, key, &Variable::name);
  return found == kModelled.end() ? nullptr : &*found;
}

// Decimal, or hexadecimal after "0x", as NCCL's parameters are read.
std::optional<std::int64_t> parse_integer(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (hexadecimal) text.remove_prefix(2);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Whole numbers at the beginning of `text`; `all` says whether that is all there is.
std::vector<std::int64_t> parse_integers(std::string_view text, bool& all) {
  std::vector<std::int64_t> values;
  all = false;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    if (text.empty()) break;
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    const auto value = parse_integer(text.substr(0, end));
    if (!value) return values;
    values.push_back(*value);
    text.remove_prefix(end);
  }
  all = true;
  return values;
}

bool in_range(const Variable& variable, std::int64_t value) {
  return value >= variable.low && value <= variable.high && value % variable.multiple_of == 0;
}

// ConfigError if NCCL could not take the value.
void check_value(const Variable& variable, std::string_view value) {
  bool good = true;
  switch (variable.kind) {
    case Kind::kAlgorithms:
      static_cast<void>(parse_algorithms(value));
      return;
    case Kind::kProtocols:
      static_cast<void>(parse_protocols(value));
      return;
    case Kind::kText:
      return;
    case Kind::kPathLevel: {
      constexpr std::array<std::string_view, 12> kLevels = {"LOC", "NVL", "PIX", "PXB", "PHB", "SYS",
                                                            "0",   "1",   "2",   "3",   "4",   "5"};
      good = contains(kLevels, value);
      break;
    }
    case Kind::kCtaPolicy: {
      constexpr std::array<std::string_view, 6> kPolicies = {"0", "1", "2", "default", "efficiency", "zero"};
      good = contains(kPolicies, lower_case(value));
      break;
    }
    case Kind::kIntegers: {
      constexpr std::size_t kMost = 6;
      const std::size_t count = parse_integers(value, good).size();
      good = good && count >= 1 && count <= kMost;
      break;
    }
    case Kind::kInteger: {
      const auto number = parse_integer(value);
      good = number && in_range(variable, *number);
      break;
    }
  }
  if (!good) throw ConfigError(fmt::format("NCCL_{}: expected {}, got '{}'", variable.name, variable.expected, value));
}

[[noreturn]] void refuse_name(std::string_view name) {
  std::vector<std::string> names;
  for (const Variable& known : kModelled) names.push_back(fmt::format("NCCL_{}", known.name));
  for (const std::string_view known : kKnown) names.push_back(fmt::format("NCCL_{}", known));
  for (const std::string_view known : kHarmless) names.push_back(fmt::format("NCCL_{}", known));
  const std::string near = nearest(fmt::format("NCCL_{}", name), names);
  throw ConfigError({Diagnostic{.where = {},
                                .message = fmt::format("unknown NCCL variable 'NCCL_{}'", name),
                                .source_line = {},
                                .length = 1,
                                .note = near.empty() ? std::string{} : fmt::format("did you mean '{}'?", near)}});
}

}  // namespace

std::vector<KnownSetting> known_settings() {
  using Effect = KnownSetting::Effect;
  std::vector<KnownSetting> all{{kVersion, Effect::kModelled, "a release such as 2.28"}};
  for (const Variable& known : kModelled) {
    const bool is_names = known.kind == Kind::kAlgorithms || known.kind == Kind::kProtocols;
    all.push_back({known.name, Effect::kModelled,
                   !known.expected.empty() ? known.expected
                   : is_names              ? "names, as in NCCL: Ring,Tree or ^LL"
                                           : "a file"});
  }
  for (const std::string_view known : kKnown) all.push_back({known, Effect::kNoted, {}});
  for (const std::string_view known : kHarmless) all.push_back({known, Effect::kNone, {}});
  return all;
}

void Settings::set(std::string_view key, std::string_view value) {
  const std::string_view name = bare(key);
  if (name == kVersion || name == "version") {
    static_cast<void>(parse_version(value));
    values_[std::string{kVersion}] = value;
    return;
  }
  const Variable* variable = modelled(name);
  if (variable == nullptr && !contains(kKnown, name) && !contains(kHarmless, name)) refuse_name(name);
  if (variable != nullptr) check_value(*variable, value);
  values_[std::string{name}] = value;
}

void Settings::set_from_log(std::string_view key, std::string_view value) { values_[std::string{bare(key)}] = value; }

std::optional<std::string> Settings::find(std::string_view key) const {
  const auto found = values_.find(std::string{key});
  return found == values_.end() ? std::nullopt : std::optional{found->second};
}

std::optional<std::int64_t> Settings::raw_integer(std::string_view key) const {
  const auto text = find(key);
  return text ? parse_integer(*text) : std::nullopt;
}

std::optional<int> Settings::integer(std::string_view key) const {
  const auto value = raw_integer(key);
  const Variable* variable = modelled(key);
  if (!value || (variable != nullptr && !in_range(*variable, *value))) return std::nullopt;
  if (*value < std::numeric_limits<int>::min() || *value > std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<int>(*value);
}

std::optional<Bytes> Settings::bytes(std::string_view key) const {
  const auto value = integer(key);
  return value ? std::optional{Bytes{*value}} : std::nullopt;
}

std::vector<std::int64_t> Settings::integers(std::string_view key) const {
  bool all = false;
  return parse_integers(find(key).value_or(""), all);
}

NcclVersion Settings::version() const {
  const auto text = find(kVersion);
  return text ? parse_version(*text) : NcclVersion::k2_30;
}

std::string Settings::release_note() const {
  const auto text = find(kVersion);
  return text ? stand_in_note(*text) : std::string{};
}

std::vector<std::string> Settings::ignored() const {
  std::vector<std::string> list;
  for (const auto& [key, value] : values_) {
    const bool acts = key == kQps ? value == "1" : modelled(key) != nullptr;
    if (key != kVersion && !acts && !contains(kHarmless, key)) list.push_back(fmt::format("NCCL_{}={}", key, value));
  }
  return list;
}

}  // namespace weft::coll::nccl
