// Programs written for other simulators: Chakra execution traces (ASTRA-sim) and GOAL schedules (LogGOPSim, ATLAHS). What is
// written reads back as a Program that runs the same (formats/chakra.cpp, formats/goal.cpp).
#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/output_folder.h"
#include "sim/workloads/program.h"
#include "sim/workloads/trace/trace.h"

namespace weft::work {

// Facts about a Program that stand beside it, and come back with it: what a trace recorded (trace.h).
struct ProgramOrigin {
  bool full_clock = false;
  std::span<const std::vector<RecordedTime>> recorded = {};
  std::optional<Duration> recorded_step = {};
  int recorded_iterations = 1;
  std::string recorded_gpu = {};
};
[[nodiscard]] ProgramOrigin origin_of(const Trace& trace);  // which outlives it

// One file per rank, FOLDER/NAME.RANK.et, and FOLDER/comm_groups.json. Folded ranks are written out, each by itself.
// All of them or none (core/output_folder.h). ConfigError: the folder cannot be made or written.
void write_chakra(const Program& program, const std::filesystem::path& folder, const std::string& name,
                  const ProgramOrigin& origin = {});
// The same for a folder that others commit.
void write_chakra(const Program& program, OutputFolder& folder, const std::string& name, const ProgramOrigin& origin = {});

struct LoweredProgram {
  Program program = {};
  std::vector<Diagnostic> findings = {};
};

// Collectives become the messages of their textbook algorithm (rings of one channel; pairwise all-to-all), kernels whole
// nanoseconds, the host's delays a stream; launches, copies and storage take no time.
[[nodiscard]] LoweredProgram lower_to_messages(const Program& program);

// A lowered program: kernels, messages and markers only.
void write_goal(const Program& lowered, std::ostream& out);

}  // namespace weft::work
