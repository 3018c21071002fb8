#include "sim/workloads/job_run.h"

#include <gtest/gtest.h>

#include "tests/workloads/workload_support.h"

namespace weft::work::test {
namespace {

using namespace weft::literals;

// models/network §7 K31: two jobs share one 100 Gb/s link; an iteration is 100 ms of compute, then 1.25 GB, 100 ms alone.
std::vector<JobResult> run_pair(int priority) {
  const net::Topology topology = weft::testing::star(3, 100_Gbps, 0_us);
  net::Machine machine{topology, "ecmp", 1};
  const std::string tail = ", to: h2, bytes: 1.25 GB, compute: 100 ms, iterations: 5";
  const Workload workload =
      read("{jobs: [{from: h0, priority: " + std::to_string(priority) + tail + "}, {from: h1" + tail + "}]}", topology);
  JobRun run{machine, workload.jobs, 0};
  run.start();
  machine.simulator.run();
  machine.fabric.check_conservation();
  EXPECT_EQ(run.unfinished(), 0U);
  return run.results();
}

TEST(JobRunTest, FairSharesKeepJobsInPhase) {
  for (const JobResult& job : run_pair(0)) {
    ASSERT_EQ(job.iterations.size(), 5U);
    for (const JobIteration& iteration : job.iterations) EXPECT_EQ(iteration.end - iteration.start, 300_ms);
  }
}

TEST(JobRunTest, StrictPriorityMovesJobsOutOfPhase) {
  const std::vector<JobResult> jobs = run_pair(1);
  for (const JobIteration& iteration : jobs[0].iterations) EXPECT_EQ(iteration.end - iteration.start, 200_ms);
  for (std::size_t i = 0; i < 5; ++i) {
    const JobIteration& iteration = jobs[1].iterations[i];
    EXPECT_EQ(iteration.end - iteration.start, i == 0 ? 300_ms : 200_ms) << i;
  }
}

TEST(JobRunTest, AnIterationEndsWithItsLastTransfer) {
  const net::Topology topology = weft::testing::star(3, 100_Gbps, 0_us);
  net::Machine machine{topology, "ecmp", 1};
  const Workload workload = read(
      "{jobs: [{compute: 1 us, iterations: 2, transfers: [{from: h0, to: h1, bytes: 1 MB}, {from: h1, to: h0, bytes: 2 MB}]}]}",
      topology);
  JobRun run{machine, workload.jobs, 0};
  run.start();
  machine.simulator.run();
  EXPECT_EQ(run.results()[0].iterations[1].start, Time{} + 161_us);
  EXPECT_EQ(run.results()[0].iterations[1].sent, Time{} + 162_us);
  EXPECT_EQ(run.results()[0].iterations[1].end, Time{} + 322_us);
}

}  // namespace
}  // namespace weft::work::test
