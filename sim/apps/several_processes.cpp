#include "sim/apps/several_processes.h"

#include <chrono>
#include <thread>

#include "sim/core/error.h"

namespace weft::apps {
namespace {

// Without MPI nobody can say that rank 0 has told the mistake: it gets this long.
constexpr std::chrono::seconds kToTellIt{1};

}  // namespace

std::unique_ptr<plan::Messenger> join_others() {
  try {
    return plan::mpi_messenger();
  } catch (const ConfigError&) {
    if (plan::launched_rank() == 0) throw;
    std::this_thread::sleep_for(kToTellIt);
    return nullptr;
  }
}

}  // namespace weft::apps
