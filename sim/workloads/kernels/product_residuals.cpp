#include "sim/workloads/kernels/product_residuals.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "sim/core/portable_math.h"

namespace weft::work {
namespace {

constexpr std::size_t kNeighbours = 8;
constexpr std::array<double, 3> kWeights{2.0, 1.0, 0.5};  // of m, n, k
constexpr double kNear = 0.001;                           // keeps the weight of a shape that was measured finite
constexpr double kReach = 2;

Precision precision_of(std::string_view type) {
  if (type == "fp16") return Precision::kFp16;
  if (type == "tf32") return Precision::kTf32;
  if (type == "fp32") return Precision::kFp32;
  if (type == "fp8") return Precision::kFp8;
  if (type == "mxfp8") return Precision::kMxfp8;
  if (type == "nvfp4" || type == "mxfp4") return Precision::kFp4;
  if (type == "int8") return Precision::kInt8;
  if (type == "w8a16") return Precision::kW8A16;
  if (type == "w4a16") return Precision::kW4A16;
  return Precision::kBf16;
}

Scaling scaling_of(std::string_view scales) {
  return scales == "row" ? Scaling::kRow : scales == "block" ? Scaling::kBlock : Scaling::kTensor;
}

}  // namespace

ProductResiduals::Place ProductResiduals::place_of(const Kernel& kernel) {
  return {kWeights[0] * portable_log(static_cast<double>(kernel.m)), kWeights[1] * portable_log(static_cast<double>(kernel.n)),
          kWeights[2] * portable_log(static_cast<double>(kernel.k))};
}

ProductResiduals::ProductResiduals(std::shared_ptr<const ProductTable> table) {
  if (table == nullptr) return;
  for (const MeasuredProduct& product : table->rows) {
    Row row;
    row.kernel = {.kind = KernelKind::kGemm,
                  .precision = precision_of(product.type),
                  .m = product.m,
                  .n = product.n,
                  .k = product.k,
                  .scaling = scaling_of(product.scales),
                  .quantizes = product.quantized,
                  .weight_copies = product.weight_copies};
    row.place = place_of(row.kernel);
    row.seconds = product.time.seconds();
    rows_.push_back(std::move(row));
  }
}

ProductResiduals::Correction ProductResiduals::of(const Kernel& kernel, const Formula& formula) const {
  if (rows_.empty() || kernel.kind != KernelKind::kGemm || kernel.batch != 1 || kernel.m < 1 || kernel.n < 1 || kernel.k < 1)
    return {};
  const Place place = place_of(kernel);
  std::vector<std::pair<double, std::size_t>> near;  // squares of distances
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    if (row.kernel.precision != kernel.precision || row.kernel.scaling != kernel.scaling) continue;
    double square = 0;
    for (std::size_t axis = 0; axis < place.size(); ++axis) {
      const double apart = row.place[axis] - place[axis];
      square += apart * apart;
    }
    near.emplace_back(square, i);
  }
  if (near.empty()) return {};
  const std::size_t count = std::min(kNeighbours, near.size());
  std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(count), near.end());
  const auto residual = [&](std::size_t row) { return portable_log(rows_[row].seconds / formula(rows_[row].kernel)); };
  const auto is_this = [&](std::size_t row) {
    const Kernel& other = rows_[row].kernel;
    return other.m == kernel.m && other.n == kernel.n && other.k == kernel.k && other.quantizes == kernel.quantizes;
  };
  double sum = 0;
  double weights = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto [square, row] = near[i];
    if (is_this(row)) return {.factor = portable_exp(residual(row)), .share = 1};
    const double weight = 1.0 / (square * std::sqrt(square) + kNear);
    sum += weight * residual(row);
    weights += weight;
  }
  const double share = 1.0 / (1.0 + near.front().first / (kReach * kReach));
  return {.factor = portable_exp(share * sum / weights), .share = share};
}

}  // namespace weft::work
