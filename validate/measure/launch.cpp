// Measures launches: the host's time per launch, the device's from kernel to kernel, and CUDA graphs.
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "device_points.h"
#include "kernels.h"
#include "team.h"
#include "timing.h"

namespace weft::measure {
namespace {

constexpr int kRow = 500;  // launches in a row: fewer than the device queues before the host has to wait
constexpr int kSamples = 11;

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Host time per operation of a row; the device is idle before and waited for after, outside the time.
Measurement time_host(cudaStream_t stream, int inner, const std::function<void()>& operation) {
  Measurement measurement{.what = {}, .samples_us = {}, .inner = inner, .warmup = inner, .gpus = {0}};
  for (int i = 0; i <= kSamples; ++i) {
    const double begin = now_us();
    for (int j = 0; j < inner; ++j) operation();
    const double end = now_us();
    check(cudaStreamSynchronize(stream), "launches");
    if (i > 0) measurement.samples_us.push_back((end - begin) / inner);
  }
  return measurement;
}

class Graph {
 public:
  // A chain of `nodes` empty kernels.
  Graph(int nodes, cudaStream_t stream) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
    for (int i = 0; i < nodes; ++i) empty_kernel(stream);
    check(cudaStreamEndCapture(stream, &graph), "capture");
    check(cudaGraphInstantiate(&executable_, graph, 0), "graph");
    check(cudaGraphDestroy(graph), "graph");
  }
  ~Graph() { cudaGraphExecDestroy(executable_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch(cudaStream_t stream) const { check(cudaGraphLaunch(executable_, stream), "graph launch"); }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

Measurement time_graph(const std::string& what, int nodes, cudaStream_t stream) {
  const Graph graph{nodes, stream};
  if (what == "graph") return time_host(stream, nodes >= 1000 ? 5 : 20, [&] { graph.launch(stream); });
  if (what == "graph_sync") {
    return time_host(stream, 20, [&] {
      graph.launch(stream);
      check(cudaStreamSynchronize(stream), "graph");
    });
  }
  Measurement measurement =
      time_in_stream(stream, [&](int) { graph.launch(stream); }, {.max_inner = 10, .host_us = 10 + 0.2 * nodes});
  for (double& sample : measurement.samples_us) sample /= nodes;
  measurement.gpus = {0};
  return measurement;
}

// Every thread launches on a GPU of its own, all at once.
Measurement time_threads(int threads) {
  SharedArea& area = SharedArea::create();
  Measurement measurement{.what = {}, .samples_us = {}, .inner = kRow, .warmup = kRow};
  for (int gpu = 0; gpu < threads; ++gpu) measurement.gpus.push_back(gpu);
  const auto member = [&](int rank) {
    SharedTeam team{area, rank, threads};
    check(cudaSetDevice(rank), "device");
    const Stream stream;
    for (int i = 0; i <= kSamples; ++i) {
      team.barrier();
      const double begin = now_us();
      for (int j = 0; j < kRow; ++j) empty_kernel(stream.get());
      const double mine = (now_us() - begin) / kRow;
      check(cudaStreamSynchronize(stream.get()), "launches");
      const double mean = team.mean(mine);
      if (rank == 0 && i > 0) measurement.samples_us.push_back(mean);
    }
  };
  std::vector<std::thread> others;
  for (int rank = 1; rank < threads; ++rank) others.emplace_back(member, rank);
  member(0);
  for (std::thread& thread : others) thread.join();
  return measurement;
}

Measurement time_one(const std::string& what, const Point& point, cudaStream_t stream) {
  if (what.starts_with("graph")) return time_graph(what, static_cast<int>(point.number_of("nodes", 1)), stream);
  if (what == "kernel") return time_host(stream, kRow, [&] { empty_kernel(stream); });
  if (what == "kernel_sync") {
    return time_host(stream, 50, [&] {
      empty_kernel(stream);
      check(cudaStreamSynchronize(stream), "kernel");
    });
  }
  if (what == "event") {
    const Event event;
    return time_host(stream, kRow, [&] { check(cudaEventRecord(event.get(), stream), "event"); });
  }
  Measurement measurement = time_in_stream(stream, [&](int) { empty_kernel(stream); }, {.max_inner = 200});
  measurement.gpus = {0};
  return measurement;
}

}  // namespace

Measurement measure_launch(const Point& point) {
  check(cudaSetDevice(0), "device");
  const Stream stream;
  const std::string what = point.text_of("what");
  const int threads = static_cast<int>(point.number_of("threads", 1));
  Measurement measurement = threads > 1 ? time_threads(threads) : time_one(what, point, stream.get());
  measurement.what.add("what", what);
  if (point.has("nodes")) measurement.what.add("nodes", point.number_of("nodes"));
  if (threads > 1) measurement.what.add("threads", threads);
  return measurement;
}

}  // namespace weft::measure
