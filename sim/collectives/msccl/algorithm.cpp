#include "sim/collectives/msccl/algorithm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "sim/collectives/msccl/reader.h"
#include "sim/collectives/msccl/schedule.h"
#include "sim/collectives/verifier.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace msccl {
namespace {

// Names as the file has them: "gpu 0 tb 1 step 2 (line 17)", "output chunk 3".
class ProgramNames final : public StepNames {
 public:
  ProgramNames(const Program& program, const ProgramSchedule& schedule) : program_{program}, schedule_{schedule} {}

  [[nodiscard]] std::string step(Rank rank, int channel, int lane, std::int64_t index) const override {
    const int block = schedule_.block_of(rank, channel, lane);
    const int step = schedule_.program_step(rank, channel, lane, index);
    const ThreadBlock& of = program_.gpus[static_cast<std::size_t>(rank)].blocks[static_cast<std::size_t>(block)];
    return fmt::format("gpu {} tb {} step {} (line {})", rank, block, step,
                       of.steps[static_cast<std::size_t>(step)].origin.line);
  }
  [[nodiscard]] std::string chunk(const Chunk& chunk) const override {
    constexpr std::array<std::string_view, 3> kNames{"input", "output", "scratch"};
    return fmt::format("{} chunk {}", kNames[static_cast<std::size_t>(chunk.buffer)],
                       chunk.offset / schedule_.program_chunk_bytes());
  }

 private:
  const Program& program_;
  const ProgramSchedule& schedule_;
};

// How many largest_chunk() the 8 slots of a connection hold.
int chunks_in_flight(const Program& program) { return program.protocol == "Simple" ? 2 : 8; }

std::optional<std::string> verify_once(const Program& program, const CollectiveCall& call, Bytes chunk, bool in_place) {
  const ProgramSchedule schedule{program, call, chunk, in_place};
  const ProgramNames names{program, schedule};
  return coll::verify(schedule, call, {.fifo_slots = chunks_in_flight(program), .names = &names});
}

bool has_root(Collective collective) {
  return collective == Collective::kBroadcast || collective == Collective::kReduce || collective == Collective::kGather ||
         collective == Collective::kScatter;
}

ConfigError error_in(const Program& program, const std::string& message) {
  return ConfigError{{Diagnostic{.where = {.file = program.file, .line = 0, .column = 0},
                                 .message = message,
                                 .source_line = {},
                                 .length = 1,
                                 .note = {}}}};
}

}  // namespace

std::unique_ptr<Schedule> make_schedule(const Program& program, const CollectiveCall& call, Bytes chunk, bool in_place) {
  return std::make_unique<ProgramSchedule>(program, call, chunk, in_place);
}

Bytes largest_chunk(const Program& program) {
  // Half of the 8 slots of 512 KiB in Simple, one slot's data in LL and LL128 (models/nccl §4.1, §9.1).
  if (program.protocol == "Simple") return Bytes{4 * 524'288};
  return Bytes{program.protocol == "LL" ? 32'768 : 576'000};
}

std::optional<std::string> verify(const Program& program, Rank root) {
  // Program chunks of three units. At the largest size of its calls MSCCL moves so many of them as one message, or each in
  // several iterations: here two, the second shorter. At the smallest sizes all chunks of a step are one message.
  constexpr std::int64_t kUnit = 16;
  const bool per_rank = program.collective == Collective::kGather || program.collective == Collective::kScatter;
  const Bytes bytes{3 * kUnit * program.chunks_per_loop * (per_rank ? program.ranks() : 1)};
  const CollectiveCall call{.kind = program.collective, .bytes = bytes, .element_size = 4, .root = root};
  const std::int64_t largest_program_chunk = program.max_bytes / program.chunks_per_loop;
  const bool is_cut = program.max_bytes == 0 || largest_program_chunk > largest_chunk(program).count();
  const Bytes at_largest =
      is_cut ? Bytes{2 * kUnit}
             : 3 * kUnit * Bytes{largest_chunk(program).count() / std::max<std::int64_t>(largest_program_chunk, 1)};
  for (const bool in_place : {false, true}) {
    if (in_place ? !program.in_place : !program.out_of_place) continue;
    for (const Bytes chunk : {at_largest, call.bytes}) {
      if (auto error = verify_once(program, call, chunk, in_place)) return error;
    }
  }
  return std::nullopt;
}

}  // namespace msccl

std::optional<std::string> MscclAlgorithm::refusal(const CollectiveCall& call, int ranks) const {
  if (call.kind != program_.collective)
    return fmt::format("it is an algorithm for {}, not for {}", to_string(program_.collective), to_string(call.kind));
  if (call.pairs != nullptr) return "its blocks are equal, and those of an all-to-allv are not";
  if (ranks != program_.ranks()) return fmt::format("it is for {} ranks, not {}", program_.ranks(), ranks);
  if (msccl::has_root(call.kind) && call.root != root_) return fmt::format("its root is rank {}, not {}", root_, call.root);
  const CallSizes sizes = sizes_of(call, ranks);
  const std::int64_t bytes = sizes.reported.count();
  if (bytes < program_.min_bytes) return fmt::format("{} bytes are below its minBytes, {}", bytes, program_.min_bytes);
  if (program_.max_bytes != 0 && bytes > program_.max_bytes)
    return fmt::format("{} bytes are above its maxBytes, {}", bytes, program_.max_bytes);
  if (msccl::chunk_bytes(program_, call) == 0)
    return fmt::format("{} bytes do not make {} equal chunks of whole elements", bytes, program_.chunks_per_loop);
  return std::nullopt;
}

std::unique_ptr<Schedule> MscclAlgorithm::plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const {
  auto why = refusal(call, communicator.ranks());
  if (!why && program_.channels > communicator.channels())
    why = fmt::format("it uses {} channels, the communicator has {}", program_.channels, communicator.channels());
  if (why) throw msccl::error_in(program_, fmt::format("algorithm '{}' does not fit the call: {}", program_.name, *why));
  return msccl::make_schedule(program_, call, std::min(choice.chunk, msccl::largest_chunk(program_)), !program_.out_of_place);
}

std::unique_ptr<MscclAlgorithm> msccl_algorithm(msccl::Program program) {
  auto error = msccl::verify(program, 0);
  if (!error) return std::make_unique<MscclAlgorithm>(std::move(program), 0);
  for (Rank root = 1; msccl::has_root(program.collective) && root < program.ranks(); ++root) {
    if (!msccl::verify(program, root)) return std::make_unique<MscclAlgorithm>(std::move(program), root);
  }
  throw msccl::error_in(program, fmt::format("algorithm '{}' is wrong: {}", program.name, *error));
}

std::unique_ptr<MscclAlgorithm> msccl_algorithm(const std::string& path) {
  return msccl_algorithm(msccl::read_program_file(path));
}

}  // namespace weft::coll
