#include "sim/planning/error_range.h"

#include <algorithm>
#include <cmath>

#include "sim/scenario/stated_error.h"

namespace weft::plan {

std::optional<double> step_error(const Profile& profile, double exposed_share) {
  const auto& sets = profile.validations();
  if (sets.empty()) return std::nullopt;
  const double collectives = std::ranges::max_element(sets, {}, &Validation::median_error)->median_error;
  return (1 - exposed_share) * kPublishedStepError + exposed_share * std::max(kPublishedStepError, collectives);
}

std::optional<double> collective_error(const Profile& profile, std::string_view operation) {
  std::optional<double> same;
  std::optional<double> any;
  for (const Validation& set : profile.validations()) {
    any = std::max(any.value_or(0), set.median_error);
    const auto tested = scenario::tested_on(set.data);
    if (tested && tested->operation == operation) same = std::max(same.value_or(0), set.median_error);
  }
  return same ? same : any;
}

bool is_within_error(double a, double b, double error) { return std::abs(a - b) <= error * std::max(std::abs(a), std::abs(b)); }

}  // namespace weft::plan
