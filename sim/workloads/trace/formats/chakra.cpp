// Chakra execution traces (MLCommons; models/workloads §5.1): one file per rank, protobuf or JSON, and process groups beside
// them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "sim/core/config/quantity.h"
#include "sim/workloads/trace/chakra/chakra_file.h"
#include "sim/workloads/trace/chakra/exact.h"
#include "sim/workloads/trace/chakra/groups.h"
#include "sim/workloads/trace/input_stream.h"
#include "sim/workloads/trace/line_reader.h"
#include "sim/workloads/trace/task_graph.h"

namespace weft::work {
namespace {

using chakra::fail;
using chakra::Node;
using chakra::NodeType;

// H100 SXM: dense bf16 and HBM3 (NVIDIA's data sheet; models/workloads §4.5).
constexpr double kFlopsPerSecond = 989.4e12;
constexpr double kBytesPerSecond = 3.35e12;

// CollectiveCommType of et_def.proto.
std::optional<coll::Collective> collective_of(std::int64_t type) {
  using coll::Collective;
  constexpr std::array kTypes = {Collective::kAllReduce, Collective::kReduce,        Collective::kAllGather,
                                 Collective::kGather,    Collective::kScatter,       Collective::kBroadcast,
                                 Collective::kAllToAll,  Collective::kReduceScatter, Collective::kReduceScatter,
                                 Collective::kAllReduce};
  if (type < 0 || type >= static_cast<std::int64_t>(kTypes.size())) return std::nullopt;
  return kTypes[static_cast<std::size_t>(type)];
}
constexpr std::int64_t kBarrier = 9;

// "trace.3.et.gz" is of rank 3 of the job "trace.".
struct FileName {
  std::string job;
  std::optional<std::int64_t> rank;
};

FileName name_of(const std::filesystem::path& file) {
  std::string name = file.filename().string();
  for (const std::string_view extension : {".gz", ".et", ".json", ".chakra"}) {
    if (name.ends_with(extension)) name.resize(name.size() - extension.size());
  }
  std::size_t first = name.size();
  while (first > 0 && name[first - 1] >= '0' && name[first - 1] <= '9') --first;
  if (first == name.size() || name.size() - first > 9) return {name, std::nullopt};
  const std::string job = name.substr(0, first);
  while (first + 1 < name.size() && name[first] == '0') ++first;
  return {job, parse_integer(std::string_view{name}.substr(first))};
}

struct RankFile {
  RankTasks tasks = {};
  std::vector<std::uint64_t> waits = {};  // ids, by task from first_wait
  std::vector<std::size_t> first_wait = {};
  std::unordered_map<std::uint64_t, std::uint32_t> task_of = {};
  std::vector<std::string> group_of = {};  // by task: its process group
  bool from_pytorch = false;
  // Exact ones (chakra/exact.h): the streams' names, and by task what waits for what in place of `waits`.
  bool is_exact = false;
  std::vector<std::string> streams = {};
  ResidentBytes resident = {};
  std::vector<MemoryChange> memory = {};
  std::vector<std::vector<std::int64_t>> exact_waits = {};
  std::vector<RecordedTime> recorded = {};
  std::int64_t leader = -1;
};

class ChakraReader {
 public:
  explicit ChakraReader(const TraceReadOptions& options) : options_{options} {}

  Trace read(std::span<const std::filesystem::path> files) {
    std::map<std::int64_t, std::filesystem::path> by_rank;
    for (const std::filesystem::path& file : files) {
      const std::string head = read_head(file, 4096);
      if (chakra::looks_like_comm_groups(head)) {
        for (auto& [name, ranks] : chakra::read_comm_groups(file)) add_group(file, name, std::move(ranks));
        continue;
      }
      const std::int64_t rank = name_of(file).rank.value_or(0);
      const auto [place, is_new] = by_rank.try_emplace(rank, file);
      if (!is_new)
        fail(file, fmt::format("is of rank {}, as is '{}'", rank, place->second.filename().string()),
             "a file's rank is the number before its extension: trace.3.et");
    }
    if (by_rank.empty()) throw ConfigError("no Chakra trace among these files, only process groups");
    check_jobs(by_rank);
    std::int64_t expected = 0;
    for (const auto& [rank, file] : by_rank) {
      if (rank != expected) {
        fail(file, fmt::format("is of rank {}, but there is no file of rank {}", rank, expected),
             "a file's rank is the number before its extension, from 0: trace.0.et, trace.1.et, ...");
      }
      ++expected;
      read_rank(file);
    }
    const bool exact = std::ranges::all_of(ranks_, &RankFile::is_exact);
    resolve_groups();
    for (RankFile& rank : ranks_) add_dependencies(rank);
    Trace trace = exact ? exact_trace() : made_trace();
    trace.findings.insert(trace.findings.end(), origin_.findings.begin(), origin_.findings.end());
    return trace;
  }

