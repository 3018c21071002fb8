// Residuals of the formula at measured products (core/product_table.h), interpolated for the products near them.
//
// Distance is that of the shapes' logarithms; the inner dimension counts half, rows twice, as tiles follow rows most. The mean
// over eight neighbours of one type and one kind of scales has weights 1 / (d^3 + 0.001). Beyond a distance of two the formula
// takes over: the mean counts by 1 / (1 + (d/2)^2), d being the nearest one's. A shape that was measured takes what it took.
//
// Model: neighbours and weights were chosen on public tables of bf16 products (models/workloads §4.8).
// Neighbours are told by their shapes alone: a library's choice of tiles is not looked at.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "sim/core/product_table.h"
#include "sim/workloads/kernels/kernel.h"

namespace weft::work {

class ProductResiduals {
 public:
  // Seconds of a product by the formula alone.
  using Formula = std::function<double(const Kernel&)>;
  struct Correction {
    double factor = 1;  // of the formula's time
    double share = 0;   // of measurements in it: 1 of a measured shape, 0 of the formula alone
  };

  explicit ProductResiduals(std::shared_ptr<const ProductTable> table);  // null: no table

  [[nodiscard]] bool is_empty() const { return rows_.empty(); }
  [[nodiscard]] Correction of(const Kernel& kernel, const Formula& formula) const;

 private:
  // The logarithms of a product's sizes, as distances weigh them.
  using Place = std::array<double, 3>;
  struct Row {
    Place place = {};
    Kernel kernel = {};
    double seconds = 0;
  };
  static Place place_of(const Kernel& kernel);

  std::vector<Row> rows_;
};

}  // namespace weft::work
