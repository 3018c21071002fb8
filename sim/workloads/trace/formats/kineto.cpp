// PyTorch's profiler: Kineto's Chrome trace in JSON, one file per rank (models/workloads §5.2).
//
// Compute kernels keep their recorded durations; collectives and messages of NCCL become Weft's own, on their process groups;
// the host's time between launches is kept as it is, and launches cost nothing beside it.
//
// Model: what the host did between launches does not depend on the device, but where it waited for it.
#include "sim/workloads/trace/kineto/assemble.h"
#include "sim/workloads/trace/kineto/kineto_events.h"
#include "sim/workloads/trace/trace_format.h"

namespace weft::work {
namespace {

bool recognises_kineto(const std::filesystem::path&, std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \n\r\t");
  if (first == std::string_view::npos || head[first] != '{') return false;
  if (head.find("\"traceEvents\"") != std::string_view::npos) return true;
  return head.find("\"distributedInfo\"") != std::string_view::npos ||
         (head.find("\"schemaVersion\"") != std::string_view::npos &&
          head.find("\"deviceProperties\"") != std::string_view::npos);
}

Trace read_kineto(std::span<const std::filesystem::path> files, const TraceReadOptions& options) {
  std::vector<kineto::RankEvents> ranks;
  for (const std::filesystem::path& file : files) ranks.push_back(kineto::read_events(file, options));
  return kineto::assemble(std::move(ranks), options);
}

}  // namespace

const TraceFormat trace_builtin::kineto{
    .name = "kineto",
    .summary = "PyTorch profiler traces (Chrome JSON with NCCL metadata), one file per rank",
    .recognises = recognises_kineto,
    .read = read_kineto};

}  // namespace weft::work