 private:
  void add_group(const std::filesystem::path& file, const std::string& name, std::vector<Rank> ranks) {
    const auto [known, is_new] = groups_.try_emplace(name, ranks);
    if (is_new || known->second == ranks) return;
    fail(file, fmt::format("lists other ranks of group '{}' than another file of process groups", name),
         "give the process groups of one job");
  }

  // Whoever writes these names the files of a job alike (ASTRA-sim's workload configuration is what stands before the rank).
  void check_jobs(const std::map<std::int64_t, std::filesystem::path>& by_rank) {
    const std::filesystem::path& first = by_rank.begin()->second;
    for (const auto& [rank, file] : by_rank) {
      if (name_of(file).job == name_of(first).job) continue;
      const std::string what = fmt::format("is named otherwise than '{}'", first.filename().string());
      if (!options_.mix_jobs) {
        fail(file, what + ": these are of different jobs",
             "files of one job differ in the rank before the extension; --mix-jobs takes them together");
      }
      origin_.findings.push_back({.where = {.file = file.string()},
                                  .message = what + ": files of different jobs are taken together, as was asked for",
                                  .source_line = {},
                                  .note = {}});
      return;
    }
  }

  void read_rank(const std::filesystem::path& file) {
    ranks_.emplace_back();
    RankFile& rank = ranks_.back();
    rank.tasks.file = file.string();
    rank.tasks.places_are_lines = false;
    chakra::read_file(file, options_,
                      {.on_metadata = [&](const chakra::Attributes& attributes) { on_metadata(rank, attributes); },
                       .on_node = [&](Node& node) { on_node(file, rank, node); }});
    rank.first_wait.push_back(rank.waits.size());
  }

  void on_metadata(RankFile& rank, const chakra::Attributes& attributes) {
    const auto streams = attributes.text_lists.find("weft_streams");
    if (streams == attributes.text_lists.end() || streams->second.empty() || streams->second.size() > 256) return;
    rank.is_exact = true;
    rank.streams = streams->second;
    for (const std::string& name : rank.streams) static_cast<void>(rank.tasks.lane(name));
    if (rank.tasks.lanes.size() != rank.streams.size()) {
      fail(rank.tasks.file, "attribute 'weft_streams' of the metadata names a stream twice");
    }
    if (const auto resident = attributes.lists.find("weft_resident"); resident != attributes.lists.end()) {
      if (resident->second.size() == 3) rank.resident = {resident->second[0], resident->second[1], resident->second[2]};
    }
    rank.leader = attributes.integer("weft_leader").value_or(-1);
    if (&rank == &ranks_.front()) read_origin(rank, attributes);
  }

  void read_origin(const RankFile& rank, const chakra::Attributes& attributes) {
    if (const auto names = attributes.text_lists.find("weft_groups"); names != attributes.text_lists.end()) {
      group_names_ = names->second;
    }
    origin_.full_clock = attributes.integer("weft_full_clock").value_or(0) != 0;
    origin_.recorded_gpu = attributes.text("weft_recorded_gpu");
    const std::int64_t iterations = attributes.integer("weft_recorded_iterations").value_or(1);
    origin_.recorded_iterations = static_cast<int>(std::clamp<std::int64_t>(iterations, 1, std::numeric_limits<int>::max()));
    const auto step = attributes.integer("weft_recorded_step");
    if (!step) return;
    if (*step < 0 || *step > kLongestTask.ps()) {
      fail(rank.tasks.file, fmt::format("attribute 'weft_recorded_step' of the metadata: {} ps is no duration", *step));
    }
    origin_.recorded_step = Duration::from_ps(*step);
  }

