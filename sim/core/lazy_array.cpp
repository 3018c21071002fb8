#include "sim/core/lazy_array.h"

#include <cstdlib>
#include <cstring>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace weft {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kByPages = std::size_t{1} << 16;  // below it pages save too little

std::size_t whole_lines(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

}  // namespace

void* reserve_zeros(std::size_t bytes) {
#ifdef __linux__
  if (bytes >= kByPages) {
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc{};
    return memory;
  }
#endif
  void* const memory = std::aligned_alloc(kLine, whole_lines(bytes));
  if (memory == nullptr) throw std::bad_alloc{};
  return std::memset(memory, 0, bytes);
}

void give_back_zeros(void* memory, std::size_t bytes) noexcept {
#ifdef __linux__
  if (bytes >= kByPages) {
    munmap(memory, bytes);
    return;
  }
#endif
  static_cast<void>(bytes);
  std::free(memory);
}

}  // namespace weft
