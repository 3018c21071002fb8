// Says how well a fit knows each unknown, and which unknowns the data cannot tell apart. It takes the residuals and their
// slopes at the fit's end.
//
//   A = J^T W J,   covariance of log x = s^2 A^-1,   s = 1.4826 median |r - median r|       (linear least squares around the
//   end)
//
// An error that many residuals share does not average out. With o what one standard error of it makes of each residual:
//
//   covariance += v v^T,   v = A^-1 J^T W o                                            (a variance component, for each error)
//
// J[i][j] is the slope of residual i by log x[j], W the weights that Huber's loss gives (1 within its threshold, else d / |r|),
// s a spread that outliers do not move. A's eigenvectors are the directions in which the unknowns can be moved together: along
// one of a small eigenvalue the data hardly notice. Priors that are residuals count as data, so that what is stated is a lower
// bound.
#pragma once

#include <cstddef>
#include <vector>

namespace weft::measured {

// Moving each log x[j] by weights[j] times `relative_sd` is within one standard error.
struct WeakDirection {
  double relative_sd = 0;       // of log x along it; infinite where the data do not notice at all
  std::vector<double> weights;  // of length 1; the largest is positive
};

struct Identifiability {
  double spread = 0;                              // s, of the residuals
  std::vector<double> relative_sd;                // of each unknown, with the others free: 0.05 is 5 %
  std::vector<std::vector<double>> correlations;  // from -1 to 1; 1 on the diagonal
  std::vector<WeakDirection> weak;                // beyond kWeak, weakest first
};

inline constexpr double kWeakDirection = 0.25;  // relative_sd beyond which a direction is told

// Each o of above; 0 beyond its end.
using SharedErrors = std::vector<std::vector<double>>;

// `slopes[j]` is column j of J; all as long as `residuals`.
[[nodiscard]] Identifiability identify(const std::vector<std::vector<double>>& slopes, const std::vector<double>& residuals,
                                       const SharedErrors& shared = {});

// Eigenvalues, ascending, and the vector of each, of a symmetric matrix: Jacobi's rotations (1846).
struct SymmetricEigen {
  std::vector<double> values;
  std::vector<std::vector<double>> vectors;  // vectors[k] belongs to values[k]
};
[[nodiscard]] SymmetricEigen symmetric_eigen(std::vector<std::vector<double>> matrix);

}  // namespace weft::measured
