// Scenarios at packet fidelity from their text to their results: what is measured, what is done to the network on purpose.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/output/network_json.h"
#include "sim/output/result_json.h"
#include "sim/scenario/run_scenario.h"
#include "tests/support/temp_folder.h"

namespace weft::output {
namespace {

using namespace weft::literals;

// Bare hosts on one store-and-forward switch: 100 Gb/s, 1 us a link, packets of 1000 B.
constexpr const char* kCluster = R"(
cluster:
  nodes: 3
  node: {type: host}
  fabric:
    type: custom
    devices: [{name: s0, kind: switch}]
    links: [{between: [h0..2, s0], type: ethernet, rate: 100 Gb/s, latency: 1 us, mtu: 1000 B, header: 0 B}]
    switch: {latency: 0 ns, forwarding: store_and_forward}
)";

class PacketScenarioTest : public ::testing::Test {
 protected:
  scenario::Scenario load(const std::string& rest) {
    std::ofstream{file_} << kCluster << rest;
    Diagnostics diagnostics;
    return scenario::load_scenario(file_, {}, diagnostics);
  }
  scenario::RunResult run(const std::string& rest) { return scenario::run_scenario(load(rest)); }

  static const scenario::PortResult& port(const scenario::RunResult& result, const std::string& name) {
    for (const scenario::PortResult& port : result.network.ports) {
      if (port.name == name) return port;
    }
    throw std::out_of_range(name);
  }

