#include <gtest/gtest.h>

#include <string>

#include "sim/network/builtin.h"

namespace weft::net {
namespace {

using namespace literals;

LinkSpec read_link_text(const std::string& yaml, Diagnostics& diagnostics) {
  const ConfigNode node = ConfigNode::parse(yaml, "link.yaml", "link");
  ParamReader params{node, diagnostics};
  LinkSpec spec = read_link_spec(params, Profile::defaults(network_param_groups()));
  params.finish();
  return spec;
}

// models/network §1.7, 4x data rates.
TEST(FabricLinksTest, InfinibandRatesGoByName) {
  for (const auto& [name, rate] :
       {std::pair{"qdr", 32_Gbps}, {"edr", 100_Gbps}, {"hdr", 200_Gbps}, {"ndr", 400_Gbps}, {"xdr", 800_Gbps}}) {
    Diagnostics diagnostics;
    EXPECT_EQ(read_link_text(std::string{"{type: infiniband, rate: "} + name + "}", diagnostics).rate, rate) << name;
    EXPECT_FALSE(diagnostics.has_errors());
  }
  Diagnostics diagnostics;
  // 4 x 14.0625 Gb/s x 64/66
  EXPECT_EQ(read_link_text("{type: infiniband, rate: fdr}", diagnostics).rate.bits_per_second(),
            4LL * 14'062'500'000 * 64 / 66);
}

// models/network §1.7: payload / (payload + 26).
TEST(FabricLinksTest, InfinibandEfficiencyFollowsTheMtu) {
  for (const std::int64_t mtu : {256, 1024, 2048, 4096}) {
    Diagnostics diagnostics;
    const LinkSpec spec = read_link_text("{type: infiniband, rate: ndr, mtu: " + std::to_string(mtu) + " B}", diagnostics);
    EXPECT_DOUBLE_EQ(spec.efficiency, static_cast<double>(mtu) / static_cast<double>(mtu + 26));
    EXPECT_EQ(spec.packet, Bytes{mtu});
    EXPECT_EQ(spec.overhead, 26_B);
  }
}

TEST(FabricLinksTest, NamesAreOfInfinibandOnly) {
  Diagnostics diagnostics;
  read_link_text("{type: ethernet, rate: ndr}", diagnostics);
  EXPECT_EQ(diagnostics.errors().size(), 1U);
}

TEST(FabricLinksTest, RateIsRequiredAndTyped) {
  for (const char* yaml : {"{type: ethernet}", "{type: ethernet, rate: 400}", "{type: ethernet, rate: 0 Gb/s}",
                           "{type: ethernet, rate: -1 Gb/s}"}) {
    Diagnostics diagnostics;
    read_link_text(yaml, diagnostics);
    EXPECT_EQ(diagnostics.errors().size(), 1U) << yaml;
  }
}

TEST(FabricLinksTest, MtuIsBoundedByTheFamily) {
  Diagnostics jumbo;
  EXPECT_EQ(read_link_text("{type: ethernet, rate: 100 Gb/s, mtu: 9000 B}", jumbo).packet, 9'000_B);
  EXPECT_FALSE(jumbo.has_errors());
  Diagnostics too_large;
  read_link_text("{type: infiniband, rate: ndr, mtu: 4097 B}", too_large);
  EXPECT_EQ(too_large.errors().size(), 1U);
}

}  // namespace
}  // namespace weft::net
