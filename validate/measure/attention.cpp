// Attention out of parts: scores by a batched GEMM, a causal softmax by rows, the values by another GEMM. Not a fused kernel:
// those come with frameworks, and this program needs none.
#include <cmath>
#include <string>

#include "device_points.h"
#include "lt_gemm.h"
#include "timing.h"

namespace weft::measure {

Measurement measure_attention(const Point& point) {
  check(cudaSetDevice(0), "device");
  const Stream stream;
  const auto batch = static_cast<int>(point.number_of("batch"));
  const auto heads = static_cast<int>(point.number_of("heads"));
  const auto sequence = static_cast<int>(point.number_of("sequence_length"));
  const auto size = static_cast<int>(point.number_of("head_size"));
  const int matrices = batch * heads;
  const std::int64_t rows = std::int64_t{matrices} * sequence;
  const GemmType type = gemm_type("bf16");
  const LtGemm to_scores{{.m = sequence, .n = sequence, .k = size, .batch = matrices, .transposed_b = true}, type};
  const LtGemm to_output{{.m = sequence, .n = size, .k = sequence, .batch = matrices}, type};
  const Buffer inputs{3 * rows * size * 2};  // queries, keys, values
  const Buffer scores{rows * sequence * 2};
  const Buffer output{rows * size * 2};
  fill_random(Element::kBfloat16, inputs.data(), 3 * rows * size, 3, stream.get());
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(size)));
  const auto enqueue = [&](int) {
    to_scores.enqueue(inputs.data(), inputs.at(rows * size * 2), scores.data(), stream.get());
    softmax_kernel(scores.data(), scores.data(), rows, sequence, sequence, scale, stream.get());
    to_output.enqueue(scores.data(), inputs.at(2 * rows * size * 2), output.data(), stream.get());
  };
  Measurement measurement = time_in_stream(stream.get(), enqueue, {.max_inner = 10, .host_us = 15});
  measurement.gpus = {0};
  measurement.what.add("batch", batch).add("heads", heads).add("sequence_length", sequence).add("head_size", size);
  measurement.what.add("causal", true).add("type", "bf16").add("method", "gemm_softmax_gemm");
  // Both GEMMs run over the whole square, the masked half too.
  measurement.what.add("tflops", 4.0 * static_cast<double>(rows) * sequence * size / measurement.median_us() / 1e6);
  return measurement;
}

}  // namespace weft::measure
