// `weft explain channels`: what NCCL's search finds on a cluster's nodes, the rings and trees it makes of that, and how many
// channels of each kind, as NCCL_DEBUG=INFO prints them, as JSON, and as NCCL's graph file.
//
//   const ChannelReport report = explain_channels_of_xml("topo.xml", {.nodes = 4});
//   std::cout << channels_text(report);
#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "sim/collectives/nccl/connect.h"
#include "sim/collectives/nccl/graph.h"
#include "sim/collectives/nccl/system.h"
#include "sim/core/result_header.h"
#include "sim/scenario/import_topology.h"
#include "sim/scenario/scenario.h"

namespace weft::output {

struct ChannelQuestion {
  std::optional<int> nodes = {};       // absent: the cluster's, or 1
  std::optional<int> gpus = {};        // the first of every node; absent: all
  scenario::TopologyHints hints = {};  // what a topology file leaves open
  scenario::Overrides overrides = {};  // `nccl` may say `version=2.30`; absent: the newest modelled
};

struct ChannelReport {
  std::string subject;        // the cluster's name or the file's
  coll::nccl::System system;  // NCCL's view of the first node
  coll::nccl::CommInfo info;
  coll::nccl::NodeGraphs graphs;  // of the first node
  coll::nccl::Connections connections;
  std::string configuration;  // resolved, JSON
  std::vector<ProfileStatement> profiles;
};

// ConfigError with every error found; warnings of loading stay in `diagnostics`.
[[nodiscard]] ChannelReport explain_channels(const std::filesystem::path& cluster, const ChannelQuestion& question,
                                             Diagnostics& diagnostics);
// `nodes` times the machine of NCCL's topology file, read as `topo import` reads it; its GPUs count in the order of their
// ranks.
[[nodiscard]] ChannelReport explain_channels_of_xml(const std::string& file, const ChannelQuestion& question,
                                                    Diagnostics& diagnostics);

// NCCL's lines, then the same graphs by rank, one line a channel:
//
//   ring   pattern 4 crossNic 2 nCh  8 bwIntra 48.00 bwInter 48.00 typeIntra NVL typeInter PIX same 0
//      ch 0: net0 0 7 6 5 4 3 2 1 net1
[[nodiscard]] std::string channels_text(const ChannelReport& report);
[[nodiscard]] std::string channels_graph_xml(const ChannelReport& report);
void write_channels(std::ostream& out, ResultHeader header, const ChannelReport& report);

}  // namespace weft::output
