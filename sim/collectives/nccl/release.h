// NCCL's releases, and rules that changed from one to another. A rule is a table of its own, with a row for every release that
// changed it; a release that changes nothing has no row anywhere.
//
//   constexpr Since<int> kMaxChannels[] = {{kOldestRelease, 32}, {release(25, 1), 64}};
//   rule(kMaxChannels, version)
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::coll::nccl {

// 2.28.9 is 2809. Names are for the last patch of a release, as far as it was read.
enum class NcclVersion : std::int32_t {
  k2_18 = 1806,
  k2_19 = 1904,
  k2_21 = 2105,
  k2_23 = 2304,
  k2_27 = 2707,
  k2_28 = 2809,
  k2_29 = 2907,
  k2_30 = 3007
};

constexpr NcclVersion release(int minor, int patch) { return static_cast<NcclVersion>(100 * minor + patch); }

// The first one whose rules were read. What 2.18.1 had is not kept.
inline constexpr NcclVersion kOldestRelease = release(18, 3);

// A value from a release on, until the row after it.
template <class T>
struct Since {
  NcclVersion release = kOldestRelease;
  T value = {};
};

// Rows stand in the order of releases. Before the first row the first holds.
template <class T, std::size_t kRows>
constexpr const T& rule(const Since<T> (&rows)[kRows], NcclVersion version) {
  std::size_t row = kRows - 1;
  while (row > 0 && rows[row].release > version) --row;
  return rows[row].value;
}

}  // namespace weft::coll::nccl
