// A worker as the controller sees it: a child process with two pipes.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "plan.h"
#include "worker.h"

namespace weft::measure {

class WorkerProcess {
 public:
  // Starts this program again as a worker, with `env` on top of the own environment, in a process group of its own, so that
  // Ctrl-C reaches the controller alone.
  WorkerProcess(WorkerOptions options, const Environment& env);
  // Ends it: by itself if it does soon, else by force, its forks too.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // False if it is gone.
  [[nodiscard]] bool send(const std::string& line);
  // Nothing on the end of the pipe, after `timeout_s`, or once `interrupted()`.
  [[nodiscard]] std::optional<std::string> receive(double timeout_s);
  void kill();

 private:
  pid_t child_ = -1;
  int to_child_ = -1;
  int from_child_ = -1;
  std::string pending_;
};

// Set by SIGINT, SIGTERM and SIGHUP once watched.
void watch_interrupts();
[[nodiscard]] bool interrupted();

}  // namespace weft::measure
