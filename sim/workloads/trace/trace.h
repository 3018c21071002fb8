// A trace, or a workload file of another tool, becomes a Program. Beside it stand the times recorded for its operations, and
// what the files could not say. Readers are TraceFormats (trace_format.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/units.h"
#include "sim/workloads/program.h"

namespace weft::work {

// When an operation ran, from the first recorded moment of all ranks after their clocks were aligned.
struct RecordedTime {
  Duration start = {};
  Duration duration = {};
  std::int16_t blocks = 0;  // thread blocks that a communication kernel held; 0: not said
  bool operator==(const RecordedTime&) const = default;
};

// Names of two operations that readers of profiles put first. The host's delay says how much later than the first rank's host
// this rank's began; the marker, how long the host was ahead of a GPU that was busy with the step before. Neither is part of
// the recorded step, which begins when the last rank's host has begun it and its GPU is free for it.
inline constexpr std::string_view kStartDelay = "start";
inline constexpr std::string_view kHostLead = "lead";

struct Trace {
  std::string_view format = {};  // the reader's name
  Program program = {};          // `devices` are empty: the caller places the ranks
  // By RankProgram, by operation; empty where the format records no times.
  std::vector<std::vector<RecordedTime>> recorded = {};
  // From the first operation to the last one's end, or one iteration where the trace marks iterations.
  std::optional<Duration> recorded_step = {};
  // The part of it in which the GPU had nothing to do as the host had not launched anything more: the median over ranks.
  std::optional<Duration> host_held = {};
  int recorded_iterations = 1;    // held by the trace; the program is one of them
  std::string recorded_gpu = {};  // as the trace names it: "NVIDIA H200"; empty: not said
  // A generated step that Weft wrote: kernels' times are those at full clock, which sustained load lowers (kernels/clock.h).
  bool full_clock = false;
  // The files lack or contradict these (missing ranks, unmatched collectives by rank, group and sequence number, clock shifts,
  // lost events). Each finding says what was assumed in its place, and is printed as a warning.
  std::vector<Diagnostic> findings = {};
};

}  // namespace weft::work
