#include <gtest/gtest.h>

#include "tests/network/cluster_support.h"

namespace weft::net::test {
namespace {

using Counts = std::map<std::string, int>;

TEST(TorusTest, RingOfOneDimensionClosesOnItself) {
  const Topology t = hosts_on(5, "type: torus, dims: [5]");
  EXPECT_EQ(cable_counts(t), (Counts{{"h-router", 5}, {"router-router", 5}}));
  EXPECT_EQ(hops_from(t, *t.find("router0"))[t.find("router3")->index()], 2);
}

TEST(TorusTest, DimensionOfTwoHasOneCableAndOfOneNone) {
  EXPECT_EQ(cable_counts(hosts_on(6, "type: torus, dims: [2, 3]")).at("router-router"), 3 + 6);
  EXPECT_EQ(cable_counts(hosts_on(3, "type: torus, dims: [1, 3]")).at("router-router"), 3);
}

TEST(TorusTest, LastDimensionCountsFastest) {
  const Topology t = hosts_on(12, "type: torus, dims: [3, 4]");
  EXPECT_EQ(label(t, *t.find("router6"), "position"), "1,2");
}

TEST(TorusTest, AllNicsOfANodeShareARouter) {
  const Topology t = load(shipped_node("dgx_h100")
                              .with_override("nodes", "4", "test")
                              .with_override("fabric", "null", "test")
                              .with_override("fabric", "{type: torus, dims: [4], link: {type: infiniband, rate: ndr}}", "test"))
                         .topology;
  EXPECT_EQ(cable_counts(t), (Counts{{"nic-router", 32}, {"router-router", 4}}));
}

TEST(TorusTest, NodesMustFit) {
  EXPECT_EQ(load_errors(hosts_yaml(10, "type: torus, dims: [3, 3]")),
            std::vector<std::string>{"cluster.fabric: 10 nodes do not fit 9 positions of 1 node(s) each"});
  EXPECT_TRUE(load_errors(hosts_yaml(10, "type: torus, dims: [3, 3], nodes_per_router: 2")).empty());
  EXPECT_FALSE(load_errors(hosts_yaml(10, "type: torus, dims: [1000000, 1000000, 1000000]")).empty());
}

}  // namespace
}  // namespace weft::net::test
