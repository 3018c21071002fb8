// Nsight Systems: what `nsys export --type sqlite` writes (models/workloads §5.7), one file per rank, or one of several
// processes and GPUs, of which each is a rank. Becomes the events of a PyTorch profile, and is read on as one.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "sim/core/error.h"
#include "sim/workloads/trace/kineto/assemble.h"
#include "sim/workloads/trace/kineto/kernel_names.h"
#include "sim/workloads/trace/kineto/kineto_events.h"
#include "sim/workloads/trace/line_reader.h"
#include "sim/workloads/trace/nsys/database.h"
#include "sim/workloads/trace/nsys/nccl_range.h"
#include "sim/workloads/trace/trace_format.h"

namespace weft::work {
namespace {

using kineto::DeviceActivity;
using kineto::HostCall;
using kineto::RankEvents;
using nsys::Rows;

constexpr std::int64_t kLatest = std::int64_t{1} << 60;     // nanoseconds; some 36 years
constexpr std::int64_t kThreadBits = 24;                    // of globalTid: the rest is the process
constexpr std::array<std::int64_t, 2> kRangeTypes{59, 60};  // pushed and popped; begun and ended
constexpr std::string_view kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr std::string_view kSqlite = "SQLite format 3";

bool recognises_nsys(const std::filesystem::path&, std::string_view head) { return head.starts_with(kSqlite); }

// One process on one GPU.
struct RankKey {
  std::int64_t process = 0;
  std::int64_t device = 0;
  auto operator<=>(const RankKey&) const = default;
};

struct RankOfFile {
  RankEvents events;
  std::vector<nsys::NcclRange> ranges;  // beside events.comms
};

std::int64_t process_of(std::int64_t global_thread) { return global_thread >> kThreadBits; }

class FileReader {
 public:
  FileReader(const std::filesystem::path& file, const TraceReadOptions& options)
      : database_{file, options.max_bytes}, most_{options.max_operations} {}

  std::vector<RankOfFile> read() {
    read_strings();
    const bool has_graphs = read_graphs();
    if (!has_graphs || database_.has_table(kKernels)) read_kernels();
    read_copies("CUPTI_ACTIVITY_KIND_MEMCPY", DeviceActivity::Kind::kMemcpy);
    read_copies("CUPTI_ACTIVITY_KIND_MEMSET", DeviceActivity::Kind::kMemset);
    read_calls();
    read_synchronization();
    read_ranges();
    read_target();
    std::vector<RankOfFile> result;
    for (auto& [key, rank] : ranks_) {
      rank.events.file = database_.file();
      std::ranges::stable_sort(rank.events.calls, {}, &HostCall::start);
      join_ranges(rank);
      result.push_back(std::move(rank));
    }
    return result;
  }

