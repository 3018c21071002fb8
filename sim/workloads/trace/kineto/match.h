// Brings the ranks of a trace together: process groups, which call of one rank is which of another's, and clocks.
#pragma once

#include <string>
#include <vector>

#include "sim/workloads/trace/kineto/rank_items.h"

namespace weft::work::kineto {

struct RankTrace {
  RankEvents events;
  RankItems items;
};

struct TraceGroup {
  std::string name;                 // "0: default_pg"
  std::vector<std::int64_t> ranks;  // global
  bool operator==(const TraceGroup&) const = default;
};

// Calls of one group, or messages between them, that two ranks have at the same place.
struct CallsInCommon {
  std::size_t a = 0;  // positions
  std::size_t b = 0;
  std::string what = {};  // "group '0'"
  std::size_t same = 0;   // of one kind and size; all-to-alls of any size
  std::size_t different = 0;
  std::string example = {};  // the first that differs
};

struct Matching {
  std::vector<TraceGroup> groups;
  std::vector<CallsInCommon> in_common;  // each group's members against the first of them
  std::vector<std::string> findings;
};

// Finds the group of every collective, and takes the k-th call of a group on each of its ranks (the same sequence number where
// they have one), and the k-th message of a pair, for the same. What has no counterpart keeps its recorded time
// (CommPart::matched) and is named. `ranks` by rank, those there are.
[[nodiscard]] Matching match(std::vector<RankTrace>& ranks);

// Nanoseconds to add to each rank's times so that collectives end together, and messages at both ends; 0 where the clocks
// agree to 100 us.
[[nodiscard]] std::vector<std::int64_t> clock_shifts(const std::vector<RankTrace>& ranks);

}  // namespace weft::work::kineto
