#include "sim/workloads/kernels/gpu_rates.h"

namespace weft::work {
namespace {

using net::NumberType;

NumberType number_type(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return NumberType::kFp32;
    case Precision::kTf32:
      return NumberType::kTf32;
    case Precision::kFp16:
      return NumberType::kFp16;
    case Precision::kBf16:
    case Precision::kW8A16:
    case Precision::kW4A16:
      return NumberType::kBf16;
    case Precision::kFp8:
    case Precision::kMxfp8:
      return NumberType::kFp8;
    case Precision::kFp4:
      return NumberType::kFp4;
    case Precision::kInt8:
      return NumberType::kInt8;
  }
  return NumberType::kFp32;
}

}  // namespace

bool has_no_units(const GpuSpec& gpu, Precision precision) {
  const std::optional<double>& rate = gpu.stated(number_type(precision));
  return rate && *rate <= 0;
}

Precision runs_as(const GpuSpec& gpu, Precision precision) {
  if (is_weight_only(precision)) precision = Precision::kBf16;
  if (precision == Precision::kInt8 && has_no_units(gpu, precision)) precision = Precision::kBf16;
  if (precision == Precision::kFp4 && has_no_units(gpu, precision)) precision = Precision::kFp8;
  if (number_type(precision) == NumberType::kFp8 && has_no_units(gpu, precision)) precision = Precision::kBf16;
  if (precision == Precision::kBf16 && has_no_units(gpu, precision)) precision = Precision::kFp16;
  if (precision == Precision::kFp16 && has_no_units(gpu, precision)) precision = Precision::kFp32;
  if (precision == Precision::kTf32 && has_no_units(gpu, precision)) precision = Precision::kFp32;
  return precision;
}

double peak(const GpuSpec& gpu, Precision precision) { return gpu.peak(number_type(runs_as(gpu, precision))); }

double stated_peak(const GpuSpec& gpu, Precision precision) {
  return gpu.stated(number_type(runs_as(gpu, precision))).value_or(0);
}

void check_computes(const GpuSpec& gpu, std::string_view what) { gpu.check_states({"sms", "clock", "l2", "bandwidth"}, what); }

}  // namespace weft::work
