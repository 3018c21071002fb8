// Chakra execution traces (models/workloads §5.1). The order of streams and of the host is written as data dependencies, so
// that others run what Weft runs; what only Weft knows stands in attributes of its own (chakra/exact.h).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/output_file.h"
#include "sim/core/used_files.h"
#include "sim/workloads/trace/chakra/chakra_file.h"
#include "sim/workloads/trace/chakra/exact.h"
#include "sim/workloads/trace/chakra/wire.h"
#include "sim/workloads/trace/writers/trace_writer.h"
#include "sim/workloads/trace/writers/writers.h"

namespace weft::work {
namespace {

using chakra::NodeType;

// AttributeProto's fields of values (models/workloads §5.1).
constexpr std::uint32_t kInt32 = 7;
constexpr std::uint32_t kInt64 = 9;
constexpr std::uint32_t kInt64List = 10;
constexpr std::uint32_t kUint64 = 13;
constexpr std::uint32_t kBool = 27;
constexpr std::uint32_t kString = 29;
constexpr std::uint32_t kStringList = 30;

// As field `field` of a message: 10 in a Node, 2 in GlobalMetadata.
void add_number(WireWriter& to, std::uint32_t field, std::string_view name, std::uint32_t kind, std::int64_t value) {
  WireWriter attribute;
  attribute.bytes(1, name);
  attribute.integer(kind, value);
  to.bytes(field, attribute.text());
}

void add_text(WireWriter& to, std::uint32_t field, std::string_view name, std::string_view value) {
  WireWriter attribute;
  attribute.bytes(1, name);
  attribute.bytes(kString, value);
  to.bytes(field, attribute.text());
}

void add_texts(WireWriter& to, std::uint32_t field, std::string_view name, const std::vector<std::string>& values) {
  WireWriter list;
  for (const std::string& value : values) list.bytes(1, value);
  WireWriter attribute;
  attribute.bytes(1, name);
  attribute.bytes(kStringList, list.text());
  to.bytes(field, attribute.text());
}

void add_list(WireWriter& to, std::uint32_t field, std::string_view name, const std::vector<std::int64_t>& values) {
  std::vector<std::uint64_t> words;
  for (const std::int64_t value : values) words.push_back(static_cast<std::uint64_t>(value));
  WireWriter list;
  list.packed(1, words);
  WireWriter attribute;
  attribute.bytes(1, name);
  attribute.bytes(kInt64List, list.text());
  to.bytes(field, attribute.text());
}

std::optional<std::int64_t> comm_type(coll::Collective collective) {
  using coll::Collective;
  constexpr std::array kTypes = {Collective::kAllReduce, Collective::kReduce,       Collective::kAllGather,
                                 Collective::kGather,    Collective::kScatter,      Collective::kBroadcast,
                                 Collective::kAllToAll,  Collective::kReduceScatter};
  const auto found = std::ranges::find(kTypes, collective);
  if (found == kTypes.end()) return std::nullopt;
  return found - kTypes.begin();
}

NodeType type_of(const Operation& op) {
  switch (op.kind) {
    case OpKind::kCollective:
      return comm_type(op.collective) ? NodeType::kCollective : NodeType::kComp;
    case OpKind::kSend:
      return NodeType::kSend;
    case OpKind::kReceive:
      return NodeType::kReceive;
    case OpKind::kCopy:
    case OpKind::kStorage:
      return (op.slot & kInwards) != 0 ? NodeType::kMemLoad : NodeType::kMemStore;
    default:
      return NodeType::kComp;
  }
}

class RankWriter {
 public:
  RankWriter(const Program& program, Rank rank, const ProgramOrigin& origin)
      : program_{program},
        own_{program.program_of(rank)},
        table_{program.ranks[static_cast<std::size_t>(rank)]},
        origin_{origin},
        rank_{rank} {}

