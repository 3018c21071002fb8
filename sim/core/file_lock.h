// The one writer of a file, among processes: a lock that goes with its holder, however that ends (flock(2)). Readers are not
// kept away.
#pragma once

#include <string>

namespace weft {

class FileLock {
 public:
  // Makes the file where there is none. ConfigError: it cannot be written, or another one holds the lock.
  explicit FileLock(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace weft
