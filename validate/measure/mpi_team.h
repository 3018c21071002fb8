// MPI's ranks as a team, when the runner was started under mpirun. The library is opened at run time, so that the runner needs
// no MPI to build; Open MPI and the MPICH family (Intel MPI, MVAPICH) are told apart by their symbols.
#pragma once

#include <memory>
#include <optional>

#include "team.h"

namespace weft::measure {

struct MpiPlace {
  int ranks = 1;
  int local_rank = 0;
};
// By the environment that launchers set; nothing if started without one, or alone.
[[nodiscard]] std::optional<MpiPlace> mpi_place();

// Initialises MPI; it ends with the team. Throws std::runtime_error if no library can be opened.
[[nodiscard]] std::unique_ptr<Team> make_mpi_team();

}  // namespace weft::measure
