// The timeline of a program, in the Chrome trace format that Perfetto opens: a process per rank, a thread per stream, arrows
// from sends to receives. Written as operations end, so that memory does not grow with the run.
//
//   ReplayTimeline timeline{out};
//   run_program(cluster, program, options, observer, &timeline);
//   timeline.finish();
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "sim/output/trace_writer.h"
#include "sim/workloads/program.h"
#include "sim/workloads/replay/replay_options.h"

namespace weft::output {

// Ranks that are drawn, where there are more: the first leaders.
inline constexpr std::size_t kMostRanksDrawn = 64;

class ReplayTimeline final : public work::ReplayObserver {
 public:
  explicit ReplayTimeline(std::ostream& out) : trace_{out} {}

  void on_program(const work::Program& program) override;
  void on_operation(const Span& span) override;
  void finish() { trace_.finish(); }

 private:
  // Where the arrow of a message is: the two ends tell of it at the same instant, in any order.
  void draw_arrow(const Span& span, const work::Operation& op, std::size_t thread);

  const work::Program* program_ = nullptr;
  TraceWriter trace_;
  std::vector<bool> is_drawn_;
  std::map<std::tuple<Rank, Rank, int>, std::array<std::uint64_t, 2>> messages_;  // sent and received, by ends and tag
};

}  // namespace weft::output
