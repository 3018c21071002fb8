// An algorithm turns (communicator, call, choice) into a schedule. Implementations live in algorithms/, one file each; to add
// one see sim/README.md.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/collectives/call.h"
#include "sim/collectives/communicator.h"
#include "sim/collectives/schedule.h"

namespace weft::coll {

// An algorithm's time was seen so many percent apart when it was simulated in two ways; 0: within the bounds that hold for all
// (docs/invariants.md).
struct Doubts {
  int in_packets = 0;      // packets and flows, where nothing is congested (tests/invariants/open_faults.py)
  int fluid_in_nodes = 0;  // fluid and chunk grain, inside a node
  int fluid_over_nodes = 0;
};

// Who runs a call, and so what its steps cost.
enum class Kernel : std::uint8_t {
  kTextbook,    // the network alone: no launch, no protocol, no thread block
  kCollective,  // one of NCCL's kernels, or one like them: launches, protocols, thread blocks of channels
  kInSwitch,    // NVLS, CollNet
  kSendRecv,
  kPeer,  // its threads read and write the memory of peers: custom all-reduces, symmetric memory
};

class Algorithm {
 public:
  virtual ~Algorithm() = default;

  [[nodiscard]] virtual bool supports(Collective collective) const = 0;
  // A kernel that is not NCCL's own has the protocol, channels and chunks that NCCL's ring would have for the call.
  [[nodiscard]] virtual Kernel kernel() const { return Kernel::kTextbook; }
  // The schedule keeps a reference to `communicator`. `choice.channels` <= communicator.channels(). Only for supported calls.
  [[nodiscard]] virtual std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                                       const Choice& choice) const = 0;

  // Whether NCCL's kernel sends a chunk in slices; else a chunk is one (models/nccl §4.3).
  [[nodiscard]] virtual bool sends_slices() const { return false; }
  // Whether coupled transfers tell its time badly, so that `auto` simulates more of its messages one by one.
  [[nodiscard]] virtual bool couples_badly(int /*nodes*/) const { return false; }
  [[nodiscard]] virtual Doubts doubts() const { return {}; }
};

}  // namespace weft::coll
