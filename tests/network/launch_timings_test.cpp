#include "sim/network/launch_timings.h"

#include <gtest/gtest.h>

namespace weft::net {
namespace {

using namespace literals;

TEST(LaunchTimingsTest, ComeFromTheProfile) {
  const Profile profile = Profile::defaults({&launch_timings}).with_value("device.launch.host_cost", "4.5 us", "test");
  EXPECT_EQ(profile.get(launch_timings).host_cost, 4'500_ns);
  EXPECT_EQ(profile.get(launch_timings).graph_kernel_cost, LaunchTimings{}.graph_kernel_cost);
}

}  // namespace
}  // namespace weft::net
