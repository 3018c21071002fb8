// A node of four GPUs whose parameters a test gives.
#pragma once

#include <string>

#include "sim/core/config/node.h"
#include "sim/core/config/params.h"
#include "sim/network/cluster.h"
#include "sim/scenario/scenario.h"

namespace weft::scenario::test {

// The shipped node h200x4 with the parameters given ("key: {value: ..., source: assumed}, ...") and defaults for the rest.
inline net::Cluster cluster_of(const std::string& text) {
  Diagnostics diagnostics;
  return net::load_cluster(ConfigNode::parse(text, WEFT_SOURCE_DIR "/configs/clusters/of_a_test.yaml", "cluster"),
                           {.profile = {}, .groups = all_param_groups()}, diagnostics);
}

inline net::Cluster four_gpus(const std::string& parameters = "", const std::string& more = "") {
  return cluster_of("{name: four, profile: {kind: profile, name: test, parameters: {" + parameters +
                    "}}, node: {type: h200x4}" + more + "}");
}

}  // namespace weft::scenario::test
