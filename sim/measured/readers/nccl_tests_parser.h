// The two readers behind read_nccl_tests_log, and what they share. Not for other folders.
#pragma once

#include <cstddef>
#include <istream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/error.h"
#include "sim/measured/readers/nccl_tests_log.h"

namespace weft::measured::detail {

NcclTestsLog read_nccl_tests_text(std::istream& input, const std::string& file);
NcclTestsLog read_nccl_tests_json(std::istream& input, const std::string& file);

// Errors of one file, up to a limit: a log garbled throughout need not be reported line by line.
class LogErrors {
 public:
  void add(Diagnostic diagnostic) {
    if (diagnostics_.size() < kShown) {
      diagnostics_.push_back(std::move(diagnostic));
    } else {
      ++hidden_;
    }
  }
  [[nodiscard]] bool any() const { return !diagnostics_.empty(); }
  void throw_if_any();

 private:
  static constexpr std::size_t kShown = 20;
  std::vector<Diagnostic> diagnostics_;
  std::size_t hidden_ = 0;
};

inline constexpr std::size_t kMaxRows = 1'000'000;
inline constexpr int kMaxRanks = 10'000'000;
inline constexpr int kMaxPerProcess = 1'024;  // threads of a process, GPUs of a thread
inline constexpr std::size_t kMaxChoices = 100'000;
inline constexpr double kMaxTimeUs = 1e12;  // 11 days; above it the word is no time

Diagnostic at_line(const std::string& file, int line, std::string message, std::string note = {});

void add_env(NcclTestsLog& log, std::string_view name, std::string_view value, const Location& where, bool from_nccl);

// Fills in what follows from the rest (ranks, processes, nodes, sizes of the choices) and checks that it fits together.
// `processes_listed`: each device stands for a process with all its GPUs, as in the JSON. `header_line`: of the settings, 0:
// none.
void finish_log(NcclTestsLog& log, bool processes_listed, int header_line, LogErrors& errors);

}  // namespace weft::measured::detail
