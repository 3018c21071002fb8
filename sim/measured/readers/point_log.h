// Measured points of any kind, as the readers of all formats hand them on: kernels, launches, copies, overlap, NICs.
// Collectives go the way of nccl-tests' logs (nccl_tests_log.h), whatever file they stand in.
//
// A format is one file and one line in formats.def:
//
//   const MeasurementFormat nvbandwidth_format{.name = "nvbandwidth", .summary = ..., .recognises = ..., .read = ...};
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/units.h"
#include "sim/measured/readers/nccl_tests_log.h"

namespace weft::measured {

inline constexpr int kHostMemory = -1;  // an end of a copy

// One stream's work on every rank, from a common start.
struct OverlapPart {
  std::string op = {};  // nccl-tests' name of a collective, "gemm" or "copy"
  Bytes bytes = {};     // of one call; nccl-tests' size
  std::string type = {};
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  int calls = 1;
  std::vector<std::vector<int>> groups = {};  // ranks of each communicator; empty: one of all
  double median_us = 0;                       // of all its calls, on the slowest rank
  double shortest_us = 0;                     // of the samples; 0: not known
  double longest_us = 0;
};

// Layers of a dense transformer that several GPUs share, and the step that they took.
struct MeasuredStep {
  std::string model = {};
  bool is_decode = true;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t ffn = 0;
  std::int64_t tokens = 1;   // new ones of each sequence
  std::int64_t context = 0;  // tokens that the last new one meets, itself among them
  int samples = 1;           // in a row
  int warmup = 0;            // before them
};

struct MeasuredPoint {
  std::string kind = {};  // "launch", "memory", "gemm", "moe", "attention", "copy", "overlap", "nic", "serving_step"
  std::string what = {};  // launch: what; memory: op; copy: engine; attention: method; overlap: case; nic: tool
  std::string record_set = {};
  int line = 0;

  double median_us = 0;
  double low_us = 0;  // quartiles, or the shortest and the longest; 0: not known
  double high_us = 0;
  double host_us = 0;   // what the host takes for one such operation, where the file says
  double slowdown = 1;  // full clock of the SMs over theirs then

  Bytes bytes = {};  // memory: read and written; copy: of one transfer; overlap: of the first part
  std::string type = {};
  std::int64_t m = 0;  // gemm; attention: queries
  std::int64_t n = 0;  // gemm; attention: keys; memory: rows
  std::int64_t k = 0;  // gemm; attention: width of a head; memory: columns
  std::int64_t batch = 1;
  std::int64_t elements = 0;  // memory: of the output
  bool hand_written = false;  // memory: by a kernel of `weft measure`, where frameworks have one of their own
  std::int64_t count = 1;     // graph: nodes; launch: threads
  bool causal = false;
  bool backward = false;         // attention: forward and backward together
  std::int64_t value_width = 0;  // attention, of a head; 0: k
  std::int64_t window = 0;       // attention: keys a query meets at most; 0: all
  std::int64_t heads = 1;        // attention
  std::int64_t kv_group = 1;     // attention over a paged cache: heads that share a key's
  std::string cache_type = {};   // attention: of the cache; empty: there is none
  bool latent = false;           // attention: MLA
  bool sustained = false;
  bool graph = false;              // all kernels of the sample in one CUDA graph
  bool quantized = false;          // gemm: A is made low-precision in the time
  std::string scales = {};         // gemm, of FP8: "tensor", "row", "block"
  std::int64_t weight_copies = 0;  // gemm: weights used in turn; 0: none is in the L2
  std::int64_t experts = 0;        // moe, of all ranks: m tokens, k hidden values, n columns of a whole expert
  std::int64_t top_k = 0;          // moe
  std::int64_t expert_ranks = 1;   // moe: GPUs that share out the experts
  double power_law = 0;            // moe: exponent of the experts' visits; 0: all have as many
  bool gated = true;               // moe: three matrices, not two

  std::string pattern = {};                         // copy
  std::vector<std::pair<int, int>> transfers = {};  // copy: from, to; kHostMemory
  int ranks = 1;
  int gpus_per_thread = 1;
  std::vector<OverlapPart> parts = {};
  MeasuredStep step = {};  // serving_step, of `ranks` GPUs and `batch` sequences
  std::map<std::string, std::string> env = {};
};

struct PointLog {
  std::string file = {};
  std::string format = {};
  std::string gpu = {};           // as its maker names it: "NVIDIA H200"; empty: the file does not say
  std::string nccl_version = {};  // "2.28.9"
  std::string digest = {};        // sixteen hexadecimal digits, of all records
  std::vector<MeasuredPoint> points = {};
  std::vector<NcclTestsLog> collectives = {};
  std::vector<std::string> collective_sets = {};  // record set of each of them
  std::vector<std::string> skipped = {};          // what the runner left out, and why
  std::vector<Diagnostic> warnings = {};
};

struct MeasurementFormat {
  std::string_view name = {};
  std::string_view summary = {};
  // By the first bytes of a file, at most kFormatHead.
  bool (*recognises)(std::string_view head) = nullptr;
  PointLog (*read)(std::istream& input, const std::string& file) = nullptr;
};
inline constexpr std::size_t kFormatHead = 4096;

// In the order of formats.def; nccl-tests' logs, which begin with anything, are not among them.
[[nodiscard]] const std::vector<const MeasurementFormat*>& measurement_formats();
// Null: none of them, so perhaps nccl-tests' output. ConfigError where the file cannot be read.
[[nodiscard]] const MeasurementFormat* format_of(const std::string& path);
[[nodiscard]] PointLog read_points(const MeasurementFormat& format, const std::string& path);

}  // namespace weft::measured
