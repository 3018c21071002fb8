// Hears which keys the readers of configurations ask for. `weft schema` makes its schemas of that: what a file may say stands
// nowhere but in the code that reads it.
//
//   MyWatch watch;                          // a ReadingWatch
//   const WatchedReading watching{watch};   // until the end of the scope, on this thread
//   static_cast<void>(load_cluster(file, {}, diagnostics));
#pragma once

#include <span>
#include <string>

namespace weft {

class ParamReader;

class ReadingWatch {
 public:
  virtual ~ReadingWatch() = default;
  // A map was read to its end: reader.declared() has every key that was asked for.
  virtual void on_map(const ParamReader& reader) = 0;
  // The value at `path` is one of these names.
  virtual void on_names(const std::string& path, std::span<const std::string> names) = 0;
};

class WatchedReading {
 public:
  explicit WatchedReading(ReadingWatch& watch);
  ~WatchedReading();
  WatchedReading(const WatchedReading&) = delete;
  WatchedReading& operator=(const WatchedReading&) = delete;
};

// Null: nobody listens.
[[nodiscard]] ReadingWatch* reading_watch();
// For readers that look a name up by themselves, as in a Registry.
void note_names(const std::string& path, std::span<const std::string> names);

}  // namespace weft
