#include "timing.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>

#include "kernels.h"

namespace weft::measure {
namespace {

double target_us = 50'000;
constexpr int kWarmup = 3;

std::int64_t head_start_ns(double host_us) { return static_cast<std::int64_t>(std::min(host_us, 5'000.0) * 1e3) + 20'000; }

}  // namespace

void set_point_target_us(double value) { target_us = value; }
double point_target_us() { return target_us; }

Measurement time_in_stream(cudaStream_t stream, const Enqueue& enqueue, const DeviceTiming& timing) {
  const Event begin;
  const Event end;
  int next = 0;
  const auto sample = [&](int inner) {
    spin(head_start_ns(timing.host_us * inner), stream);
    check(cudaEventRecord(begin.get(), stream), "event");
    for (int i = 0; i < inner; ++i) enqueue(next++);
    check(cudaEventRecord(end.get(), stream), "event");
    check(cudaStreamSynchronize(stream), "timed row");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin.get(), end.get()), "elapsed time");
    return static_cast<double>(ms) * 1e3 / inner;
  };
  for (int i = 0; i < kWarmup; ++i) enqueue(next++);
  check(cudaStreamSynchronize(stream), "warm-up");
  const Repetition repetition =
      choose_repetition(sample(2), {.target_us = target_us, .min_inner = 2, .max_inner = timing.max_inner, .min_samples = 5});
  Measurement measurement{.what = {}, .samples_us = {}, .inner = repetition.inner, .warmup = kWarmup + 2};
  for (int i = 0; i < repetition.samples; ++i) {
    if (timing.pause_us > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(timing.pause_us));
    measurement.samples_us.push_back(sample(repetition.inner));
  }
  return measurement;
}

Measurement time_together(int main_device, cudaStream_t main, const std::vector<Lane>& lanes) {
  check(cudaSetDevice(main_device), "device");
  const Event begin;
  const Event end;
  std::deque<Event> ends;
  for (const Lane& lane : lanes) {
    check(cudaSetDevice(lane.device), "device");
    ends.emplace_back(cudaEventDisableTiming);
  }
  int next = 0;
  const auto sample = [&](int inner) {
    check(cudaSetDevice(main_device), "device");
    spin(head_start_ns(6.0 * inner * static_cast<double>(lanes.size())), main);
    check(cudaEventRecord(begin.get(), main), "event");
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      check(cudaSetDevice(lanes[i].device), "device");
      check(cudaStreamWaitEvent(lanes[i].stream, begin.get(), 0), "common start");
      for (int j = 0; j < inner; ++j) lanes[i].enqueue(next + j);
      check(cudaEventRecord(ends[i].get(), lanes[i].stream), "event");
      check(cudaStreamWaitEvent(main, ends[i].get(), 0), "common end");
    }
    next += inner;
    check(cudaSetDevice(main_device), "device");
    check(cudaEventRecord(end.get(), main), "event");
    check(cudaStreamSynchronize(main), "timed rows");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin.get(), end.get()), "elapsed time");
    return static_cast<double>(ms) * 1e3 / inner;
  };
  static_cast<void>(sample(1));
  const Repetition repetition =
      choose_repetition(sample(2), {.target_us = target_us, .min_inner = 2, .max_inner = 20, .min_samples = 5});
  Measurement measurement{.what = {}, .samples_us = {}, .inner = repetition.inner, .warmup = 3};
  for (int i = 0; i < repetition.samples; ++i) measurement.samples_us.push_back(sample(repetition.inner));
  return measurement;
}

}  // namespace weft::measure
