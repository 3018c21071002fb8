#include <gtest/gtest.h>

#include "sim/network/builtin.h"

namespace weft::net {
namespace {

using namespace literals;

// models/network §1.1: GB/s per GPU and direction, with the links of its GPU.
TEST(NvlinkTest, RatePerGpuOfEachGeneration) {
  struct Row {
    const char* type;
    std::int64_t links;
    Bandwidth rate;
  };
  const Profile profile = Profile::defaults(network_param_groups());
  for (const Row& row :
       {Row{"nvlink1", 4, 80_GBps}, Row{"nvlink2", 6, 150_GBps}, Row{"nvlink3", 12, 300_GBps}, Row{"nvlink4", 18, 450_GBps},
        Row{"nvlink5", 18, 900_GBps}, Row{"nvlink6", 36, 1'800_GBps}, Row{"infinity_fabric", 7, 448_GBps}}) {
    const LinkSpec spec = make_link_spec(row.type, row.links, profile);
    EXPECT_EQ(spec.rate, row.rate) << row.type;
    EXPECT_EQ(spec.width, row.links);
    EXPECT_EQ(find_link_type(row.type)->medium(), LinkMedium::kNvlink);
  }
}

// models/network §1.1, measured efficiency: 367 of 450 GB/s on H200, 682 of 900 on B200, 235 of 300 on A100.
TEST(NvlinkTest, DefaultEfficiencyIsTheMeasuredOne) {
  const Profile profile = Profile::defaults(network_param_groups());
  EXPECT_NEAR(make_link_spec("nvlink3", 12, profile).efficiency, 235.0 / 300, 0.01);
  EXPECT_NEAR(make_link_spec("nvlink4", 18, profile).efficiency, 367.0 / 450, 0.01);
  EXPECT_NEAR(make_link_spec("nvlink5", 18, profile).efficiency, 682.0 / 900, 0.01);
}

TEST(NvlinkTest, PacketIsEightDataFlitsAndOneOfHeader) {
  const LinkSpec spec = make_link_spec("nvlink2", 1, Profile::defaults(network_param_groups()));
  EXPECT_EQ(spec.packet, 128_B);
  EXPECT_EQ(spec.overhead, 16_B);
}

}  // namespace
}  // namespace weft::net
