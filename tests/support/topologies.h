// Small topologies for tests, so that a test shows only what matters.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/core/units.h"
#include "sim/network/topology.h"

namespace weft::testing {

inline net::LinkSpec plain_link(Bandwidth rate, Duration latency, Bytes packet = Bytes{0}) {
  net::LinkSpec spec;
  spec.type = "test";
  spec.rate = rate;
  spec.latency = latency;
  spec.packet = packet;
  return spec;
}

inline net::TemplateDevice plain_switch(std::string name, bool store_and_forward = false, Bytes header = Bytes{0},
                                        Duration latency = {}) {
  net::TemplateDevice device;
  device.name = std::move(name);
  device.kind = net::DeviceKind::kSwitch;
  device.forwarding = {latency, store_and_forward, header};
  return device;
}

// `count` bare hosts "h0", "h1", ... of one template.
inline void add_bare_hosts(net::TopologyBuilder& builder, int count) {
  net::HostTemplate host;
  host.name = "host";
  net::TemplateDevice device;
  device.name = "h";
  device.kind = net::DeviceKind::kHost;
  host.devices.push_back(device);
  const std::uint32_t id = builder.add_template(host);
  for (int i = 0; i < count; ++i) builder.add_host(id);
}

// Adds both directions of a cable to a template.
inline void add_template_cable(net::HostTemplate& host, std::uint32_t a, std::uint32_t b, std::uint32_t spec) {
  const auto there = static_cast<std::uint32_t>(host.links.size());
  host.links.push_back({a, b, spec, there + 1, {}});
  host.links.push_back({b, a, spec, there, {}});
}

// `count` bare hosts on one cut-through switch.
inline net::Topology star(int count, Bandwidth rate, Duration latency, const char* type = "test") {
  net::TopologyBuilder builder;
  add_bare_hosts(builder, count);
  net::LinkSpec link = plain_link(rate, latency);
  link.type = type;
  const std::uint32_t spec = builder.add_spec(link);
  const DeviceId hub = builder.add_switch(plain_switch("s0"));
  for (int i = 0; i < count; ++i) builder.add_cable(builder.device_of(static_cast<std::uint32_t>(i), 0), hub, spec);
  return std::move(builder).freeze();
}

// `count` GPUs of one host on one NVSwitch.
inline net::Topology nvlink_star(int count, Bandwidth rate, Duration latency) {
  net::TopologyBuilder builder;
  net::HostTemplate host;
  for (int g = 0; g < count; ++g) {
    net::TemplateDevice device;
    device.name = "gpu" + std::to_string(g);
    host.devices.push_back(device);
  }
  net::TemplateDevice hub = plain_switch("nvswitch0");
  hub.kind = net::DeviceKind::kNvSwitch;
  host.devices.push_back(hub);
  net::LinkSpec link = plain_link(rate, latency);
  link.type = "nvlink4";
  for (int g = 0; g < count; ++g)
    add_template_cable(host, static_cast<std::uint32_t>(g), static_cast<std::uint32_t>(count), builder.add_spec(link));
  builder.add_host(builder.add_template(host));
  return std::move(builder).freeze();
}

// `leaves` switches of `hosts` bare hosts each, every one of them with a cable to each of `spines` more.
inline net::Topology leaves_and_spines(int leaves, int hosts, int spines, Bandwidth rate, Bandwidth uplink) {
  net::TopologyBuilder builder;
  add_bare_hosts(builder, leaves * hosts);
  const std::uint32_t down = builder.add_spec(plain_link(rate, {}));
  const std::uint32_t up = builder.add_spec(plain_link(uplink, {}));
  std::vector<DeviceId> switches;
  for (int s = 0; s < leaves + spines; ++s) switches.push_back(builder.add_switch(plain_switch("s" + std::to_string(s))));
  for (int leaf = 0; leaf < leaves; ++leaf) {
    const DeviceId own = switches[static_cast<std::size_t>(leaf)];
    for (int h = leaf * hosts; h < (leaf + 1) * hosts; ++h) {
      builder.add_cable(builder.device_of(static_cast<std::uint32_t>(h), 0), own, down);
    }
    for (int s = leaves; s < leaves + spines; ++s) builder.add_cable(own, switches[static_cast<std::size_t>(s)], up);
  }
  return std::move(builder).freeze();
}

// Eight GPUs as in a DGX-1 with V100: 25 GB/s per link, eight pairs joined by two (models/network §1.6).
inline net::Topology cube_mesh() {
  constexpr std::pair<std::uint32_t, std::uint32_t> kDoubled[] = {{0, 3}, {0, 4}, {1, 2}, {1, 5},
                                                                  {2, 3}, {4, 7}, {5, 6}, {6, 7}};
  constexpr std::pair<std::uint32_t, std::uint32_t> kSingle[] = {{0, 1}, {0, 2}, {1, 3}, {2, 6},
                                                                 {3, 7}, {4, 5}, {4, 6}, {5, 7}};
  net::TopologyBuilder builder;
  net::HostTemplate host;
  for (int g = 0; g < 8; ++g) {
    net::TemplateDevice device;
    device.name = "gpu" + std::to_string(g);
    host.devices.push_back(device);
  }
  net::LinkSpec one = plain_link(Bandwidth::from_bytes_per_second(25'000'000'000), {});
  net::LinkSpec two = plain_link(2 * one.rate, {});
  two.width = 2;
  for (const auto& [a, b] : kDoubled) add_template_cable(host, a, b, builder.add_spec(two));
  for (const auto& [a, b] : kSingle) add_template_cable(host, a, b, builder.add_spec(one));
  builder.add_host(builder.add_template(host));
  return std::move(builder).freeze();
}

}  // namespace weft::testing