  void on_node(const std::filesystem::path& file, RankFile& rank, Node& node) {
    if (++operations_ > options_.max_operations) fail(file, fmt::format("more than {} nodes", options_.max_operations));
    const auto wrong = [&](std::string what) {
      fail(file, fmt::format("node {} ('{}'): {}", node.id, node.name.substr(0, 80), what));
    };
    const auto index = static_cast<std::uint32_t>(rank.tasks.tasks.size());
    if (!rank.task_of.emplace(node.id, index).second) wrong("another node of this file has the same id");
    if (node.type == NodeType::kMetadata) chakra::add_process_groups(node.input_values, groups_);
    Task task;
    task.place = node.id;
    task.name = rank.tasks.name(node.name);
    task.op.launched = false;
    rank.group_of.emplace_back();
    rank.exact_waits.emplace_back();
    if (rank.is_exact) {
      read_exact(rank, node, task, wrong);
    } else {
      read_foreign(rank, node, task, wrong);
    }
    rank.tasks.add(task);
    rank.first_wait.push_back(rank.waits.size());
    rank.waits.insert(rank.waits.end(), node.waits.begin(), node.waits.end());
  }

  template <class Wrong>
  void read_exact(RankFile& rank, const Node& node, Task& task, const Wrong& wrong) {
    const auto numbers = node.attributes.lists.find("weft");
    if (numbers == node.attributes.lists.end()) wrong("the attribute 'weft' is missing, which this file's other nodes have");
    const std::string problem = chakra::operation_from(numbers->second, rank.streams.size(), task.op);
    if (!problem.empty()) wrong(fmt::format("attribute 'weft': {}", problem));
    task.lane = task.op.stream;
    task.tag = task.op.tag;
    const auto index = static_cast<std::uint32_t>(rank.tasks.tasks.size());
    if (node.id != index) wrong(fmt::format("expected id {}: ids are places in Weft's files", index));
    if (const auto waits = node.attributes.lists.find("weft_waits"); waits != node.attributes.lists.end()) {
      for (const std::int64_t wait : waits->second) {
        if (wait < 0 || wait >= static_cast<std::int64_t>(index))
          wrong(fmt::format("waits for {}, which is not before it", wait));
      }
      if (waits->second.size() > std::numeric_limits<std::uint16_t>::max()) wrong("waits for more than 65535 others");
      rank.exact_waits.back() = waits->second;
    }
    if (const auto memory = node.attributes.lists.find("weft_memory"); memory != node.attributes.lists.end()) {
      for (const std::int64_t bytes : memory->second) rank.memory.push_back({index, bytes});
    }
    if (const auto times = node.attributes.lists.find("weft_recorded"); times != node.attributes.lists.end()) {
      RecordedTime time;
      const std::string wrong_time = chakra::recorded_from(times->second, time);
      if (!wrong_time.empty()) wrong(fmt::format("attribute 'weft_recorded': {}", wrong_time));
      rank.recorded.push_back(time);
    }
    if (task.op.kind == OpKind::kCollective) rank.group_of.back() = node.attributes.text("pg_name");
    if (task.op.kind == OpKind::kSend || task.op.kind == OpKind::kReceive) read_peer(node, task, wrong);
  }

  template <class Wrong>
  void read_peer(const Node& node, Task& task, const Wrong& wrong) {
    const bool sends = task.op.kind == OpKind::kSend;
    const std::string_view name = sends ? "comm_dst" : "comm_src";
    const auto peer = node.attributes.integer(name);
    if (!peer || *peer < 0 || *peer >= static_cast<std::int64_t>(options_.max_ranks)) {
      wrong(fmt::format("expected a rank in the attribute '{}', found {}", name, peer ? fmt::format("{}", *peer) : "none"));
    }
    task.peer = static_cast<Rank>(*peer);
  }