 private:
  static std::int64_t time(const Rows& rows, int column) {
    const std::int64_t ns = rows.integer(column);
    if (ns < -kLatest || ns > kLatest) rows.fail(fmt::format("{} is no time in nanoseconds", ns));
    return ns;
  }
  static std::int64_t duration(const Rows& rows, std::int64_t start, std::int64_t end) {
    if (end < start) rows.fail(fmt::format("ends at {} ns, before it starts at {} ns", end, start));
    if (end - start > kLongestTask.ps() / 1'000) rows.fail("lasts more than 28 hours");
    return end - start;
  }
  void count(const Rows& rows) {
    if (++count_ > most_) rows.fail(fmt::format("more than {} rows of events, which is the limit", most_));
  }

  void read_strings() {
    Rows rows{database_, "StringIds", {"id", "value"}};
    while (rows.next()) {
      count(rows);
      strings_.insert_or_assign(rows.integer(0), std::string{rows.text(1)});
    }
  }
  [[nodiscard]] const std::string& string(const Rows& rows, std::int64_t id) const {
    const auto at = strings_.find(id);
    if (at == strings_.end()) rows.fail(fmt::format("string {} is not in StringIds", id));
    return at->second;
  }

  RankOfFile& rank(std::int64_t process, std::int64_t device) { return ranks_[{process, device}]; }
  std::uint32_t name_in(RankOfFile& rank, const std::string& name) {
    const auto [at, is_new] = names_[&rank].try_emplace(name, static_cast<std::uint32_t>(rank.events.names.size()));
    if (is_new) rank.events.names.push_back(name);
    return at->second;
  }

  void read_kernels() {
    Rows rows{database_,
              kKernels,
              {"start", "end", "deviceId", "streamId", "correlationId", "demangledName"},
              {"globalPid", "gridX", "gridY", "gridZ"}};
    while (rows.next()) {
      count(rows);
      RankOfFile& own = rank(process_of(rows.integer(6, 0)), rows.integer(2));
      const std::int64_t start = time(rows, 0);
      const std::array<std::int64_t, 3> grid{rows.integer(7, 0), rows.integer(8, 0), rows.integer(9, 0)};
      const std::int64_t blocks = kineto::blocks_of(grid, own.events.odd_grids);
      own.events.activities.push_back({.start = start,
                                       .duration = duration(rows, start, time(rows, 1)),
                                       .stream = rows.integer(3),
                                       .correlation = rows.integer(4),
                                       .name = name_in(own, string(rows, rows.integer(5))),
                                       .blocks = static_cast<std::int32_t>(blocks),
                                       .kind = DeviceActivity::Kind::kKernel});
    }
  }

  // A launch of a CUDA graph is one row here, or its kernels are rows of their own (nsys profile --cuda-graph-trace).
  bool read_graphs() {
    constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
    if (!database_.has_table(kTable)) return false;
    Rows rows{
        database_, kTable, {"start", "end", "deviceId", "streamId", "correlationId"}, {"globalPid", "graphExecId", "graphId"}};
    while (rows.next()) {
      count(rows);
      RankOfFile& own = rank(process_of(rows.integer(5, 0)), rows.integer(2));
      const std::int64_t start = time(rows, 0);
      own.events.activities.push_back({.start = start,
                                       .duration = duration(rows, start, time(rows, 1)),
                                       .stream = rows.integer(3),
                                       .correlation = rows.integer(4),
                                       .name = name_in(own, fmt::format("CUDA graph {}", rows.integer(6, rows.integer(7, 0)))),
                                       .kind = DeviceActivity::Kind::kGraph});
    }
    return true;
  }

  // copyKind: CUPTI's 1 host to device, 2 device to host; memory kinds: 0 pageable (CUpti_ActivityMemcpyKind).
  static std::string copy_name(std::int64_t kind, std::int64_t from, std::int64_t to) {
    constexpr std::int64_t kPageable = 0;
    if (kind == 1) return from == kPageable ? "Memcpy HtoD (Pageable -> Device)" : "Memcpy HtoD (Pinned -> Device)";
    if (kind == 2) return to == kPageable ? "Memcpy DtoH (Device -> Pageable)" : "Memcpy DtoH (Device -> Pinned)";
    return "Memcpy DtoD (Device -> Device)";
  }

  void read_copies(std::string_view table, DeviceActivity::Kind kind) {
    if (!database_.has_table(table)) return;
    const bool copies = kind == DeviceActivity::Kind::kMemcpy;
    Rows rows{database_,
              table,
              {"start", "end", "deviceId", "streamId", "bytes"},
              {"globalPid", "correlationId", "copyKind", "srcKind", "dstKind"}};
    while (rows.next()) {
      count(rows);
      RankOfFile& own = rank(process_of(rows.integer(5, 0)), rows.integer(2));
      const std::int64_t start = time(rows, 0);
      const std::string name =
          copies ? copy_name(rows.integer(7, 0), rows.integer(8, 1), rows.integer(9, 1)) : std::string{"Memset (Device)"};
      own.events.activities.push_back({.start = start,
                                       .duration = duration(rows, start, time(rows, 1)),
                                       .bytes = kineto::bytes_of(rows.integer(4), own.events.odd_bytes),
                                       .stream = rows.integer(3),
                                       .correlation = rows.integer(6, -1),
                                       .name = name_in(own, name),
                                       .kind = kind});
    }
  }

  // The ranks of a process; a file without globalPid is of one.
  template <typename Visit>
  void for_process(std::int64_t process, Visit visit) {
    for (auto& [key, rank] : ranks_) {
      if (key.process == process || key.process == 0) visit(rank);
    }
  }

  void read_calls() {
    constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_RUNTIME";
    if (!database_.has_table(kTable)) return;
    Rows rows{database_, kTable, {"start", "end", "globalTid", "correlationId", "nameId"}};
    while (rows.next()) {
      count(rows);
      const std::int64_t start = time(rows, 0);
      const std::int64_t thread = rows.integer(2);
      const HostCall call{.start = start,
                          .duration = duration(rows, start, time(rows, 1)),
                          .correlation = rows.integer(3),
                          .thread = thread,
                          .kind = kineto::call_kind(string(rows, rows.integer(4)))};
      for_process(process_of(thread), [&](RankOfFile& rank) { rank.events.calls.push_back(call); });
    }
  }

  // Calls whose names say nothing of waiting, by what CUPTI says they were (CUpti_ActivitySynchronizationType).
  void read_synchronization() {
    constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
    if (!database_.has_table(kTable)) return;
    std::map<std::int64_t, HostCall::Kind> kinds;
    Rows rows{database_, kTable, {"syncType"}, {"correlationId"}};
    while (rows.next()) {
      count(rows);
      const std::int64_t type = rows.integer(0);
      const HostCall::Kind kind = type == 1   ? HostCall::Kind::kEventSync
                                  : type == 2 ? HostCall::Kind::kStreamWait
                                  : type == 3 ? HostCall::Kind::kStreamSync
                                  : type == 4 ? HostCall::Kind::kDeviceSync
                                              : HostCall::Kind::kOther;
      if (rows.integer(1, -1) >= 0) kinds.insert_or_assign(rows.integer(1, -1), kind);
    }
    for (auto& [key, rank] : ranks_) {
      for (HostCall& call : rank.events.calls) {
        const auto known = kinds.find(call.correlation);
        if (call.kind == HostCall::Kind::kOther && known != kinds.end()) call.kind = known->second;
      }
    }
  }

  void read_ranges() {
    constexpr std::string_view kTable = "NVTX_EVENTS";
    if (!database_.has_table(kTable)) return;
    Rows rows{database_, kTable, {"start", "eventType", "globalTid"}, {"end", "text", "textId", "jsonText", "jsonTextId"}};
    while (rows.next()) {
      count(rows);
      if (std::ranges::find(kRangeTypes, rows.integer(1)) == kRangeTypes.end()) continue;
      std::string_view text = rows.text(4);
      if (text.empty() && rows.integer(5, -1) >= 0) text = string(rows, rows.integer(5, -1));
      std::string_view payload = rows.text(6);
      if (payload.empty() && rows.integer(7, -1) >= 0) payload = string(rows, rows.integer(7, -1));
      const auto range = nsys::parse_nccl_range(text, payload);
      if (!range) continue;
      const std::int64_t start = time(rows, 0);
      const std::int64_t end = rows.integer(3, start);
      if (end > kLatest) rows.fail(fmt::format("{} is no time in nanoseconds", end));
      const std::int64_t thread = rows.integer(2);
      const std::int64_t lasts = duration(rows, start, end);
      for_process(process_of(thread), [&](RankOfFile& rank) {
        const auto comm = static_cast<std::uint32_t>(rank.ranges.size());
        rank.ranges.push_back(*range);
        rank.events.comms.push_back({});
        rank.events.host_comms.push_back({start, thread, -1, comm});
        range_ends_[&rank].push_back(start + lasts);
      });
    }
  }

  void read_target() {
    if (database_.has_table("TARGET_INFO_GPU")) {
      Rows rows{database_, "TARGET_INFO_GPU", {"id"}, {"name"}};
      while (rows.next()) {
        for (auto& [key, rank] : ranks_) {
          if (key.device == rows.integer(0)) rank.events.gpu = rows.text(1);
        }
      }
    }
    if (database_.has_table("TARGET_INFO_SESSION_START_TIME")) {
      Rows rows{database_, "TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}};
      if (!rows.next()) return;
      const std::int64_t base = rows.integer(0);
      if (base < 0 || base > 2 * kLatest) rows.fail("utcEpochNs is no time since 1970");
      for (auto& [key, rank] : ranks_) rank.events.base_ns = base;
    }
  }

  // A kernel's range is the last begun on the thread that launched it, while it lasts. Grouped calls have ended by then: those
  // are found later, by order.
  void join_ranges(RankOfFile& rank) {
    std::unordered_map<std::int64_t, const HostCall*> call_of;
    for (const HostCall& call : rank.events.calls) call_of.try_emplace(call.correlation, &call);
    std::map<std::int64_t, std::map<std::int64_t, std::size_t>> by_thread;  // starts
    for (std::size_t i = 0; i < rank.events.host_comms.size(); ++i) {
      by_thread[rank.events.host_comms[i].thread].insert_or_assign(rank.events.host_comms[i].start, i);
    }
    for (DeviceActivity& activity : rank.events.activities) {
      if (!kineto::is_nccl_kernel(rank.events.names[activity.name])) continue;
      const auto call = call_of.find(activity.correlation);
      if (call == call_of.end()) continue;
      const auto& starts = by_thread[call->second->thread];
      auto range = starts.upper_bound(call->second->start);
      if (range == starts.begin()) continue;
      --range;
      if (range_ends_[&rank][range->second] >= call->second->start) activity.comm = static_cast<std::uint32_t>(range->second);
    }
  }

  nsys::Database database_;
  std::uint64_t most_;
  std::uint64_t count_ = 0;
  std::unordered_map<std::int64_t, std::string> strings_;
  std::map<RankKey, RankOfFile> ranks_;
  std::map<const RankOfFile*, std::unordered_map<std::string, std::uint32_t>> names_;
  std::map<const RankOfFile*, std::vector<std::int64_t>> range_ends_;
};

std::string_view dtype_of(std::int64_t element_size) {
  return element_size == 2 ? "half" : element_size == 4 ? "float" : element_size == 8 ? "double" : "byte";
}

// The ranges of all ranks say together who a communicator's members are, and the sizes that follow from how many they are.
struct Communicators {
  explicit Communicators(std::vector<RankOfFile>& ranks) {
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      all.push_back(static_cast<std::int64_t>(r));
      for (const nsys::NcclRange& range : ranks[r].ranges) {
        if (!range.communicator.empty()) members[range.communicator].insert(static_cast<std::int64_t>(r));
      }
    }
  }
  [[nodiscard]] std::vector<std::int64_t> of(const nsys::NcclRange& range) const {
    const auto at = members.find(range.communicator);
    if (at == members.end()) return all;
    return {at->second.begin(), at->second.end()};
  }
  std::vector<std::int64_t> all;
  std::map<std::string, std::set<std::int64_t>> members;
};

kineto::CommCall call_of(const nsys::NcclRange& range, const std::vector<std::int64_t>& members) {
  kineto::CommCall call;
  call.group = range.communicator.empty() ? "all" : range.communicator;
  call.group_size = static_cast<std::int64_t>(members.size());
  if (range.bytes < 0 || range.bytes > kLargestTask.count() / call.group_size) return call;  // unnamed: not simulated
  call.name = range.name;
  const std::int64_t element =
      range.element_size == 2 || range.element_size == 4 || range.element_size == 8 ? range.element_size : 1;
  call.dtype = dtype_of(element);
  const bool per_rank = range.name == "allgather" || range.name == "reducescatter" || range.name == "alltoall" ||
                        range.name == "gather" || range.name == "scatter";
  call.in_elements = call.out_elements = range.bytes / element * (per_rank ? call.group_size : 1);
  if (range.peer >= 0 && range.peer < call.group_size) {
    call.source = call.destination = members[static_cast<std::size_t>(range.peer)];
  }
  return call;
}

void name_calls(std::vector<RankOfFile>& ranks) {
  const Communicators communicators{ranks};
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    RankOfFile& rank = ranks[r];
    rank.events.rank = static_cast<std::int64_t>(r);
    std::set<std::string> known;
    for (std::size_t i = 0; i < rank.ranges.size(); ++i) {
      const std::vector<std::int64_t> members = communicators.of(rank.ranges[i]);
      rank.events.comms[i] = call_of(rank.ranges[i], members);
      const std::string& group = rank.events.comms[i].group;
      if (known.insert(group).second) rank.events.groups.push_back({.name = group, .description = {}, .ranks = members});
    }
    // A communicator without a size is as good as none.
    const auto unnamed = [&](std::uint32_t comm) { return comm != kineto::kNone && !rank.events.comms[comm].is_named(); };
    for (DeviceActivity& activity : rank.events.activities) {
      if (unnamed(activity.comm)) activity.comm = kineto::kNone;
    }
    std::erase_if(rank.events.host_comms, [&](const kineto::HostComm& host) { return unnamed(host.comm); });
  }
}

Trace read_nsys(std::span<const std::filesystem::path> files, const TraceReadOptions& options) {
  std::vector<RankOfFile> ranks;
  for (const std::filesystem::path& file : files) {
    for (RankOfFile& rank : FileReader{file, options}.read()) ranks.push_back(std::move(rank));
  }
  if (ranks.empty()) throw ConfigError("no kernels, copies or collectives of a GPU are in these traces");
  name_calls(ranks);
  const bool named = std::ranges::all_of(ranks, [](const RankOfFile& rank) {
    return std::ranges::none_of(rank.ranges, [](const nsys::NcclRange& range) { return range.communicator.empty(); });
  });
  std::vector<RankEvents> events;
  for (RankOfFile& rank : ranks) events.push_back(std::move(rank.events));
  const std::size_t count = events.size();
  Trace trace = kineto::assemble(std::move(events), options);
  const auto note = [&](std::string message) {
    trace.findings.push_back({.where = {}, .message = std::move(message), .source_line = {}, .note = {}});
  };
  if (count > 1) note("Nsight Systems names no ranks: they are numbered in the order of files, processes and GPUs");
  if (count > 1 && !named) note("NVTX ranges that name no communicator are taken for calls of all ranks");
  return trace;
}

}  // namespace

const TraceFormat trace_builtin::nsys{
    .name = "nsys",
    .summary = "Nsight Systems exports to SQLite, one file per rank or of several GPUs",
    .recognises = recognises_nsys,
    .read = read_nsys,
    .model = {.assumes = "Read on as a PyTorch profile is. A process on a GPU is a rank. The members of a communicator are "
                         "the ranks whose ranges name it, in their order; ranges that name none are calls of all ranks.",
              .leaves_out = {"collectives whose size NVTX does not say take their recorded time on any network",
                             "CUDA graphs that are recorded as a whole keep their time as compute"},
              .sources = {"models/workloads §5.7"}},
};

}  // namespace weft::work
