#include "sim/network/import/graphviz.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/config/quantity.h"
#include "sim/core/printable.h"

namespace weft::net {
namespace {

std::string_view style_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kGpu:
      return "shape=box, fillcolor=\"#76b900\"";
    case DeviceKind::kNvSwitch:
      return "shape=hexagon, fillcolor=\"#c5e89b\"";
    case DeviceKind::kPcieSwitch:
      return "shape=ellipse, fillcolor=\"#ffe08a\"";
    case DeviceKind::kCpu:
      return "shape=component, fillcolor=\"#9ecae1\"";
    case DeviceKind::kNic:
      return "shape=cds, fillcolor=\"#fdae6b\"";
    case DeviceKind::kSwitch:
      return "shape=octagon, fillcolor=\"#d9d9d9\"";
    case DeviceKind::kHost:
      return "shape=box3d, fillcolor=\"#bcbddc\"";
    case DeviceKind::kStorage:
      return "shape=cylinder, fillcolor=\"#e7cba9\"";
  }
  return "shape=plain";
}

// A quoted identifier: only quotes and backslashes need care.
std::string quoted_id(std::string_view text) {
  std::string out = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// To a tenth of a gigabit, which tells links apart without the tail of a PCIe coding.
std::string rate_text(Bandwidth rate) {
  constexpr std::int64_t kTenth = 100'000'000;
  const std::int64_t tenths = (rate.bits_per_second() + kTenth / 2) / kTenth;
  return tenths == 0 ? to_string(rate) : to_string(Bandwidth::from_bits_per_second(tenths * kTenth));
}

// Its head and its devices.
std::string drawn_devices(const Topology& topology, std::string_view kind) {
  std::string out = fmt::format(
      "{} weft {{\n  graph [rankdir=TB, compound=true];\n  node [style=filled, fontname=\"Helvetica\"];\n  edge "
      "[fontname=\"Helvetica\", fontsize=9];\n",
      kind);
  const auto device_line = [&](DeviceId device, std::string_view label, std::string_view indent) {
    out += fmt::format("{}{} [label={}, {}];\n", indent, quoted_id(topology.name(device)), quoted_id(label),
                       style_of(topology.kind(device)));
  };
  for (std::size_t host = 0; host < topology.host_count(); ++host) {
    const HostTemplate& host_template = topology.template_of_host(host);
    if (host_template.devices.size() == 1) {
      device_line(topology.device_of(host, 0), topology.name(topology.device_of(host, 0)), "  ");
      continue;
    }
    out += fmt::format("  subgraph cluster_n{} {{\n    label={};\n", host,
                       quoted_id(fmt::format("n{} ({})", host, host_template.name)));
    for (std::uint32_t i = 0; i < host_template.devices.size(); ++i)
      device_line(topology.device_of(host, i), host_template.devices[i].name, "    ");
    out += "  }\n";
  }
  for (const DeviceId device : topology.fabric_switches()) device_line(device, topology.name(device), "  ");
  return out;
}

}  // namespace

std::string export_dot(const Topology& topology, std::span<const double> loads) {
  std::string out = drawn_devices(topology, "digraph");
  const double most = loads.empty() ? 0 : std::ranges::max(loads);
  const auto load_of = [&](LinkId link) { return loads[link.index()]; };
  for (std::size_t i = 0; i < topology.link_count(); ++i) {
    const LinkId id = LinkId::from_index(i);
    const Link& link = topology.link(id);
    const std::string ends = fmt::format("  {} -> {}", quoted_id(topology.name(link.from)), quoted_id(topology.name(link.to)));
    constexpr double kWidest = 5;  // points, beyond the thinnest
    if (load_of(id) > 0) {
      out += fmt::format("{} [label={}, penwidth={:.2f}, color=\"#d62728\"];\n", ends,
                         quoted_id(fmt::format("{:.4g}", load_of(id))), 1 + kWidest * load_of(id) / most);
    } else if (link.twin.index() > i && load_of(link.twin) == 0) {
      out += ends + " [dir=none, color=\"#bbbbbb\", penwidth=0.5];\n";
    }
  }
  return out + "}\n";
}

std::string export_dot(const Topology& topology) {
  std::string out = drawn_devices(topology, "graph");
  for (std::size_t i = 0; i < topology.link_count(); ++i) {
    const Link& link = topology.link(LinkId::from_index(i));
    if (link.twin.index() < i) continue;  // one edge for both directions
    const LinkSpec& spec = topology.spec(LinkId::from_index(i));
    out += fmt::format("  {} -- {} [label={}{}];\n", quoted_id(topology.name(link.from)), quoted_id(topology.name(link.to)),
                       quoted_id(fmt::format("{} x{} {}", spec.type, spec.width, rate_text(spec.rate))),
                       topology.is_absent(link.twin) ? ", dir=forward" : "");
  }
  return out + "}\n";
}

}  // namespace weft::net