  template <class Wrong>
  void read_foreign(RankFile& rank, const Node& node, Task& task, const Wrong& wrong) {
    const chakra::Attributes& has = node.attributes;
    rank.from_pytorch = rank.from_pytorch || has.integer("rf_id") || has.texts.contains("op_schema");
    const bool on_cpu = has.integer("is_cpu_op").value_or(0) != 0;
    const std::string stream = has.text("stream");
    const double ps = node.duration_us * 1e6;
    if (ps > static_cast<double>(kLongestTask.ps())) wrong("a duration of more than 28 hours");
    task.op.duration = Duration::nearest_ps(ps);
    const auto bytes = [&](std::string_view name) {
      const std::int64_t size = has.integer(name).value_or(0);
      if (size < 0 || size > kLargestTask.count()) wrong(fmt::format("attribute '{}': {} is no size in bytes", name, size));
      return Bytes{size};
    };
    switch (node.type) {
      case NodeType::kInvalid:
      case NodeType::kMetadata:
        task.op.kind = OpKind::kMarker;
        task.op.duration = {};
        task.lane = rank.tasks.lane("metadata");
        break;
      case NodeType::kMemLoad:
      case NodeType::kMemStore:
        task.op.kind = OpKind::kCopy;
        task.op.category = Category::kIo;
        task.op.bytes = bytes("tensor_size");
        task.op.slot = node.type == NodeType::kMemLoad ? kInwards : 0;
        task.lane = rank.tasks.lane("memory");
        break;
      case NodeType::kComp:
        if (on_cpu) {
          task.op.category = Category::kHost;
          task.lane = rank.tasks.lane(fmt::format("cpu {}", has.text("tid")));
        } else {
          task.lane = rank.tasks.lane(stream.empty() ? std::string{"gpu"} : fmt::format("stream {}", stream));
          if (node.duration_us == 0) reckon(has, task, wrong);
        }
        break;
      case NodeType::kSend:
      case NodeType::kReceive:
        task.op.kind = node.type == NodeType::kSend ? OpKind::kSend : OpKind::kReceive;
        task.op.category = Category::kCommOther;
        task.op.duration = {};
        task.op.bytes = bytes("comm_size");
        task.tag = std::max<std::int64_t>(0, has.integer("comm_tag").value_or(0));
        read_peer(node, task, wrong);
        break;
      case NodeType::kCollective:
        if (on_cpu && !has.integer("comm_type")) {  // the operator that launches it, in files of older converters
          task.op.category = Category::kHost;
          task.lane = rank.tasks.lane(fmt::format("cpu {}", has.text("tid")));
          break;
        }
        read_collective(rank, node, task, wrong);
        task.op.bytes = bytes("comm_size");
        if (task.op.bytes == Bytes{}) task.op.bytes = Bytes{4};
        break;
    }
    if ((task.op.kind == OpKind::kCollective || task.op.kind == OpKind::kSend || task.op.kind == OpKind::kReceive) &&
        !stream.empty()) {
      task.lane = rank.tasks.lane(fmt::format("stream {}", stream));
    }
    if (rank.tasks.lanes.size() > 250) wrong("more than 250 streams and threads on one rank");
  }

  template <class Wrong>
  void reckon(const chakra::Attributes& has, Task& task, const Wrong& wrong) {
    const auto flops = static_cast<double>(has.integer("num_ops").value_or(0));
    const auto bytes = static_cast<double>(has.integer("tensor_size").value_or(0));
    if (flops < 0 || bytes < 0) wrong("negative FLOPs or bytes");
    const double ps = std::max(flops / kFlopsPerSecond, bytes / kBytesPerSecond) * 1e12;
    if (ps <= 0) return;
    if (ps > static_cast<double>(kLongestTask.ps())) wrong("more FLOPs or bytes than 28 hours take");
    task.op.duration = Duration::nearest_ps(ps);
    ++reckoned_;
  }

  template <class Wrong>
  void read_collective(RankFile& rank, const Node& node, Task& task, const Wrong& wrong) {
    task.op.kind = OpKind::kCollective;
    task.op.category = Category::kCommOther;
    task.op.duration = {};
    const auto type = node.attributes.integer("comm_type");
    if (!type)
      wrong(
          "a collective without the attribute 'comm_type': before schema 1.0.2-chakra.0.0.4 files say neither its kind nor its "
          "size; convert the trace again");
    const auto collective = collective_of(*type);
    if (!collective)
      wrong(fmt::format("there is no comm_type {}; types go from 0 (all-reduce) to {} (barrier)", *type, kBarrier));
    task.op.collective = *collective;
    rank.group_of.back() = node.attributes.text("pg_name");
  }

