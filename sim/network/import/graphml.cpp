#include "sim/network/import/graphml.h"

#include <fmt/format.h>

#include "sim/core/config/quantity.h"
#include "sim/network/import/xml_text.h"

namespace weft::net {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  append_escaped(out, text);
  return out;
}

std::string data(std::string_view key, std::string_view value) {
  return fmt::format("<data key=\"{}\">{}</data>", key, escaped(value));
}

constexpr std::string_view kHead =
    R"(<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
  <key id="name" for="node" attr.name="name" attr.type="string"/>
  <key id="kind" for="node" attr.name="kind" attr.type="string"/>
  <key id="host" for="node" attr.name="host" attr.type="int"/>
  <key id="labels" for="node" attr.name="labels" attr.type="string"/>
  <key id="type" for="edge" attr.name="type" attr.type="string"/>
  <key id="width" for="edge" attr.name="width" attr.type="int"/>
  <key id="rate" for="edge" attr.name="rate_bits_per_second" attr.type="long"/>
  <key id="efficiency" for="edge" attr.name="efficiency" attr.type="double"/>
  <key id="latency" for="edge" attr.name="latency_ps" attr.type="long"/>
  <graph id="weft" edgedefault="directed">
)";

}  // namespace

std::string export_graphml(const Topology& topology) {
  std::string out{kHead};
  for (std::size_t i = 0; i < topology.device_count(); ++i) {
    const DeviceId device = DeviceId::from_index(i);
    out += fmt::format("    <node id=\"d{}\">{}{}", i, data("name", topology.name(device)),
                       data("kind", to_string(topology.kind(device))));
    if (topology.host_of(device) >= 0) out += data("host", fmt::format("{}", topology.host_of(device)));
    std::string labels;
    for (const auto& [key, value] : topology.labels(device))
      labels += fmt::format("{}{}={}", labels.empty() ? "" : ";", key, value);
    if (!labels.empty()) out += data("labels", labels);
    out += "</node>\n";
  }
  for (std::size_t i = 0; i < topology.link_count(); ++i) {
    const LinkId id = LinkId::from_index(i);
    const Link& link = topology.link(id);
    const LinkSpec& spec = topology.spec(id);
    out += fmt::format("    <edge id=\"l{}\" source=\"d{}\" target=\"d{}\">{}{}{}{}{}</edge>\n", i, link.from.value(),
                       link.to.value(), data("type", spec.type), data("width", fmt::format("{}", spec.width)),
                       data("rate", fmt::format("{}", spec.rate.bits_per_second())),
                       data("efficiency", number_text(spec.efficiency)), data("latency", fmt::format("{}", spec.latency.ps())));
  }
  return out + "  </graph>\n</graphml>\n";
}

}  // namespace weft::net
