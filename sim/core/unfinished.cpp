#include "sim/core/unfinished.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

namespace weft::detail {
namespace {

// opendir() allocates, so the system is asked itself (getdents64(2)). Files only: writers make no folders in it.
void remove_folder(const char* path) {
  const int folder = ::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return;
  alignas(dirent64) char entries[4096];
  while (true) {
    const long bytes = ::syscall(SYS_getdents64, folder, entries, sizeof entries);
    if (bytes <= 0) break;
    bool removed = false;
    for (long at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      removed |= ::unlinkat(folder, entry->d_name, 0) == 0;
      at += entry->d_reclen;
    }
    if (removed) ::lseek(folder, 0, SEEK_SET);  // what was passed over meanwhile
  }
  ::close(folder);
  ::rmdir(path);
}

}  // namespace

Unfinished* Unfinished::add(const std::string& path) {
  if (path.size() >= kLongest) return nullptr;
  for (Unfinished& place : places()) {
    if (place.taken_.test_and_set()) continue;
    std::memcpy(place.path_.data(), path.c_str(), path.size() + 1);
    place.filled_ = true;
    return &place;
  }
  return nullptr;
}

void Unfinished::remove_all() {
  for (Unfinished& place : places()) {
    if (place.filled_ && ::unlink(place.path_.data()) != 0) remove_folder(place.path_.data());
  }
}

void Unfinished::forget() {
  filled_ = false;
  taken_.clear();
}

std::array<Unfinished, Unfinished::kPlaces>& Unfinished::places() {
  static std::array<Unfinished, kPlaces> all;
  return all;
}

}  // namespace weft::detail
