#include <gtest/gtest.h>

#include "sim/network/builtin.h"

namespace weft::net {
namespace {

using namespace literals;

// models/network §1.5: what NCCL plans with across sockets, in GB/s; xGMI 16, C2C about 368 of 450 measured.
TEST(SocketTest, CapacityOfOneLinkIsThePlanningValue) {
  const Profile profile = Profile::defaults(network_param_groups());
  struct Row {
    const char* type;
    double gigabytes_per_second;
  };
  for (const Row& row : {Row{"qpi", 6}, Row{"upi", 10}, Row{"upi2", 22}, Row{"xgmi", 16}, Row{"c2c", 368}}) {
    EXPECT_NEAR(make_link_spec(row.type, 1, profile).capacity() * 1e3, row.gigabytes_per_second, 1e-9) << row.type;
  }
}

TEST(SocketTest, AnyOtherLinkStatesItsRate) {
  const Profile profile = Profile::defaults(network_param_groups());
  const auto read = [&](const char* yaml, Diagnostics& diagnostics) {
    const ConfigNode node = ConfigNode::parse(yaml, "link.yaml", "link");
    ParamReader params{node, diagnostics};
    const LinkSpec spec = read_link_spec(params, profile);
    params.finish();
    return spec;
  };
  Diagnostics fine;
  EXPECT_EQ(read("{type: socket, rate: 40 GB/s}", fine).rate, 40_GBps);
  EXPECT_FALSE(fine.has_errors());
  Diagnostics missing;
  read("{type: socket}", missing);
  EXPECT_EQ(missing.errors().size(), 1U);
}

TEST(SocketTest, LocalAttachmentNeverLimits) {
  const LinkSpec spec = make_link_spec("local", 1, Profile::defaults(network_param_groups()));
  EXPECT_EQ(spec.rate, 5'000_GBps);
  EXPECT_EQ(spec.latency, Duration{});
  EXPECT_EQ(spec.efficiency, 1.0);
}

}  // namespace
}  // namespace weft::net