  weft::test::TempFolder folder_;
  std::filesystem::path file_ = folder_ / "scenario.yaml";
};

constexpr const char* kPair =
    "workload: {flows: [{from: h0, to: h2, bytes: 1 MB}, {from: h1, to: h2, bytes: 1 MB}]}\n"
    "simulation: {fidelity: packet}\n";

TEST_F(PacketScenarioTest, MeasuringChangesNoResult) {
  const scenario::RunResult plain = run(kPair);
  const scenario::RunResult measured =
      run(std::string{kPair} + "measure: {from: 10 us, to: 50 us, series: [queue, ingress, rate], every: 1 us}\n");
  EXPECT_EQ(plain.digest, measured.digest);
  EXPECT_EQ(plain.network.packet_hops, measured.network.packet_hops);
  EXPECT_EQ(plain.makespan, measured.makespan);
}

TEST_F(PacketScenarioTest, TheWindowCountsOnlyWhatIsInIt) {
  // Both flows send at line rate for 80 us and the sink's link takes 160 us, from 1.08 us on: the queue grows by 12.5 kB a us
  // until 81.08 us. Between 41.08 and 81.08 us its mean is that of 0.5 and 1 MB.
  const scenario::RunResult result = run(std::string{kPair} + "measure: {from: 41.08 us, to: 81.08 us}\n");
  const scenario::PortResult& sink = port(result, "s0->h2");
  EXPECT_NEAR(sink.utilization, 1.0, 0.001);
  EXPECT_NEAR(sink.mean_queue_bytes, 750'000, 3'000);
  EXPECT_NEAR(static_cast<double>(sink.peak_queue_bytes), 1'000'000, 2'000);
  EXPECT_NEAR(result.network.flow_rates[0].rate_gbps, 50, 0.5);
  EXPECT_NEAR(*result.network.jain_index, 1, 1e-3);
  // A window after the sources have ended: nothing leaves the hosts, and the queue's peak is what is left of it.
  const scenario::RunResult later = run(std::string{kPair} + "measure: {from: 121.08 us, to: 141.08 us}\n");
  EXPECT_EQ(port(later, "h0->s0").utilization, 0);
  EXPECT_NEAR(static_cast<double>(port(later, "s0->h2").peak_queue_bytes), 500'000, 2'000);
}

TEST_F(PacketScenarioTest, SeriesFollowTheQueue) {
  const scenario::RunResult result =
      run(std::string{kPair} + "measure: {from: 1.08 us, to: 81.08 us, series: [queue], of: [\"s0->h2\"], every: 10 us}\n");
  ASSERT_EQ(result.network.series.size(), 1U);
  ASSERT_EQ(result.network.sample_times.size(), 9U);
  for (std::size_t i = 1; i < 9; ++i) {
    EXPECT_EQ(result.network.sample_times[i], Time{} + 1'080_ns + static_cast<std::int64_t>(i) * 10_us);
    EXPECT_NEAR(result.network.series[0].values[i], 125e3 * static_cast<double>(i), 2'000) << i;
  }
}

TEST_F(PacketScenarioTest, SeriesGoToCsvAColumnEach) {
  scenario::NetworkReport report;
  report.sample_times = {Time{}, Time{} + 1'500_ps};
  report.series = {{"queue", "s0->h1", {0, 1000}}, {"alpha", "0", {std::nan(""), 0.5}}};
  std::ostringstream out;
  write_series_csv(out, report);
  EXPECT_EQ(out.str(), "time_ns,queue s0->h1,alpha 0\n0,0,\n1.5,1000,0.5\n");
}

TEST_F(PacketScenarioTest, UntilEndsTheRunWithFlowsUnderWay) {
  const scenario::RunResult result =
      run("workload: {flows: [{from: h0, to: h2, bytes: unlimited}]}\nsimulation: {fidelity: packet, until: 102.08 us}\n");
  // 100 us of packets have arrived after two links and one store-and-forward.
  EXPECT_NEAR(static_cast<double>(result.flows[0].bytes.count()), 1'250'000, 1'000);
  EXPECT_EQ(result.flows[0].end, Time::max());
  EXPECT_EQ(result.makespan, 102'080_ns);
}

TEST_F(PacketScenarioTest, ADroppedPacketWithoutRetransmissionIsMissed) {
  const scenario::RunResult result =
      run("workload: {flows: [{from: h0, to: h2, bytes: 10 kB}]}\nsimulation: {fidelity: packet}\n"
          "faults: [{drop: {packets: [5], link: \"s0->h2\"}}]\n");
  EXPECT_EQ(port(result, "s0->h2").drops, 1);
  EXPECT_FALSE(result.flows[0].end < Time::max());
}

TEST_F(PacketScenarioTest, AForcedPauseHoldsItsLink) {
  // The flow takes 82.08 us; its link is paused for 10 us in between.
  const scenario::RunResult result =
      run("workload: {flows: [{from: h0, to: h2, bytes: 1 MB}]}\nsimulation: {fidelity: packet}\n"
          "faults: [{pause: {link: \"h0->s0\", priority: all, at: 20 us, for: 10 us}}]\n");
  EXPECT_NEAR((result.flows[0].end - result.flows[0].start).us(), 92.08, 0.16);
  ASSERT_FALSE(result.network.pauses.empty());
  EXPECT_EQ(result.network.pauses[0].end - result.network.pauses[0].start, 10_us);
}

TEST_F(PacketScenarioTest, JsonHasTheKeysThatProgramsRelyOn) {
  const scenario::Scenario scenario = load(std::string{kPair} + "measure: {series: [queue], of: [\"s0->h2\"], every: 10 us}\n");
  std::ostringstream out;
  write_run_result(out, {}, scenario, scenario::run_scenario(scenario));
  const nlohmann::json json = nlohmann::json::parse(out.str());
  for (const char* key : {"flows", "ports", "pauses", "series", "deadlock", "jain_index", "packet_hops", "makespan_ns"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  for (const char* key :
       {"id", "bytes", "start_ns", "end_ns", "fct_ns", "rate_gbps", "packets_sent", "retransmitted", "cnps"}) {
    EXPECT_TRUE(json["flows"][0].contains(key)) << key;
  }
  for (const char* key : {"name", "utilization", "peak_queue_bytes", "mean_queue_bytes", "mean_wait_ns", "peak_ingress_bytes",
                          "marks", "drops"}) {
    EXPECT_TRUE(json["ports"][0].contains(key)) << key;
  }
  EXPECT_EQ(json["series"][0]["time_ns"].size(), json["series"][0]["value"].size());
  EXPECT_TRUE(json["deadlock"].is_null());
}

TEST(PauseTimeTest, AQuantumIs512BitTimes) {
  // models/network §7 K7.
  EXPECT_EQ(scenario::pause_time(65'535, 100_Gbps), 335'539'200_ps);
  EXPECT_EQ(scenario::pause_time(65'535, 400_Gbps), 83'884'800_ps);
  EXPECT_EQ(scenario::pause_time(100, 200_Gbps), 256_ns);
}

TEST_F(PacketScenarioTest, MessagesOfOneFlowFollowEachOther) {
  // Three messages of 1 MB, 80 us each: the last has waited for two. Side by side they would all take 240 us.
  for (const char* fidelity : {"packet", "flow"}) {
    const scenario::RunResult result =
        run("workload: {flows: [{from: h0, to: h2, bytes: 1 MB, count: 3}]}\nsimulation: {fidelity: " + std::string{fidelity} +
            "}\n");
    const work::MessageCounts& counts = result.messages[0].value();
    EXPECT_EQ(counts.delivered, 3);
    EXPECT_NEAR(counts.latency_ps / 3e6, 160 + 2, 0.1) << fidelity;
    EXPECT_NEAR(counts.max_latency.us(), 240 + 2, 0.1) << fidelity;
  }
}

TEST_F(PacketScenarioTest, AFlowOfManyMessagesHasOneShare) {
  // h0's ten messages are one flow beside h1's one: half of the link each until h1's 1 MB are there.
  const scenario::RunResult result =
      run("workload: {flows: [{from: h0, to: h2, bytes: 1 MB, count: 10}, {from: h1, to: h2, bytes: 1 MB}]}\n");
  EXPECT_NEAR((result.flows[1].end - Time{}).us(), 160 + 2, 0.1);
  EXPECT_NEAR((result.flows[0].end - Time{}).us(), 880 + 2, 0.1);
}

TEST_F(PacketScenarioTest, FlowFidelityNamesWhatItIgnores) {
  const std::string flows = "workload: {flows: [{from: h0, to: h2, bytes: 1 MB, open_loop: true}]}\n";
  const std::string fabric =
      "    pfc: {}\n    ecn: {enabled: false}\n    credits: {enabled: false}\n    transport: {window: 50 kB}\n" + flows;
  const scenario::RunResult result = run(fabric);
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_EQ(result.notes[0],
            "flow fidelity ignores fabric.pfc, fabric.transport, the flows' open_loop: flows share links evenly, where pauses "
            "share them by ingress port and hold up bystanders; simulation: {fidelity: packet} heeds them");
  EXPECT_TRUE(run(fabric + "simulation: {fidelity: packet}\n").notes.empty());
  EXPECT_TRUE(run("workload: {flows: [{from: h0, to: h2, bytes: 1 MB}]}\n").notes.empty());
}

TEST_F(PacketScenarioTest, LossesDoNotEndAFlowWithoutEnd) {
  // Without retransmission every fourth packet is missing in what arrives, and nothing else happens.
  const scenario::RunResult result =
      run("workload: {flows: [{from: h0, to: h2, bytes: unlimited}]}\nsimulation: {fidelity: packet, until: 802.08 us}\n"
          "faults: [{drop: {every: 4}}]\n");
  EXPECT_FALSE(result.flows[0].aborted);
  EXPECT_EQ(result.makespan, 802'080_ns);
  EXPECT_NEAR(static_cast<double>(result.flows[0].bytes.count()), 7.5e6, 2e3);
}

TEST_F(PacketScenarioTest, StopEndsAFlowWithoutEnd) {
  // It stops in the middle of a packet. 100 Gb/s for 80 us, and h1's flow alone afterwards: 1 MB in 160 us beside it, the other
  // 1 MB in 80 us.
  const std::string flows =
      "workload: {flows: [{from: h0, to: h2, bytes: unlimited, stop: 159.96 us}, {from: h1, to: h2, bytes: 2 MB}]}\n";
  for (const char* fidelity : {"packet", "flow"}) {
    const scenario::RunResult result = run(flows + "simulation: {fidelity: " + fidelity + "}\n");
    if (std::string{fidelity} == "flow") {
      EXPECT_NEAR(static_cast<double>(result.flows[0].bytes.count()), 1e6, 1e3);
    }
    EXPECT_FALSE(result.flows[0].aborted);
    EXPECT_NE(result.flows[0].end, Time::max());
  }
  // In packets what h0 has put into the switch's queue by then still arrives: 2 MB, of one packet more.
  const scenario::RunResult packets = run(flows + "simulation: {fidelity: packet}\n");
  EXPECT_NEAR(static_cast<double>(packets.flows[0].bytes.count()), 2e6, 1.5e3);
  EXPECT_NEAR((packets.flows[0].end - Time{}).us(), 322, 0.2);
}

TEST_F(PacketScenarioTest, StopEndsAFlowOverSeveralQueuePairsWithLosses) {
  const scenario::RunResult result =
      run("    transport: {queue_pairs: 4, acks: none}\n"
          "workload: {flows: [{from: h0, to: h2, bytes: unlimited, stop: 80 us}]}\nsimulation: {fidelity: packet}\n"
          "faults: [{drop: {every: 10}}]\n");
  EXPECT_FALSE(result.flows[0].aborted);
  // Each queue pair ends with a packet more.
  EXPECT_NEAR((result.flows[0].end - Time{}).us(), 82 + 4 * 0.08, 0.2);
  EXPECT_NEAR(static_cast<double>(result.flows[0].bytes.count()), 900e3, 5e3);
}

TEST_F(PacketScenarioTest, AStoppedFlowIsAcknowledgedToItsEnd) {
  // The last packet's acknowledgement comes at once, whatever the receiver waits for otherwise: nothing is sent again.
  const scenario::RunResult result =
      run("    transport: {acks: free, ack_every: 64, reliability: go_back_n}\n"
          "workload: {flows: [{from: h0, to: h2, bytes: unlimited, stop: 7.96 us}]}\nsimulation: {fidelity: packet}\n");
  EXPECT_EQ(result.network.flow_counters[0].packets_sent, 101);
  EXPECT_EQ(result.network.flow_counters[0].retransmitted, 0);
  EXPECT_EQ(result.network.flow_counters[0].outstanding_bytes, 0);
}

TEST_F(PacketScenarioTest, AWindowSmallerThanWhatAnAckStandsForMovesOn) {
  // Five packets, and the acknowledgement that the fifth asks for: 5 kB in 4 packets' times and a round trip of 4 us and two
  // packets' times.
  const scenario::RunResult result =
      run("    transport: {acks: free, ack_every: 10, window: 5 kB, reliability: none}\n"
          "workload: {flows: [{from: h0, to: h2, bytes: 1 MB}]}\nsimulation: {fidelity: packet}\n");
  EXPECT_NEAR((result.flows[0].end - Time{}).us(), 199 * (4 * 0.08 + 4 + 2 * 0.08) + 4 * 0.08 + 2 + 2 * 0.08, 0.01);
}

TEST_F(PacketScenarioTest, NoLinkIsBusierThanItsTime) {
  // A packet takes 80 ns; the windows begin and end within one.
  for (const char* window : {"{from: 10.03 us, to: 10.13 us}", "{from: 10.01 us, to: 12.34567 us}", "{to: 5.999 us}"}) {
    const scenario::RunResult result =
        run("workload: {flows: [{from: h0, to: h2, bytes: unlimited}]}\nsimulation: {fidelity: packet, until: 20.011 us}\n"
            "measure: " +
            std::string{window} + "\n");
    const double utilization = port(result, "h0->s0").utilization;
    EXPECT_LE(utilization, 1.0) << window;
    EXPECT_GE(utilization, 1.0 - 1e-9) << window;
    for (const scenario::LinkUse& link : result.hottest) EXPECT_LE(link.utilization, 1.0);
  }
}

}  // namespace
}  // namespace weft::output
