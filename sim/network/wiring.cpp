#include "sim/network/wiring.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "sim/core/config/nearest.h"
#include "sim/core/config/quantity.h"
#include "sim/network/link_type.h"
#include "sim/network/name_range.h"

namespace weft::net {
namespace {

enum class LabelType { kNumber, kText, kBoolean, kBandwidth, kSize };

struct LabelRule {
  std::string_view key;
  LabelType type;
};

constexpr std::array kLabels{
    LabelRule{"sm", LabelType::kNumber},
    LabelRule{"rank", LabelType::kNumber},
    LabelRule{"dev", LabelType::kNumber},
    LabelRule{"family", LabelType::kNumber},
    LabelRule{"model", LabelType::kText},
    LabelRule{"numa", LabelType::kNumber},
    LabelRule{"rail", LabelType::kNumber},
    LabelRule{"plane", LabelType::kNumber},
    LabelRule{"port", LabelType::kNumber},
    LabelRule{"maxconn", LabelType::kNumber},
    LabelRule{"tray", LabelType::kNumber},
    LabelRule{"group", LabelType::kNumber},
    LabelRule{"arch", LabelType::kText},
    LabelRule{"vendor", LabelType::kText},
    LabelRule{"bus_id", LabelType::kText},
    LabelRule{"guid", LabelType::kText},
    LabelRule{"host_hash", LabelType::kText},
    LabelRule{"affinity", LabelType::kText},
    LabelRule{"module", LabelType::kText},
    LabelRule{"net_name", LabelType::kText},
    LabelRule{"gdr", LabelType::kBoolean},
    LabelRule{"coll", LabelType::kBoolean},
    LabelRule{"gcn", LabelType::kText},
    LabelRule{"device", LabelType::kText},
    LabelRule{"subsystem_vendor", LabelType::kText},
    LabelRule{"subsystem_device", LabelType::kText},
    LabelRule{"speed", LabelType::kBandwidth},
    LabelRule{"memory", LabelType::kSize},
};

constexpr auto kLabelKeys = [] {
  std::array<std::string_view, kLabels.size()> keys;
  for (std::size_t i = 0; i < kLabels.size(); ++i) keys[i] = kLabels[i].key;
  return keys;
}();

// Returns what was expected, where the text is not that; empty: fine.
std::string_view expectation(LabelType type, const std::string& text) {
  switch (type) {
    case LabelType::kNumber:
      return parse_integer(text) ? "" : "an integer";
    case LabelType::kText:
      return text.empty() ? "a text" : "";
    case LabelType::kBoolean:
      return parse_bool(text) ? "" : "true or false";
    case LabelType::kBandwidth:
      return parse_bandwidth(text) ? "" : "a bandwidth such as '400 Gb/s'";
    case LabelType::kSize:
      return parse_bytes(text) ? "" : "a size such as '80 GB'";
  }
  return "";
}

// A letter, then letters, digits, '_' and '-': dots part hosts from devices, and ranges.
bool is_device_name(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto inner = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-'; };
  return !name.empty() && letter(name.front()) && std::ranges::all_of(name, inner);
}

void set_label(Labels& labels, std::string_view key, std::string value) {
  const auto found = std::ranges::find(labels, key, &std::pair<std::string, std::string>::first);
  if (found != labels.end()) {
    found->second = std::move(value);
  } else {
    labels.emplace_back(key, std::move(value));
  }
}

void read_label(ParamReader& entry, const LabelRule& rule, DeviceKind kind, std::span<ListedDevice> devices) {
  const std::optional<ConfigNode> value = entry.optional_raw(rule.key);
  if (!value) return;
  const bool is_model = rule.key == "model";
  const LabelType type = is_model && kind == DeviceKind::kCpu ? LabelType::kNumber : rule.type;
  Diagnostics& diagnostics = entry.diagnostics();
  std::shared_ptr<const GpuSpec> gpu;
  const auto write = [&](ListedDevice& device, const ConfigNode& node) {
    if (is_model && kind == DeviceKind::kGpu) {
      if (gpu == nullptr || value->is_list()) gpu = read_gpu(node, diagnostics);
      if (gpu == nullptr) return false;
      device.device.gpu = gpu;
      device.device.labels.emplace_back(rule.key, gpu->name);
      return true;
    }
    const std::string_view expected = node.is_scalar() ? expectation(type, node.scalar()) : "a single value";
    if (expected.empty()) {
      device.device.labels.emplace_back(rule.key, node.scalar());
      return true;
    }
    report(diagnostics, node, fmt::format("expected {}, got {}", expected, found_text(node)));
    return false;
  };
  if (!value->is_list()) {
    for (ListedDevice& device : devices) {
      if (!write(device, *value)) return;
    }
    return;
  }
  if (value->size() != devices.size()) {
    report(diagnostics, *value, fmt::format("{} values for {} devices", value->size(), devices.size()));
    return;
  }
  for (std::size_t i = 0; i < devices.size(); ++i) write(devices[i], (*value)[i]);
}

// Once all labels are read: those that the data sheet adds.
void complete_gpu(ListedDevice& listed, Diagnostics& diagnostics) {
  const std::shared_ptr<const GpuSpec> gpu = listed.device.gpu;
  if (gpu == nullptr) return;
  const std::string* sm = find_label(listed.device.labels, "sm");
  if (sm != nullptr && gpu->sm > 0 && *sm != std::to_string(gpu->sm)) {
    report(diagnostics, listed.node.find("sm").value_or(listed.node),
           fmt::format("{} has compute capability {}.{}, got sm {}", gpu->name, gpu->sm / 10, gpu->sm % 10, *sm));
  }
  set_gpu(listed.device, gpu);
}

// The names of one side of `between`.
std::vector<std::pair<std::string, ConfigNode>> side_names(const ConfigNode& side, Diagnostics& diagnostics) {
  std::vector<std::pair<std::string, ConfigNode>> names;
  const auto add = [&](const ConfigNode& item) {
    if (!item.is_scalar()) {
      report(diagnostics, item, fmt::format("expected a device name or a range such as 'gpu0..7', got {}", found_text(item)));
      return;
    }
    NameRange range = expand_names(item.scalar(), kMaxListedCables);
    if (!range.error.empty()) report(diagnostics, item, range.error);
    for (std::string& name : range.names) names.emplace_back(std::move(name), item);
  };
  if (side.is_list()) {
    for (std::size_t i = 0; i < side.size(); ++i) add(side[i]);
  } else {
    add(side);
  }
  return names;
}

using Indices = std::vector<std::uint32_t>;
using Cables = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

// The pairs of two sets. On failure `error` says why.
Cables pair_sets(const Indices& a, const Indices& b, const std::string& pairing, std::string& error) {
  Cables cables;
  if (pairing == "all") {
    if (b.empty() || a.size() > kMaxListedCables / b.size()) {
      error = fmt::format("more than {} links", kMaxListedCables);
      return cables;
    }
    for (const std::uint32_t from : a) {
      for (const std::uint32_t to : b) cables.emplace_back(from, to);
    }
  } else if (pairing == "zip") {
    if (a.size() != b.size()) {
      error = fmt::format("pairing zip needs as many devices on both sides, got {} and {}", a.size(), b.size());
      return cables;
    }
    for (std::size_t i = 0; i < a.size(); ++i) cables.emplace_back(a[i], b[i]);
  } else {
    const std::size_t large = std::max(a.size(), b.size());
    const std::size_t small = std::min(a.size(), b.size());
    if (large % small != 0) {
      error = fmt::format("pairing block needs one side to be a multiple of the other, got {} and {}", a.size(), b.size());
      return cables;
    }
    for (std::size_t i = 0; i < large; ++i) {
      const std::size_t shared = i / (large / small);
      cables.emplace_back(a[a.size() == large ? i : shared], b[b.size() == large ? i : shared]);
    }
  }
  return cables;
}

Cables pair_within(const Indices& set, const std::string& pairing) {
  Cables cables;
  if (pairing == "mesh") {
    for (std::size_t i = 0; i < set.size(); ++i) {
      for (std::size_t j = i + 1; j < set.size(); ++j) cables.emplace_back(set[i], set[j]);
    }
    return cables;
  }
  for (std::size_t i = 0; i + 1 < set.size(); ++i) cables.emplace_back(set[i], set[i + 1]);
  if (pairing == "ring" && set.size() > 2) cables.emplace_back(set.back(), set.front());
  return cables;
}

Cables read_pairs(ParamReader& entry, const ResolveName& resolve, std::span<const std::string> known) {
  Diagnostics& diagnostics = entry.diagnostics();
  const ConfigNode between = entry.raw("between");
  if (!between.is_list() || between.size() < 1 || between.size() > 2) {
    if (!between.is_null())
      report(diagnostics, between, fmt::format("expected a list of one or two sets of devices, got {}", found_text(between)));
    static_cast<void>(entry.optional_raw("pairing"));
    return {};
  }
  const bool one_set = between.size() == 1;
  const std::string pairing = one_set ? entry.choice("pairing", {"mesh", "ring", "chain"}, "mesh")
                                      : entry.choice("pairing", {"all", "zip", "block"}, "all");
  std::array<Indices, 2> sets;
  std::array<std::vector<std::pair<std::string, ConfigNode>>, 2> names;
  bool complete = true;
  for (std::size_t side = 0; side < between.size(); ++side) {
    names[side] = side_names(between[side], diagnostics);
    complete &= !names[side].empty();
    for (const auto& [name, where] : names[side]) {
      if (const auto index = resolve(name)) {
        sets[side].push_back(*index);
        continue;
      }
      report(diagnostics, where, fmt::format("unknown device '{}'", name), did_you_mean(name, known, "devices here"));
      complete = false;
      break;  // one error a side: the rest of a range would fail alike
    }
  }
  if (!complete) return {};
  if (one_set && pairing == "mesh" && sets[0].size() > 2'000) {
    report(diagnostics, between, fmt::format("a mesh of {} devices has too many links", sets[0].size()));
    return {};
  }
  std::string error;
  Cables cables = one_set ? pair_within(sets[0], pairing) : pair_sets(sets[0], sets[1], pairing, error);
  if (!error.empty()) report(diagnostics, between, error);
  for (const auto& [a, b] : cables) {
    if (a != b) continue;
    const auto at = std::ranges::find(sets[0], a) - sets[0].begin();
    report(diagnostics, between, fmt::format("joins '{}' to itself", names[0][static_cast<std::size_t>(at)].first),
           one_set ? "" : "links within one set of devices: between: [SET], pairing: mesh, ring or chain");
    return {};
  }
  return cables;
}

}  // namespace

void report(Diagnostics& diagnostics, const ConfigNode& node, std::string_view message, std::string note) {
  diagnostics.error(node.diagnostic(fmt::format("{}: {}", node.path(), message), std::move(note)));
}

std::span<const std::string_view> device_label_keys() { return kLabelKeys; }

void set_gpu(TemplateDevice& device, std::shared_ptr<const GpuSpec> gpu) {
  set_label(device.labels, "model", gpu->name);
  if (gpu->sm > 0) set_label(device.labels, "sm", std::to_string(gpu->sm));
  if (!gpu->gcn.empty()) set_label(device.labels, "gcn", gpu->gcn);
  device.gpu = std::move(gpu);
}

std::vector<ListedDevice> read_devices(ParamReader& params, std::span<const DeviceKind> kinds) {
  std::vector<std::string> kind_names;
  for (const DeviceKind kind : kinds) kind_names.emplace_back(to_string(kind));
  std::vector<ListedDevice> devices;
  std::set<std::string, std::less<>> taken;
  Diagnostics& diagnostics = params.diagnostics();
  for (ParamReader& entry : params.required_maps("devices")) {
    const std::string written = entry.required<std::string>("name");
    const std::string kind_name =
        kinds.size() == 1 ? entry.choice("kind", kind_names, kind_names.front()) : entry.choice("kind", kind_names);
    const DeviceKind kind = kinds[static_cast<std::size_t>(std::ranges::find(kind_names, kind_name) - kind_names.begin())];
    ListedDevice listed;
    listed.device.kind = kind;
    listed.node = entry.node();
    if (const auto ports = entry.optional<std::int64_t>("ports", between<std::int64_t>(1, 1'000'000))) {
      listed.ports = *ports;
      listed.device.labels.emplace_back("ports", std::to_string(*ports));
    }
    if (const auto latency = entry.optional<Duration>("latency")) {
      listed.device.forwarding.latency = *latency;
      listed.states_latency = true;
    }
    listed.device.forwarding.store_and_forward =
        entry.choice<bool>("forwarding", {{"cut_through", false}, {"store_and_forward", true}}, false);

    NameRange range = expand_names(written, kMaxListedDevices);
    if (!written.empty() && !range.error.empty()) entry.error("name", range.error);
    const std::size_t first = devices.size();
    for (std::string& name : range.names) {
      if (written.empty()) break;
      if (!is_device_name(name)) {
        entry.error("name", fmt::format("'{}' is not a device name", name), "a letter, then letters, digits, '_' and '-'");
        break;
      }
      if (!taken.insert(name).second) {
        entry.error("name", fmt::format("device '{}' is listed twice", name));
        break;
      }
      devices.push_back(listed);
      devices.back().device.name = std::move(name);
    }
    for (const LabelRule& rule : kLabels) {
      read_label(entry, rule, kind, std::span{devices}.subspan(first));
    }
    const std::size_t errors_before = diagnostics.errors().size();
    for (std::size_t i = first; i < devices.size() && diagnostics.errors().size() == errors_before; ++i) {
      complete_gpu(devices[i], diagnostics);
    }
    entry.finish();
  }
  return devices;
}

std::vector<ListedLinks> read_links(ParamReader& params, const Profile& profile, const ResolveName& resolve,
                                    std::span<const std::string> known) {
  std::vector<ListedLinks> links;
  for (ParamReader& entry : params.maps("links")) {
    ListedLinks listed;
    listed.node = entry.node();
    listed.spec = read_link_spec(entry, profile);
    listed.spec.weight = entry.optional<double>("weight", 1, positive);
    listed.cables = read_pairs(entry, resolve, known);
    listed.one_way = entry.choice<bool>("direction", {{"both", false}, {"one_way", true}}, false);
    if (listed.one_way && listed.spec.type == "infiniband") {
      entry.error("direction", "InfiniBand gives credits back over the same cable, so its links go both ways",
                  "a one-way link is of type ethernet");
    }
    const std::int64_t count = entry.optional<std::int64_t>("count", 1, between<std::int64_t>(1, 1'024));
    const Cables once = listed.cables;
    for (std::int64_t i = 1; i < count; ++i) listed.cables.insert(listed.cables.end(), once.begin(), once.end());
    entry.finish();
    links.push_back(std::move(listed));
  }
  return links;
}

void check_ports(std::span<const ListedDevice> devices, std::uint32_t first, std::span<const ListedLinks> links,
                 Diagnostics& diagnostics) {
  std::vector<std::int64_t> used(devices.size(), 0);
  std::vector<bool> reported(devices.size(), false);
  for (const ListedLinks& entry : links) {
    const auto join = [&](std::uint32_t index) {
      if (index < first || index - first >= devices.size()) return;
      const std::size_t at = index - first;
      const ListedDevice& device = devices[at];
      // Every NVLink of a bonded link has a port of its own on an NVSwitch; any other link has one however wide it is.
      used[at] += device.device.kind == DeviceKind::kNvSwitch ? entry.spec.width : 1;
      if (device.ports == 0 || used[at] <= device.ports || reported[at]) return;
      reported[at] = true;
      diagnostics.error(
          entry.node.diagnostic(fmt::format("{} joins port {} of '{}', which has {} ports (0 to {})", entry.node.path(),
                                            used[at] - 1, device.device.name, device.ports, device.ports - 1)));
    };
    for (const auto& [a, b] : entry.cables) {
      join(a);
      join(b);
    }
  }
}

}  // namespace weft::net
