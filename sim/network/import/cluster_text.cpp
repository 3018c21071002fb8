#include "sim/network/import/cluster_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/core/config/node.h"
#include "sim/core/config/quantity.h"
#include "sim/network/import/nccl_xml_reader.h"
#include "sim/network/link_type.h"
#include "sim/network/wiring.h"

namespace weft::net {
namespace {

// NCCL's names for what a node template says (wiring.h), by the element that has them.
struct LabelName {
  std::string_view element, attribute, key;
};
constexpr LabelName kLabelNames[] = {{"pci", "busid", "bus_id"},
                                     {"pci", "vendor", "vendor"},
                                     {"pci", "device", "device"},
                                     {"pci", "subsystem_vendor", "subsystem_vendor"},
                                     {"pci", "subsystem_device", "subsystem_device"},
                                     {"gpu", "dev", "dev"},
                                     {"gpu", "sm", "sm"},
                                     {"gpu", "rank", "rank"},
                                     {"gpu", "gdr", "gdr"},
                                     {"gpu", "gcn", "gcn"},
                                     {"net", "name", "net_name"},
                                     {"net", "dev", "dev"},
                                     {"net", "speed", "speed"},
                                     {"net", "port", "port"},
                                     {"net", "guid", "guid"},
                                     {"net", "maxconn", "maxconn"},
                                     {"net", "gdr", "gdr"},
                                     {"net", "coll", "coll"},
                                     {"net", "rail", "rail"},
                                     {"net", "plane", "plane"},
                                     {"cpu", "numaid", "numa"},
                                     {"cpu", "arch", "arch"},
                                     {"cpu", "vendor", "vendor"},
                                     {"cpu", "familyid", "family"},
                                     {"cpu", "modelid", "model"},
                                     {"cpu", "host_hash", "host_hash"},
                                     {"cpu", "affinity", "affinity"}};

bool is_flag(std::string_view key) { return key == "gdr" || key == "coll"; }
bool is_text(std::string_view key) {
  constexpr std::string_view kNumbers[] = {"dev", "sm", "rank", "port", "maxconn", "rail", "plane", "numa", "family"};
  return !is_flag(key) && key != "speed" && std::ranges::find(kNumbers, key) == std::end(kNumbers);
}

// The labels of a device as a node template has them; what it has no key for is left out.
Labels template_labels(const TemplateDevice& device) {
  Labels labels;
  const auto add = [&](std::string_view key, const std::string& value) {
    if (find_label(labels, key) != nullptr || value.empty()) return;
    if (is_flag(key)) {
      labels.emplace_back(key, value == "0" || value == "false" ? "false" : "true");
    } else if (key == "speed") {
      const auto megabits = parse_attribute_integer(value);
      if (megabits && *megabits <= 0) return;
      labels.emplace_back(key, megabits ? fmt::format("{} Mb/s", *megabits) : value);
    } else if (is_text(key) || parse_attribute_integer(value)) {
      labels.emplace_back(key, is_text(key) ? value : fmt::format("{}", *parse_attribute_integer(value)));
    }
  };
  if (device.labels.empty() || device.labels.front().first != kElementLabel) {
    const auto keys = device_label_keys();
    for (const auto& [key, value] : device.labels) {
      if (std::ranges::find(keys, key) != keys.end()) add(key, value);
    }
    return labels;
  }
  for (const XmlElement& element : elements_of(device.labels)) {
    for (const LabelName& name : kLabelNames) {
      const std::string* value = element.name == name.element ? element.find(name.attribute) : nullptr;
      if (value != nullptr) add(name.key, *value);
    }
  }
  return labels;
}

// A file of one node of a job has the job's ranks; in a node they count from 0.
std::vector<std::string> ranks_from_zero(const HostTemplate& host) {
  std::vector<std::pair<std::int64_t, std::size_t>> order;
  for (std::size_t i = 0; i < host.devices.size(); ++i) {
    if (const std::string* rank = find_label(host.devices[i].labels, "rank"))
      order.emplace_back(parse_attribute_integer(*rank).value_or(0), i);
  }
  std::ranges::sort(order);
  std::vector<std::string> ranks(host.devices.size());
  for (std::size_t i = 0; i < order.size(); ++i) ranks[order[i].second] = fmt::format("{}", i);
  return ranks;
}

std::string device_line(const TemplateDevice& device, const Labels& labels, const std::string& gpu_model) {
  std::string line = fmt::format("    - {{name: {}, kind: {}", device.name, to_string(device.kind));
  if (device.kind == DeviceKind::kGpu && !gpu_model.empty()) line += fmt::format(", model: {}", gpu_model);
  for (const auto& [key, value] : labels) {
    const bool quoted = is_text(key) && !(device.kind == DeviceKind::kCpu && key == "model");
    line += fmt::format(", {}: {}", key, quoted ? yaml_scalar(value) : value);
  }
  return line + "}\n";
}

std::string link_line(const HostTemplate& host, const TemplateLink& link, const LinkSpec& spec, const Profile& profile) {
  const bool pcie = find_link_type(spec.type)->medium() == LinkMedium::kPcie;
  std::string line =
      fmt::format("    - {{between: [{}, {}], type: {}", host.devices[link.from].name, host.devices[link.to].name, spec.type);
  // Lanes are a power of two there, and give the rate: generations 1 and 2, and x12, show in the efficiency.
  const int width = pcie ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(spec.width))) : spec.width;
  const LinkSpec usual = make_link_spec(spec.type, width, profile);
  const bool other_rate = spec.rate != usual.rate;
  if (pcie || width != 1) line += fmt::format(", {}: {}", pcie ? "lanes" : "width", width);
  if (other_rate && !pcie) line += fmt::format(", rate: {} b/s", spec.rate.bits_per_second());
  if (other_rate && pcie) {
    const double share = static_cast<double>(spec.rate.bits_per_second()) / static_cast<double>(usual.rate.bits_per_second());
    line += fmt::format(", efficiency: {}", spec.efficiency * share);
  } else if (spec.efficiency != usual.efficiency) {
    line += fmt::format(", efficiency: {}", spec.efficiency);
  }
  return line + "}\n";
}

