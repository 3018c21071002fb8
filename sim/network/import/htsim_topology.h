// Reads htsim's fat-tree topology files (.topo) as the YAML of a cluster of bare hosts:
//
//   Nodes 1024               # lines beginning with # are comments; words count in any case
//   Tiers 3                  # or 2: leaves and spines
//   Podsize 64               # hosts
//   Tier 0                   # the switches of the hosts; then Tier 1, Tier 2
//   Downlink_speed_Gbps 100
//   Downlink_Latency_ns 1000
//   Switch_Latency_ns 0      # may be absent
//   Radix_Down 8
//   Radix_Up 8               # not of the top tier
//   Oversubscribed 1         # may be absent: rates down over rates up
//   Bundle 1                 # cables to each switch below; may be absent
//
// Ports decide how many switches there are; what does not come out even is an error. Queue_Up and Queue_Down are left aside, as
// htsim's programs do, which take queues from their options. Tiers that differ in rate, latency or bundles become a custom
// fabric.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.h"

namespace weft::net {

// Whether a text is one: its first word that is no comment.
[[nodiscard]] bool is_htsim_topology(std::string_view text);

struct HtsimTopology {
  std::string cluster;  // YAML
  std::vector<Diagnostic> warnings;
};

// Throws ConfigError with every error found. `name`: of the cluster, and in its first comment.
[[nodiscard]] HtsimTopology read_htsim_topology(std::string_view text, const std::string& file, const std::string& name);

}  // namespace weft::net