  // Names of groups become indices; PyTorch's sizes of all-gathers are those of one rank's part.
  void resolve_groups() {
    const auto count = static_cast<Rank>(ranks_.size());
    name_groups(count);
    for (RankFile& rank : ranks_) {
      for (std::size_t t = 0; t < rank.tasks.tasks.size(); ++t) {
        Task& task = rank.tasks.tasks[t];
        if (task.op.kind != OpKind::kCollective) continue;
        if (!rank.is_exact && members_of(rank.group_of[t], count) == 1) {
          task.op.kind = OpKind::kMarker;
          task.lane = rank.tasks.lane("metadata");
          ++alone_;
          continue;
        }
        task.peer = group(rank, &task, rank.group_of[t], count);
        if (rank.from_pytorch && task.op.collective == coll::Collective::kAllGather) {
          const auto members = static_cast<std::int64_t>(program_groups_[static_cast<std::size_t>(task.peer)].ranks.size());
          if (task.op.bytes.count() > kLargestTask.count() / members) {
            fail(rank.tasks.file, fmt::format("node {}: an all-gather of more than {} B", task.place, kLargestTask.count()));
          }
          task.op.bytes = task.op.bytes * members;
          ++scaled_gathers_;
        }
      }
    }
  }

  [[nodiscard]] std::size_t members_of(const std::string& name, Rank count) const {
    const auto given = groups_.find(name);
    const bool all = given == groups_.end() ? name.empty() || name == "0" : given->second.empty();
    return all ? static_cast<std::size_t>(count) : given == groups_.end() ? 0 : given->second.size();
  }

  // Those of Weft's own files keep their order and their names.
  void name_groups(Rank count) {
    for (std::size_t g = 0; g < group_names_.size(); ++g) {
      const std::string number = fmt::format("{}", g);
      const auto given = groups_.find(number);
      if (given == groups_.end() || given->second.size() < 2) continue;  // nobody calls it
      const std::int32_t made = group(ranks_.front(), nullptr, number, count);
      program_groups_[static_cast<std::size_t>(made)].name = group_names_[g];
    }
  }

  // `task` calls it; null: nobody yet.
  std::int32_t group(const RankFile& rank, const Task* task, const std::string& name, Rank count) {
    if (const auto known = group_index_.find(name); known != group_index_.end()) return known->second;
    Group made{.name = name.empty() ? "all" : name, .ranks = {}};
    const auto given = groups_.find(name);
    if (given != groups_.end()) made.ranks = given->second;
    const auto wrong = [&](const std::string& what, std::string note) {
      if (task == nullptr) fail(rank.tasks.file, what, std::move(note));
      fail(rank.tasks.file, fmt::format("node {} ('{}'): {}", task->place, rank.tasks.names[task->name], what),
           std::move(note));
    };
    if (given == groups_.end() && !name.empty() && name != "0") {
      wrong(fmt::format("process group '{}' is not said", name),
            "give the comm-group file beside the traces: {\"1\": [0, 1, 2, 3]}; or METADATA nodes name the groups");
    }
    if (given == groups_.end() || given->second.empty()) {
      made.ranks.clear();
      for (Rank r = 0; r < count; ++r) made.ranks.push_back(r);
    }
    std::vector<Rank> sorted = made.ranks;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) wrong(fmt::format("group '{}' names a rank twice", name), {});
    if (sorted.back() >= count) {
      wrong(fmt::format("group '{}' has rank {}, but there are files of ranks 0 to {} only", name, sorted.back(), count - 1),
            {});
    }
    if (sorted.size() < 2) wrong(fmt::format("group '{}' has one rank only", name), {});
    program_groups_.push_back(std::move(made));
    return group_index_[name] = static_cast<std::int32_t>(program_groups_.size() - 1);
  }

