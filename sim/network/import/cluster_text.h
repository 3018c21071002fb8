// A cluster's YAML from an imported topology: one node of its kind, as a user would write it, to be used at once and edited.
//
// Model: in which order a GPU lists its links is not kept, so of rings that are equally fast NCCL may find others.
#pragma once

#include <string>

#include "sim/core/profile.h"
#include "sim/network/topology.h"

namespace weft::net {

struct ClusterTextOptions {
  std::string name;
  std::string source;     // what it was made from, for the first comment
  std::string gpu_model;  // of the GPUs ("h200_sxm"), empty: not said
};

// The node of host 0. NICs whose speed is known get a fabric of one switch, which counts from two nodes on.
[[nodiscard]] std::string cluster_text(const Topology& topology, const Profile& profile, const ClusterTextOptions& options);

}  // namespace weft::net
