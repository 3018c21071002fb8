// Summarizes a trace by itself, before any simulation: ranks, duration, collectives by kind and size, compute and communication
// and how they overlap.
//
// A communication kernel's duration contains waiting for late peers: each call counts with the shortest duration that any of
// its ranks saw of it, as if it had begun that long before its end (models/training_steps §1). A profiler has it begin with its
// first thread block; where a GEMM with a block on every SM was still running then, the others wait for that to end, and so
// does the call (models/training_steps §6): all-reduces of 34 MB in DDP's step take 216 us from their first block and 191 us
// from the GEMM's end, as alone.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/workloads/trace/trace.h"

namespace weft::work {

// One rank's recorded operations.
struct RecordedRank {
  Rank rank = 0;
  std::array<Duration, kCategories> busy{};  // communication: moving data
  Duration compute;                          // with compute running
  Duration communication;                    // with data moving
  Duration exposed;                          // of that, with no compute beside it
  Duration span;                             // from its first operation to its last one's end
  std::uint64_t operations = 0;
};

// Calls of one kind, size and group size. Messages count once, by the sender.
struct RecordedCalls {
  std::string kind;  // nccl-tests' names; "send"
  std::int64_t bytes = 0;
  std::size_t ranks = 0;
  std::uint64_t count = 0;
  Duration shortest;  // zero where nothing is recorded
  Duration median;
  Duration longest;
};

struct TraceSummary {
  std::vector<RecordedRank> ranks;  // those with a trace of their own
  RecordedRank median;              // over the ranks, by figure
  std::vector<RecordedCalls> calls;
  std::uint64_t operations = 0;
  bool has_times = false;
};

[[nodiscard]] TraceSummary summarize(const Trace& trace);
// The same of simulated times by rank and operation, where a call begins when it moves data; those of ranks that follow others
// are not looked at.
[[nodiscard]] TraceSummary summarize(const Program& program, std::span<const std::vector<RecordedTime>> by_rank);

// Sum over communication categories.
[[nodiscard]] Duration communication_of(const std::array<Duration, kCategories>& by_category);

}  // namespace weft::work
