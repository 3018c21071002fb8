#include "sim/collectives/nccl/search_speeds.h"

#include "sim/collectives/nccl/release_rules.h"

namespace weft::coll::nccl {
namespace {

// src/graph/search.cc of each release.
constexpr float kIntra[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
constexpr float kInter[] = {48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4F, 1.2F, 0.24F, 0.12F};

constexpr float kIntraSm90Of2183[] = {60, 40, 30, 24, 20, 15, 12, 6, 3};
constexpr float kIntraSm90Of2191[] = {60, 50, 40, 30, 24, 20, 15, 12, 6, 3};
constexpr float kIntraSm90Of2215[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
constexpr float kInterSm90Of2183[] = {48, 45, 42, 40, 30, 24, 20, 17.5F, 15, 12, 6, 3, 2.4F, 1.2F, 0.24F, 0.12F};
constexpr float kInterSm90Of2193[] = {48, 45, 42, 40, 30, 24, 22, 20, 17.5F, 15, 12, 6, 3, 2.4F, 1.2F, 0.24F, 0.12F};

constexpr float kIntraSm100Of2251[] = {90, 80, 70, 60, 50, 40, 30, 24, 20, 19};
constexpr float kIntraSm100Of2273[] = {90, 80, 70, 60, 50, 40, 30, 24, 20, 19, 18};
constexpr float kIntraSm100Of2292[] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
constexpr float kInterSm100Of2273[] = {47.9F, 45, 42, 40, 30, 24, 22, 20, 17.5F, 15, 12, 6, 3, 2.4F, 1.2F, 0.24F, 0.12F};
constexpr float kInterSm100Of2275[] = {48, 45.1F, 42, 40, 30, 24, 22, 20, 17.5F, 15, 12, 6, 3, 2.4F, 1.2F, 0.24F, 0.12F};
constexpr float kInterSm100Of2276[] = {96, 48, 45.1F, 42, 40, 30, 24, 22, 20, 17.5F, 15, 12, 6, 3, 2.4F, 1.2F, 0.24F, 0.12F};
constexpr float kInterSm100Of2297[] = {96,    80, 48, 45.1F, 42, 40,   30,   24,    22,   20,
                                       17.5F, 15, 12, 6,     3,  2.4F, 1.2F, 0.24F, 0.12F};
constexpr float kInterSm100Of2303[] = {96, 86,    80, 48, 45.1F, 42, 40,   30,   24,    22,
                                       20, 17.5F, 15, 12, 6,     3,  2.4F, 1.2F, 0.24F, 0.12F};

using Speeds = std::span<const float>;
constexpr Since<Speeds> kIntraSm90[] = {
    {kOldestRelease, kIntraSm90Of2183}, {release(19, 1), kIntraSm90Of2191}, {release(21, 5), kIntraSm90Of2215}};
constexpr Since<Speeds> kInterSm90[] = {{kOldestRelease, kInterSm90Of2183}, {release(19, 3), kInterSm90Of2193}};
constexpr Since<Speeds> kIntraSm100[] = {
    {kFirstWithSm100, kIntraSm100Of2251}, {release(27, 3), kIntraSm100Of2273}, {release(29, 2), kIntraSm100Of2292}};
constexpr Since<Speeds> kInterSm100[] = {{kFirstWithSm100, kInterSm90Of2193}, {release(27, 3), kInterSm100Of2273},
                                         {release(27, 5), kInterSm100Of2275}, {release(27, 6), kInterSm100Of2276},
                                         {release(29, 7), kInterSm100Of2297}, {release(30, 3), kInterSm100Of2303}};

}  // namespace

std::span<const float> search_speeds(int sm, bool over_network, NcclVersion version) {
  if (sm >= 100 && version >= kFirstWithSm100) return over_network ? rule(kInterSm100, version) : rule(kIntraSm100, version);
  if (sm >= 90) return over_network ? rule(kInterSm90, version) : rule(kIntraSm90, version);
  return over_network ? Speeds{kInter} : Speeds{kIntra};
}

}  // namespace weft::coll::nccl
