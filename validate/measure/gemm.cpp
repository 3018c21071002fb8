// Matrix products on one GPU.
#include <algorithm>
#include <string>

#include "device_points.h"
#include "lt_gemm.h"
#include "timing.h"

namespace weft::measure {
namespace {

constexpr double kSustainedUs = 1.5e6;

// Two sets of operands, used in turn: one set of a small product would stay in L2.
class Operands {
 public:
  Operands(const GemmShape& shape, const GemmType& type, cudaStream_t stream)
      : a_bytes_{round(std::int64_t{shape.m} * shape.k * shape.batch * size_of(type.input))},
        b_bytes_{round(std::int64_t{shape.k} * shape.n * shape.batch * size_of(type.input))},
        c_bytes_{round(std::int64_t{shape.m} * shape.n * shape.batch * size_of(type.output))},
        data_{2 * (a_bytes_ + b_bytes_ + c_bytes_)} {
    fill_random(type.input, data_.data(), 2 * (a_bytes_ + b_bytes_) / size_of(type.input), 7, stream);
  }

  [[nodiscard]] const void* a(int i) const { return data_.at(i % 2 * a_bytes_); }
  [[nodiscard]] const void* b(int i) const { return data_.at(2 * a_bytes_ + i % 2 * b_bytes_); }
  [[nodiscard]] void* c(int i) const { return data_.at(2 * (a_bytes_ + b_bytes_) + i % 2 * c_bytes_); }

 private:
  static std::int64_t round(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

  std::int64_t a_bytes_;
  std::int64_t b_bytes_;
  std::int64_t c_bytes_;
  Buffer data_;
};

}  // namespace

Measurement measure_gemm(const Point& point) {
  check(cudaSetDevice(0), "device");
  const Stream stream;
  const std::string type_name = point.text_of("type");
  const GemmType type = gemm_type(type_name);
  const GemmShape shape{.m = static_cast<int>(point.number_of("m")),
                        .n = static_cast<int>(point.number_of("n")),
                        .k = static_cast<int>(point.number_of("k")),
                        .batch = static_cast<int>(point.number_of("batch", 1)),
                        .transposed_b = type_name == "fp8"};
  const bool sustained = point.number_of("sustained") != 0;
  const LtGemm gemm{shape, type};
  const Operands operands{shape, type, stream.get()};
  const auto enqueue = [&](int i) { gemm.enqueue(operands.a(i), operands.b(i), operands.c(i), stream.get()); };
  const double usual = point_target_us();
  if (sustained) set_point_target_us(kSustainedUs);
  Measurement measurement =
      time_in_stream(stream.get(), enqueue, {.max_inner = sustained ? 200 : 20, .pause_us = sustained ? 0.0 : 2'000.0});
  set_point_target_us(usual);
  measurement.gpus = {0};
  measurement.what.add("m", shape.m).add("n", shape.n).add("k", shape.k).add("type", type_name);
  measurement.what.add("operands", shape.transposed_b ? "nt" : "nn");
  if (shape.batch > 1) measurement.what.add("batch", shape.batch);
  const double flops = 2.0 * shape.m * shape.n * shape.k * shape.batch;
  measurement.what.add("tflops", flops / measurement.median_us() / 1e6).add("sustained", sustained);
  return measurement;
}

}  // namespace weft::measure
