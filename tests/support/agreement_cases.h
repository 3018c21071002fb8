// Thirty networks where neither congestion control nor shared pauses are in play, each with what is sent over it at once: where
// fidelities have to agree.
#pragma once

#include <string>
#include <vector>

#include "tests/support/packet_shapes.h"

namespace weft::testing {

struct Post {
  int from;
  int to;
  Bytes bytes;
};

struct AgreementCase {
  std::string name;
  PacketShape shape;
  std::vector<Post> posts = {};
  std::string routing = "ecmp";
  Bytes packet{1'000};
  bool store_and_forward = true;
  Duration forwarding = {};
};

inline PacketShape chain_shape(int switches, const std::vector<Bandwidth>& rates, Duration latency) {
  PacketShape shape{.hosts = 2, .switches = switches};
  const auto rate = [&](int link) { return rates[static_cast<std::size_t>(link) % rates.size()]; };
  if (switches == 0) {
    shape.add("h", 0, "h", 1, rate(0), latency);
    return shape;
  }
  shape.add("h", 0, "s", 0, rate(0), latency);
  for (int i = 0; i + 1 < switches; ++i) shape.add("s", i, "s", i + 1, rate(i + 1), latency);
  shape.add("s", switches - 1, "h", 1, rate(switches), latency);
  return shape;
}

inline std::vector<AgreementCase> agreement_cases() {
  using namespace literals;
  std::vector<AgreementCase> all;
  // One flow over one to five links, store-and-forward and cut-through, small and large.
  for (int links = 1; links <= 5; ++links) {
    all.push_back({.name = "chain of " + std::to_string(links) + " links",
                   .shape = chain_shape(links - 1, {100_Gbps}, 1_us),
                   .posts = {{0, 1, 2_MB}}});
    all.push_back({.name = "cut-through over " + std::to_string(links) + " links",
                   .shape = chain_shape(links - 1, {400_Gbps}, 100_ns),
                   .posts = {{0, 1, 20_KB}},
                   .packet = 4_KB,
                   .store_and_forward = false,
                   .forwarding = 300_ns});
  }
  // One packet, and less than one.
  for (const Bytes bytes : {1_B, 999_B, 1_KB})
    all.push_back(
        {.name = std::to_string(bytes.count()) + " B", .shape = chain_shape(3, {100_Gbps}, 500_ns), .posts = {{0, 1, bytes}}});
  // A slow link first, in the middle and last.
  for (std::size_t slow = 0; slow < 3; ++slow) {
    std::vector<Bandwidth> rates(3, 200_Gbps);
    rates[slow] = 50_Gbps;
    all.push_back(
        {.name = "slow link " + std::to_string(slow), .shape = chain_shape(2, rates, 500_ns), .posts = {{0, 1, 1_MB}}});
  }
  // n flows out of one host to as many others: they share its link.
  for (const int n : {2, 5, 16}) {
    AgreementCase s{.name = "one host to " + std::to_string(n), .shape = star_shape(n + 1, 100_Gbps, 500_ns)};
    for (int i = 1; i <= n; ++i) s.posts.push_back({0, i, 500_KB});
    all.push_back(s);
  }
  // Different sizes out of one host: the short ones finish first.
  {
    AgreementCase s{.name = "three sizes", .shape = star_shape(4, 100_Gbps, 1_us)};
    s.posts = {{0, 1, 300_KB}, {0, 2, 600_KB}, {0, 3, 1'200_KB}};
    all.push_back(s);
  }
  // Disjoint pairs of different rates.
  {
    AgreementCase s{.name = "pairs", .shape = {.hosts = 6, .switches = 1}};
    const Bandwidth rates[] = {25_Gbps, 100_Gbps, 400_Gbps};
    for (int h = 0; h < 6; ++h) s.shape.add("h", h, "s", 0, rates[h / 2], 200_ns);
    s.posts = {{0, 1, 1_MB}, {2, 3, 1_MB}, {4, 5, 1_MB}};
    all.push_back(s);
  }
  // Both directions at once do not meet.
  all.push_back({.name = "both ways", .shape = chain_shape(2, {100_Gbps}, 1_us), .posts = {{0, 1, 1_MB}, {1, 0, 1_MB}}});
  // Few into one: ports of a switch share an output evenly.
  for (const int n : {2, 3, 4}) {
    AgreementCase s{.name = std::to_string(n) + " into one", .shape = star_shape(n + 1, 100_Gbps, 1_us)};
    for (int i = 0; i < n; ++i) s.posts.push_back({i, n, 1_MB});
    all.push_back(s);
  }
  // Permutations where every uplink has as much as its hosts: all at line rate. Packets that find their way one by one meet on
  // the way down, and queues grow as the root of what has been sent: the larger the message, the closer to fluid.
  for (const int shift : {1, 4, 7, 8}) {
    AgreementCase s{.name = "fat tree, shift " + std::to_string(shift),
                    .shape = fat_tree_shape(4, 100_Gbps, 500_ns),
                    .routing = "adaptive"};
    for (int h = 0; h < 16; ++h) s.posts.push_back({h, (h + shift) % 16, 8_MB});
    all.push_back(s);
  }
  {
    AgreementCase s{
        .name = "leaf-spine, shift 4", .shape = leaf_spine_shape(4, 4, 4, 100_Gbps, 100_Gbps, 500_ns), .routing = "adaptive"};
    for (int h = 0; h < 16; ++h) s.posts.push_back({h, (h + 4) % 16, 4_MB});
    all.push_back(s);
  }
  return all;
}

}  // namespace weft::testing
