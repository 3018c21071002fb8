// One execution trace of PyTorch (models/workloads §5.3): operators, which tensors they read and wrote, calls of communication,
// process groups. It holds no times. Nothing is concluded here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/workloads/trace/kineto/kineto_events.h"
#include "sim/workloads/trace/trace_format.h"

namespace weft::work::execution {

struct Node {
  std::int64_t id = -1;               // ascending in the order in which operators began
  std::int64_t record_function = -1;  // names it to the profile of the same run
  std::uint64_t name = 0;             // name_hash
  std::uint32_t comm = kineto::kNone;
  std::vector<std::int64_t> reads = {};  // storages
  std::vector<std::int64_t> writes = {};
};

struct Nodes {
  std::filesystem::path file;
  std::string schema;
  std::int64_t process = -1;  // of the operating system
  std::int64_t rank = -1;     // as calls on the group of all ranks say it
  std::vector<Node> nodes;    // by id
  std::vector<kineto::CommCall> comms;
  std::vector<kineto::ProcessGroup> groups;  // no ranks: all there are
  kineto::OddValues odd_tensors;             // of sizes that none has
};

[[nodiscard]] bool looks_like_execution_trace(std::string_view head);

// ConfigError, located: no execution trace, cut, a number that is none, a node twice.
[[nodiscard]] Nodes read_nodes(const std::filesystem::path& file, const TraceReadOptions& options);

[[nodiscard]] std::uint64_t name_hash(std::string_view name);

// Positions of the operands that an operator's schema says it writes: 0 of "aten::add_(Tensor(a!) self, Tensor other) -> ...".
// One bit each, up to 64.
[[nodiscard]] std::uint64_t written_operands(std::string_view schema);

}  // namespace weft::work::execution
