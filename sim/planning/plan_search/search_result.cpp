// The verdict of a search: what its result proves.
#include <algorithm>

#include "sim/core/error.h"
#include "sim/planning/plan_search/search.h"

namespace weft::plan {

std::string_view to_string(PlanObjective objective) {
  switch (objective) {
    case PlanObjective::kTime:
      return "time";
    case PlanObjective::kTokensPerDollar:
      return "tokens_per_dollar";
    case PlanObjective::kTokensPerJoule:
      return "tokens_per_joule";
    case PlanObjective::kLargestModel:
      return "largest_model";
  }
  WEFT_CHECK(false);
}

std::size_t PlanSearchResult::proven() const {
  std::size_t rows = 0;
  const auto is_behind = [&](double score, std::uint64_t count, double least) { return count == 0 || least >= score; };
  for (; rows < plans.size(); ++rows) {
    const double score = plans[rows].score;
    if (!is_behind(score, left, left_least) || !is_behind(score, too_long, too_long_least)) break;
    if (!is_behind(score, pruned, pruned_least)) break;
  }
  return bounds_all ? rows : 0;
}

std::optional<double> PlanSearchResult::least() const {
  std::optional<double> found;
  const auto offer = [&](std::uint64_t count, double score) {
    if (count > 0) found = std::min(found.value_or(score), score);
  };
  offer(left, left_least);
  offer(too_long, too_long_least);
  offer(pruned, pruned_least);
  if (!bounds_all) found = 0;
  return found;
}

}  // namespace weft::plan
