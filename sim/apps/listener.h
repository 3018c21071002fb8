// Who hears of a command's progress in place of a terminal, and may stop it in place of Ctrl-C.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::apps {

class Listener {
 public:
  // From the thread of the command, at most ten times a second: `done` of `total` things called `unit` are finished.
  virtual void on_progress(std::string_view unit, std::uint64_t done, std::uint64_t total) = 0;

 protected:
  ~Listener() = default;
};

// That of the command that runs; nullptr: it is the program's own, with a terminal and signals.
[[nodiscard]] Listener* listener();

// From here to its end, `listener` hears of the command.
class Listening {
 public:
  explicit Listening(Listener& listener);
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
};

}  // namespace weft::apps
