#include "sim/planning/plan_search/step_shares.h"

#include <string_view>

namespace weft::plan {

std::pair<std::string, double> bottleneck_of(const scenario::TrainingResult& result) {
  const double step = result.iteration.seconds();
  std::pair<std::string, double> most{"bubble", result.mean.bubble.seconds() / step};
  const auto offer = [&](std::string_view name, double seconds) {
    if (seconds / step > most.second) most = {std::string{name}, seconds / step};
  };
  for (std::size_t c = 0; c < work::kCategories; ++c) {
    const auto category = static_cast<work::Category>(c);
    const Duration time = work::is_compute(category) ? result.mean.busy[c] : result.mean.exposed[c];
    offer(work::to_string(category), time.seconds());
  }
  offer("skew", result.mean.skew.seconds());
  offer("idle", result.mean.idle.seconds());
  return most;
}

double exposed_share(const scenario::TrainingResult& result) {
  Duration exposed;
  for (std::size_t c = 0; c < work::kCategories; ++c) {
    if (work::is_communication(static_cast<work::Category>(c))) exposed += result.mean.exposed[c];
  }
  return exposed.seconds() / result.iteration.seconds();
}

}  // namespace weft::plan
