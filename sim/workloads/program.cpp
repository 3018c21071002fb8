#include "sim/workloads/program.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "sim/core/error.h"

namespace weft::work {

std::string_view to_string(Category category) {
  static constexpr std::array<std::string_view, kCategories> kNames = {
      "gemm",          "attention",   "other compute", "optimizer",  "tensor comm", "data comm",
      "pipeline comm", "expert comm", "context comm",  "other comm", "io",          "host"};
  return kNames[static_cast<std::size_t>(category)];
}

void set_load(Operation& op, const PowerLoad& load) {
  op.tensor_share = static_cast<std::uint8_t>(std::clamp(load.tensor, 0.0, 1.0) * 255 + 0.5);
  op.memory_share = static_cast<std::uint8_t>(std::clamp(load.memory, 0.0, 1.0) * 255 + 0.5);
}

PowerLoad load_of(const Operation& op) { return {.tensor = op.tensor_share / 255.0, .memory = op.memory_share / 255.0}; }

MemoryUse memory_in_order(const RankProgram& rank) {
  std::array<std::int64_t, kMemoryPools> held{rank.resident.total()};
  std::array<std::int64_t, kMemoryPools> released{};  // as the operation ends
  std::array<std::int64_t, kMemoryPools> most = held;
  MemoryUse use{.peak = rank.resident.total()};
  OpIndex op = 0;
  for (const MemoryChange& change : rank.memory) {
    if (change.op != op) {
      for (std::size_t p = 0; p < kMemoryPools; ++p) held[p] += std::exchange(released[p], 0);
    }
    op = change.op;
    const auto pool = static_cast<std::size_t>(change.pool);
    (change.bytes > 0 ? held : released)[pool] += change.bytes;
    most[pool] = std::max(most[pool], held[pool]);
    const std::int64_t sum = std::accumulate(held.begin(), held.end(), std::int64_t{0});
    if (sum <= use.peak) continue;
    use.peak = sum;
    use.gradients = held[static_cast<std::size_t>(MemoryPool::kGradients)];
  }
  const bool is_apart = most[static_cast<std::size_t>(MemoryPool::kGathers)] > 0;
  if (is_apart) use.reserved = std::accumulate(most.begin(), most.end(), std::int64_t{0});
  return use;
}

std::int64_t peak_in_order(const Program& program) {
  std::int64_t most = 0;
  for (const RankProgram& rank : program.programs) most = std::max(most, memory_in_order(rank).peak);
  return most;
}

namespace {

// Its place in `names`, appended where it is new. Programs have some dozens of names, asked for in runs.
std::uint32_t intern(std::vector<std::string>& names, std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at != names.end()) return static_cast<std::uint32_t>(at - names.begin());
  names.emplace_back(name);
  return static_cast<std::uint32_t>(names.size() - 1);
}

}  // namespace

std::uint8_t RankProgramBuilder::stream(std::string_view name) {
  const std::uint32_t index = intern(program_.streams, name);
  WEFT_CHECK(index <= std::numeric_limits<std::uint8_t>::max());
  if (index == last_.size()) last_.push_back(kNoOp);
  return static_cast<std::uint8_t>(index);
}

OpIndex RankProgramBuilder::add(Operation op, std::string_view name, std::span<const OpIndex> waits) {
  WEFT_CHECK(op.stream < last_.size());
  const auto index = static_cast<OpIndex>(program_.operations.size());
  op.name = intern(program_.names, name);
  op.first_wait = static_cast<std::uint32_t>(program_.waits.size());
  for (const OpIndex wait : waits) {
    if (wait == kNoOp) continue;
    WEFT_CHECK(wait < index);
    if (program_.operations[wait].stream == op.stream) continue;
    const auto own = program_.waits.begin() + op.first_wait;
    if (std::find(own, program_.waits.end(), wait) == program_.waits.end()) program_.waits.push_back(wait);
  }
  op.wait_count = static_cast<std::uint16_t>(program_.waits.size() - op.first_wait);
  program_.operations.push_back(op);
  last_[op.stream] = index;
  return index;
}

OpIndex RankProgramBuilder::last(std::uint8_t stream) const { return stream < last_.size() ? last_[stream] : kNoOp; }

void RankProgramBuilder::find_last() {
  std::fill(last_.begin(), last_.end(), kNoOp);
  for (OpIndex i = 0; i < program_.operations.size(); ++i) last_[program_.operations[i].stream] = i;
}

RankProgram RankProgramBuilder::take() {
  // Changes are told as they come to mind; the program has them in order of operation.
  std::ranges::stable_sort(program_.memory, {}, &MemoryChange::op);
  last_.clear();
  return std::exchange(program_, {});
}

}  // namespace weft::work
