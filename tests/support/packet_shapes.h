// Cables of small networks of bare hosts for PacketRun: a star, leaves and spines, a fat tree.
#pragma once

#include <string>
#include <vector>

#include "tests/support/packet_run.h"

namespace weft::testing {

struct PacketShape {
  int hosts = 0;
  int switches = 0;
  std::vector<PacketRun::Cable> cables = {};

  void add(const std::string& a, int i, const std::string& b, int j, Bandwidth rate, Duration latency) {
    cables.push_back({a + std::to_string(i), b + std::to_string(j), rate, latency});
  }
};

inline PacketShape star_shape(int hosts, Bandwidth rate, Duration latency) {
  PacketShape shape{.hosts = hosts, .switches = 1};
  for (int h = 0; h < hosts; ++h) shape.add("h", h, "s", 0, rate, latency);
  return shape;
}

// Switches: leaves, then spines; each leaf has one cable to each spine.
inline PacketShape leaf_spine_shape(int leaves, int hosts_per_leaf, int spines, Bandwidth rate, Bandwidth uplink,
                                    Duration latency) {
  PacketShape shape{.hosts = leaves * hosts_per_leaf, .switches = leaves + spines};
  for (int h = 0; h < shape.hosts; ++h) shape.add("h", h, "s", h / hosts_per_leaf, rate, latency);
  for (int l = 0; l < leaves; ++l) {
    for (int p = 0; p < spines; ++p) shape.add("s", l, "s", leaves + p, uplink, latency);
  }
  return shape;
}

// k-ary, k even: k pods of k/2 leaves and k/2 spines, (k/2)^2 cores, k^3/4 hosts. Switches: leaves, spines, cores.
inline PacketShape fat_tree_shape(int k, Bandwidth rate, Duration latency) {
  const int half = k / 2;
  PacketShape shape{.hosts = k * half * half, .switches = 2 * k * half + half * half};
  for (int h = 0; h < shape.hosts; ++h) shape.add("h", h, "s", h / half, rate, latency);
  for (int pod = 0; pod < k; ++pod) {
    for (int a = 0; a < half; ++a) {
      for (int b = 0; b < half; ++b) {
        shape.add("s", pod * half + a, "s", k * half + pod * half + b, rate, latency);
        shape.add("s", k * half + pod * half + a, "s", 2 * k * half + a * half + b, rate, latency);
      }
    }
  }
  return shape;
}

}  // namespace weft::testing
