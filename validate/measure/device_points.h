// Points that one process measures on its own: everything but collectives. Each takes a point of its kind and gives what was
// measured; std::runtime_error says why a point cannot be. GPU 0 serves where a point names none.
#pragma once

#include "point.h"
#include "record.h"

namespace weft::measure {

[[nodiscard]] Measurement measure_launch(const Point& point);
[[nodiscard]] Measurement measure_memory(const Point& point);
[[nodiscard]] Measurement measure_gemm(const Point& point);
[[nodiscard]] Measurement measure_attention(const Point& point);
[[nodiscard]] Measurement measure_copy(const Point& point);

}  // namespace weft::measure
