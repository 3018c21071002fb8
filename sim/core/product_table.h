// Matrix products that somebody measured on their own GPU. A profile carries them beside its parameters (profile.h), and times
// of products near them are corrected by them (workloads/kernels/product_residuals.h).
//
//   products:
//     - gemms.csv                                                     # beside the profile
//     - {m: 4096, n: 8192, k: 8192, type: bf16, time: 812 us}
//
// The file: a line of names, then a product each, of the kernel alone at full clock.
//
//   m,n,k,type,time_us
//   4096,8192,8192,bf16,812
//
// Columns `scales` (tensor, row, block), `quantized` (0, 1) and `weight_copies` say what records of `weft measure` say by these
// names (docs/measurement_format.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/config/params.h"
#include "sim/core/units.h"

namespace weft {

struct MeasuredProduct {
  std::int64_t m = 0;  // rows of A, of the tokens
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::string type = "bf16";  // of product_types()
  Duration time;
  std::string scales = "tensor";
  bool quantized = false;
  std::int64_t weight_copies = 0;

  friend bool operator==(const MeasuredProduct&, const MeasuredProduct&) = default;
};

struct ProductTable {
  std::vector<std::string> files;  // from the folder where the program runs
  std::vector<MeasuredProduct> rows;
  std::vector<MeasuredProduct> own_rows;  // of those, what stands in the profile itself
};

[[nodiscard]] const std::vector<std::string>& product_types();

// Reads the list `products` of a profile, with the files that it names; null where there is none. Errors: an unknown type, a
// size or time that is none, one shape with two times.
[[nodiscard]] std::shared_ptr<const ProductTable> read_product_table(ParamReader& profile);

// A table as its file has it.
[[nodiscard]] std::string product_table_csv(const std::vector<MeasuredProduct>& rows);

}  // namespace weft
