// Memory-bound kernels on one GPU.
#include <map>
#include <string>

#include "device_points.h"
#include "kernels.h"
#include "timing.h"

namespace weft::measure {
namespace {

constexpr std::int64_t kElementBytes = 2;  // bf16

struct Work {
  std::int64_t elements = 0;
  std::int64_t touched = 0;  // bytes read and written
  Enqueue enqueue;
};

Work elementwise(const std::string& op, std::int64_t elements, const Buffer& a, const Buffer& b, const Buffer& out,
                 cudaStream_t stream) {
  const auto bytes = static_cast<std::size_t>(elements * kElementBytes);
  if (op == "memset") {
    return {elements, elements * kElementBytes,
            [&out, bytes, stream](int) { check(cudaMemsetAsync(out.data(), 0, bytes, stream), "memset"); }};
  }
  if (op == "copy_engine") {
    return {elements, 2 * elements * kElementBytes, [&a, &out, bytes, stream](int) {
              check(cudaMemcpyAsync(out.data(), a.data(), bytes, cudaMemcpyDeviceToDevice, stream), "copy");
            }};
  }
  static const std::map<std::string, std::pair<MemoryOp, int>> kOps{{"read", {MemoryOp::kRead, 1}},
                                                                    {"write", {MemoryOp::kWrite, 1}},
                                                                    {"copy", {MemoryOp::kCopy, 2}},
                                                                    {"add", {MemoryOp::kAdd, 3}},
                                                                    {"silu", {MemoryOp::kSilu, 2}}};
  const auto found = kOps.find(op);
  if (found == kOps.end()) throw std::runtime_error("unknown operation " + op);
  const auto [kernel, operands] = found->second;
  return {elements, operands * elements * kElementBytes, [&a, &b, &out, elements, stream, kernel = kernel](int) {
            memory_kernel(kernel, a.data(), b.data(), out.data(), elements, stream);
          }};
}

Work rowwise(const std::string& op, int rows, int columns, const Buffer& a, const Buffer& b, const Buffer& out,
             cudaStream_t stream) {
  const std::int64_t elements = std::int64_t{rows} * columns;
  if (op == "rmsnorm") {
    return {elements, (2 * elements + columns) * kElementBytes, [&a, &b, &out, rows, columns, stream](int) {
              rmsnorm_kernel(a.data(), b.data(), out.data(), rows, columns, stream);
            }};
  }
  return {elements, 2 * elements * kElementBytes,
          [&a, &out, rows, columns, stream](int) { softmax_kernel(a.data(), out.data(), rows, columns, 0, 1.0F, stream); }};
}

}  // namespace

Measurement measure_memory(const Point& point) {
  check(cudaSetDevice(0), "device");
  const Stream stream;
  const std::string op = point.text_of("op");
  const auto rows = static_cast<int>(point.number_of("rows"));
  const auto columns = static_cast<int>(point.number_of("columns"));
  const std::int64_t elements = rows > 0 ? std::int64_t{rows} * columns : point.number_of("elements");
  const Buffer a{elements * kElementBytes};
  const Buffer b{elements * kElementBytes};
  const Buffer out{elements * kElementBytes};
  fill_random(Element::kBfloat16, a.data(), elements, 1, stream.get());
  fill_random(Element::kBfloat16, b.data(), elements, 2, stream.get());
  const Work work =
      rows > 0 ? rowwise(op, rows, columns, a, b, out, stream.get()) : elementwise(op, elements, a, b, out, stream.get());
  Measurement measurement = time_in_stream(stream.get(), work.enqueue);
  check(cudaGetLastError(), "memory-bound kernel");
  measurement.gpus = {0};
  measurement.what.add("op", op).add("type", "bf16").add("elements", work.elements);
  if (rows > 0) measurement.what.add("rows", rows).add("columns", columns);
  measurement.what.add("bytes", work.touched);
  measurement.what.add("GBps", static_cast<double>(work.touched) / measurement.median_us() / 1e3);
  return measurement;
}

}  // namespace weft::measure
