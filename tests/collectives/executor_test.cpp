#include "sim/collectives/executor.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "sim/collectives/builtin.h"
#include "sim/collectives/runner.h"
#include "tests/support/topologies.h"

namespace weft::coll {
namespace {

using namespace literals;

// Six rings of a V100 cube mesh that together use every link once: three cycles, each both ways round.
std::vector<RingOrder> cube_mesh_rings() {
  std::vector<RingOrder> rings{{0, 1, 3, 2, 6, 7, 5, 4}, {0, 3, 7, 4, 6, 5, 1, 2}, {0, 3, 2, 1, 5, 6, 7, 4}};
  for (std::size_t i = 0; i < 3; ++i) rings.emplace_back(rings[i].rbegin(), rings[i].rend());
  return rings;
}

// One call on a topology, with no costs but the links'.
class OneCall final : private ExecutorListener {
 public:
  explicit OneCall(net::Topology topology, const std::string& routing = "spray")
      : topology_{std::move(topology)}, machine_{topology_, routing, 1} {}

  Duration run(const CollectiveCall& call, const Choice& choice, Grain grain, const StepCosts& costs = {}) {
    const Communicator communicator{topology_, topology_.endpoints(),
                                    rank_order_rings(static_cast<int>(topology_.endpoints().size()), choice.channels)};
    Executor executor{machine_.simulator, machine_.fabric, machine_.router, communicator};
    const std::unique_ptr<Schedule> schedule = make_algorithm(choice.algorithm)->plan(communicator, call, choice);
    const Time begin = machine_.simulator.now();
    executor.start(*schedule, costs, grain, *this);
    machine_.simulator.run();
    EXPECT_FALSE(executor.running()) << executor.blocked();
    machine_.fabric.check_conservation();
    return done_ - begin;
  }
  net::Machine& machine() { return machine_; }

