// Device time of operations in a row, by events. The row is queued behind a spinning kernel, so that the device never waits for
// the host: what is timed is the device's start to start, however slowly the host launches.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cuda_check.h"
#include "record.h"
#include "statistics.h"

namespace weft::measure {

class Event {
 public:
  explicit Event(unsigned flags = cudaEventDefault) { check(cudaEventCreateWithFlags(&event_, flags), "event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream"); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// Memory of the current device at its making.
class Buffer {
 public:
  explicit Buffer(std::int64_t bytes) { check(cudaMalloc(&data_, static_cast<std::size_t>(bytes)), "device memory"); }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  [[nodiscard]] char* data() const { return static_cast<char*>(data_); }
  [[nodiscard]] char* at(std::int64_t offset) const { return data() + offset; }

 private:
  void* data_ = nullptr;
};

// Queues the operation number `i` of a row.
using Enqueue = std::function<void(int i)>;

// How long a set of points may take each; --quick and --full differ.
void set_point_target_us(double target_us);
[[nodiscard]] double point_target_us();

// Samples of `enqueue` in `stream` of the current device. `host_us`: what the host needs to queue one operation.
struct DeviceTiming {
  int max_inner = 50;
  double host_us = 6;
  double pause_us = 0;  // before each sample: lets the clock recover
};
[[nodiscard]] Measurement time_in_stream(cudaStream_t stream, const Enqueue& enqueue, const DeviceTiming& timing = {});

// Work of one of several streams that start together.
struct Lane {
  int device = 0;
  cudaStream_t stream = nullptr;
  Enqueue enqueue;
};
// From the common start to the end of the last lane, per round of `inner` rounds. `main` is a stream of `main_device`.
[[nodiscard]] Measurement time_together(int main_device, cudaStream_t main, const std::vector<Lane>& lanes);

}  // namespace weft::measure
