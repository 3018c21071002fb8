// Traces for tests: written to a file of their own, read, and run on a star of bare hosts.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/collectives/builtin.h"
#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/network/builtin.h"
#include "sim/workloads/replay/replayer.h"
#include "sim/workloads/trace/trace_format.h"
#include "tests/support/temp_folder.h"
#include "tests/support/topologies.h"

namespace weft::work::test {

inline std::filesystem::path trace_folder() {
  static const weft::test::TempFolder folder;
  return folder.path();
}

inline std::filesystem::path write_trace(const std::string& name, const std::string& content) {
  const std::filesystem::path file = trace_folder() / name;
  std::ofstream{file, std::ios::binary} << content;
  return file;
}

// The first error's place and message, without the folder: "a.goal:3:5: ..."; empty: it reads.
inline std::string first_error(const TraceFormat& format, const std::vector<std::filesystem::path>& files,
                               const TraceReadOptions& options = {}) {
  try {
    static_cast<void>(format.read(files, options));
  } catch (const ConfigError& error) {
    const Diagnostic& first = error.diagnostics().front();
    std::string text = std::filesystem::path{first.where.file}.filename().string();
    if (first.where.line > 0) text += ":" + std::to_string(first.where.line) + ":" + std::to_string(first.where.column);
    return text + ": " + first.message;
  }
  return {};
}

// Runs programs on hosts of 100 Gb/s without latency, with textbook collectives and free launches.
class TraceRun final : ReplayObserver {
 public:
  explicit TraceRun(Program program, int spare_hosts = 0)
      : topology_{weft::testing::star(static_cast<int>(program.ranks.size()) + spare_hosts,
                                      Bandwidth::from_bits_per_second(100'000'000'000), {})},
        program_{std::move(program)} {
    for (std::size_t r = 0; r < program_.ranks.size(); ++r) program_.devices.push_back(topology_.endpoints()[r]);
    ParamGroups groups = net::network_param_groups();
    for (const ParamGroupBase* group : coll::collective_param_groups()) groups.push_back(group);
    const Profile profile = Profile::defaults(groups);
    net::LaunchTimings launch;
    launch.host_cost = {};
    ReplayOptions options;
    options.contention = {.gemm = 1, .attention = 1, .memory = 1, .collective = 1};
    net::Machine machine{topology_, "ecmp", 1};
    GroupCosts costs{topology_, "ecmp", 1, profile, {}};
    Replayer replayer{machine, program_, costs, launch, options, this};
    replayer.start();
    machine.simulator.run();
    replayer.check_finished();
    result_ = replayer.result();
  }

  [[nodiscard]] std::uint64_t digest() const { return result_.digest; }
  [[nodiscard]] const Span& of(Rank rank, OpIndex op) const {
    for (const Span& span : spans_) {
      if (span.rank == rank && span.op == op) return span;
    }
    throw InternalError("no such operation");
  }
  [[nodiscard]] Time end() const {
    Time last;
    for (const Span& span : spans_) last = std::max(last, span.end);
    return last;
  }
  [[nodiscard]] const Program& program() const { return program_; }

 private:
  void on_program(const Program&) override {}
  void on_operation(const Span& span) override { spans_.push_back(span); }

  net::Topology topology_;
  Program program_;
  ReplayResult result_;
  std::vector<Span> spans_;
};

// The collective calls of a rank, in its order.
inline std::vector<Operation> calls_of(const Trace& trace, Rank rank) {
  std::vector<Operation> calls;
  for (const Operation& op : trace.program.program_of(rank).operations) {
    if (op.kind == OpKind::kCollective) calls.push_back(op);
  }
  return calls;
}

}  // namespace weft::work::test
