// Workloads for tests, from a few lines of YAML, on a star of bare hosts.
#pragma once

#include <string>
#include <vector>

#include "sim/core/config/node.h"
#include "sim/core/error.h"
#include "sim/workloads/workload.h"
#include "tests/support/topologies.h"

namespace weft::work::test {

// As if the text stood in `folder`, for the files it names.
inline Workload read(const std::string& yaml, const net::Topology& topology, const net::PacketSettings* packet = nullptr,
                     const std::string& folder = {}) {
  Diagnostics diagnostics;
  const ConfigNode node = ConfigNode::parse(yaml, folder + "workload.yaml", "workload");
  Workload workload = read_workload(node, {topology, packet, 1}, diagnostics);
  diagnostics.throw_if_any();
  return workload;
}

// The messages of all errors, in order; empty: it reads.
inline std::vector<std::string> errors(const std::string& yaml, const net::Topology& topology,
                                       const net::PacketSettings* packet = nullptr, const std::string& folder = {}) {
  try {
    static_cast<void>(read(yaml, topology, packet, folder));
  } catch (const ConfigError& error) {
    std::vector<std::string> messages;
    for (const Diagnostic& diagnostic : error.diagnostics()) messages.push_back(diagnostic.message);
    return messages;
  }
  return {};
}

}  // namespace weft::work::test
