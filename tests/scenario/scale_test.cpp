// Large collectives on a shipped cluster: what every link must carry, and what the chunk and the fluid grain must agree on.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "sim/collectives/runner.h"
#include "sim/scenario/scenario.h"

namespace weft::scenario {
namespace {

using namespace literals;

net::Cluster superpod(int nodes) {
  Diagnostics diagnostics;
  Overrides overrides;
  overrides.sets = {{"nodes", std::to_string(nodes)}};
  return load_cluster(WEFT_SOURCE_DIR "/configs/clusters/dgx_h100_superpod.yaml", overrides, diagnostics);
}

TEST(ScaleTest, EveryLinkOfAnAllToAllOver256GpusCarriesItsShare) {
  const net::Cluster cluster = superpod(32);
  net::Machine machine{cluster.topology, cluster.routing, 1};
  coll::CollectiveRunner runner{machine, cluster.profile, cluster.topology.endpoints()};
  coll::RunOptions options;
  options.grain = coll::Grain::kFluid;
  options.algorithm = "direct";  // the links alone
  // 1 MiB from each of 256 GPUs to each other: 7 peers in the host, 248 outside.
  const coll::CollectiveResult result = runner.run({.kind = coll::Collective::kAllToAll, .bytes = 256_MiB}, options);

  const net::Topology& t = cluster.topology;
  double slowest_ps = 0;
  std::map<std::string, double> switch_bytes;  // over all links out of a GPU to its switches, and into it from them
  for (std::size_t l = 0; l < t.link_count(); ++l) {
    const ResourceId id = ResourceId::from_index(l);
    const net::Link& link = t.link(LinkId::from_index(l));
    const double bytes = machine.fabric.counters(id).bytes;
    slowest_ps = std::max(slowest_ps, bytes / machine.fabric.capacity(id));
    const bool leaves_nic = t.kind(link.from) == net::DeviceKind::kNic && t.host_of(link.to) < 0;
    const bool enters_nic = t.kind(link.to) == net::DeviceKind::kNic && t.host_of(link.from) < 0;
    if (leaves_nic || enters_nic) {
      EXPECT_DOUBLE_EQ(bytes, 248.0 * (1 << 20)) << t.name(LinkId::from_index(l));
    }
    if (t.kind(link.from) == net::DeviceKind::kGpu && t.kind(link.to) == net::DeviceKind::kNvSwitch)
      switch_bytes[t.name(link.from)] += bytes;
  }
  for (const auto& [gpu, bytes] : switch_bytes) EXPECT_NEAR(bytes, 7.0 * (1 << 20), 1) << gpu;
  // No link was faster than it can be, and the busiest one was busy nearly all the time.
  EXPECT_GE(static_cast<double>(result.device.ps()), slowest_ps);
  EXPECT_LE(static_cast<double>(result.device.ps()), 1.01 * slowest_ps);
}

TEST(ScaleTest, GrainsAgreeOnARingOverAThousandGpus) {
  const net::Cluster cluster = superpod(128);
  net::Machine machine{cluster.topology, cluster.routing, 1};
  coll::CollectiveRunner runner{machine, cluster.profile, cluster.topology.endpoints()};
  coll::RunOptions options;
  options.algorithm = "plain_ring";
  const coll::CollectiveCall call{.kind = coll::Collective::kAllGather, .bytes = 1_GiB};
  options.grain = coll::Grain::kFluid;
  const double fluid = runner.run(call, options).time.us();
  options.grain = coll::Grain::kChunk;
  const double chunk = runner.run(call, options).time.us();
  EXPECT_NEAR(fluid, chunk, 0.01 * chunk);
}

}  // namespace
}  // namespace weft::scenario
