// Bounded robust least squares: the positive unknowns at which a model's predictions come closest to what was measured.
//
//   minimise  F(x) = sum over i of huber(r[i](x)),   min[j] <= x[j] <= max[j]
//   huber(r) = r^2 / 2 for |r| <= d, d (|r| - d / 2) above (Huber, 1964), d = 0.05
//
// r[i] is the logarithm of predicted over measured, so that every size counts alike, and beyond 5 % an outlier pulls no harder
// than in proportion. Solved over log x: first down slopes that are taken over 5 % (Levenberg, 1944; Marquardt, 1963), which
// needs few evaluations; then without slopes (BOBYQA: Powell, 2009; NLopt's), as a simulated time has kinks. Deterministic: the
// same unknowns and residuals give the same result. Which parameters and which measurements is fitter.h's business.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "sim/measured/fit/identifiability.h"

namespace weft::measured {

struct Unknown {
  double start = 1;
  double min = 0;  // all positive, but for min
  double max = 1;
};

// Fills `residuals`, always the same number of them. False: stop, the result is not wanted any more.
using Residuals = std::function<bool(const std::vector<double>& unknowns, std::vector<double>& residuals)>;

struct FittedUnknown {
  double value = 0;
  bool at_min = false;  // of a range that begins at 0: a thousandth of the start counts as 0
  bool at_max = false;
  bool determined = true;  // false: neither 10 % either way nor going back to its start changes F by 1e-6 of it
};

struct RobustFit {
  std::vector<FittedUnknown> unknowns;
  double objective_before = 0;
  double objective = 0;
  int evaluations = 0;
  // Pairs whose effects on every residual are in proportion: only their combination is determined.
  std::vector<std::pair<std::size_t, std::size_t>> inseparable;
  Identifiability known;  // empty where the fit was stopped
  bool stopped = false;
};

inline constexpr double kHuberThreshold = 0.05;

[[nodiscard]] double huber(double residual);
// `shared` is what residuals have in common and no unknown explains: it acts on what is known of the unknowns, not on them.
[[nodiscard]] RobustFit fit_robustly(const std::vector<Unknown>& unknowns, const Residuals& residuals,
                                     const SharedErrors& shared = {});

}  // namespace weft::measured
