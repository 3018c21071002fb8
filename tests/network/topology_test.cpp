#include "sim/network/topology.h"

#include <gtest/gtest.h>

#include "tests/support/topologies.h"

namespace weft::net {
namespace {

using namespace literals;

Topology two_hosts_one_switch() {
  TopologyBuilder builder;
  HostTemplate host;
  host.name = "pair";
  for (const char* name : {"gpu0", "gpu1", "nic0"}) {
    TemplateDevice device;
    device.name = name;
    device.kind = std::string_view{name}.starts_with("gpu") ? DeviceKind::kGpu : DeviceKind::kNic;
    host.devices.push_back(device);
  }
  const std::uint32_t inside = builder.add_spec(testing::plain_link(200_GBps, 100_ns));
  const std::uint32_t outside = builder.add_spec(testing::plain_link(50_GBps, 1_us));
  testing::add_template_cable(host, 0, 1, inside);
  testing::add_template_cable(host, 0, 2, inside);
  const std::uint32_t id = builder.add_template(host);
  builder.add_host(id);
  builder.add_host(id);
  const DeviceId hub = builder.add_switch(testing::plain_switch("hub"));
  for (std::uint32_t h = 0; h < 2; ++h) builder.add_cable(builder.device_of(h, 2), hub, outside);
  return std::move(builder).freeze();
}

TEST(TopologyTest, NamesAndFindsAreInverse) {
  const Topology t = two_hosts_one_switch();
  ASSERT_EQ(t.device_count(), 7U);
  for (std::size_t i = 0; i < t.device_count(); ++i) {
    const DeviceId id = DeviceId::from_index(i);
    EXPECT_EQ(t.find(t.name(id)), id) << t.name(id);
  }
  EXPECT_EQ(t.name(*t.find("n1.gpu0")), "n1.gpu0");
  EXPECT_FALSE(t.find("n2.gpu0"));
  EXPECT_FALSE(t.find("n1.gpu7"));
}

TEST(TopologyTest, EveryLinkHasATwinThatLeadsBack) {
  const Topology t = two_hosts_one_switch();
  EXPECT_EQ(t.link_count(), 2U * 4U + 2U * 2U);
  for (std::size_t i = 0; i < t.link_count(); ++i) {
    const Link& link = t.link(LinkId::from_index(i));
    const Link& twin = t.link(link.twin);
    EXPECT_EQ(twin.from, link.to);
    EXPECT_EQ(twin.to, link.from);
    EXPECT_EQ(twin.twin, LinkId::from_index(i));
  }
}

TEST(TopologyTest, OutLinksAndUplinksOfADevice) {
  const Topology t = two_hosts_one_switch();
  const DeviceId nic = *t.find("n1.nic0");
  EXPECT_EQ(t.out_links(nic).size(), 2U);
  ASSERT_EQ(t.uplinks(nic).size(), 1U);
  EXPECT_EQ(t.link(t.uplinks(nic)[0]).to, *t.find("hub"));
  EXPECT_TRUE(t.uplinks(*t.find("n1.gpu0")).empty());
}

TEST(TopologyTest, EndpointsAreGpusOrBareHosts) {
  EXPECT_EQ(two_hosts_one_switch().endpoints().size(), 4U);
  const Topology bare = testing::star(3, 100_Gbps, 1_us);
  ASSERT_EQ(bare.endpoints().size(), 3U);
  EXPECT_EQ(bare.name(bare.endpoints()[2]), "h2");
}

TEST(TopologyTest, EverythingIsReachableOnAConnectedGraph) {
  const Topology t = two_hosts_one_switch();
  const std::vector<bool> reached = t.reachable_from(*t.find("n0.gpu1"));
  for (std::size_t i = 0; i < t.device_count(); ++i) EXPECT_TRUE(reached[i]);
}

TEST(TopologyTest, ParallelLinksAreToldApartByNumber) {
  TopologyBuilder builder;
  testing::add_bare_hosts(builder, 1);
  const std::uint32_t spec = builder.add_spec(testing::plain_link(100_Gbps, 1_us));
  const DeviceId a = builder.add_switch(testing::plain_switch("a"));
  builder.add_cable(builder.device_of(0, 0), a, spec);
  const LinkId second = builder.add_cable(builder.device_of(0, 0), a, spec);
  const Topology t = std::move(builder).freeze();
  EXPECT_EQ(t.name(second), "h0->a#1");
}

}  // namespace
}  // namespace weft::net
