// The device activities of one rank in the order its host launched them, each with what it is, what launched it and what it
// waited for. Still of one rank by itself, in its own clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/collectives/call.h"
#include "sim/workloads/program.h"
#include "sim/workloads/trace/kineto/kineto_events.h"

namespace weft::work::kineto {

// A start so much later than launch, stream and waits explain calls for a reason.
inline constexpr std::int64_t kLateNs = 20'000;

// A collective or an end of a message inside a kernel; a grouped kernel has several.
struct CommPart {
  OpKind kind = OpKind::kCollective;
  coll::Collective collective = coll::Collective::kAllReduce;
  std::int64_t bytes = 0;  // nccl-tests' size
  std::uint8_t element_size = 1;
  bool has_known_type = true;   // else its elements are taken as 4 bytes each
  std::uint32_t comm = kNone;   // into RankEvents::comms; none where its size is not known
  std::uint32_t group = kNone;  // collectives: into the trace's groups, set by match.h
  std::int64_t peer = -1;       // messages: global rank
  bool matched = true;          // else it keeps its recorded time
  // The call's size is not known: once all are there it takes so long, whatever the network. -1: it is simulated.
  std::int64_t fixed_ns = -1;
};

struct Item {
  std::int64_t start = 0;
  std::int64_t duration = 0;
  std::int64_t launch = 0;    // when the host began to launch it
  std::int64_t call_end = 0;  // when that call returned
  std::int64_t thread = -1;   // -1: its launch was lost
  std::uint32_t activity = 0;
  std::uint32_t stream = 0;  // into RankItems::streams
  Category category = Category::kOtherCompute;
  OpKind kind = OpKind::kKernel;          // or kCopy
  bool inwards = false;                   // of copies
  bool of_graph = false;                  // one of the kernels that a graph's launch put on its streams
  bool static_split = false;              // a GEMM with no counter of tiles set before it (contention.h)
  std::vector<std::uint32_t> waits = {};  // items of other streams
  std::vector<CommPart> parts = {};       // of communication kernels
  std::int64_t gap = 0;                   // from when nothing held it up any more to its start
  [[nodiscard]] std::int64_t end() const { return start + duration; }
};

// The host waits for the device.
struct HostWait {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::vector<std::uint32_t> waits = {};  // items
};

struct RankItems {
  std::vector<Item> items;
  std::vector<std::int64_t> streams;  // that with most compute first
  std::vector<HostWait> host_waits;   // by start
  std::int64_t host_begin = 0;        // of the step: its annotation's, else its first launch
  // When the GPU has done with what was launched before the step. While the host is ahead of it the step has not begun.
  std::int64_t gpu_free = 0;
  bool has_work_before = false;  // in the file
  std::int64_t end = 0;          // of the step: the last end on the GPU, or its annotation's where that is later
  // For findings.
  std::size_t lost_launches = 0;
  OddValues odd_types = {};             // of calls' elements
  std::size_t unnamed_collectives = 0;  // kernels of communication of which nothing is known
  std::size_t whole_graphs = 0;         // launches of CUDA graphs of which the kernels are not told apart
};

// For how long of the step the GPU did nothing as the host had not launched anything more, or was not done with the step.
[[nodiscard]] std::int64_t held_by_host(const RankItems& rank);

// Numbers of the steps in which something was launched.
[[nodiscard]] std::vector<std::int64_t> steps_with_work(const RankEvents& events);

// Device activities that were launched in none of the marked steps; 0 where no step is marked.
[[nodiscard]] std::size_t outside_steps(const RankEvents& events);

// Those launched while the step's annotation lasts, or all where there is none (null).
[[nodiscard]] RankItems items_of(const RankEvents& events, const Annotation* step);

}  // namespace weft::work::kineto
