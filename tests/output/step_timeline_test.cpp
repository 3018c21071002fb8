#include "sim/output/step_timeline.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>

#include "sim/collectives/runner.h"
#include "sim/scenario/scenario.h"
#include "tests/support/topologies.h"

namespace weft::output {
namespace {

using namespace weft::literals;

// A plain ring of four ranks at 1 GB/s and 1 us a cable, 4 MB: six steps of 1 MB, each 1 ms and 2 us.
struct RecordedRing {
  RecordedRing() {
    options.algorithm = "plain_ring";
    options.grain = coll::Grain::kChunk;
    options.steps = &steps;
    const Profile profile = Profile::defaults(scenario::all_param_groups());
    coll::CollectiveRunner runner{machine, profile, topology.endpoints()};
    result = runner.run({.kind = coll::Collective::kAllReduce, .bytes = 4_MB}, options);
  }
  nlohmann::json events(Time at) const {
    std::ostringstream out;
    TraceWriter trace{out};
    steps.name_tracks(trace, 1);
    length = steps.write(trace, 1, 0, at);
    trace.finish();
    return nlohmann::json::parse(out.str()).at("traceEvents");
  }

  net::Topology topology = testing::star(4, 1_GBps, 1_us);
  net::Machine machine{topology, "spray", 1};
  coll::RunOptions options;
  StepTimeline steps;
  coll::CollectiveResult result;
  mutable Duration length;
};

TEST(StepTimelineTest, ShowsEveryStepOfARing) {
  const RecordedRing ring;
  std::map<int, std::int64_t> sent;
  std::map<std::pair<int, int>, double> free_from;  // by track
  for (const auto& event : ring.events(Time{})) {
    if (event.at("ph") != "X") continue;
    const std::pair track{event.at("pid").get<int>(), event.at("tid").get<int>()};
    EXPECT_GE(event.at("ts").get<double>(), free_from[track] - 1e-6) << "spans of a lane follow one another";
    free_from[track] = event.at("ts").get<double>() + event.at("dur").get<double>();
    if (event.at("cat") != "step") continue;
    const int rank = track.first - 1;
    if (event.at("name").get<std::string>().ends_with("send " + std::to_string((rank + 1) % 4)))
      sent[rank] += event.at("args").at("bytes").get<std::int64_t>();
  }
  ASSERT_EQ(sent.size(), 4U);
  for (const auto& [rank, bytes] : sent) EXPECT_EQ(bytes, 6'000'000) << rank;  // 2 (n-1)/n S
  EXPECT_NEAR(ring.length.us(), 6 * 1002.0, 0.01);
  EXPECT_EQ(ring.length, ring.result.device);
}

TEST(StepTimelineTest, NamesTheTracksAndBeginsWhereItIsTold) {
  const RecordedRing ring;
  const auto events = ring.events(Time{} + 5_us);
  std::map<int, std::string> processes;
  double first = 1e9;
  for (const auto& event : events) {
    if (event.at("name") == "process_name")
      processes[event.at("pid").get<int>()] = event.at("args").at("name").get<std::string>();
    if (event.at("name") == "thread_name") {
      EXPECT_EQ(event.at("args").at("name"), "channel 0 lane 0");
    }
    if (event.at("ph") == "X") first = std::min(first, event.at("ts").get<double>());
  }
  EXPECT_EQ(processes.size(), 4U);
  EXPECT_EQ(processes[1], "rank 0 channels");
  EXPECT_EQ(first, 5.0);
}

TEST(StepTimelineTest, CountsWhatThereIsNoRoomFor) {
  StepTimeline steps;
  steps.on_loop(Time{});
  for (std::size_t i = 0; i < StepTimeline::kMostSlices; ++i) steps.on_slice({}, {});
  EXPECT_EQ(steps.note(), "");
  steps.on_slice({.call = StepTimeline::kCalls}, {});  // of later calls none are kept anyway
  EXPECT_EQ(steps.note(), "");
  steps.on_slice({}, {});
  EXPECT_EQ(steps.note(), "the timeline shows the first 400000 slices; 1 more of the first calls are left out");
}

}  // namespace
}  // namespace weft::output
