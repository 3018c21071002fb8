// Clusters for tests, from a few lines of YAML, and counts over their topologies.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/config/node.h"
#include "sim/core/config/params.h"
#include "sim/core/error.h"
#include "sim/network/cluster.h"

namespace weft::net::test {

// As if the text stood beside the shipped clusters.
inline ConfigNode cluster_node(const std::string& yaml) {
  return ConfigNode::parse(yaml, WEFT_SOURCE_DIR "/configs/clusters/of_a_test.yaml", "cluster");
}

inline Cluster load(const ConfigNode& node) {
  Diagnostics diagnostics;
  return load_cluster(node, {}, diagnostics);
}
inline Cluster load(const std::string& yaml) { return load(cluster_node(yaml)); }

// A shipped cluster, with every parameter at its declared default.
inline ConfigNode shipped_node(const std::string& name) {
  return ConfigNode::load_file(WEFT_SOURCE_DIR "/configs/clusters/" + name + ".yaml", "cluster")
      .with_override("profile", "{kind: profile, name: defaults}", "test");
}
inline Cluster shipped(const std::string& name) { return load(shipped_node(name)); }

// Bare hosts on a fabric given by its keys: "type: torus, dims: [4, 4, 4]".
inline std::string hosts_yaml(std::int64_t nodes, std::string_view fabric) {
  return fmt::format("{{nodes: {}, node: {{type: host}}, fabric: {{{}, link: {{type: ethernet, rate: 400 Gb/s}}}}}}", nodes,
                     fabric);
}
inline Topology hosts_on(std::int64_t nodes, std::string_view fabric) { return load(hosts_yaml(nodes, fabric)).topology; }

// The messages of all errors of loading, in order; empty: it loaded.
inline std::vector<std::string> load_errors(const std::string& yaml, std::vector<std::string>* notes = nullptr) {
  try {
    static_cast<void>(load(yaml));
  } catch (const ConfigError& error) {
    std::vector<std::string> messages;
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      messages.push_back(diagnostic.message);
      if (notes != nullptr) notes->push_back(diagnostic.note);
    }
    return messages;
  }
  return {};
}

// Switches by the letters of their names ("leaf" -> 16), and cables by the letters of both ends, in order ("leaf-spine" ->
// 512).
inline std::string stem_of(const Topology& topology, DeviceId device) {
  const std::string name = topology.name(device);
  const std::string last = name.substr(name.find('.') == std::string::npos ? 0 : name.find('.') + 1);
  return last.substr(0, last.find_first_of("0123456789"));
}
inline std::map<std::string, int> switch_counts(const Topology& topology) {
  std::map<std::string, int> counts;
  for (const DeviceId device : topology.fabric_switches()) ++counts[stem_of(topology, device)];
  return counts;
}
inline std::map<std::string, int> cable_counts(const Topology& topology) {
  std::map<std::string, int> counts;
  for (std::size_t i = 0; i < topology.link_count(); ++i) {
    const LinkId id = LinkId::from_index(i);
    const Link& link = topology.link(id);
    if (link.twin < id) continue;  // the way back
    if (topology.host_of(link.from) >= 0 && topology.host_of(link.to) >= 0) continue;
    ++counts[stem_of(topology, link.from) + "-" + stem_of(topology, link.to)];
  }
  return counts;
}

// Links from each device to the next, over `through` only: -1 where there is no way.
template <class Through>
std::vector<int> hops_from(const Topology& topology, DeviceId from, Through&& through) {
  std::vector<int> hops(topology.device_count(), -1);
  std::deque<DeviceId> next{from};
  hops[from.index()] = 0;
  while (!next.empty()) {
    const DeviceId at = next.front();
    next.pop_front();
    for (const LinkId link : topology.out_links(at)) {
      const DeviceId to = topology.link(link).to;
      if (hops[to.index()] >= 0 || !through(to)) continue;
      hops[to.index()] = hops[at.index()] + 1;
      next.push_back(to);
    }
  }
  return hops;
}
inline std::vector<int> hops_from(const Topology& topology, DeviceId from) {
  return hops_from(topology, from, [](DeviceId) { return true; });
}

inline std::string label(const Topology& topology, DeviceId device, std::string_view key) {
  for (const auto& [name, value] : topology.labels(device)) {
    if (name == key) return value;
  }
  return "";
}

}  // namespace weft::net::test
