#include "sim/core/config/reading_watch.h"

#include "sim/core/error.h"

namespace weft {
namespace {

thread_local ReadingWatch* current_watch = nullptr;

}  // namespace

WatchedReading::WatchedReading(ReadingWatch& watch) {
  WEFT_CHECK(current_watch == nullptr);
  current_watch = &watch;
}

WatchedReading::~WatchedReading() { current_watch = nullptr; }

ReadingWatch* reading_watch() { return current_watch; }

void note_names(const std::string& path, std::span<const std::string> names) {
  if (current_watch != nullptr) current_watch->on_names(path, names);
}

}  // namespace weft
