#include "sim/planning/error_range.h"

#include <algorithm>
#include <cmath>

namespace weft::plan {

namespace {

// The largest median error of sets, by how near they are to what is asked.
class Nearest {
 public:
  void add(std::size_t distance, double error) {
    if (distance > distance_) return;
    error_ = distance < distance_ ? error : std::max(error_, error);
    distance_ = distance;
  }
  [[nodiscard]] std::optional<double> error() const { return distance_ == kNone ? std::nullopt : std::optional{error_}; }

 private:
  static constexpr std::size_t kNone = 100;
  std::size_t distance_ = kNone;
  double error_ = 0;
};

}  // namespace

PublishedError published_error(const work::TransformerModel& model) {
  return model.moe.experts > 0 ? kPublishedMixtures : kPublishedDense;
}

std::optional<double> step_error(const net::Cluster& cluster, const work::TransformerModel& model, double exposed_share) {
  const std::string_view network = scenario::network_between(cluster, static_cast<int>(cluster.topology.host_count()));
  Nearest nearest;
  for (const Validation& set : cluster.profile.validations()) {
    const auto tested = scenario::tested_on(set.data);
    nearest.add(tested && tested->network == network ? 0 : 1, set.median_error);
  }
  if (!nearest.error()) return std::nullopt;
  const double published = published_error(model).mean;
  return (1 - exposed_share) * published + exposed_share * std::max(published, *nearest.error());
}

std::optional<double> collective_error(const net::Cluster& cluster, const scenario::PredictedCollective& predicted) {
  const std::string_view network = scenario::network_between(cluster, predicted.nodes);
  Nearest nearest;
  for (const Validation& set : cluster.profile.validations()) {
    const auto tested = scenario::tested_on(set.data);
    const bool is_same = tested && tested->operation == predicted.operation;
    const bool is_there = tested && tested->network == network;
    const bool is_exact = is_same && is_there && std::ranges::find(tested->gpus, predicted.gpus) != tested->gpus.end();
    nearest.add(is_exact ? 0 : is_same && is_there ? 1 : is_there ? 2 : is_same ? 3 : 4, set.median_error);
  }
  return nearest.error();
}

bool is_within_error(double a, double b, double error) { return std::abs(a - b) <= error * std::max(std::abs(a), std::abs(b)); }

}  // namespace weft::plan
