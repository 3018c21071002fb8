#include "sim/workloads/training/training_jobs.h"

#include <gtest/gtest.h>

#include <string>

namespace weft::work::test {
namespace {

std::string job(const std::string& extra) {
  return "{model: {kind: model, name: tiny, layers: 4, hidden: 512, heads: 8, ffn: 1024, vocab: 1000}, "
         "batch: {global: 8, sequence: 1024}, " +
         extra + "}";
}

std::vector<TrainingJob> read_jobs(const std::vector<std::string>& jobs, std::size_t endpoints) {
  std::string yaml = "training_jobs:\n";
  for (const std::string& each : jobs) yaml += "  - " + job(each) + "\n";
  const ConfigNode node = ConfigNode::parse(yaml, "jobs.yaml", "workload");
  Diagnostics diagnostics;
  ParamReader reader{node, diagnostics};
  std::vector<TrainingJob> made = read_training_jobs(reader, endpoints);
  reader.finish();
  diagnostics.throw_if_any();
  return made;
}

std::string refusal_of_jobs(const std::vector<std::string>& jobs, std::size_t endpoints) {
  try {
    static_cast<void>(read_jobs(jobs, endpoints));
  } catch (const ConfigError& error) {
    return error.diagnostics().front().message;
  }
  return {};
}

using Map = std::vector<std::int32_t>;

TEST(TrainingJobsTest, AJobTakesTheFirstGpusThatThoseAboveItLeave) {
  const auto jobs =
      read_jobs({"parallelism: {data: 2}, first_gpu: 1, gpu_stride: 2", "parallelism: {data: 4}, start: 3 ms"}, 8);
  EXPECT_EQ(jobs[0].setup.plan.rank_map, (Map{1, 3}));
  EXPECT_EQ(jobs[1].setup.plan.rank_map, (Map{0, 2, 4, 5}));
  EXPECT_EQ(jobs[0].name, "job0");
  EXPECT_EQ((jobs[1].start - Time{}).us(), 3000);
}

TEST(TrainingJobsTest, TheLastGpuCanBeTakenAndNoneBeyondIt) {
  EXPECT_EQ(read_jobs({"parallelism: {data: 2}, first_gpu: 6"}, 8)[0].setup.plan.rank_map, (Map{6, 7}));
  EXPECT_EQ(refusal_of_jobs({"parallelism: {data: 2}, first_gpu: 7"}, 8),
            "workload.training_jobs[0].first_gpu: 2 ranks would reach GPU 8, and the cluster has 8 (0 to 7)");
  EXPECT_EQ(refusal_of_jobs({"parallelism: {data: 2}", "parallelism: {data: 2}"}, 3),
            "workload.training_jobs[1].parallelism: the job needs 2 GPUs, and the jobs above it leave 1 of 3");
}

TEST(TrainingJobsTest, TwoJobsOnOneGpuOrOfOneNameAreErrors) {
  EXPECT_EQ(refusal_of_jobs({"name: a, parallelism: {data: 2}", "parallelism: {data: 2}, first_gpu: 1"}, 8),
            "workload.training_jobs[1].first_gpu: GPU 1 is held by job 'a'");
  EXPECT_EQ(refusal_of_jobs({"name: a, parallelism: {data: 2}", "name: a, parallelism: {data: 2}"}, 8),
            "workload.training_jobs[1].name: two jobs are called 'a'");
  EXPECT_EQ(refusal_of_jobs({"parallelism: {data: 2, rank_map: [0, 1]}, first_gpu: 1"}, 8),
            "workload.training_jobs[0].first_gpu: rank_map places this job: give the one or the other");
}

}  // namespace
}  // namespace weft::work::test
