// One Kineto file, as far as a replay needs it: device activities, the host's calls to the driver, PyTorch's words on its
// collectives, annotations. Times in nanoseconds of the file's own clock. Nothing is concluded here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/workloads/trace/trace_format.h"

namespace weft::work::kineto {

inline constexpr std::uint32_t kNone = 0xFFFF'FFFF;

// A call of a collective or message as `record_param_comms` or a kernel's arguments describe it (models/workloads §5.2).
struct CommCall {
  std::string name = {};  // "allreduce", "_allgather_base", "send", ...
  std::string group = {};
  std::string group_description = {};
  std::string ranks = {};     // as written; may be cut: "[0, 1, ..., 31]"
  std::string in_split = {};  // "[100, 300, 50, 150]"; may be cut too
  std::string out_split = {};
  std::string dtype = {};
  std::int64_t in_elements = -1;
  std::int64_t out_elements = -1;
  std::int64_t group_size = -1;
  std::int64_t source = -1;       // global rank
  std::int64_t destination = -1;  // global rank
  std::int64_t sequence = -1;
  std::int64_t rank_start = -1;
  std::int64_t rank_stride = -1;

  [[nodiscard]] bool is_named() const { return !name.empty(); }
};

struct DeviceActivity {
  enum class Kind : std::uint8_t { kKernel, kMemcpy, kMemset, kGraph };  // kGraph: a launch of a CUDA graph as a whole
  std::int64_t start = 0;
  std::int64_t duration = 0;
  std::int64_t bytes = 0;
  std::int64_t stream = 0;
  std::int64_t correlation = -1;
  std::int64_t external = -1;
  std::uint32_t name = 0;      // into RankEvents::names
  std::uint32_t comm = kNone;  // into RankEvents::comms: what the kernel's own arguments say
  std::int32_t blocks = 0;     // of the grid
  Kind kind = Kind::kKernel;
};

struct HostCall {
  enum class Kind : std::uint8_t { kOther, kStreamWait, kEventRecord, kDeviceSync, kStreamSync, kEventSync, kGraphLaunch };
  std::int64_t start = 0;
  std::int64_t duration = 0;
  std::int64_t correlation = -1;
  std::int64_t thread = 0;
  Kind kind = Kind::kOther;
  [[nodiscard]] std::int64_t end() const { return start + duration; }
};

// A record_param_comms operator on the host.
struct HostComm {
  std::int64_t start = 0;
  std::int64_t thread = 0;
  std::int64_t external = -1;
  std::uint32_t comm = kNone;
};

// A tensor's sides, or those of several in a list; none of what is no tensor.
struct OperatorInput {
  std::vector<std::vector<std::int64_t>> tensors = {};
  bool is_list = false;
  [[nodiscard]] std::int64_t elements() const;  // of all; at most what kLargestTask holds
};

// Any operator on the host: which function of PyTorch's recording it is. Read on request only.
struct HostOperator {
  std::int64_t start = 0;
  std::int64_t thread = 0;
  std::int64_t external = -1;         // names it to its kernels
  std::int64_t record_function = -1;  // names it to the execution trace; -1: not said
  std::uint32_t name = 0;             // into RankEvents::names
  std::vector<OperatorInput> inputs = {};
};

// With sync events enabled in the profiler: which stream waits for which event.
struct SyncEvent {
  std::int64_t correlation = -1;         // of the waiting call
  std::int64_t stream = -1;              // that waits
  std::int64_t on_stream = -1;           // that is waited for
  std::int64_t record_correlation = -1;  // of the call that recorded the event
};

struct Annotation {
  std::int64_t start = 0;
  std::int64_t duration = 0;
  std::int64_t number = 0;  // of "ProfilerStep#7"
  [[nodiscard]] std::int64_t end() const { return start + duration; }
};

struct ProcessGroup {
  std::string name = {};
  std::string description = {};
  std::vector<std::int64_t> ranks = {};
};

// Values that cannot be what they are said to be, and are read as 0.
struct OddValues {
  std::size_t count = 0;
  std::string first = {};
  void add(std::string value) {
    if (count++ == 0) first = std::move(value);
  }
};

// A transfer's size; 0, and counted, where nothing is so large or it is negative.
[[nodiscard]] std::int64_t bytes_of(std::int64_t stated, OddValues& odd);
// Thread blocks of a grid of such sides, at most 2^30; 0, and counted, where a side is none that CUDA can have.
[[nodiscard]] std::int64_t blocks_of(std::span<const std::int64_t> sides, OddValues& odd);

struct RankEvents {
  std::filesystem::path file;
  std::int64_t rank = -1;
  std::int64_t world = -1;
  std::int64_t base_ns = 0;
  std::vector<ProcessGroup> groups;
  std::string gpu;                          // of the device that its kernels ran on
  std::vector<std::int64_t> other_devices;  // that did something, too

  std::vector<std::string> names;  // of device activities and operators
  std::vector<DeviceActivity> activities;
  std::vector<HostCall> calls;
  std::vector<CommCall> comms;
  std::vector<HostComm> host_comms;
  std::vector<SyncEvent> syncs;
  std::vector<HostOperator> operators;                              // on request
  std::int64_t process = -1;                                        // theirs, of the operating system
  std::vector<std::pair<std::uint32_t, std::uint32_t>> data_waits;  // of activities: what reads, what wrote; not in the file
  std::vector<Annotation> steps;                                    // ProfilerStep#
  std::size_t negative_durations = 0;                               // events of no GPU or driver
  std::int64_t overhead_ns = 0;                                     // the profiler's own, as it says
  std::vector<Annotation> queue_full;                               // the host held up by a full launch queue
  OddValues odd_bytes;                                              // of copies: none is of such a size
  OddValues odd_grids;
};

enum class Operators : std::uint8_t { kLeftOut, kRead, kReadWithShapes };
// ConfigError, located: no Kineto trace, cut, a time that is none.
[[nodiscard]] RankEvents read_events(const std::filesystem::path& file, const TraceReadOptions& options,
                                     Operators operators = Operators::kLeftOut);

// Returns what a function of the CUDA runtime or driver does, by its name.
[[nodiscard]] HostCall::Kind call_kind(std::string_view name);

// "[0, 1, 2, 3]"; empty where it is cut ("...") or is no list of numbers.
[[nodiscard]] std::vector<std::int64_t> parse_rank_list(std::string_view text);

}  // namespace weft::work::kineto
