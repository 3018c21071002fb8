// Plans that cannot be run: each is refused when it is read, with a reason that names what does not fit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/core/error.h"
#include "sim/workloads/training/training_reader.h"

namespace weft::work::test {
namespace {

struct Parts {
  std::string parallelism = "data: 8";
  std::string batch = "global: 64, micro: 1, sequence: 4096";
  std::string model = "";
  std::size_t ranks = 64;
};

// The first error's message; empty: it is accepted.
std::string refusal_of_plan(const Parts& parts) {
  const std::string yaml = fmt::format(
      "{{model: {{kind: model, layers: 32, hidden: 4096, heads: 32, kv_heads: 8, ffn: 11008, vocab: 32000{}}}, parallelism: "
      "{{{}}}, "
      "batch: {{{}}}}}",
      parts.model, parts.parallelism, parts.batch);
  Diagnostics diagnostics;
  ParamReader reader{ConfigNode::parse(yaml, "plan.yaml", "workload"), diagnostics};
  const TrainingSetup setup = read_training(reader, parts.ranks);
  reader.finish();
  if (diagnostics.has_errors()) return diagnostics.errors().front().message;
  return training_refusal(setup);
}

class RefusedPlansTest : public ::testing::Test {
 protected:
  void expect_refused(const Parts& parts, const std::string& word) {
    const std::string message = refusal_of_plan(parts);
    EXPECT_NE(message.find(word), std::string::npos) << parts.parallelism << "; " << parts.batch << ": '" << message << "'";
    ++count_;
  }
  int count_ = 0;
};

TEST_F(RefusedPlansTest, TwoHundredAndMore) {
  EXPECT_EQ(refusal_of_plan({}), "");
  for (const int tensor : {3, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 22, 23, 24, 25}) {
    expect_refused({.parallelism = fmt::format("tensor: {}", tensor), .batch = "global: 64, micro: 1, sequence: 4096"},
                   "heads");
  }
  for (const int pipeline :
       {3, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31}) {
    expect_refused({.parallelism = fmt::format("pipeline: {}", pipeline)}, "layers");
  }
  for (int global = 1; global < 64; ++global) {
    if (global % 8 != 0) expect_refused({.batch = fmt::format("global: {}, micro: 1, sequence: 4096", global)}, "batch");
  }
  for (int data = 65; data < 125; ++data) {
    expect_refused(
        {.parallelism = fmt::format("data: {}", data), .batch = fmt::format("global: {}, micro: 1, sequence: 4096", data)},
        "64");
  }
  for (const int virtual_stages : {3, 5, 6, 7}) {
    for (const int pipeline : {2, 4, 8}) {
      expect_refused({.parallelism = fmt::format("pipeline: {}, virtual_stages: {}", pipeline, virtual_stages)}, "layers");
    }
  }
  for (int global = 1; global < 32; ++global) {
    if (global % 4 == 0) continue;
    expect_refused(
        {.parallelism = "pipeline: 4, virtual_stages: 2", .batch = fmt::format("global: {}, micro: 1, sequence: 4096", global)},
        "microbatches");
  }
  for (const int expert : {3, 5, 6, 7}) {
    expect_refused({.parallelism = fmt::format("data: {}, expert: {}", expert, expert),
                    .batch = fmt::format("global: {}, micro: 1, sequence: 4096", expert * 4),
                    .model = ", moe: {experts: 8, experts_per_token: 2, expert_ffn: 1024, dense_layers: 1}"},
                   "experts");
  }
  for (const int context : {3, 5, 6, 7}) {
    expect_refused({.parallelism = fmt::format("context: {}", context)}, "sequence");
  }
  EXPECT_GE(count_, 200);
}

}  // namespace
}  // namespace weft::work::test
