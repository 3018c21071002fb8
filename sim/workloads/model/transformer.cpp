#include "sim/workloads/model/transformer.h"

#include "sim/core/error.h"

namespace weft::work {

std::string_view to_string(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return "fp32";
    case Precision::kTf32:
      return "tf32";
    case Precision::kFp16:
      return "fp16";
    case Precision::kBf16:
      return "bf16";
    case Precision::kFp8:
      return "fp8";
    case Precision::kMxfp8:
      return "mxfp8";
    case Precision::kFp4:
      return "fp4";
    case Precision::kInt8:
      return "int8";
    case Precision::kW8A16:
      return "w8a16";
    case Precision::kW4A16:
      return "w4a16";
  }
  WEFT_CHECK(false);
}

double bytes_per_element(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
    case Precision::kTf32:
      return 4;
    case Precision::kFp16:
    case Precision::kBf16:
      return 2;
    case Precision::kFp8:
      return 1;
    case Precision::kMxfp8:
      return 1 + 1.0 / 32;
    case Precision::kFp4:
      return 0.5 + 1.0 / 16;
    case Precision::kInt8:
    case Precision::kW8A16:
      return 1;
    case Precision::kW4A16:
      return 0.5 + (16 + 4) / 8.0 / 128;
  }
  WEFT_CHECK(false);
}

OperandBytes operand_bytes(Precision precision) {
  const double weight = bytes_per_element(precision);
  return {.activation = is_weight_only(precision) ? bytes_per_element(Precision::kBf16) : weight, .weight = weight};
}

bool is_weight_only(Precision precision) { return precision == Precision::kW8A16 || precision == Precision::kW4A16; }

bool has_integer_weights(Precision precision) { return precision == Precision::kInt8 || is_weight_only(precision); }

}  // namespace weft::work
