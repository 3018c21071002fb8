// Messages between the processes of one sweep: what MPI does, and no more, so that the sweep is tested without it.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace weft::plan {

struct Message {
  int from = 0;
  std::string text;
};

class Messenger {
 public:
  virtual ~Messenger() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  // Both from one thread only. Messages from one process to another arrive in order.
  virtual void send(int to, const std::string& text) = 0;
  [[nodiscard]] virtual std::optional<Message> receive() = 0;  // does not wait
  // Ends every process at once, when this one cannot go on.
  virtual void abort(int exit_status) = 0;
};

// Whether this process was started by mpirun, srun or the like, as one of several (their environment variables say so).
[[nodiscard]] bool is_one_of_several();
// Its number as the launcher gives it, 0 where it gives none: known before MPI is.
[[nodiscard]] int launched_rank();

// Loads the MPI module, which lies beside the program or in ../lib/weft, and starts MPI. It is a library of its own, so that no
// other command carries MPI in its memory. ConfigError where this Weft was built without.
[[nodiscard]] std::unique_ptr<Messenger> mpi_messenger();

}  // namespace weft::plan
