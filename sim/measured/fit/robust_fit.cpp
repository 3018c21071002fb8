#include "sim/measured/fit/robust_fit.h"

#include <nlopt.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <type_traits>

#include "sim/core/error.h"
#include "sim/core/portable_math.h"

namespace weft::measured {
namespace {

constexpr double kReach = 1'000;            // one search goes no further from where it starts than this factor
constexpr double kFirstStep = 0.02;         // in log x: the slopes have led near
constexpr double kTolerance = 1e-4;         // in log x, where the fit is perfect
constexpr double kToleranceOfNoise = 1e-3;  // else: parameters are known to a percent at best
constexpr double kPerfect = 1e-6;           // F for each residual below which a fit is: residuals of 0.14 %
constexpr int kSlopeSteps = 12;
constexpr double kSlopeReach = 0.05;    // in log x, over which a slope is taken
constexpr double kLongestStep = 1.0;    // in log x
constexpr double kFirstDamping = 1e-3;  // of the largest curvature
constexpr double kMostDamping = 10;
constexpr double kLeastDamping = 1e-9;
constexpr int kSearches = 6;  // each from where the last one ended, until that gains nothing
constexpr int kEvaluationsPerSearch = 300;
constexpr double kWorthwhile = 1e-2;        // relative gain in F, half as much in the residuals
constexpr double kAtBound = 2e-3;           // relative distance: fits stop that far from where they would end
constexpr double kNothing = 1e-3;           // of the start: 0 itself is never reached on a logarithmic scale
constexpr double kProbe = 1.1;              // for `determined` and `inseparable`
constexpr double kFlat = 1e-6;              // relative change of F below which an unknown does not act
constexpr double kSmallObjective = 1e-12;   // a perfect fit: changes are compared to this, a millionth of every residual
constexpr double kTiny = 1e-9;              // of the start, in place of 0
constexpr double kSameDirection = 0.99995;  // cosine above which two unknowns act alike

// One problem as NLopt sees it. What it throws must not cross the library, so it is kept.
class Problem {
 public:
  Problem(const std::vector<Unknown>& unknowns, const Residuals& residuals) : unknowns_{unknowns}, residuals_{residuals} {}

  double objective(const std::vector<double>& x) {
    ++evaluations_;
    last_.clear();
    if (!residuals_(x, last_)) {
      stopped_ = true;
      return HUGE_VAL;
    }
    double sum = 0;
    for (const double residual : last_) sum += huber(residual);
    return sum;
  }

  // From `best`, which becomes the best point seen, down the slopes of the residuals. Returns its F.
  double follow_slopes(std::vector<double>& best, double best_objective) {
    double damping = kFirstDamping;
    for (int step = 0; step < kSlopeSteps && !stopped_; ++step) {
      const auto [curvature, fall] = slopes_at(best);
      if (stopped_) break;
      const double before = best_objective;
      for (; damping <= kMostDamping && !stopped_; damping *= 10) {
        std::vector<double> moved = moved_down(best, curvature, fall, damping);
        const double objective_there = objective(moved);
        if (!(objective_there < best_objective)) continue;
        best_objective = objective_there;
        best = std::move(moved);
        break;
      }
      if (best_objective > before * (1 - kWorthwhile)) break;
      damping = std::max(damping / 10, kLeastDamping);
    }
    return best_objective;
  }

