// The plan's points of one GPU: launches, memory-bound kernels, GEMMs, attention.
#include <algorithm>
#include <array>

#include "plan_parts.h"

namespace weft::measure {

std::vector<std::int64_t> powers(std::int64_t first, std::int64_t last, std::int64_t factor) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = first; value <= last; value *= factor) values.push_back(value);
  return values;
}

std::vector<Point> launch_points(int gpus) {
  std::vector<Point> points;
  for (const char* what : {"kernel", "kernel_sync", "kernel_gap", "event"}) {
    points.push_back(Point{.kind = "launch", .parameters = {}, .set = PointSet::kQuick}.with("what", what));
  }
  for (const int nodes : {1, 10, 100, 1000}) {
    for (const char* what : {"graph_node", "graph", "graph_sync"}) {
      points.push_back(
          Point{.kind = "launch", .parameters = {}, .set = quick_if(nodes == 100)}.with("what", what).with("nodes", nodes));
    }
  }
  for (int threads = 2; threads <= gpus; threads *= 2) {
    points.push_back(Point{.kind = "launch", .parameters = {}}.with("what", "kernel").with("threads", threads));
  }
  return points;
}

std::vector<Point> memory_points() {
  std::vector<Point> points;
  for (const char* op : {"read", "write", "copy", "add", "silu", "memset", "copy_engine"}) {
    for (const std::int64_t elements : powers(128 * kKiB, 2 * kGiB, 4)) {  // 256 KiB to 4 GiB of bf16
      const std::string_view name{op};
      const bool quick = (name == "copy" || name == "add" || name == "silu") && elements >= 8 * kMiB && elements < kGiB;
      points.push_back(Point{.kind = "memory", .parameters = {}, .set = quick_if(quick)}
                           .with("op", op)
                           .with("type", "bf16")
                           .with("elements", elements));
    }
  }
  constexpr std::array<std::pair<int, int>, 7> kRows{
      {{512, 4096}, {2048, 4096}, {4096, 4096}, {4096, 8192}, {8192, 8192}, {8192, 12288}, {32768, 4096}}};
  for (const char* op : {"rmsnorm", "softmax"}) {
    for (const auto& [rows, columns] : kRows) {
      points.push_back(Point{.kind = "memory", .parameters = {}, .set = quick_if(rows == 4096)}
                           .with("op", op)
                           .with("type", "bf16")
                           .with("rows", rows)
                           .with("columns", columns));
    }
  }
  return points;
}

namespace {

struct Shape {
  int n;
  int k;
};
// Weights of common transformers, whole and as tensor parallelism cuts them.
constexpr std::array<Shape, 12> kShapes{{{12288, 4096},
                                         {4096, 4096},
                                         {22016, 4096},
                                         {4096, 11008},
                                         {10240, 8192},
                                         {28672, 8192},
                                         {2560, 8192},
                                         {7168, 8192},
                                         {8192, 2048},
                                         {6144, 12288},
                                         {1280, 5120},
                                         {3000, 1000}}};

Point gemm(int m, int n, int k, const char* type, bool quick) {
  Point point{.kind = "gemm", .parameters = {}, .set = quick_if(quick)};
  return point.with("m", m).with("n", n).with("k", k).with("type", type);
}

// Cubes are points of their own.
bool is_cube(int m, const Shape& shape) { return m == shape.n && m == shape.k; }

void add_other_types(std::vector<Point>& points) {
  for (const char* type : {"fp16", "fp8", "tf32"}) {
    for (const int side : {512, 1024, 2048, 4096, 8192}) {
      points.push_back(gemm(side, side, side, type, side == 1024 || side == 4096));
    }
    for (const int m : {512, 4096}) {
      for (std::size_t i = 0; i < 8; ++i) {
        if (!is_cube(m, kShapes[i])) points.push_back(gemm(m, kShapes[i].n, kShapes[i].k, type, i == 3 && m == 512));
      }
    }
  }
}

}  // namespace

std::vector<Point> gemm_points() {
  std::vector<Point> points;
  for (const int side : {256, 512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384}) {
    points.push_back(
        gemm(side, side, side, "bf16", side == 512 || side == 1024 || side == 2048 || side == 4096 || side == 8192));
  }
  for (const int m : {128, 512, 1024, 2048, 4096, 8192}) {
    for (std::size_t i = 0; i < kShapes.size(); ++i) {
      const bool quick = (m == 128 || m == 1024 || m == 4096) && (i == 0 || i == 3 || i == 6 || i == 8 || i == 10);
      if (!is_cube(m, kShapes[i])) points.push_back(gemm(m, kShapes[i].n, kShapes[i].k, "bf16", quick));
    }
  }
  add_other_types(points);
  for (const char* type : {"bf16", "fp8"}) points.push_back(gemm(8192, 8192, 8192, type, false).with("sustained", 1));
  for (const int batch : {8, 64}) points.push_back(gemm(1024, 1024, 128, "bf16", false).with("batch", batch));
  return points;
}

std::vector<Point> attention_points() {
  struct Case {
    int batch, heads, sequence, size;
  };
  constexpr std::array<Case, 6> kCases{
      {{1, 32, 2048, 128}, {1, 32, 4096, 128}, {1, 8, 4096, 128}, {2, 16, 4096, 128}, {1, 16, 8192, 128}, {4, 32, 1024, 64}}};
  std::vector<Point> points;
  for (const Case& entry : kCases) {
    points.push_back(Point{.kind = "attention", .parameters = {}, .set = quick_if(entry.heads == 32 && entry.sequence == 2048)}
                         .with("batch", entry.batch)
                         .with("heads", entry.heads)
                         .with("sequence_length", entry.sequence)
                         .with("head_size", entry.size)
                         .with("causal", 1)
                         .with("type", "bf16"));
  }
  return points;
}

}  // namespace weft::measure
