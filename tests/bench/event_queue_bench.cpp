// Measures the cost of a pop and a push, per event queue and workload. The hold model (pop the earliest, push it again some
// delay later) keeps the number pending; a recorded stream replays what a run of Weft did:
//
//   bench_event_queue                                     the hold model
//   WEFT_EVENT_RECORD=run.bin bench_event_queue           and the stream that Simulator::record_to wrote
//
// Delays are drawn beforehand, so that only the queue is timed. One iteration is one pop and one push (of the stream: one
// operation). The table in sim/core/event_queue.h comes from here:
//   bench_event_queue --benchmark_repetitions=5 --benchmark_report_aggregates_only=true
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "sim/core/event_queue.h"
#include "sim/core/event_record.h"
#include "sim/core/random.h"
#include "tests/bench/binary_heap_queue.h"

namespace weft {
namespace {

enum class Workload { kExponential, kNetwork, kLockstep };

constexpr std::size_t kDelays = std::size_t{1} << 20;
constexpr std::uint64_t kSources = 4096;

Duration draw_delay(Workload workload, RandomStream& random) {
  switch (workload) {
    case Workload::kExponential:  // mean 1 us
      return Duration::from_ps(1 + static_cast<std::int64_t>(random.exponential(1e6)));
    case Workload::kNetwork: {  // serialisation 82 ns, propagation 0.5 or 1 us, 2 % timers of 55 us
      const double u = random.unit();
      return Duration::from_ps(u < 0.49 ? 82'000 : u < 0.735 ? 500'000 : u < 0.98 ? 1'000'000 : 55'000'000);
    }
    case Workload::kLockstep:  // every rank steps at once, as in a ring: see start_time
      return Duration::from_us(1);
  }
  return {};
}

// Lockstep begins with groups of 512 events at one instant, and so they stay.
Time start_time(Workload workload, std::int64_t index, std::int64_t pending, RandomStream& random) {
  if (workload != Workload::kLockstep) return Time{} + draw_delay(workload, random) + Duration::from_ps(random.between(0, 999));
  const std::int64_t groups = pending / 512 + 1;
  return Time::from_ps(index % groups * 1'000'000 / groups);
}

template <class Q>
void hold(benchmark::State& state, Workload workload) {
  const std::int64_t pending = state.range(0);
  RandomStream random{1, "event_queue_bench"};
  std::vector<Duration> delays(kDelays);
  for (Duration& delay : delays) delay = draw_delay(workload, random);

  Q queue;
  std::uint64_t sequence = 0;
  std::size_t next_delay = 0;
  const auto order = [&](std::uint64_t source) { return (source << kSequenceBits) | sequence++; };
  for (std::int64_t i = 0; i < pending; ++i) {
    queue.push(Event{start_time(workload, i, pending, random), order(random.below(kSources)), nullptr, 0});
  }
  const auto step = [&] {
    Event event = queue.pop();
    event.time += delays[next_delay++ % kDelays];
    event.order = order(event.order >> kSequenceBits);
    queue.push(event);
  };
  for (std::int64_t i = 0; i < 2 * pending; ++i) step();  // until the times pending are spread as they stay
  for (auto _ : state) step();
  state.SetItemsProcessed(state.iterations());
}

template <class Q>
void replay(benchmark::State& state, const std::vector<QueueOperation>& operations) {
  for (auto _ : state) {
    Q queue;
    for (const QueueOperation& operation : operations) {
      if (operation.is_push) {
        queue.push(Event{operation.time, operation.order, nullptr, 0});
      } else {
        benchmark::DoNotOptimize(queue.pop());
      }
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(operations.size()));
}

template <class Q>
void add_benchmarks(const std::string& name, const std::vector<QueueOperation>& record) {
  const auto add_hold = [&](const char* workload_name, Workload workload) {
    benchmark::RegisterBenchmark((workload_name + ("/" + name)).c_str(),
                                 [workload](benchmark::State& s) { hold<Q>(s, workload); })
        ->Arg(1'000)
        ->Arg(100'000)
        ->Arg(1'000'000)
        ->Iterations(1'000'000);  // fixed: finding out how many would fill the queue anew each time
  };
  add_hold("exponential", Workload::kExponential);
  add_hold("network", Workload::kNetwork);
  add_hold("lockstep", Workload::kLockstep);
  if (!record.empty()) {
    benchmark::RegisterBenchmark(("replay/" + name).c_str(), [&record](benchmark::State& s) {
      replay<Q>(s, record);
    })->Unit(benchmark::kMillisecond);
  }
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  std::vector<weft::QueueOperation> record;
  try {
    if (const char* path = std::getenv("WEFT_EVENT_RECORD")) record = weft::read_event_record(path);
  } catch (const std::exception& error) {
    std::cerr << error.what();
    return 2;
  }
  weft::add_benchmarks<weft::BinaryHeapQueue>("binary_heap", record);
  weft::add_benchmarks<weft::RadixQueue>("radix", record);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
