#include "sim/output/serving_timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/workloads/inference/inference_support.h"

namespace weft::output {
namespace {

using namespace weft::literals;

// Six prompts on one engine, or on one that prefills and one that decodes.
struct Drawn {
  explicit Drawn(work::InferenceSetup setup, std::size_t count = 6) {
    std::ostringstream out;
    ServingTimeline timeline{out};
    run.emplace(std::move(setup), work::test::alike(count, 300, 5), 1000, 1000, 400_Gbps, &timeline);
    timeline.finish();
    note = timeline.note();
    events = nlohmann::json::parse(out.str()).at("traceEvents");
  }
  [[nodiscard]] std::vector<nlohmann::json> of(const std::string& phase, const std::string& category = {}) const {
    std::vector<nlohmann::json> found;
    for (const auto& event : events) {
      if (event.at("ph") == phase && (category.empty() || event.value("cat", "") == category)) found.push_back(event);
    }
    return found;
  }
  std::optional<work::test::ServingRun> run;
  nlohmann::json events;
  std::string note;
};

// Spans of a track follow one another.
void expect_well_formed(const Drawn& drawn) {
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> tracks;
  for (const auto& span : drawn.of("X")) {
    EXPECT_GT(span.at("dur").get<double>(), 0);
    EXPECT_GE(span.at("ts").get<double>(), 0);
    const double begin = span.at("ts");
    tracks[{span.at("pid"), span.at("tid")}].emplace_back(begin, begin + span.at("dur").get<double>());
  }
  for (auto& [track, spans] : tracks) {
    std::ranges::sort(spans);
    for (std::size_t i = 1; i < spans.size(); ++i) EXPECT_GE(spans[i].first, spans[i - 1].second - 1e-6);
  }
  std::map<std::pair<int, std::string>, double> last;
  for (const auto& counter : drawn.of("C")) {
    double& before = last[{counter.at("pid"), counter.at("name")}];
    EXPECT_GE(counter.at("ts").get<double>(), before);
    before = counter.at("ts");
    for (const auto& [name, value] : counter.at("args").items()) EXPECT_GE(value.get<std::int64_t>(), 0) << name;
  }
  std::set<int> named;
  for (const auto& event : drawn.of("M")) {
    if (event.at("name") == "process_name") {
      EXPECT_TRUE(named.insert(event.at("pid").get<int>()).second);
    }
  }
  for (const auto& event : drawn.events) EXPECT_TRUE(named.contains(event.at("pid").get<int>()));
}

TEST(ServingTimelineTest, AnEngineHasItsStepsItsRequestsAndItsCounters) {
  work::InferenceSetup setup = work::test::on_one_gpu("llama3_8b");
  setup.scheduler.token_budget = 600;
  const Drawn drawn{setup};
  expect_well_formed(drawn);
  const auto steps = drawn.of("X", "step");
  EXPECT_EQ(steps.size(), drawn.run->serving.engines(Time{} + 1_s)[0].totals.steps);
  // Two prompts fill a step. Others then have pieces beside answers, until answers alone are left.
  EXPECT_EQ(steps.front().at("name"), "prefill");
  EXPECT_EQ(steps.front().at("args").at("batch"), 2);
  EXPECT_EQ(steps.front().at("args").at("tokens"), 600);
  EXPECT_EQ(steps[1].at("name"), "mixed");
  EXPECT_EQ(steps[1].at("args").at("decodes"), 2);
  EXPECT_EQ(steps[1].at("args").at("context"), 600);
  EXPECT_EQ(steps.back().at("name"), "decode");
  std::map<std::string, int> phases;
  for (const auto& span : drawn.of("X", "request")) ++phases[span.at("name")];
  EXPECT_EQ(phases, (std::map<std::string, int>{{"queue", 4}, {"prefill", 6}, {"decode", 6}})) << "two prompts begin at once";
  const auto counters = drawn.of("C");
  ASSERT_FALSE(counters.empty());
  EXPECT_EQ(counters.back().at("args").at("used"), 0) << "all blocks are back";
  EXPECT_TRUE(drawn.note.empty());
}

TEST(ServingTimelineTest, StagesOfAnEngineHaveTracks) {
  work::InferenceSetup setup = work::test::on_one_gpu("llama3_8b");
  setup.plan.pipeline = 2;
  const Drawn drawn{setup};
  expect_well_formed(drawn);
  std::map<int, std::size_t> by_stage;
  for (const auto& span : drawn.of("X", "step")) ++by_stage[span.at("tid")];
  const std::size_t steps = drawn.run->serving.engines(Time{} + 1_s)[0].totals.steps;
  EXPECT_EQ(by_stage, (std::map<int, std::size_t>{{0, steps}, {1, steps}}));
}

TEST(ServingTimelineTest, ARequestThatMovesIsOnBothEngines) {
  work::InferenceSetup setup = work::test::on_one_gpu("llama3_8b");
  setup.decode = work::EnginePlan{};
  setup.layer_wise = false;
  const Drawn drawn{setup};
  expect_well_formed(drawn);
  std::map<std::pair<int, std::string>, int> phases;
  for (const auto& span : drawn.of("X", "request")) ++phases[{span.at("pid"), span.at("name")}];
  EXPECT_EQ((phases[{1, "prefill"}]), 6);
  EXPECT_EQ((phases[{3, "transfer"}]), 6);
  EXPECT_EQ((phases[{3, "decode"}]), 6);
  EXPECT_EQ((phases[{1, "decode"}]), 0);
}

TEST(ServingTimelineTest, RequestsBeyondTheLanesAreCounted) {
  const Drawn drawn{work::test::on_one_gpu("llama3_8b"), ServingTimeline::kMostLanes + 3};
  expect_well_formed(drawn);
  EXPECT_NE(drawn.note.find("3 requests"), std::string::npos) << drawn.note;
}

}  // namespace
}  // namespace weft::output
