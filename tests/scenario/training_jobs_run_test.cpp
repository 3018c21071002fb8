#include "sim/scenario/training_jobs_run.h"

#include <gtest/gtest.h>

namespace weft::scenario {
namespace {

// The shipped scenario: each of two jobs has a GPU under either leaf, and the leaves have one cable between them.
Scenario two_jobs(std::vector<std::pair<std::string, std::string>> sets) {
  Overrides overrides;
  overrides.sets = std::move(sets);
  Diagnostics diagnostics;
  return load_scenario(WEFT_SOURCE_DIR "/configs/scenarios/training/two_jobs.yaml", overrides, diagnostics);
}

TEST(TrainingJobsRunTest, JobsThatShareNoLinkRunAsAlone) {
  // Each within a node of its own.
  const TrainingJobsResult result = run_training_jobs(two_jobs({{"workload.training_jobs[0].parallelism.rank_map", "[0, 1]"},
                                                                {"workload.training_jobs[1].parallelism.rank_map", "[8, 9]"}}));
  for (const TrainingJobResult& job : result.jobs) {
    EXPECT_EQ(job.mean_together, job.mean_alone);
    // The mean is rounded down, by less than a picosecond an iteration.
    const auto iterations = static_cast<std::int64_t>(job.together.run.replay.iterations.size());
    EXPECT_GE(job.end - job.start, iterations * job.mean_alone);
    EXPECT_LT(job.end - job.start, iterations * (job.mean_alone + Duration::from_ps(1)));
  }
}

TEST(TrainingJobsRunTest, JobsThatMeetOnACableLoseNoMoreThanTheOthersTraffic) {
  const TrainingJobsResult result = run_training_jobs(two_jobs({}));
  ASSERT_EQ(result.jobs.size(), 2U);
  Duration end;
  for (const TrainingJobResult& job : result.jobs) {
    EXPECT_GT(job.slowdown(), 1.05);
    EXPECT_LT(job.slowdown(), 2.0);  // the cable would do one after the other's
    EXPECT_LT(job.together.mfu, 1.0);
    end = std::max(end, job.end - Time{});
  }
  EXPECT_EQ(result.jobs[1].start, Time{} + Duration::from_ps(50'000'000'000));
  EXPECT_EQ(result.run.makespan, end);
  // A ring of two ranks sends all gradients once in an iteration, and there are four and three of them.
  EXPECT_NEAR(result.run.hottest.front().bytes, 7 * result.jobs.front().together.memory.gradients, 1.0);
}

}  // namespace
}  // namespace weft::scenario