 private:
  void on_collective_done(Time at) override { done_ = at; }
  net::Topology topology_;
  net::Machine machine_;
  Time done_;
};

// Hosts of `per_host` GPUs on one NVSwitch, one NIC per host, all NICs on one switch.
net::Topology hosts_of_gpus(int hosts, int per_host, Bandwidth nvlink, Bandwidth nic, Duration latency) {
  net::TopologyBuilder builder;
  net::HostTemplate host;
  const auto add = [&](const std::string& name, net::DeviceKind kind) {
    net::TemplateDevice device;
    device.name = name;
    device.kind = kind;
    device.forwarding.header = Bytes{0};
    host.devices.push_back(device);
    return static_cast<std::uint32_t>(host.devices.size() - 1);
  };
  const std::uint32_t fast = builder.add_spec(testing::plain_link(nvlink, latency));
  const std::uint32_t slow = builder.add_spec(testing::plain_link(nic, latency));
  const auto nvswitch = add("nvswitch0", net::DeviceKind::kNvSwitch);
  const auto bridge = add("pcie0", net::DeviceKind::kPcieSwitch);
  const auto port = add("nic0", net::DeviceKind::kNic);
  testing::add_template_cable(host, bridge, port, fast);
  for (int g = 0; g < per_host; ++g) {
    const auto gpu = add("gpu" + std::to_string(g), net::DeviceKind::kGpu);
    testing::add_template_cable(host, gpu, nvswitch, fast);
    testing::add_template_cable(host, gpu, bridge, fast);
  }
  const std::uint32_t id = builder.add_template(host);
  for (int h = 0; h < hosts; ++h) builder.add_host(id);
  const DeviceId hub = builder.add_switch(testing::plain_switch("hub"));
  for (int h = 0; h < hosts; ++h) builder.add_cable(builder.device_of(static_cast<std::uint32_t>(h), port), hub, slow);
  return std::move(builder).freeze();
}

const CollectiveCall kAllReduce1GB{.kind = Collective::kAllReduce, .bytes = 1_GB};

// models/network §7 K23: 8 ranks on one switch of 450 GB/s: 2 (n-1)/n S/B = 3.8889 ms; with latency a per step, 14 a more.
TEST(ExecutorTest, K23RingAllReduceBound) {
  OneCall ideal{testing::star(8, 450_GBps, 0_ns)};
  EXPECT_NEAR(ideal.run(kAllReduce1GB, {.algorithm = "plain_ring"}, Grain::kChunk).us(), 3888.9, 0.1);
  OneCall late{testing::star(8, 450_GBps, 1_us)};
  EXPECT_NEAR(late.run(kAllReduce1GB, {.algorithm = "plain_ring"}, Grain::kChunk).us(), 3888.9 + 14 * 2.0, 0.1);
}

// models/network §7 K27 (d): six rings of 25 GB/s on a V100 cube mesh: 2 x 7/8 x 1 GB / 150 GB/s.
TEST(ExecutorTest, K27SixRingsOnAHybridCubeMesh) {
  const net::Topology topology = testing::cube_mesh();

  net::Machine machine{topology, "spray", 1};
  const Communicator communicator{topology, topology.endpoints(), cube_mesh_rings()};
  Executor executor{machine.simulator, machine.fabric, machine.router, communicator};
  const auto schedule =
      make_algorithm("plain_ring")->plan(communicator, kAllReduce1GB, {.algorithm = "plain_ring", .channels = 6});
  struct Done final : ExecutorListener {
    void on_collective_done(Time t) override { at = t; }
    Time at;
  } done;
  executor.start(*schedule, {}, Grain::kChunk, done);
  machine.simulator.run();
  EXPECT_NEAR(done.at.since_start().us(), 2 * 7.0 / 8.0 * 1e9 / 150e9 * 1e6, 0.1);
}

struct GrainCase {
  int hosts;
  int per_host;
  int channels;
};
class GrainTest : public ::testing::TestWithParam<GrainCase> {};

TEST_P(GrainTest, ChunkAndFluidAgreeWithinOnePercentFrom16MiBUp) {
  const GrainCase& c = GetParam();
  const StepCosts costs{.hop = {1'100_ns, 1'100_ns, 1'100_ns}, .rate = 30_GBps};
  for (const std::string algorithm : {"ring", "plain_ring"}) {
    for (const Collective kind : {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                                  Collective::kBroadcast, Collective::kReduce}) {
      for (const Bytes bytes : {16_MiB, 100_MB, 1_GiB}) {
        OneCall chunk{hosts_of_gpus(c.hosts, c.per_host, 360_GBps, 50_GBps, 200_ns)};
        OneCall fluid{hosts_of_gpus(c.hosts, c.per_host, 360_GBps, 50_GBps, 200_ns)};
        const CollectiveCall call{.kind = kind, .bytes = bytes};
        const Choice choice{.algorithm = algorithm, .protocol = {}, .channels = c.channels};
        const double by_chunk = chunk.run(call, choice, Grain::kChunk, costs).us();
        const double by_fluid = fluid.run(call, choice, Grain::kFluid, costs).us();
        EXPECT_NEAR(by_fluid, by_chunk, 0.01 * by_chunk) << algorithm << ' ' << to_string(kind) << ' ' << bytes.count();
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(RanksAndChannels, GrainTest,
                         ::testing::Values(GrainCase{1, 4, 1}, GrainCase{1, 4, 24}, GrainCase{1, 8, 1}, GrainCase{1, 8, 24},
                                           GrainCase{8, 8, 1}, GrainCase{8, 8, 16}),
                         [](const auto& tested) {
                           return std::to_string(tested.param.hosts * tested.param.per_host) + "ranks" +
                                  std::to_string(tested.param.channels) + "channels";
                         });

// Channels that do not share their links: six rings of a cube mesh, each on links of its own.
TEST(ExecutorTest, GrainsAgreeWhereChannelsUseDifferentLinks) {
  for (const Collective kind : {Collective::kAllReduce, Collective::kBroadcast, Collective::kReduce}) {
    const auto run = [&](Grain grain) {
      const net::Topology topology = testing::cube_mesh();
      net::Machine machine{topology, "spray", 1};
      const Communicator communicator{topology, topology.endpoints(), cube_mesh_rings()};
      Executor executor{machine.simulator, machine.fabric, machine.router, communicator};
      const CollectiveCall call{.kind = kind, .bytes = 64_MiB};
      const auto schedule =
          make_algorithm("ring")->plan(communicator, call, {.algorithm = "ring", .channels = 6, .chunk = 512_KiB});
      struct Done final : ExecutorListener {
        void on_collective_done(Time t) override { at = t; }
        Time at;
      } done;
      executor.start(*schedule, {.hop = {1_us, 1_us, 1_us}}, grain, done);
      machine.simulator.run();
      return done.at.since_start().us();
    };
    const double chunk = run(Grain::kChunk);
    // Chains of channels that meet here and there drift apart message by message, which one rate per channel cannot show.
    const double tolerance = kind == Collective::kAllReduce ? 0.01 : 0.03;
    EXPECT_NEAR(run(Grain::kFluid), chunk, tolerance * chunk) << to_string(kind);
  }
}

// 16 ranks and four channels: a block works on rounds r, r + 4, r + 8 and r + 12 in two slots, each of which serves two peers
// in turn. Of its 20 warps six send for each slot, at 20 GB/s x 6 / 20: 2 x 60 MB take 20 ms, and the last receiver keeps 1
// MiB.
TEST(ExecutorTest, AllToAllsPayForPeersThatALaneServesInTurnInBothGrains) {
  const CollectiveCall call{.kind = Collective::kAllToAll, .bytes = 960_MB};
  const Choice choice{.algorithm = "nccl_p2p", .protocol = {}, .channels = 4, .chunk = 1_MiB};
  const StepCosts costs{
      .rate = 20_GBps, .memory = {.receive = 0.1, .source = 0.24, .store = 0.33}, .slots = 8, .rendezvous = false};
  for (const Grain grain : {Grain::kChunk, Grain::kFluid}) {
    OneCall one{hosts_of_gpus(1, 16, 360_GBps, 50_GBps, 200_ns)};
    EXPECT_NEAR(one.run(call, choice, grain, costs).us(), 20'000, 200) << to_string(grain);
  }
}

// Eight slots are in flight: 128 chunks of 512 KiB follow one another at 50 GB/s, 1342.2 us, and the last one's hop takes 10
// us. One at a time they would take 10 us each more.
TEST(ExecutorTest, ASendOfManyChunksPaysForOneHopInBothGrains) {
  const CollectiveCall call{.kind = Collective::kSendRecv, .bytes = 64_MiB};
  const Choice choice{.algorithm = "nccl_p2p", .protocol = "Simple", .chunk = 512_KiB};
  const StepCosts costs{.hop = {10_us, 10_us, 10_us}, .slots = 8, .rendezvous = false};
  for (const Grain grain : {Grain::kChunk, Grain::kFluid}) {
    OneCall pair{testing::star(2, 50_GBps, 0_ns)};
    EXPECT_NEAR(pair.run(call, choice, grain, costs).us(), (64 << 20) / 50e3 + 10.0, 0.1) << to_string(grain);
  }
}

// A chain of three ranks, threads that are as fast however few work: alone, a lane moves 1 MB at 50 GB/s in 20 us. The first
// chunk takes two lanes up, the root's, one down, and the last rank's copy. Behind it the middle rank moves each chunk twice;
// in chunks a lane keeps the pace that it began a slice at.
TEST(ExecutorTest, LanesOfATreeShareWarpsOnlyWhileBothAreBusyInBothGrains) {
  const StepCosts costs{.rate = 50_GBps, .thread_exponent = 1.0, .slots = 8, .rendezvous = false};
  const Choice choice{.algorithm = "tree", .protocol = "Simple", .chunk = 1_MB};
  for (const Grain grain : {Grain::kChunk, Grain::kFluid}) {
    const auto time_of = [&](std::int64_t chunks) {
      OneCall chain{hosts_of_gpus(1, 3, 1'000_GBps, 50_GBps, 0_ns)};
      return chain.run({.kind = Collective::kAllReduce, .bytes = chunks * 1_MB}, choice, grain, costs).us();
    };
    EXPECT_NEAR(time_of(1), 5 * 20.0, 0.1) << to_string(grain);
    const double tolerance = grain == Grain::kFluid ? 0.1 : 0.15 * 4'100;
    EXPECT_NEAR(time_of(101), 5 * 20.0 + 100 * 2 * 20.0, tolerance) << to_string(grain);
  }
}

TEST(ExecutorTest, AChannelMovesNoFasterThanItsThreadBlock) {
  OneCall call{testing::star(4, 450_GBps, 0_ns)};
  const StepCosts costs{.rate = 30_GBps};
  // Six messages of 250 MB at 30 GB/s, then the last of them is copied out at the same rate.
  EXPECT_NEAR(call.run(kAllReduce1GB, {.algorithm = "plain_ring"}, Grain::kChunk, costs).us(), 7 * 250e6 / 30e9 * 1e6, 0.1);
}

// The root of a broadcast copies while it sends, and the last rank what it receives; of a reduction no rank copies.
TEST(ExecutorTest, AStepThatCopiesWaitsLonger) {
  const Choice choice{.algorithm = "ring", .protocol = "Simple", .chunk = 1_MiB};
  const StepCosts plain{.rendezvous = false};
  const StepCosts waits{.copy_wait = 3_us, .rendezvous = false};
  for (const Collective kind : {Collective::kBroadcast, Collective::kReduce}) {
    OneCall pair{testing::star(2, 450_GBps, 0_ns)};
    const CollectiveCall call{.kind = kind, .bytes = 64_KiB};
    const Duration difference = pair.run(call, choice, Grain::kChunk, waits) - pair.run(call, choice, Grain::kChunk, plain);
    EXPECT_EQ(difference, kind == Collective::kBroadcast ? 6_us : 0_us);
  }
}

// Two slices of 0.5 MB, each 5 us of a thread block and 10 us of the link: for 5 of the 10 us that the second one's
// synchronisation takes, the first is still on its way out.
TEST(ExecutorTest, ABlockSynchronisesWhileThePortHasItsStores) {
  const Choice choice{.algorithm = "ring", .protocol = "Simple", .chunk = 1_MB};
  const CollectiveCall call{.kind = Collective::kBroadcast, .bytes = 1_MB};
  StepCosts costs{.slice = 10_us, .rate = 100_GBps, .slices = 2, .min_slice = 32_KiB, .rendezvous = false};
  OneCall pair{hosts_of_gpus(1, 2, 50_GBps, 50_GBps, 0_ns)};
  const Duration one_after_another = pair.run(call, choice, Grain::kChunk, costs);
  costs.port.raw = 50_GBps;
  EXPECT_NEAR((one_after_another - pair.run(call, choice, Grain::kChunk, costs)).us(), 5.0, 0.01);
}

TEST(ExecutorTest, EveryLinkOfAnAllToAllCarriesWhatItMust) {
  OneCall call{testing::star(16, 50_GBps, 0_ns)};
  // 16 ranks, 16 MB in all per rank: 1 MB to each of 15 others over one link of 50 GB/s.
  EXPECT_NEAR(call.run({.kind = Collective::kAllToAll, .bytes = 16_MB}, {.algorithm = "direct"}, Grain::kChunk).us(),
              15e6 / 50e9 * 1e6, 0.01);
  for (std::size_t l = 0; l < call.machine().topology.link_count(); ++l) {
    EXPECT_EQ(call.machine().fabric.counters(ResourceId::from_index(l)).bytes, 15e6);
  }
}

TEST(ExecutorTest, OneRankEndsAtOnce) {
  OneCall call{testing::star(1, 50_GBps, 1_us)};
  EXPECT_EQ(call.run(kAllReduce1GB, {.algorithm = "ring"}, Grain::kChunk), 0_ns);
  EXPECT_EQ(call.run(kAllReduce1GB, {.algorithm = "ring"}, Grain::kFluid), 0_ns);
}

TEST(ExecutorTest, ShuffledTiesChangeNothingOnASymmetricRing) {
  const auto run = [](std::uint64_t shuffle) {
    const net::Topology topology = testing::star(8, 450_GBps, 1_us);
    net::Machine machine{topology, "spray", 1, shuffle};
    const Communicator communicator{topology, topology.endpoints(), rank_order_rings(8, 4)};
    Executor executor{machine.simulator, machine.fabric, machine.router, communicator};
    const auto schedule = make_algorithm("ring")->plan(communicator, kAllReduce1GB, {.algorithm = "ring", .channels = 4});
    struct Done final : ExecutorListener {
      void on_collective_done(Time t) override { at = t; }
      Time at;
    } done;
    executor.start(*schedule, {}, Grain::kChunk, done);
    machine.simulator.run();
    return done.at;
  };
  EXPECT_EQ(run(0), run(17));
}

}  // namespace
}  // namespace weft::coll
