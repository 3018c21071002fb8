// The verifier: proves that a schedule computes its collective, by running it on symbolic data.
//
// It shows, for every order in which ranks and lanes may run:
//  - every rank ends with the right data, byte for byte: the right byte of the right ranks' inputs, each counted once;
//  - nothing undefined is read, nothing is written outside the output or into the input, and no sum mixes different bytes;
//  - the k-th message sent on a connection has the size its receiver expects, and none is left over;
//  - a switch adds up what was sent for it to add up and nothing else, each rank's k-th chunk with the k-th of the others;
//  - lanes of a rank that no chain of messages and of progress waited for (Step::after) orders do not touch the same bytes,
//    unless both only read;
//  - with `fifo_slots` messages in flight per connection nothing waits for ever. A step needs all its messages and all slots it
//    sends into at once, and gives the slots of its messages back when it is done.
//
// One order is enough for all: steps only wait for progress, and for messages and slots of connections whose order of use is
// fixed, so what can run stays able to run. Time and memory grow with the number of steps: for schedules of up to some 10^6
// steps. Not a model of time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/collectives/call.h"
#include "sim/collectives/schedule.h"

namespace weft::coll {

// How messages name things. As schedules count them: "rank 0 channel 1 lane 0 step 5", "output[48]" in bytes.
class StepNames {
 public:
  StepNames() = default;
  StepNames(const StepNames&) = delete;
  StepNames& operator=(const StepNames&) = delete;
  virtual ~StepNames() = default;

  [[nodiscard]] virtual std::string step(Rank rank, int channel, int lane, std::int64_t index) const;
  [[nodiscard]] virtual std::string chunk(const Chunk& chunk) const;
};

struct VerifyOptions {
  // Messages a connection holds. NCCL's 8 slots hold two chunks of a ring in the Simple protocol (models/nccl §4.3).
  int fifo_slots = 2;
  const StepNames* names = nullptr;  // null: those of StepNames itself
};

// The first error found, with collective, rank, channel, lane, step, buffer and offset where they apply; nullopt: none.
[[nodiscard]] std::optional<std::string> verify(const Schedule& schedule, const CollectiveCall& call,
                                                const VerifyOptions& options = {});

}  // namespace weft::coll
