#include "team.h"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <numeric>
#include <system_error>

namespace weft::measure {

double Team::maximum(double value) {
  const std::vector<double> values = gather(value);
  return *std::max_element(values.begin(), values.end());
}

double Team::sum(double value) {
  const std::vector<double> values = gather(value);
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double Team::mean(double value) { return sum(value) / size(); }

struct SharedArea::Fields {
  std::atomic<int> arrived{0};
  std::atomic<int> generation{0};
  std::array<double, kMaxMembers> slots{};
  std::array<char, Team::kBoardBytes> board{};
};

SharedArea& SharedArea::create() {
  void* memory = mmap(nullptr, sizeof(Fields), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "cannot map shared memory");
  return *new SharedArea{*new (memory) Fields};
}

void SharedTeam::barrier() {
  constexpr int kSpins = 20'000;  // then others may have the core
  SharedArea::Fields& fields = area_.fields_;
  const int generation = fields.generation.load(std::memory_order_acquire);
  if (fields.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == size()) {
    fields.arrived.store(0, std::memory_order_relaxed);
    fields.generation.store(generation + 1, std::memory_order_release);
    return;
  }
  for (int spins = 0; fields.generation.load(std::memory_order_acquire) == generation; ++spins) {
    if (spins > kSpins) sched_yield();
  }
}

void SharedTeam::broadcast(void* data, std::size_t bytes) {
  SharedArea::Fields& fields = area_.fields_;
  if (rank() == 0) std::memcpy(fields.board.data(), data, bytes);
  barrier();
  if (rank() != 0) std::memcpy(data, fields.board.data(), bytes);
  barrier();
}

std::vector<double> SharedTeam::gather(double value) {
  SharedArea::Fields& fields = area_.fields_;
  fields.slots[static_cast<std::size_t>(rank())] = value;
  barrier();
  std::vector<double> values{fields.slots.begin(), fields.slots.begin() + size()};
  barrier();
  return values;
}

}  // namespace weft::measure
