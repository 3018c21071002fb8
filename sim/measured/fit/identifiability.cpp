#include "sim/measured/fit/identifiability.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "sim/core/error.h"
#include "sim/core/stats.h"
#include "sim/measured/fit/robust_fit.h"

namespace weft::measured {
namespace {

constexpr int kMostSweeps = 60;
constexpr double kSmall = 1e-14;          // of the largest element: nothing left to rotate away
constexpr double kNoInformation = 1e-12;  // of the largest eigenvalue
constexpr double kLeastSpread = 1e-9;     // of perfect data

double spread_of(const std::vector<double>& residuals) {
  if (residuals.empty()) return kLeastSpread;
  const double middle = median(residuals);
  std::vector<double> distances;
  for (const double residual : residuals) distances.push_back(std::abs(residual - middle));
  return std::max(1.4826 * median(distances), kLeastSpread);
}

// Rows and columns p and q turned so that the element between them becomes 0.
void rotate(std::vector<std::vector<double>>& a, std::vector<std::vector<double>>& vectors, std::size_t p, std::size_t q) {
  const double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
  const double t = (theta >= 0 ? 1.0 : -1.0) / (std::abs(theta) + std::sqrt(theta * theta + 1));
  const double c = 1 / std::sqrt(t * t + 1);
  const double s = t * c;
  const std::size_t n = a.size();
  for (std::size_t i = 0; i < n; ++i) {
    const double ip = a[i][p];
    const double iq = a[i][q];
    a[i][p] = c * ip - s * iq;
    a[i][q] = s * ip + c * iq;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double pi = a[p][i];
    const double qi = a[q][i];
    a[p][i] = c * pi - s * qi;
    a[q][i] = s * pi + c * qi;
    const double vp = vectors[p][i];
    const double vq = vectors[q][i];
    vectors[p][i] = c * vp - s * vq;
    vectors[q][i] = s * vp + c * vq;
  }
}

// As the fit weighs a residual (Huber's loss).
double weight_of(double residual) { return kHuberThreshold / std::max(kHuberThreshold, std::abs(residual)); }

// J^T W o
std::vector<double> pull_of(const std::vector<double>& shared, const std::vector<std::vector<double>>& slopes,
                            const std::vector<double>& residuals) {
  WEFT_CHECK(shared.size() <= residuals.size());
  std::vector<double> pull(slopes.size(), 0);
  for (std::size_t a = 0; a < slopes.size(); ++a) {
    for (std::size_t i = 0; i < shared.size(); ++i) pull[a] += slopes[a][i] * weight_of(residuals[i]) * shared[i];
  }
  return pull;
}

// The eigenvalue is not of a direction that the data do not notice.
bool is_seen(const SymmetricEigen& eigen, std::size_t k) {
  const double largest = eigen.values.back();
  return largest > 0 && eigen.values[k] > kNoInformation * largest;
}

// A^-1 J^T W o along each of A's eigenvectors; 0 along those that the data do not notice.
std::vector<double> moved_by(const std::vector<double>& pull, const SymmetricEigen& eigen) {
  std::vector<double> along;
  for (std::size_t k = 0; k < eigen.values.size(); ++k) {
    const double projected = std::inner_product(pull.begin(), pull.end(), eigen.vectors[k].begin(), 0.0);
    along.push_back(is_seen(eigen, k) ? projected / eigen.values[k] : 0);
  }
  return along;
}

}  // namespace

SymmetricEigen symmetric_eigen(std::vector<std::vector<double>> matrix) {
  const std::size_t n = matrix.size();
  std::vector<std::vector<double>> vectors(n, std::vector<double>(n, 0));
  for (std::size_t i = 0; i < n; ++i) vectors[i][i] = 1;
  double largest = 0;
  for (const auto& row : matrix) {
    WEFT_CHECK(row.size() == n);
    for (const double element : row) largest = std::max(largest, std::abs(element));
  }
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    double off = 0;
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) {
        off = std::max(off, std::abs(matrix[p][q]));
        if (std::abs(matrix[p][q]) > kSmall * largest) rotate(matrix, vectors, p, q);
      }
    }
    if (off <= kSmall * largest) break;
  }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return matrix[a][a] < matrix[b][b]; });
  SymmetricEigen result;
  for (const std::size_t k : order) {
    result.values.push_back(matrix[k][k]);
    result.vectors.push_back(vectors[k]);
  }
  return result;
}

Identifiability identify(const std::vector<std::vector<double>>& slopes, const std::vector<double>& residuals,
                         const SharedErrors& shared) {
  const std::size_t n = slopes.size();
  Identifiability found;
  found.spread = spread_of(residuals);
  std::vector<std::vector<double>> information(n, std::vector<double>(n, 0));
  for (std::size_t a = 0; a < n; ++a) {
    WEFT_CHECK(slopes[a].size() == residuals.size());
    for (std::size_t b = 0; b < n; ++b) {
      for (std::size_t i = 0; i < residuals.size(); ++i) {
        information[a][b] += slopes[a][i] * slopes[b][i] * weight_of(residuals[i]);
      }
    }
  }
  const SymmetricEigen eigen = symmetric_eigen(std::move(information));
  std::vector<std::vector<double>> covariance(n, std::vector<double>(n, 0));
  std::vector<double> shared_variance(n, 0);  // along each eigenvector
  for (const std::vector<double>& error : shared) {
    const std::vector<double> along = moved_by(pull_of(error, slopes, residuals), eigen);
    std::vector<double> moved(n, 0);  // v
    for (std::size_t k = 0; k < n; ++k) {
      shared_variance[k] += along[k] * along[k];
      for (std::size_t a = 0; a < n; ++a) moved[a] += along[k] * eigen.vectors[k][a];
    }
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) covariance[a][b] += moved[a] * moved[b];
    }
  }
  for (std::size_t k = 0; k < n; ++k) {
    const double variance =
        is_seen(eigen, k) ? found.spread * found.spread / eigen.values[k] : std::numeric_limits<double>::infinity();
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) {
        const double weight = eigen.vectors[k][a] * eigen.vectors[k][b];
        if (std::abs(weight) > 1e-9) covariance[a][b] += weight * variance;
      }
    }
    const double sd = std::sqrt(variance + shared_variance[k]);
    if (sd <= kWeakDirection) continue;
    WeakDirection direction{.relative_sd = sd, .weights = eigen.vectors[k]};
    const auto main = std::ranges::max_element(direction.weights, {}, [](double w) { return std::abs(w); });
    if (*main < 0) std::ranges::for_each(direction.weights, [](double& w) { w = -w; });
    found.weak.push_back(std::move(direction));
  }
  for (std::size_t a = 0; a < n; ++a) {
    found.relative_sd.push_back(std::sqrt(covariance[a][a]));
    found.correlations.emplace_back();
    for (std::size_t b = 0; b < n; ++b) {
      const double scale = std::sqrt(covariance[a][a] * covariance[b][b]);
      const double value = scale > 0 && std::isfinite(scale) ? covariance[a][b] / scale : 0;
      found.correlations[a].push_back(a == b ? 1 : std::clamp(value, -1.0, 1.0));
    }
  }
  return found;
}

}  // namespace weft::measured
