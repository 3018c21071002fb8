// Launching a collective costs the host this, on the shipped cluster.
#include <gtest/gtest.h>

#include "sim/collectives/costs.h"
#include "sim/collectives/runner.h"
#include "sim/network/launch_timings.h"
#include "sim/scenario/scenario.h"

namespace weft::scenario {
namespace {

using namespace coll;
using namespace literals;

// One host thread launches for both GPUs; a kernel of n channels costs it the kernel's share and n times a channel's.
TEST(LaunchCostTest, ALaunchCostsTheHostMoreForEachChannelWithWork) {
  Diagnostics diagnostics;
  const net::Cluster cluster = load_cluster(WEFT_SOURCE_DIR "/configs/clusters/h200x4.yaml", {}, diagnostics);
  net::Machine machine{cluster.topology, cluster.routing, 1};
  CollectiveRunner runner{machine, cluster.profile, cluster.topology.endpoints()};
  const Duration of_kernel = cluster.profile.get(net::launch_timings).host_cost;
  const Duration of_channel = cluster.profile.get(net::launch_timings).channel_cost;
  RunOptions options;
  options.launches_per_thread = 2;
  options.settings.set("version", "2.28");  // later releases cut sends into parts of 64 KiB
  const auto launch = [&](Collective kind, Bytes bytes) { return runner.run({.kind = kind, .bytes = bytes}, options).launch; };
  EXPECT_EQ(launch(Collective::kAllReduce, 8_B), 2 * (of_kernel + of_channel));
  EXPECT_EQ(launch(Collective::kAllReduce, 16_MiB), 2 * (of_kernel + 24 * of_channel));
  // A send of 24 KiB goes out in parts of 8 KiB, each on a channel of its own (nccl/p2p_plan.cpp); the communicator has 32, and
  // one of four ranks eight for each peer.
  EXPECT_EQ(launch(Collective::kSendRecv, 24_KiB), 2 * (of_kernel + 3 * of_channel));
  EXPECT_EQ(launch(Collective::kSendRecv, 256_KiB), 2 * (of_kernel + 8 * of_channel));
}

// One call by itself is timed from its launch on: what that cost the host is no part of it, in either grain.
TEST(LaunchCostTest, ACallByItselfTakesAsLongWhateverItsLaunchCosts) {
  Diagnostics diagnostics;
  const net::Cluster cluster = load_cluster(WEFT_SOURCE_DIR "/configs/clusters/h200x4.yaml", {}, diagnostics);
  for (const Grain grain : {Grain::kChunk, Grain::kFluid}) {
    for (const Collective kind : {Collective::kAllReduce, Collective::kAllToAll}) {
      const auto device = [&](Duration launch) {
        net::Machine machine{cluster.topology, cluster.routing, 1};
        CollectiveRunner runner{machine, cluster.profile, cluster.topology.endpoints()};
        RunOptions options;
        options.grain = grain;
        options.iterations = 1;
        options.launch = launch;
        return runner.run({.kind = kind, .bytes = 64_MiB}, options).device;
      };
      EXPECT_EQ(device(100_ns), device(69_us)) << to_string(kind) << " " << to_string(grain);
    }
  }
}

}  // namespace
}  // namespace weft::scenario
