#include <gtest/gtest.h>

#include "tests/network/cluster_support.h"

namespace weft::net::test {
namespace {

using Counts = std::map<std::string, int>;

TEST(SingleSwitchTest, EveryHostIsTwoLinksFromEveryOther) {
  const Topology t = hosts_on(5, "type: single_switch");
  EXPECT_EQ(switch_counts(t), (Counts{{"switch", 1}}));
  EXPECT_EQ(cable_counts(t), (Counts{{"h-switch", 5}}));
  EXPECT_EQ(hops_from(t, *t.find("h0"))[t.find("h4")->index()], 2);
}

TEST(SingleSwitchTest, HostsFillItsPortsAndNoMore) {
  EXPECT_EQ(load_errors(hosts_yaml(4, "type: single_switch, ports: 4")), std::vector<std::string>{});
  EXPECT_EQ(load_errors(hosts_yaml(5, "type: single_switch, ports: 4")),
            std::vector<std::string>{"cluster.fabric: 5 nodes with 1 NIC(s) each do not fit one switch of 4 ports"});
}

}  // namespace
}  // namespace weft::net::test
