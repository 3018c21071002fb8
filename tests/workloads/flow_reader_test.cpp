#include "sim/workloads/flow_reader.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/workloads/workload_support.h"

namespace weft::work::test {
namespace {

using namespace weft::literals;

class FlowReaderTest : public ::testing::Test {
 protected:
  Workload flow(const std::string& keys) { return read("{flows: [{from: h0, to: h1, " + keys + "}]}", topology_); }
  FlowOptions options(const std::string& keys) {
    const Workload workload = flow(keys);
    return workload.options_of(workload.flows[0]);
  }
  std::vector<std::string> flow_errors(const std::string& keys, const net::PacketSettings* packet = nullptr) {
    return errors("{flows: [{from: h0, to: h1, " + keys + "}]}", topology_, packet);
  }

  net::Topology topology_ = weft::testing::star(4, 100_Gbps, 1_us);
};

TEST_F(FlowReaderTest, APlainFlowHasNoOptions) {
  const Workload workload = flow("bytes: 1 MB, start: 5 us, rate_cap: 5 Gb/s, priority: 3");
  EXPECT_EQ(workload.flows[0].options, 0U);
  EXPECT_EQ(workload.options.size(), 1U);
  EXPECT_EQ(workload.flows[0].priority, 3);
}

TEST_F(FlowReaderTest, UnlimitedBytesAreAGreedySource) {
  EXPECT_TRUE(options("bytes: unlimited").unlimited);
  EXPECT_TRUE(options("bytes: unlimited").is_endless());
  EXPECT_FALSE(options("bytes: unlimited, stop: 1 ms").is_endless());
  EXPECT_EQ(flow_errors("bytes: unlimited, every: 1 us").size(), 1U);
}

TEST_F(FlowReaderTest, TimedSourcesRepeatUntilCountOrStop) {
  const FlowOptions counted = options("bytes: 1000 B, every: 80 ns, count: 7");
  EXPECT_EQ(counted.messages, 7);
  EXPECT_EQ(counted.every, 80_ns);
  EXPECT_FALSE(counted.is_endless());
  EXPECT_TRUE(options("bytes: 1000 B, every: 80 ns").is_endless());
  EXPECT_FALSE(options("bytes: 1000 B, every: 80 ns, stop: 1 ms").is_endless());
  EXPECT_EQ(flow_errors("bytes: 1 B, start: 2 us, stop: 2 us").size(), 1U);
}

TEST_F(FlowReaderTest, PoissonArrivalsHaveALoadOrARate) {
  const FlowOptions by_load = options("arrivals: {load: 80 %, message: 1000 B, seed: 5}, count: 100");
  EXPECT_EQ(by_load.load, 0.8);
  EXPECT_EQ(by_load.seed, 5U);
  EXPECT_EQ(by_load.messages, 100);
  EXPECT_EQ(options("bytes: 1 kB, arrivals: {rate: 10 Gb/s}, stop: 1 ms").rate, 10_Gbps);
  EXPECT_EQ(flow("arrivals: {load: 0.5, message: 64 B}, count: 1").flows[0].bytes, 64_B);
  EXPECT_EQ(flow_errors("arrivals: {load: 0.5}").size(), 1U);
  EXPECT_EQ(flow_errors("arrivals: {load: 0.5, rate: 1 Gb/s, message: 1 B}").size(), 1U);
  EXPECT_EQ(flow_errors("bytes: 1 B, arrivals: {load: 0.5, message: 1 B}").size(), 1U);
  EXPECT_EQ(flow_errors("bytes: 1 B, arrivals: {load: 0.5}, every: 1 us").size(), 1U);
}

TEST_F(FlowReaderTest, AFlowMayNameItsWay) {
  const FlowOptions via = options("bytes: 1 MB, via: [s0]");
  EXPECT_FALSE(via.way.complete);
  EXPECT_EQ(via.way.devices, std::vector{*topology_.find("s0")});
  EXPECT_EQ(options("bytes: 1 MB, route: [h0, s0, h1]").way.devices, via.way.devices) << "the ends may stand there too";
  using Errors = std::vector<std::string>;
  EXPECT_EQ(flow_errors("bytes: 1 MB, via: [s00]"), Errors{"workload.flows[0].via[0]: unknown device 's00'"});
  EXPECT_EQ(flow_errors("bytes: 1 MB, via: []"), Errors{"workload.flows[0].via: expected one device at least"});
  EXPECT_EQ(flow_errors("bytes: 1 MB, route: []"),
            Errors{"workload.flows[0].route: no link leads from 'h0' to 'h1' (flow from 'h0' to 'h1')"});
  EXPECT_EQ(flow_errors("bytes: 1 MB, via: [s0, h2]"),
            Errors{"workload.flows[0].via[1]: 'h2' is a host, which passes nothing on (flow from 'h0' to 'h1')"});
  EXPECT_EQ(flow_errors("bytes: 1 MB, via: [s0, s0]"),
            Errors{"workload.flows[0].via[1]: the way visits 's0' twice (flow from 'h0' to 'h1')"});
  EXPECT_EQ(flow_errors("bytes: 1 MB, via: [s0], route: [s0]"),
            Errors{"workload.flows[0].route: 'via' and 'route' both name the flow's way: state one of them"});
  EXPECT_EQ(flow_errors("bytes: 1 MB, verb: read, via: [s0]").size(), 1U);
}

TEST_F(FlowReaderTest, EveryFlowOfAPatternGoesTheNamedWay) {
  const Workload ring = read("{traffic: [{pattern: ring, bytes: 1 MB, via: [s0]}]}", topology_);
  ASSERT_EQ(ring.flows.size(), 4U);
  for (const FlowItem& flow : ring.flows) EXPECT_EQ(ring.options_of(flow).way.devices, std::vector{*topology_.find("s0")});
}

TEST_F(FlowReaderTest, AFlowMayHaveATransportOfItsOwn) {
  const FlowOptions read = options("bytes: 1 MB, packet: 4000 B, rate: 5 Gb/s, open_loop: true, congestion_control: none");
  EXPECT_TRUE(read.has_transport);
  EXPECT_EQ(read.transport.payload, 4'000_B);
  EXPECT_EQ(read.transport.rate, 5_Gbps);
  EXPECT_TRUE(read.transport.open_loop);
  EXPECT_TRUE(read.transport.override_congestion);
  EXPECT_EQ(read.transport.congestion, nullptr);
}

TEST_F(FlowReaderTest, AWindowNeedsAcknowledgementsWherePacketsAreSimulated) {
  net::PacketSettings packet;
  EXPECT_EQ(flow_errors("bytes: 1 MB, window: 50 kB", &packet).size(), 0U) << "where nothing is said, the flow gets its own";
  packet.transport.no_acks_stated = true;
  EXPECT_EQ(flow_errors("bytes: 1 MB, window: 50 kB", &packet).size(), 1U);
  packet.transport.acks = net::AckMode::kFree;
  EXPECT_EQ(flow_errors("bytes: 1 MB, window: 50 kB", &packet).size(), 0U);
}

TEST_F(FlowReaderTest, JobsMoveOneOrSeveralTransfers) {
  const Workload workload = read(
      "{jobs: [{name: a, from: h0, to: h1, bytes: 1.25 GB, compute: 100 ms, iterations: 10, priority: 2},"
      " {transfers: [{from: h0, to: h2, bytes: 1 kB}, {from: h2, to: h0, bytes: 2 kB}]}]}",
      topology_);
  ASSERT_EQ(workload.jobs.size(), 2U);
  EXPECT_EQ(workload.jobs[0].compute, 100_ms);
  EXPECT_EQ(workload.jobs[0].iterations, 10);
  EXPECT_EQ(workload.jobs[0].transfers[0].bytes, 1'250_MB);
  EXPECT_EQ(workload.jobs[1].name, "job1");
  EXPECT_EQ(workload.jobs[1].transfers.size(), 2U);
}

TEST_F(FlowReaderTest, CollectivesStandAlone) {
  EXPECT_EQ(errors("{collectives: [{kind: all_reduce, bytes: 1 B}], flows: []}", topology_).size(), 1U);
  EXPECT_EQ(errors("{flows: [{from: h0, to: h1, bytes: 1 B}], jobs: [{from: 0, to: 1, bytes: 1 B}]}", topology_).size(), 0U);
  EXPECT_EQ(errors("{}", topology_).size(), 1U);
}

}  // namespace
}  // namespace weft::work::test