  // From `best`, which becomes the best point seen. Returns its F.
  double search(std::vector<double>& best, double best_objective, double first_step) {
    const std::unique_ptr<std::remove_pointer_t<nlopt_opt>, decltype(&nlopt_destroy)> solver{
        nlopt_create(NLOPT_LN_BOBYQA, static_cast<unsigned>(unknowns_.size())), &nlopt_destroy};
    WEFT_CHECK(solver != nullptr);
    std::vector<double> lower;
    std::vector<double> upper;
    std::vector<double> step;
    std::vector<double> at;
    for (std::size_t j = 0; j < unknowns_.size(); ++j) {
      lower.push_back(portable_log(std::max(unknowns_[j].min, best[j] / kReach)));
      upper.push_back(portable_log(std::min(unknowns_[j].max, best[j] * kReach)));
      step.push_back(std::min(first_step, (upper[j] - lower[j]) / 4));
      at.push_back(std::clamp(portable_log(best[j]), lower[j], upper[j]));
    }
    const bool is_perfect = best_objective < kPerfect * static_cast<double>(std::max<std::size_t>(last_.size(), 1));
    const double tolerance = is_perfect ? kTolerance : kToleranceOfNoise;
    nlopt_opt raw = solver.get();
    const bool accepted = nlopt_set_lower_bounds(raw, lower.data()) > 0 && nlopt_set_upper_bounds(raw, upper.data()) > 0 &&
                          nlopt_set_initial_step(raw, step.data()) > 0 && nlopt_set_xtol_abs1(raw, tolerance) > 0 &&
                          nlopt_set_maxeval(raw, kEvaluationsPerSearch) > 0 &&
                          nlopt_set_min_objective(raw, &Problem::call, this) > 0;
    WEFT_CHECK(accepted);
    solver_ = raw;
    best_ = &best;
    best_objective_ = best_objective;
    double reached = 0;
    // Whatever it says at the end (close enough, out of evaluations, no more digits), the best point was kept.
    const nlopt_result ended = nlopt_optimize(raw, at.data(), &reached);
    WEFT_CHECK(ended != NLOPT_INVALID_ARGS && ended != NLOPT_OUT_OF_MEMORY);
    if (failure_) std::rethrow_exception(failure_);
    return best_objective_;
  }

  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] int evaluations() const { return evaluations_; }
  [[nodiscard]] const std::vector<double>& last_residuals() const { return last_; }

 private:
  using Matrix = std::vector<std::vector<double>>;

  // J^T W J and -J^T W r, with the weights that Huber's loss gives.
  std::pair<Matrix, std::vector<double>> slopes_at(const std::vector<double>& x) {
    const std::size_t count = x.size();
    objective(x);
    const std::vector<double> here = last_;
    Matrix slopes;
    for (std::size_t j = 0; j < count && !stopped_; ++j) {
      std::vector<double> moved = x;
      const double up = std::min(x[j] * portable_exp(kSlopeReach), unknowns_[j].max);
      moved[j] = up > x[j] ? up : std::max(x[j] * portable_exp(-kSlopeReach), unknowns_[j].min);
      objective(moved);
      const double way = portable_log(moved[j] / x[j]);
      slopes.emplace_back(here.size());
      for (std::size_t i = 0; i < std::min(here.size(), last_.size()); ++i) slopes[j][i] = (last_[i] - here[i]) / way;
    }
    Matrix curvature(count, std::vector<double>(count));
    std::vector<double> fall(count);
    if (stopped_) return {curvature, fall};
    for (std::size_t i = 0; i < here.size(); ++i) {
      const double size = std::abs(here[i]);
      const double weight = size <= kHuberThreshold ? 1 : kHuberThreshold / size;
      for (std::size_t a = 0; a < count; ++a) {
        fall[a] -= weight * slopes[a][i] * here[i];
        for (std::size_t b = 0; b < count; ++b) curvature[a][b] += weight * slopes[a][i] * slopes[b][i];
      }
    }
    return {curvature, fall};
  }

  // Directions that the data hardly notice are hardly followed.
  [[nodiscard]] std::vector<double> moved_down(const std::vector<double>& x, const Matrix& curvature,
                                               const std::vector<double>& fall, double damping) const {
    const SymmetricEigen eigen = symmetric_eigen(curvature);
    const double most = std::max(eigen.values.back(), kSmallObjective);
    std::vector<double> step(x.size());
    for (std::size_t k = 0; k < x.size(); ++k) {
      double along = 0;
      for (std::size_t j = 0; j < x.size(); ++j) along += eigen.vectors[k][j] * fall[j];
      along /= std::max(eigen.values[k], 0.0) + damping * most;
      for (std::size_t j = 0; j < x.size(); ++j) step[j] += along * eigen.vectors[k][j];
    }
    std::vector<double> moved = x;
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double factor = portable_exp(std::clamp(step[j], -kLongestStep, kLongestStep));
      moved[j] = std::clamp(x[j] * factor, std::max(unknowns_[j].min, kTiny * unknowns_[j].start), unknowns_[j].max);
    }
    return moved;
  }

  static double call(unsigned size, const double* logs, double* /*gradient*/, void* self) {
    return static_cast<Problem*>(self)->evaluate(logs, size);
  }

  double evaluate(const double* logs, unsigned size) {
    std::vector<double> x;
    for (std::size_t j = 0; j < size; ++j) {
      x.push_back(std::clamp(portable_exp(logs[j]), unknowns_[j].min, unknowns_[j].max));
    }
    double value = HUGE_VAL;
    try {
      value = objective(x);
    } catch (...) {
      failure_ = std::current_exception();
    }
    if (stopped_ || failure_) {
      nlopt_force_stop(solver_);
    } else if (value < best_objective_) {
      best_objective_ = value;
      *best_ = std::move(x);
    }
    return value;
  }

