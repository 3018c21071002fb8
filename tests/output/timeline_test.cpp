#include "sim/output/timeline.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "sim/scenario/scenario.h"

namespace weft::output {
namespace {

using namespace weft::literals;

coll::CollectiveResult call(Bytes bytes, int ranks, Duration time) {
  coll::CollectiveResult result;
  result.call.bytes = bytes;
  result.sizes.reported = bytes;
  result.ranks = ranks;
  result.time = time;
  return result;
}

nlohmann::json spans_of(const std::string& text) {
  const auto trace = nlohmann::json::parse(text);
  auto spans = nlohmann::json::array();
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X") spans.push_back(event);
  }
  return spans;
}

nlohmann::json collectives(const std::vector<coll::CollectiveResult>& results, const std::vector<std::int64_t>& counts) {
  std::ostringstream out;
  write_collective_timeline(out, results, counts);
  return spans_of(out.str());
}

TEST(TimelineTest, GivesEachRankASpanPerCall) {
  const auto spans = collectives({call(1_MiB, 2, 1'500'000_ps), call(2_MiB, 2, 3_us)}, {2, 1});
  ASSERT_EQ(spans.size(), 2U * 3);
  // Microseconds: two calls of 1.5 us, then one of 3 us.
  EXPECT_EQ(spans[0]["ts"], 0);
  EXPECT_EQ(spans[2]["ts"], 1.5);
  EXPECT_EQ(spans[4]["ts"], 3);
  EXPECT_EQ(spans[4]["dur"], 3);
  EXPECT_EQ(spans[4]["tid"], 0);
  EXPECT_EQ(spans[5]["tid"], 1);
}

TEST(TimelineTest, GivesManyRanksOneTrack) {
  EXPECT_EQ(collectives({call(1_MiB, kMaxRankTracks, 1_us)}, {}).size(), static_cast<std::size_t>(kMaxRankTracks));
  EXPECT_EQ(collectives({call(1_MiB, kMaxRankTracks + 1, 1_us)}, {}).size(), 1U);
}

TEST(TimelineTest, LetsCallsBeyondTheLimitShareASpan) {
  const auto spans = collectives({call(1_MiB, 1, 1_us)}, {kMaxCallSpans + 5});
  ASSERT_EQ(spans.size(), static_cast<std::size_t>(kMaxCallSpans) + 1);
  EXPECT_EQ(spans.back()["dur"], 5);
  EXPECT_EQ(spans.back()["args"]["calls"], 5);
}

class FlowTimelineTest : public ::testing::Test {
 protected:
  FlowTimelineTest() {
    Diagnostics diagnostics;
    cluster_.emplace(net::load_cluster(
        ConfigNode::parse("nodes: 2\nnode: {devices: [{name: h, kind: host}], links: []}\n"
                          "fabric: {type: single_switch, link: {type: ethernet, rate: 400 Gb/s, latency: 1 us}}\n",
                          "test.yaml"),
        {.profile = {}, .groups = scenario::all_param_groups()}, diagnostics));
  }

  void add(std::size_t from, Duration start, Duration fct) {
    const std::vector<DeviceId>& hosts = cluster_->topology.endpoints();
    flows_.push_back({hosts[from], hosts[1 - from], 1_KB, Time{} + start, Bandwidth{}, 0});
    results_.push_back({.bytes = 1_KB, .start = Time{} + start, .end = Time{} + start + fct});
  }
  nlohmann::json spans() const {
    std::ostringstream out;
    write_flow_timeline(out, cluster_->topology, flows_, results_);
    return spans_of(out.str());
  }

  std::optional<net::Cluster> cluster_;
  std::vector<work::FlowItem> flows_;
  std::vector<work::FlowResult> results_;
};

TEST_F(FlowTimelineTest, KeepsFlowsOfALaneApart) {
  add(0, 0_us, 10_us);
  add(0, 5_us, 10_us);
  add(0, 10_us, 10_us);
  add(1, 0_us, 1_us);
  std::map<std::pair<int, int>, double> free_at;
  for (const auto& span : spans()) {
    const std::pair<int, int> lane{span["pid"], span["tid"]};
    EXPECT_GE(span["ts"].get<double>(), free_at[lane]);
    free_at[lane] = span["ts"].get<double>() + span["dur"].get<double>();
  }
  EXPECT_EQ(free_at.size(), 3U);  // two lanes of the first host, one of the second
}

TEST_F(FlowTimelineTest, LeavesOutFlowsThatDidNotEnd) {
  add(0, 0_us, 10_us);
  add(0, 0_us, 10_us);
  results_.back().end = Time::max();
  EXPECT_EQ(spans().size(), 1U);
}

TEST_F(FlowTimelineTest, LimitsTheLanesOfASource) {
  for (std::size_t i = 0; i < kMaxFlowLanes + 3; ++i) add(0, 0_us, 10_us);
  EXPECT_EQ(spans().size(), kMaxFlowLanes);
}

}  // namespace
}  // namespace weft::output