  static void add_dependencies(RankFile& rank) {
    for (std::uint32_t t = 0; t < rank.tasks.tasks.size(); ++t) {
      if (rank.is_exact) continue;
      for (std::size_t w = rank.first_wait[t]; w < rank.first_wait[t + 1]; ++w) {
        const auto on = rank.task_of.find(rank.waits[w]);
        if (on == rank.task_of.end()) {
          fail(rank.tasks.file,
               fmt::format("node {} ('{}') depends on node {}, which is not in the file", rank.tasks.tasks[t].place,
                           rank.tasks.names[rank.tasks.tasks[t].name], rank.waits[w]));
        }
        rank.tasks.wait(t, on->second);
      }
    }
    if (!rank.is_exact) return;
    // As the program has it: behind the one before it on its stream, and behind its waits. Host operations are in no stream.
    std::vector<std::uint32_t> last(rank.streams.size(), kNoTask);
    for (std::uint32_t t = 0; t < rank.tasks.tasks.size(); ++t) {
      const Operation& op = rank.tasks.tasks[t].op;
      for (const std::int64_t wait : rank.exact_waits[t]) rank.tasks.wait(t, static_cast<std::uint32_t>(wait));
      if (op.kind == OpKind::kHostDelay || op.kind == OpKind::kHostSync) continue;
      if (last[op.stream] != kNoTask) rank.tasks.wait(t, last[op.stream]);
      last[op.stream] = t;
    }
  }

  Trace made_trace() {
    Trace trace;
    std::vector<RankTasks> tasks;
    for (RankFile& rank : ranks_) tasks.push_back(std::move(rank.tasks));
    const std::string file = tasks.front().file;
    TaskProgram made = make_program(std::move(tasks), std::move(program_groups_), {.eager = kAllEager});
    trace.program = std::move(made.program);
    trace.findings = std::move(made.findings);
    const auto find = [&](std::string message) {
      Diagnostic finding;
      finding.where.file = file;
      finding.message = std::move(message);
      trace.findings.push_back(std::move(finding));
    };
    if (reckoned_ > 0) {
      trace.recorded_gpu = "NVIDIA H100 80GB HBM3";
      find(fmt::format(
          "{} nodes give FLOPs and bytes but no time: they take the roofline of an H100 SXM (989 TFLOP/s, 3.35 TB/s)",
          reckoned_));
    }
    if (alone_ > 0) find(fmt::format("{} calls of collectives in groups of one rank move nothing and are left out", alone_));
    if (scaled_gathers_ > 0) {
      find(fmt::format("{} all-gathers come from PyTorch, whose size is one rank's part: the whole is simulated",
                       scaled_gathers_));
    }
    return trace;
  }

