// The timeline of serving, in the Chrome trace format that Perfetto opens: for each engine its steps, stage by stage, counters
// of requests and of cache blocks, and its requests, which queue, prefill, wait for their cache to move, and decode.
//
//   ServingTimeline timeline{out};
//   run_scenario(scenario, &progress, nullptr, nullptr, &timeline);
//   timeline.finish();
//
// Steps are written as they begin; requests at the end, since they take lanes in order of arrival. Steps beyond kMostSteps, and
// requests that overlap with kMostLanes others of their engine, are left out and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "sim/output/trace_writer.h"
#include "sim/workloads/inference/serving.h"
#include "sim/workloads/inference/serving_observer.h"

namespace weft::output {

class ServingTimeline final : public work::ServingObserver {
 public:
  static constexpr std::size_t kMostSteps = 400'000;
  static constexpr std::size_t kMostLanes = 256;

  explicit ServingTimeline(std::ostream& out) : trace_{out} {}

  void on_engine(std::size_t engine, work::EngineRole role, int stages, std::int64_t blocks) override;
  void on_step(const work::ServedStep& step) override;
  void on_load(std::size_t engine, Time now, const work::BatchScheduler& scheduler) override;
  void on_request(work::RequestId request, const work::RequestRecord& record) override;
  void finish();

  [[nodiscard]] std::string note() const;  // what is left out for want of room; empty: nothing

 private:
  struct Load {
    std::int64_t running = -1;
    std::int64_t waiting = -1;
    std::int64_t used = -1;
    std::int64_t cached = -1;
    friend bool operator==(const Load&, const Load&) = default;
  };
  struct Engine {
    work::EngineRole role = work::EngineRole::kBoth;
    Load load;  // as it was written last
  };
  struct Done {
    work::RequestId id = 0;
    work::RequestRecord record;
  };
  // Time of a request on an engine: of its queue and its prefill, or of its decoding, or of both.
  struct Visit {
    Time begin;
    Time end;
    const Done* done = nullptr;
  };
  void write_visits(std::size_t engine);
  void write_phase(std::string_view name, std::size_t process, std::size_t lane, Time begin, Time end, const Done& done);

  TraceWriter trace_;
  std::vector<Engine> engines_;
  std::vector<Done> done_;
  std::size_t steps_ = 0;
  std::size_t steps_left_out_ = 0;
  std::size_t requests_left_out_ = 0;
};

}  // namespace weft::output
