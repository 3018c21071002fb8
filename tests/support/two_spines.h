// The smallest network with two ways between some hosts: for failing cables.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "tests/support/topologies.h"

namespace weft::testing {

// h0 and h1 on s0, h2 and h3 on s1, and two ways between: over s2 and over s3. 100 Gb/s, no latency.
inline net::Topology two_spines(Bytes packet = {}) {
  using namespace literals;
  net::TopologyBuilder builder;
  add_bare_hosts(builder, 4);
  const std::uint32_t spec = builder.add_spec(plain_link(100_Gbps, {}, packet));
  std::array<DeviceId, 4> s;
  for (std::size_t i = 0; i < s.size(); ++i) s[i] = builder.add_switch(plain_switch("s" + std::to_string(i)));
  for (std::uint32_t h = 0; h < 4; ++h) builder.add_cable(builder.device_of(h, 0), s[h / 2], spec);
  for (const std::size_t spine : {2U, 3U}) {
    builder.add_cable(s[0], s[spine], spec);
    builder.add_cable(s[1], s[spine], spec);
  }
  return std::move(builder).freeze();
}

}  // namespace weft::testing
