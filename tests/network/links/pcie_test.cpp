#include <gtest/gtest.h>

#include <string>

#include "sim/network/builtin.h"

namespace weft::net {
namespace {

using namespace literals;

Profile profile_of_defaults() { return Profile::defaults(network_param_groups()); }

// GT/s x lanes x 128/130, cut to whole bits once: 8e9 x 16 x 128 / 130 = 126'030'769'230.77.
TEST(PcieTest, RateIsSignallingTimesLanesTimesCoding) {
  EXPECT_EQ(make_link_spec("pcie3", 16, profile_of_defaults()).rate.bits_per_second(), 126'030'769'230);
  EXPECT_EQ(make_link_spec("pcie4", 16, profile_of_defaults()).rate.bits_per_second(), 252'061'538'461);
  EXPECT_EQ(make_link_spec("pcie5", 16, profile_of_defaults()).rate.bits_per_second(), 504'123'076'923);
  EXPECT_EQ(make_link_spec("pcie4", 8, profile_of_defaults()).rate.bits_per_second(), 126'030'769'230);
}

// 64 GT/s x 16 lanes = 128 GB/s, of which 236 of 256 bytes a flit carry TLPs: 118 GB/s.
TEST(PcieTest, GenerationSixCarriesTlpsInFlits) {
  const LinkSpec spec = make_link_spec("pcie6", 16, profile_of_defaults());
  EXPECT_EQ(spec.rate, 118_GBps);
  EXPECT_EQ(spec.overhead, 16_B);
}

TEST(PcieTest, WriteEfficiencyFollowsThePayloadSize) {
  for (const std::int64_t mps : {128, 256, 512, 4096}) {
    const LinkSpec spec = make_link_spec("pcie5", {.width = 16, .payload = Bytes{mps}}, profile_of_defaults());
    EXPECT_DOUBLE_EQ(spec.efficiency, static_cast<double>(mps) / static_cast<double>(mps + 24));
    EXPECT_EQ(spec.packet, Bytes{mps});
  }
}

// One 24-B request of a 4DW header per 512 B read.
TEST(PcieTest, ReadsLoadTheOppositeDirectionWithRequests) {
  EXPECT_DOUBLE_EQ(make_link_spec("pcie4", 16, profile_of_defaults()).read_overhead, 24.0 / 512);
}

TEST(PcieTest, ProfileChargesDllpsAndMeasuredLosses) {
  const Profile profile = Profile::from_node(ConfigNode::parse("{kind: profile, name: p, parameters: {"
                                                               "network.pcie5.dllp_share: {value: 0.014, source: assumed}, "
                                                               "network.pcie5.efficiency: {value: 0.97, source: assumed}, "
                                                               "network.pcie5.mrrs: {value: 4 KiB, source: assumed}}}",
                                                               "p.yaml"),
                                             network_param_groups());
  const LinkSpec spec = make_link_spec("pcie5", 16, profile);
  EXPECT_DOUBLE_EQ(spec.efficiency, 256.0 / 280 * (1 - 0.014) * 0.97);
  EXPECT_DOUBLE_EQ(spec.read_overhead, 24.0 / 4096);
}

TEST(PcieTest, LanesArePowersOfTwoUpTo32) {
  for (const auto& [lanes, fine] : {std::pair{1, true}, {16, true}, {32, true}, {0, false}, {12, false}, {33, false}}) {
    const ConfigNode node = ConfigNode::parse("{type: pcie4, lanes: " + std::to_string(lanes) + "}", "link.yaml", "link");
    Diagnostics diagnostics;
    ParamReader params{node, diagnostics};
    static_cast<void>(read_link_spec(params, profile_of_defaults()));
    params.finish();
    EXPECT_EQ(!diagnostics.has_errors(), fine) << lanes;
  }
}

}  // namespace
}  // namespace weft::net