  const std::vector<Unknown>& unknowns_;
  const Residuals& residuals_;
  nlopt_opt solver_ = nullptr;
  std::vector<double>* best_ = nullptr;
  double best_objective_ = 0;
  std::vector<double> last_;
  std::exception_ptr failure_;
  bool stopped_ = false;
  int evaluations_ = 0;
};

double cosine(const std::vector<double>& a, const std::vector<double>& b) {
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

// Moves each unknown by 10 % either way, as far as its range allows, and back to where it started: one that was driven to 0 no
// longer acts where it is.
void probe(Problem& problem, const std::vector<Unknown>& unknowns, const std::vector<double>& best, const SharedErrors& shared,
           RobustFit& fit) {
  problem.objective(best);
  if (problem.stopped()) {
    fit.stopped = true;
    return;
  }
  const std::vector<double> at_best = problem.last_residuals();
  std::vector<std::vector<double>> effects;
  std::vector<std::vector<double>> slopes;
  for (std::size_t j = 0; j < best.size(); ++j) {
    std::vector<std::vector<double>> residuals;
    double change = 0;
    std::vector<double> places;
    for (const double value : {best[j] * kProbe, best[j] / kProbe, unknowns[j].start}) {
      std::vector<double> moved = best;
      moved[j] = std::clamp(value, unknowns[j].min, unknowns[j].max);
      places.push_back(portable_log(std::max(moved[j], kTiny * unknowns[j].start)));
      change = std::max(change, std::abs(problem.objective(moved) - fit.objective));
      if (problem.stopped()) {
        fit.stopped = true;
        return;
      }
      residuals.push_back(problem.last_residuals());
    }
    fit.unknowns[j].determined = change > kFlat * std::max(fit.objective, kSmallObjective);
    for (std::size_t i = 0; i < residuals[0].size(); ++i) residuals[0][i] -= residuals[1][i];
    const double way = places[0] - places[1];
    slopes.push_back(residuals[0]);
    for (double& slope : slopes.back()) slope = way > 0 ? slope / way : 0;
    effects.push_back(std::move(residuals[0]));
  }
  for (std::size_t a = 0; a < effects.size(); ++a) {
    for (std::size_t b = a + 1; b < effects.size(); ++b) {
      const bool both = fit.unknowns[a].determined && fit.unknowns[b].determined;
      if (both && std::abs(cosine(effects[a], effects[b])) > kSameDirection) fit.inseparable.emplace_back(a, b);
    }
  }
  fit.known = identify(slopes, at_best, shared);
}

}  // namespace

double huber(double residual) {
  const double size = std::abs(residual);
  return size <= kHuberThreshold ? size * size / 2 : kHuberThreshold * (size - kHuberThreshold / 2);
}

RobustFit fit_robustly(const std::vector<Unknown>& unknowns, const Residuals& residuals, const SharedErrors& shared) {
  WEFT_CHECK(!unknowns.empty());
  Problem problem{unknowns, residuals};
  std::vector<double> best;
  for (const Unknown& unknown : unknowns) {
    WEFT_CHECK(unknown.start > 0 && unknown.min >= 0 && unknown.min < unknown.max);
    WEFT_CHECK(unknown.min <= unknown.start && unknown.start <= unknown.max);
    best.push_back(unknown.start);
  }
  RobustFit fit;
  fit.objective_before = problem.objective(best);
  fit.objective = problem.follow_slopes(best, fit.objective_before);
  for (int search = 0; search < kSearches && !problem.stopped(); ++search) {
    const double before = fit.objective;
    fit.objective = problem.search(best, before, kFirstStep);
    if (fit.objective > before * (1 - kWorthwhile)) break;
  }
  for (std::size_t j = 0; j < best.size(); ++j) {
    FittedUnknown fitted;
    fitted.value = best[j];
    fitted.at_max = best[j] >= unknowns[j].max * (1 - kAtBound);
    const double lowest = unknowns[j].min == 0 ? unknowns[j].start * kNothing : unknowns[j].min * (1 + kAtBound);
    fitted.at_min = best[j] <= lowest;
    if (fitted.at_min) fitted.value = unknowns[j].min;
    fit.unknowns.push_back(fitted);
  }
  fit.stopped = problem.stopped();
  if (!fit.stopped) probe(problem, unknowns, best, shared, fit);
  fit.evaluations = problem.evaluations();
  return fit;
}

}  // namespace weft::measured