  void write(std::ostream& out) {
    put(out, metadata());
    std::vector<OpIndex> last(own_.streams.size() + 1, kNoOp);
    OpIndex host = kNoOp;
    auto change = own_.memory.begin();
    for (OpIndex i = 0; i < own_.operations.size(); ++i) {
      const Operation& op = own_.operations[i];
      const bool is_host = op.kind == OpKind::kHostDelay || op.kind == OpKind::kHostSync;
      std::vector<std::uint64_t> before;
      for (const OpIndex wait : own_.waits_of(op)) before.push_back(wait);
      if (host != kNoOp) before.push_back(host);
      if (!is_host && last[op.stream] != kNoOp) before.push_back(last[op.stream]);
      std::ranges::sort(before);
      before.erase(std::unique(before.begin(), before.end()), before.end());
      std::vector<std::int64_t> memory;
      for (; change != own_.memory.end() && change->op == i; ++change) memory.push_back(change->bytes);
      put(out, node(i, before, memory));
      (is_host ? host : last[op.stream]) = i;
    }
  }

 private:
  static void put(std::ostream& out, const std::string& message) {
    std::string length;
    WireWriter::append_varint(length, message.size());
    out << length << message;
  }

  [[nodiscard]] std::string metadata() const {
    WireWriter metadata;
    metadata.bytes(1, "0.0.4");
    add_texts(metadata, 2, "weft_streams", own_.streams.empty() ? std::vector<std::string>{"compute"} : own_.streams);
    add_list(metadata, 2, "weft_resident", {own_.resident.parameters, own_.resident.gradients, own_.resident.optimizer});
    if (table_.leader != rank_) add_number(metadata, 2, "weft_leader", kInt64, table_.leader);
    if (rank_ == 0) add_origin(metadata);
    return metadata.text();
  }

  // Adds what all ranks share, written once.
  void add_origin(WireWriter& metadata) const {
    std::vector<std::string> groups;
    for (const Group& group : program_.groups) groups.push_back(group.name);
    if (!groups.empty()) add_texts(metadata, 2, "weft_groups", groups);
    if (origin_.full_clock) add_number(metadata, 2, "weft_full_clock", kBool, 1);
    if (origin_.recorded_step) add_number(metadata, 2, "weft_recorded_step", kInt64, origin_.recorded_step->ps());
    if (origin_.recorded_iterations != 1)
      add_number(metadata, 2, "weft_recorded_iterations", kInt64, origin_.recorded_iterations);
    if (!origin_.recorded_gpu.empty()) add_text(metadata, 2, "weft_recorded_gpu", origin_.recorded_gpu);
  }