  // The program that Weft wrote. What the files claim is checked as for any other: messages and groups meet, nothing is
  // circular.
  Trace exact_trace() {
    Trace trace;
    const bool has_times = std::ranges::any_of(ranks_, [](const RankFile& rank) { return !rank.recorded.empty(); });
    std::vector<RankTasks> tasks;
    for (RankFile& rank : ranks_) {
      Program& program = trace.program;
      program.ranks.push_back(
          {.program = static_cast<std::uint32_t>(program.programs.size()), .leader = static_cast<Rank>(program.ranks.size())});
      RankProgram& made = program.programs.emplace_back();
      made.names = rank.tasks.names;
      made.streams = rank.streams;
      made.memory = std::move(rank.memory);
      made.resident = rank.resident;
      std::map<std::int32_t, std::uint16_t> peers;
      std::map<std::int32_t, std::uint16_t> groups;
      for (std::size_t t = 0; t < rank.tasks.tasks.size(); ++t) {
        const Task& task = rank.tasks.tasks[t];
        Operation op = task.op;
        op.name = task.name;
        op.first_wait = static_cast<std::uint32_t>(made.waits.size());
        for (const std::int64_t wait : rank.exact_waits[t]) made.waits.push_back(static_cast<OpIndex>(wait));
        op.wait_count = static_cast<std::uint16_t>(rank.exact_waits[t].size());
        if (op.kind == OpKind::kCollective) {
          const auto [slot, is_new] = groups.try_emplace(task.peer, static_cast<std::uint16_t>(groups.size()));
          if (is_new) program.ranks.back().groups.push_back(static_cast<std::uint32_t>(task.peer));
          op.slot = slot->second;
        } else if (op.kind == OpKind::kSend || op.kind == OpKind::kReceive) {
          const auto [slot, is_new] = peers.try_emplace(task.peer, static_cast<std::uint16_t>(peers.size()));
          if (is_new) program.ranks.back().peers.push_back(task.peer);
          op.slot = slot->second;
        }
        if (std::max(groups.size(), peers.size()) > 65'535)
          fail(rank.tasks.file, "more than 65535 groups or peers of one rank");
        made.operations.push_back(op);
      }
      if (rank.recorded.size() != (has_times ? made.operations.size() : 0)) {
        fail(rank.tasks.file, "the attribute 'weft_recorded' is missing at some nodes");
      }
      if (has_times) trace.recorded.push_back(std::move(rank.recorded));
      tasks.push_back(std::move(rank.tasks));
    }
    trace.program.groups = program_groups_;
    finish_exact(trace, tasks.front().file);
    static_cast<void>(make_program(std::move(tasks), std::move(program_groups_), {.eager = Bytes{-1}}));
    return trace;
  }

  void finish_exact(Trace& trace, const std::string& file) {
    std::vector<std::int64_t> leaders;
    for (const RankFile& rank : ranks_) leaders.push_back(rank.leader);
    for (std::string& differs : chakra::fold_ranks(trace, leaders)) {
      Diagnostic finding;
      finding.where.file = file;
      finding.message = std::move(differs);
      trace.findings.push_back(std::move(finding));
    }
    trace.full_clock = origin_.full_clock;
    trace.recorded_step = origin_.recorded_step;
    trace.recorded_iterations = origin_.recorded_iterations;
    trace.recorded_gpu = std::move(origin_.recorded_gpu);
  }

  const TraceReadOptions& options_;
  Trace origin_;  // what Weft's metadata says beside the program
  std::vector<std::string> group_names_;
  chakra::GroupRanks groups_;
  std::vector<Group> program_groups_;
  std::map<std::string, std::int32_t, std::less<>> group_index_;
  std::vector<RankFile> ranks_;
  std::uint64_t operations_ = 0;
  std::size_t reckoned_ = 0;
  std::size_t scaled_gathers_ = 0;
  std::size_t alone_ = 0;
};

// A list of objects in JSON begins as a message of 91 bytes, '[', whose first field is text, a line's end.
bool is_json_list(std::string_view head) {
  const std::size_t second = head.find_first_not_of(" \t\r\n", 1);
  return head.starts_with('[') && second != std::string_view::npos && head[second] == '{';
}

bool recognises_chakra(const std::filesystem::path& file, std::string_view head) {
  if (chakra::looks_like_json(head) || chakra::looks_like_comm_groups(head)) return true;
  if (file.filename().string().find(".et") != std::string::npos) return chakra::looks_like_protobuf(head);
  return head.size() > 8 && !is_json_list(head) && chakra::looks_like_protobuf(head);
}

Trace read_chakra(std::span<const std::filesystem::path> files, const TraceReadOptions& options) {
  return ChakraReader{options}.read(files);
}

}  // namespace

namespace trace_builtin {
const TraceFormat chakra{
    .name = "chakra",
    .summary = "Chakra execution traces, protobuf or JSON, one file per rank",
    .recognises = recognises_chakra,
    .read = read_chakra,
    .model =
        {.assumes = "A node runs when all its data and control dependencies have ended; computation of one stream, or of "
                    "the GPU where nodes name none, runs one at a time, and operations of the CPU by their thread. Sizes are "
                    "the logical ones, except all-gathers of "
                    "PyTorch, whose size is one rank's part.",
         .leaves_out = {"chakra: where ranks would wait for each other in a circle, sends of any size go on before they are "
                        "received, as in ASTRA-sim, where no send waits for its receive",
                        "chakra: a node with FLOPs and bytes but no time takes the roofline of an H100 SXM",
                        "chakra: involved_dim and comm_priority are not read; memory nodes are copies between GPU and host"},
         .sources = {"models/workloads §5.1"}},
};
}  // namespace trace_builtin

}  // namespace weft::work
