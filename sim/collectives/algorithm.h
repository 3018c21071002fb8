// An algorithm turns (communicator, call, choice) into a schedule. Implementations live in algorithms/, one file each; to add
// one see sim/README.md.
#pragma once

#include <memory>

#include "sim/collectives/call.h"
#include "sim/collectives/communicator.h"
#include "sim/collectives/schedule.h"

namespace weft::coll {

class Algorithm {
 public:
  virtual ~Algorithm() = default;

  [[nodiscard]] virtual bool supports(Collective collective) const = 0;
  // The schedule keeps a reference to `communicator`. `choice.channels` <= communicator.channels(). Only for supported calls.
  [[nodiscard]] virtual std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                                       const Choice& choice) const = 0;
};

}  // namespace weft::coll
