#include "sim/measured/fit/sample.h"

#include "sim/core/error.h"
#include "sim/scenario/scenario.h"

namespace weft::measured {

net::Cluster with_profile(const net::Cluster& cluster, const Profile& profile) {
  // A map laid over a map would merge, so the old one goes first.
  const ConfigNode node = cluster.resolved.with_override("profile", "null", "calibrate")
                              .with_value("profile", ConfigNode::parse(profile.to_yaml(), "profile", "profile"));
  Diagnostics diagnostics;
  return net::load_cluster(node, {.profile = {}, .groups = scenario::all_param_groups()}, diagnostics);
}

const net::Cluster& Trial::cluster() {
  WEFT_CHECK(loaded_ != nullptr);
  if (!cluster_) cluster_ = with_profile(*loaded_, profile_);
  return *cluster_;
}

}  // namespace weft::measured
