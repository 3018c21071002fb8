#include "sim/workloads/connection_matrix.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/workloads/flow_run.h"
#include "tests/support/temp_folder.h"
#include "tests/workloads/workload_support.h"

namespace weft::work::test {
namespace {

using namespace weft::literals;

class ConnectionMatrixTest : public ::testing::Test {
 protected:
  Workload read_matrix(const std::string& text) {
    static_cast<void>(folder_.write("flows.cm", text));
    return read("{flows_file: flows.cm}", topology_, nullptr, folder_.path().string() + "/");
  }
  std::vector<std::string> matrix_errors(const std::string& text) {
    static_cast<void>(folder_.write("flows.cm", text));
    return errors("{flows_file: flows.cm}", topology_, nullptr, folder_.path().string() + "/");
  }
  void expect_one_error(const std::string& text, const std::string& expected) {
    const std::vector<std::string> found = matrix_errors(text);
    ASSERT_EQ(found.size(), 1U) << text;
    EXPECT_EQ(found[0], expected);
  }

  weft::test::TempFolder folder_;
  net::Topology topology_ = weft::testing::star(4, 100_Gbps, 1_us);
};

TEST_F(ConnectionMatrixTest, ConnectionsStartInPicoseconds) {
  const Workload workload =
      read_matrix("# of htsim\nNodes 4\nConnections 2\n0->3 id 1 start 0 size 1000\n3->1 start 2500000 size 64 prio 3\n");
  ASSERT_EQ(workload.flows.size(), 2U);
  EXPECT_EQ(workload.flows[0].to, topology_.endpoints()[3]);
  EXPECT_EQ(workload.flows[0].bytes, 1'000_B);
  EXPECT_EQ(workload.flows[1].from, topology_.endpoints()[3]);
  EXPECT_EQ(workload.flows[1].start, Time{} + 2500_ns);
  EXPECT_TRUE(workload.chains.triggers.empty());
}

TEST_F(ConnectionMatrixTest, MistakesAreTold) {
  expect_one_error("Nodes 4\nConnections 2\n0->3 start 0 size 1\n", "'Connections' announces 2 connections, and 1 follow");
  expect_one_error("Nodes 5\n", "5 nodes are more than this cluster has: 4");
  expect_one_error("Nodes 2\n0->2 start 0 size 1\n", "host 2 is not one of 2 (0 to 1)");
  expect_one_error("Nodes 4\n0->x start 0 size 1\n", "expected whole numbers in 'source->destination'");
  expect_one_error("Nodes 4\n0->1 start 0\n", "a connection needs a 'size', in bytes");
  expect_one_error("Nodes 4\n0->1 size 1\n", "a connection needs a 'start', in picoseconds, or a 'trigger'");
  expect_one_error("Nodes 4\n0->1 start 0 trigger 1 size 1\n", "a connection has a 'start' or a 'trigger', not both");
  expect_one_error("Nodes 4\n0->1 start -1 size 1\n", "expected a start of 0 to 1e18 picoseconds");
  expect_one_error("Nodes 4\n0->1 start 0 siez 1\n",
                   "unknown word 'siez'; choices: start, size, id, msg, prio, trigger, send_done_trigger, recv_done_trigger");
  expect_one_error("Nodes 4\n0->1 trigger 7 size 1\ntrigger id 7 oneshot\n",
                   "nothing activates trigger 7, which connections wait for");
  expect_one_error("Nodes 4\n0->1 start 0 size 1 send_done_trigger 7\n", "no line 'trigger id 7' says what this trigger is");
  expect_one_error("Nodes 4\ntrigger id 7\n", "a trigger is 'oneshot', 'multishot' or 'barrier'");
  expect_one_error("Nodes 4\nFailures 1\n", "failures are not read: state them under 'faults' of the scenario");
  EXPECT_EQ(matrix_errors("Nodes 4\n0->9 start 0 size 1\n9->0 start 0 size 1\n").size(), 2U);
}

// Times of all flows of a matrix at flow fidelity, 100 Gb/s: a flow of 125 kB takes 10 us, and 2 us of cables.
std::vector<FlowResult> run_matrix(const Workload& workload, const net::Topology& topology) {
  net::Machine machine{topology, "ecmp", 1};
  FlowRun run{machine, workload, 1};
  run.start();
  machine.simulator.run();
  return run.results();
}

TEST_F(ConnectionMatrixTest, AOneshotStartsAllItsFlows) {
  const Workload workload = read_matrix(
      "Nodes 4\nTriggers 1\n0->1 id 1 start 5000000 size 125000 recv_done_trigger 1\n1->2 id 2 trigger 1 size 125000\n"
      "2->3 id 3 trigger 1 size 125000\ntrigger id 1 oneshot\n");
  const auto results = run_matrix(workload, topology_);
  EXPECT_EQ(results[0].end, Time{} + 17_us);
  EXPECT_EQ(results[1].start, Time{} + 17_us);
  EXPECT_EQ(results[2].start, Time{} + 17_us);
  EXPECT_EQ(results[2].end, Time{} + 29_us);
}

// When all has left: without the cables.
TEST_F(ConnectionMatrixTest, SendDoneIsBeforeReceiveDone) {
  const Workload workload = read_matrix(
      "Nodes 4\n0->1 id 1 start 0 size 125000 send_done_trigger 1\n0->2 id 2 trigger 1 size 125000\ntrigger id 1 oneshot\n");
  EXPECT_EQ(run_matrix(workload, topology_)[1].start, Time{} + 10_us);
}

TEST_F(ConnectionMatrixTest, ABarrierWaitsForAll) {
  const Workload workload = read_matrix(
      "Nodes 4\n0->1 id 1 start 0 size 125000 recv_done_trigger 1\n2->3 id 2 start 0 size 250000 recv_done_trigger 1\n"
      "1->0 id 3 trigger 1 size 125000\ntrigger id 1 barrier count 2\n");
  EXPECT_EQ(run_matrix(workload, topology_)[2].start, Time{} + 22_us);
}

TEST_F(ConnectionMatrixTest, AMultishotStartsOneEachTime) {
  const Workload workload = read_matrix(
      "Nodes 4\n0->1 id 1 start 0 size 125000 recv_done_trigger 1\n2->3 id 2 start 0 size 250000 recv_done_trigger 1\n"
      "1->0 id 3 trigger 1 size 125000\n3->2 id 4 trigger 1 size 125000\ntrigger id 1 multishot\n");
  const auto results = run_matrix(workload, topology_);
  EXPECT_EQ(results[2].start, Time{} + 12_us);
  EXPECT_EQ(results[3].start, Time{} + 22_us);
}

}  // namespace
}  // namespace weft::work::test
