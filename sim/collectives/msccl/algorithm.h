// An MSCCL program as an algorithm: proven by the verifier when it is made, and turned into a Schedule for each call.
//
// A threadblock is a lane of its channel, in the order of ids. MSCCL runs all steps once for each piece of `choice.chunk` bytes
// of a program chunk; where a program chunk is smaller, consecutive ones of a step go as one message (models/nccl §9.1).
//
//   const auto algorithm = msccl_algorithm("allpairs.xml");          // ConfigError: malformed, or wrong
//   if (const auto why = algorithm->refusal(call, comm.ranks())) ... // "its size is not a multiple of 8 elements"
//   const auto schedule = algorithm->plan(comm, call, {.protocol = algorithm->program().protocol, .chunk = 2_MiB});
//
// Model: consecutive `re` steps on one destination are steps of their own; MSCCL fuses up to 16 of them into one pass.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "sim/collectives/algorithm.h"
#include "sim/collectives/msccl/program.h"

namespace weft::coll {

class MscclAlgorithm final : public Algorithm {
 public:
  // `program` must be right for `root`: see msccl_algorithm().
  MscclAlgorithm(msccl::Program program, Rank root) : program_{std::move(program)}, root_{root} {}

  [[nodiscard]] const msccl::Program& program() const { return program_; }
  // Returns the root of broadcast, reduce, gather and scatter, which the file does not name.
  [[nodiscard]] Rank root() const { return root_; }

  [[nodiscard]] bool supports(Collective collective) const override { return collective == program_.collective; }
  // Why MSCCL would not use it for this call, so that NCCL's own algorithm runs; nullopt: it would. Lower case, no full stop.
  [[nodiscard]] std::optional<std::string> refusal(const CollectiveCall& call, int ranks) const;
  // Takes from `choice` only the chunk, where it is below msccl::largest_chunk(); the program says its channels, and the
  // communicator must have as many. ConfigError where there is a refusal. Out of place where the program may be used so.
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override;

 private:
  msccl::Program program_;
  Rank root_;
};

// Reads, checks and verifies. ConfigError: every error of the file, or the first of the algorithm.
[[nodiscard]] std::unique_ptr<MscclAlgorithm> msccl_algorithm(const std::string& path);
[[nodiscard]] std::unique_ptr<MscclAlgorithm> msccl_algorithm(msccl::Program program);

namespace msccl {

// The schedule of a call that the program fits (MscclAlgorithm::refusal).
[[nodiscard]] std::unique_ptr<Schedule> make_schedule(const Program& program, const CollectiveCall& call, Bytes chunk,
                                                      bool in_place);

// Returns the most that one message may hold: how far MSCCL puts small chunks of a step together and cuts large ones.
[[nodiscard]] Bytes largest_chunk(const Program& program);

// Whether the program leaves the right data for `root`, in place and out of place as it says it may be used, with chunks cut
// into several pieces and with several in one message. The first error, with GPU, threadblock, step, line and chunk.
[[nodiscard]] std::optional<std::string> verify(const Program& program, Rank root);

}  // namespace msccl
}  // namespace weft::coll
