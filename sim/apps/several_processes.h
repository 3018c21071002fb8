// A command that was started as one of several processes (mpirun, srun).
#pragma once

#include <memory>

#include "sim/planning/sweep/messenger.h"

namespace weft::apps {

// Joins the others. Null: it cannot, and rank 0 tells why; what it threw there comes from rank 0 alone.
[[nodiscard]] std::unique_ptr<plan::Messenger> join_others();

}  // namespace weft::apps
