#include "sim/output/replay_timeline.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "sim/scenario/run_scenario.h"

namespace weft::output {
namespace {

// The shipped 1F1B pipeline of four stages and eight microbatches, two iterations.
nlohmann::json timeline_of_1f1b() {
  Diagnostics diagnostics;
  const scenario::Scenario scenario =
      scenario::load_scenario(std::string{WEFT_SOURCE_DIR} + "/configs/scenarios/training/gpt_1f1b.yaml", {}, diagnostics);
  std::ostringstream out;
  ReplayTimeline timeline{out};
  static_cast<void>(scenario::run_scenario(scenario, nullptr, &timeline));
  timeline.finish();
  return nlohmann::json::parse(out.str());
}

// Chrome's and Perfetto's readers ask this of a trace in JSON: the "Trace Event Format".
TEST(ReplayTimelineTest, IsAChromeTraceWithAProcessForEachRank) {
  const nlohmann::json trace = timeline_of_1f1b();
  std::set<std::int64_t> named;
  std::map<std::pair<std::int64_t, std::int64_t>, double> free_at;
  std::map<std::uint64_t, std::pair<int, int>> arrows;
  std::size_t spans = 0;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    const std::string phase = event.at("ph");
    ASSERT_TRUE(event.at("name").is_string());
    const std::int64_t process = event.at("pid");
    const std::int64_t thread = event.at("tid");
    if (phase == "M") {
      if (event.at("name") == "process_name") named.insert(process);
      continue;
    }
    const double begin = event.at("ts");
    ASSERT_GE(begin, 0);
    if (phase == "s" || phase == "f") {
      ++(phase == "s" ? arrows[event.at("id")].first : arrows[event.at("id")].second);
      continue;
    }
    ASSERT_EQ(phase, "X");
    const double duration = event.at("dur");
    ASSERT_GE(duration, 0);
    ASSERT_TRUE(named.contains(process));
    // Operations of a stream do not overlap.
    double& free = free_at[{process, thread}];
    ASSERT_GE(begin, free - 1e-6) << event.dump();
    free = begin + duration;
    ++spans;
  }
  EXPECT_EQ(named, (std::set<std::int64_t>{0, 1, 2, 3}));
  EXPECT_GT(spans, 1000U);
  // Three boundaries, eight microbatches, activations and gradients, two iterations: each sent and received once.
  EXPECT_EQ(arrows.size(), 3U * 8 * 2 * 2);
  for (const auto& [id, ends] : arrows) EXPECT_EQ(ends, (std::pair{1, 1})) << id;
}

}  // namespace
}  // namespace weft::output
