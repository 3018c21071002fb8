// How predictions stand beside measurements: every point, and the spread of the errors of those that count.
//
// A point counts if it was predicted, was measured out of place on more than 0 bytes, in a log taken without NCCL_DEBUG, and no
// profile was fitted on it. The others are listed, marked, and left out of every summary. Making the predictions is not its
// business.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/units.h"
#include "sim/workloads/model/transformer.h"

namespace weft::measured {

struct ValidationPoint {
  std::string file;
  std::string kind = "collective";  // or another of point_kinds()
  std::string collective;           // nccl-tests' name; empty for other kinds
  int ranks = 0;
  int nodes = 0;
  Bytes bytes;  // nccl-tests' size column
  std::string algorithm;
  std::string protocol;
  int channels = 0;
  bool in_place = false;
  double measured_us = 0;
  std::optional<double> predicted_us;             // empty: not modelled
  double algbw_gigabytes_per_second = 0;          // of the prediction
  double busbw_gigabytes_per_second = 0;          // of the prediction
  bool training = false;                          // a profile in use was fitted on it
  bool has_debug_output = false;                  // of a log taken with NCCL_DEBUG
  bool is_cpu_time = false;                       // of the host's calls, not of the device
  std::string configuration = {};                 // what the run was told: "ALGO=Ring PROTO=LL128, 4 threads"
  std::string not_modelled = {};                  // why there is no prediction
  double flops = 0;                               // of GEMMs and attention
  std::optional<work::Precision> precision = {};  // of what is multiplied
  double measured_low_us = 0;                     // quartiles, or the shortest and the longest; 0: not known
  double measured_high_us = 0;
  std::optional<double> predicted_sd = {};  // of the prediction, relative (prediction_uncertainty.h); empty: not asked for
};

enum class Exclusion { kNone, kInPlace, kZeroBytes, kDebugLog, kCpuTime, kUnsteady, kNotPredicted, kTraining };

Exclusion exclusion_of(const ValidationPoint& point);
// "in place", "0 bytes", ...; empty for kNone.
std::string_view to_string(Exclusion exclusion);

// Predicted over measured, less 1; empty where one of them is missing or no time was measured.
std::optional<double> relative_error(const ValidationPoint& point);

// Summarizes absolute relative errors, as fractions. With no points all are 0.
struct ErrorSummary {
  std::size_t points = 0;
  double median = 0;   // of an even number, the mean of the two in the middle
  double geomean = 0;  // 0 if one error is 0
  double p95 = 0;      // nearest rank: the ceil(0.95 n)-th smallest
  double max = 0;
};

ErrorSummary summarize(std::vector<double> absolute_errors);
// Takes in all points that have an error, whether they count or not.
ErrorSummary summary_of(const std::vector<ValidationPoint>& points);

// Size classes of models/nccl_calibration: below 2 MiB launch and latency decide, above 32 MiB bandwidth.
enum class SizeClass { kBelow2MiB, k2To32MiB, kAbove32MiB };
inline constexpr std::array<SizeClass, 3> kSizeClasses{SizeClass::kBelow2MiB, SizeClass::k2To32MiB, SizeClass::kAbove32MiB};

SizeClass size_class_of(Bytes bytes);
std::string_view to_string(SizeClass size_class);  // "< 2 MiB", "2-32 MiB", "> 32 MiB"

// Fractions, of the summary over all points that count: what sets the exit status of `weft validate`.
struct ErrorLimits {
  std::optional<double> max_median;
  std::optional<double> max_p95;
  std::optional<double> max_error;
};

struct ValidationReport {
  std::vector<ValidationPoint> points;

  [[nodiscard]] ErrorSummary summary() const;
  [[nodiscard]] std::map<std::string, ErrorSummary> summary_by_collective() const;  // by kind, where it is no collective
  [[nodiscard]] std::map<std::string, ErrorSummary> summary_by_file() const;
  [[nodiscard]] std::map<SizeClass, ErrorSummary> summary_by_size() const;
  [[nodiscard]] std::map<std::string, std::map<SizeClass, ErrorSummary>> summary_by_collective_and_size() const;

  // Summarizes predicted_sd in place of errors, over all points that have one, training or not.
  [[nodiscard]] std::map<std::string, ErrorSummary> uncertainty_by_kind() const;

  // Names everything beyond the limits, a sentence each; a limit that no point counts for is missed too.
  [[nodiscard]] std::vector<std::string> missed(const ErrorLimits& limits) const;
  [[nodiscard]] bool within(const ErrorLimits& limits) const { return missed(limits).empty(); }
};

// Aligned text for a person: the points of each file, then the summaries. Lines that are no data begin with '#'.
std::string points_table(const ValidationReport& report);
std::string summary_table(const ValidationReport& report);

// A JSON object with the keys points, summary, summary_by, summary_by_file, summary_by_size, summary_by_collective_and_size.
std::string to_json(const ValidationReport& report, int indent = 2);

}  // namespace weft::measured
