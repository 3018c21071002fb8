#include "sim/core/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sim/core/error.h"

namespace weft {

FileLock::FileLock(const std::string& path) {
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw ConfigError(fmt::format("cannot write the results in '{}': {}", path, std::strerror(errno)));
  // A file system without such locks refuses nobody.
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(descriptor_);
  throw ConfigError({Diagnostic{.where = {},
                                .message = fmt::format("another process writes '{}' now", path),
                                .source_line = {},
                                .length = 1,
                                .note = "wait for its end, or name another file"}});
}

FileLock::~FileLock() { ::close(descriptor_); }

}  // namespace weft