  [[nodiscard]] std::string node(OpIndex index, const std::vector<std::uint64_t>& before,
                                 const std::vector<std::int64_t>& memory) const {
    constexpr std::uint32_t kAttribute = 10;
    const Operation& op = own_.operations[index];
    const NodeType type = type_of(op);
    const bool is_host = op.kind == OpKind::kHostDelay || op.kind == OpKind::kHostSync;
    WireWriter node;
    node.varint(1, index);
    node.bytes(2, own_.names[op.name]);
    node.varint(3, static_cast<std::uint64_t>(type));
    node.packed(5, before);
    const Duration told = op.kind == OpKind::kMarker ? Duration{} : op.duration;
    node.varint(7, static_cast<std::uint64_t>((told.ps() + 999'999) / 1'000'000));
    add_number(node, kAttribute, "is_cpu_op", kBool, is_host || op.kind == OpKind::kMarker ? 1 : 0);
    if (!is_host) add_number(node, kAttribute, "stream", kInt64, op.stream);
    if (type == NodeType::kCollective) add_number(node, kAttribute, "comm_type", kInt64, *comm_type(op.collective));
    if (op.kind == OpKind::kCollective) add_text(node, kAttribute, "pg_name", fmt::format("{}", table_.groups.at(op.slot)));
    if (type == NodeType::kCollective || type == NodeType::kSend || type == NodeType::kReceive) {
      add_number(node, kAttribute, "comm_size", kInt64, op.bytes.count());
    }
    if (type == NodeType::kSend || type == NodeType::kReceive) {
      const Rank peer = table_.peers.at(op.slot);
      add_number(node, kAttribute, "comm_src", kInt32, type == NodeType::kSend ? rank_ : peer);
      add_number(node, kAttribute, "comm_dst", kInt32, type == NodeType::kSend ? peer : rank_);
      add_number(node, kAttribute, "comm_tag", kInt32, op.tag);
    }
    if (type == NodeType::kMemLoad || type == NodeType::kMemStore) {
      add_number(node, kAttribute, "tensor_size", kUint64, op.bytes.count());
    }
    add_list(node, kAttribute, "weft", chakra::numbers_of(op));
    std::vector<std::int64_t> waits;
    for (const OpIndex wait : own_.waits_of(op)) waits.push_back(wait);
    if (!waits.empty()) add_list(node, kAttribute, "weft_waits", waits);
    if (!memory.empty()) add_list(node, kAttribute, "weft_memory", memory);
    if (table_.program < origin_.recorded.size()) {
      const RecordedTime& time = origin_.recorded[table_.program][index];
      add_list(node, kAttribute, "weft_recorded", {time.start.ps(), time.duration.ps(), time.blocks});
    }
    return node.text();
  }

  const Program& program_;
  const RankProgram& own_;
  const ProgramRank& table_;
  const ProgramOrigin& origin_;
  Rank rank_;
};

}  // namespace

ProgramOrigin origin_of(const Trace& trace) {
  return {.full_clock = trace.full_clock,
          .recorded = trace.recorded,
          .recorded_step = trace.recorded_step,
          .recorded_iterations = trace.recorded_iterations,
          .recorded_gpu = trace.recorded_gpu};
}

void write_chakra(const Program& program, const std::filesystem::path& folder, const std::string& name,
                  const ProgramOrigin& origin) {
  OutputFolder files{folder.string()};
  write_chakra(program, files, name, origin);
  files.commit();
}

void write_chakra(const Program& program, OutputFolder& folder, const std::string& name, const ProgramOrigin& origin) {
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    folder.write(fmt::format("{}.{}.et", name, r), [&](std::ostream& out) {
      RankWriter{program, static_cast<Rank>(r), origin}.write(out);
    });
  }
  if (program.groups.empty()) return folder.drop("comm_groups.json");  // what another step left there
  folder.write("comm_groups.json", [&](std::ostream& out) {
    out << "{";
    for (std::size_t g = 0; g < program.groups.size(); ++g) {
      out << fmt::format("{}\"{}\": [{}]", g > 0 ? ",\n " : "", g, fmt::join(program.groups[g].ranks, ", "));
    }
    out << "}\n";
  });
}

namespace {

WrittenTrace write_chakra_folder(const Trace& trace, const std::filesystem::path& folder, const std::string& stem) {
  write_chakra(trace.program, folder, stem, origin_of(trace));
  WrittenTrace written;
  for (const ProgramRank& rank : trace.program.ranks) {
    written.operations += trace.program.programs[rank.program].operations.size();
  }
  return written;
}

}  // namespace

const TraceWriter trace_builtin::chakra_writer{
    .name = "chakra",
    .summary = "Chakra execution traces for ASTRA-sim, a folder with a file per rank",
    .written = "Chakra execution traces",
    .to_folder = write_chakra_folder,
    .model = {.assumes = "A node for each operation of each rank. The order of streams and of the host is written as data "
                         "dependencies, so that others run what Weft runs. What only Weft knows stands in attributes of its "
                         "own, which others pass over.",
              .sources = {"models/workloads §5.1"},
              .files = {"workloads/trace/chakra/exact.h"}},
};

}  // namespace weft::work
