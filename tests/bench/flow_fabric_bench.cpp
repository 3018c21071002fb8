// The flow fabric: arrivals per second with 10^2 to 10^5 transfers at once on the k=16 fat tree, and the cost of one transfer
// from post to delivery. Allocations per event in the steady state are printed as a counter; 0 is what they should be.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "sim/core/simulator.h"
#include "sim/network/builtin.h"
#include "sim/network/cluster.h"
#include "sim/network/flow_level/flow_fabric.h"
#include "sim/network/router.h"
#include "tests/support/allocation_count.h"

namespace {

using namespace weft;
using namespace weft::literals;

const net::Cluster& fat_tree() {
  static const net::Cluster cluster = [] {
    Diagnostics diagnostics;
    return net::load_cluster(std::filesystem::path{WEFT_SOURCE_DIR "/configs/clusters/fat_tree_k16.yaml"}, {}, diagnostics);
  }();
  return cluster;
}

std::uint64_t next_random(std::uint64_t& state) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return state >> 33;
}

// Keeps `live` transfers in flight between random hosts: each that is delivered posts another.
class Churn final : private net::TransferListener {
 public:
  Churn(Simulator& simulator, net::FlowFabric& fabric, std::vector<FootprintId> paths, Bytes bytes)
      : simulator_{simulator}, fabric_{fabric}, paths_{std::move(paths)}, bytes_{bytes} {}
  void start(std::uint64_t live) {
    for (std::uint64_t i = 0; i < live; ++i) post();
  }
  // Runs until `count` more transfers have been delivered.
  void run(std::uint64_t count) {
    const std::uint64_t target = delivered_ + count;
    while (delivered_ < target) simulator_.run_until(simulator_.now() + 100_ns);
  }
  [[nodiscard]] std::uint64_t delivered() const { return delivered_; }

 private:
  void post() {
    fabric_.post({.footprint = paths_[next_random(state_) % paths_.size()],
                  .bytes = Bytes{bytes_.count() +
                                 static_cast<std::int64_t>(next_random(state_) % static_cast<std::uint64_t>(bytes_.count()))},
                  .rate_cap = {},
                  .extra_latency = {}},
                 *this);
  }
  void on_source_free(TransferId, std::uint64_t) override {}
  void on_delivered(TransferId, std::uint64_t) override {
    ++delivered_;
    post();
  }
  void on_aborted(TransferId, std::uint64_t) override {}

  Simulator& simulator_;
  net::FlowFabric& fabric_;
  std::vector<FootprintId> paths_;
  Bytes bytes_;
  std::uint64_t state_ = 1;
  std::uint64_t delivered_ = 0;
};

std::vector<FootprintId> random_paths(net::FlowFabric& fabric, const net::Router& router, std::size_t count) {
  const std::vector<DeviceId>& hosts = fat_tree().topology.endpoints();
  std::uint64_t state = 7;
  std::vector<FootprintId> paths;
  while (paths.size() < count) {
    const DeviceId from = hosts[next_random(state) % hosts.size()];
    const DeviceId to = hosts[next_random(state) % hosts.size()];
    if (from != to) paths.push_back(fabric.add_footprint(router.route(from, to, {paths.size()})));
  }
  return paths;
}

void churn(benchmark::State& state, std::size_t distinct_paths) {
  const auto live = static_cast<std::uint64_t>(state.range(0));
  Simulator simulator;
  net::FlowFabric fabric{simulator, fat_tree().topology};
  const net::Router router{fat_tree().topology, net::make_routing_policy("ecmp"), 1};
  Churn load{simulator, fabric, random_paths(fabric, router, distinct_paths), 1_MB};
  load.start(live);
  load.run(std::min<std::uint64_t>(live, 200));
  const std::uint64_t events = simulator.events();
  const test::AllocationCount allocations;
  const std::uint64_t delivered = load.delivered();
  for (auto _ : state) load.run(1);
  state.counters["arrivals/s"] =
      benchmark::Counter(static_cast<double>(load.delivered() - delivered), benchmark::Counter::kIsRate);
  state.counters["allocs/event"] = static_cast<double>(allocations.so_far()) / static_cast<double>(simulator.events() - events);
  state.counters["flows/solve"] =
      static_cast<double>(fabric.totals().solved_flows) / static_cast<double>(fabric.totals().solves);
}

// All flows meet somewhere, so each arrival and departure re-solves nearly all of them: the worst case of component solving.
void BM_ArrivalsOneComponent(benchmark::State& state) { churn(state, 4096); }
BENCHMARK(BM_ArrivalsOneComponent)->Arg(100)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMicrosecond);

// One flow at a time: the cost of a transfer alone, from post to delivery.
void BM_PostToDelivery(benchmark::State& state) { churn(state, 256); }
BENCHMARK(BM_PostToDelivery)->Arg(1)->Unit(benchmark::kNanosecond);

}  // namespace

BENCHMARK_MAIN();
