// PyTorch's profiler: Kineto's Chrome trace in JSON, one file per rank (models/workloads §5.2).
//
// Compute kernels keep their recorded durations; collectives and messages of NCCL become Weft's own, on their process groups;
// the host's time between launches is kept as it is, and launches cost nothing beside it.
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
    .read = read_kineto,
    .model =
        {.assumes = "A step begins with its annotation, or when the GPU has done with what was launched before; until "
                    "then the host is ahead of it, which is no part of the step, of the trace or of the prediction. The "
                    "host's time between launches is its own, whatever the device does, but for calls that wait for it "
                    "(--scale-host makes it shorter or longer); room in the launch queue costs nothing. Streams wait for "
                    "each other as sync events say where the profiler recorded them. Elsewhere a launch after "
                    "cudaStreamWaitEvent may wait for the last kernel launched on each other stream, unless in some "
                    "instance of the same pattern the recorded times contradict it. A CUDA graph's kernels on streams "
                    "beside wait for what came before its launch on the stream of its first kernel, and what comes there "
                    "next waits for them.",
         .leaves_out = {"inferred waits may be more than the program had, where nothing in the recording contradicts them",
                        "in an uneven all-to-all every rank sends and receives as much as the busiest; roots of broadcasts "
                        "are rank 0 of the group",
                        "calls that the profile says nothing of are matched between ranks by order and end, and take what "
                        "the rank that waited least took, whatever the network",
                        "files are taken for those of one job where what a group's ranks call together is of one size, "
                        "all-to-alls aside",
                        "copies of less than 1 MiB, and pageable ones, keep their recorded time",
                        "--unprofiled finds one factor for all of the host's time, as if a profiler slowed all of it alike"},
         .sources = {"models/workloads §5.2"},
         .files = {"workloads/trace/kineto/match.cpp", "workloads/trace/kineto/same_job.h",
                   "workloads/trace/kineto/stream_waits.h", "workloads/trace/kineto/undescribed_calls.h",
                   "scenario/unprofiled.cpp"}},
};

}  // namespace weft::work