// The speed that most NICs have, and whether others have another.
std::optional<std::pair<Bandwidth, bool>> usual_speed(const std::vector<Labels>& nics) {
  std::map<std::int64_t, int> counts;
  for (const Labels& labels : nics) {
    const std::string* speed = find_label(labels, "speed");
    if (const auto rate = speed == nullptr ? std::nullopt : parse_bandwidth(*speed)) ++counts[rate->bits_per_second()];
  }
  if (counts.empty()) return std::nullopt;
  const auto most = std::ranges::max_element(counts, {}, &std::pair<const std::int64_t, int>::second);
  return std::pair{Bandwidth::from_bits_per_second(most->first), counts.size() > 1};
}

bool is_infiniband(const HostTemplate& host) {
  return std::ranges::any_of(host.devices, [](const TemplateDevice& device) {
    const std::string* pci_class = find_label(device.labels, "class");
    return pci_class != nullptr && pci_class->starts_with("0x0207");
  });
}

}  // namespace

std::string cluster_text(const Topology& topology, const Profile& profile, const ClusterTextOptions& options) {
  const HostTemplate& host = topology.template_of_host(0);
  std::string text = fmt::format("# Made by weft topo import from {}.\n", yaml_scalar(options.source));
  text += fmt::format("name: {}\nnodes: 1\nnode:\n  kind: node\n  name: {}\n  devices:\n", yaml_scalar(options.name),
                      yaml_scalar(options.name));
  std::vector<Labels> nics;
  std::set<std::pair<std::string, std::string>> numbers;  // of NICs, by OS host; one that is given twice is not said
  std::string os_host;
  const std::vector<std::string> ranks = ranks_from_zero(host);
  for (std::size_t i = 0; i < host.devices.size(); ++i) {
    const TemplateDevice& device = host.devices[i];
    Labels labels = template_labels(device);
    for (auto& [key, value] : labels) {
      if (key == "rank") value = ranks[i];
    }
    if (device.kind == DeviceKind::kCpu) os_host = label_of(labels, "host_hash");
    if (device.kind == DeviceKind::kNic) {
      std::erase_if(labels, [&](const auto& l) { return l.first == "dev" && !numbers.emplace(os_host, l.second).second; });
    }
    text += device_line(device, labels, options.gpu_model);
    if (device.kind == DeviceKind::kNic) nics.push_back(std::move(labels));
  }
  if (!host.links.empty()) text += "  links:\n";
  for (std::uint32_t i = 0; i < host.links.size(); ++i) {
    if (host.links[i].twin > i) text += link_line(host, host.links[i], topology.spec_at(host.links[i].spec), profile);
  }
  const auto speed = usual_speed(nics);
  if (!speed) return text;
  text += fmt::format(
      "# The fabric is not in the file: one switch, which counts from two nodes on (--set nodes=2).{}\n"
      "fabric:\n  type: single_switch\n  link: {{type: {}, rate: {} Mb/s}}\n",
      speed->second ? " NICs of another speed get this rate too." : "", is_infiniband(host) ? "infiniband" : "ethernet",
      speed->first.bits_per_second() / 1'000'000);
  return text;
}

}  // namespace weft::net
