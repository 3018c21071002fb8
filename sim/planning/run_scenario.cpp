#include "sim/planning/run_scenario.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>

#include "sim/core/digest.h"
#include "sim/core/error.h"

namespace weft::plan {
namespace {

struct Watch {
  RunObserver* observer = nullptr;
  const net::Fabric* flows = nullptr;  // counts what is done where the workload is flows
  std::uint64_t done = 0;
  std::uint64_t total = 0;
};

void watch_hook(void* context, const Simulator& simulator) {
  const Watch& watch = *static_cast<const Watch*>(context);
  const std::uint64_t done = watch.flows != nullptr ? watch.flows->totals().delivered : watch.done;
  watch.observer->on_progress(simulator, done, watch.total);
}

std::vector<LinkUse> hottest_links(const coll::Machine& machine, Duration makespan) {
  std::vector<std::pair<double, ResourceId>> used;
  for (std::size_t i = 0; i < machine.topology.link_count(); ++i) {
    const ResourceId id = ResourceId::from_index(i);
    const double bytes = machine.fabric.counters(id).bytes;
    if (bytes <= 0 || makespan <= Duration{}) continue;
    used.emplace_back(bytes / (machine.fabric.capacity(id) * static_cast<double>(makespan.ps())), id);
  }
  const std::size_t keep = std::min<std::size_t>(used.size(), 10);
  std::partial_sort(used.begin(), used.begin() + static_cast<std::ptrdiff_t>(keep), used.end(),
                    [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  std::vector<LinkUse> links;
  for (std::size_t i = 0; i < keep; ++i) {
    const net::ResourceCounters counters = machine.fabric.counters(used[i].second);
    links.push_back({machine.fabric.resource_name(used[i].second), counters.bytes, used[i].first, counters.busy});
  }
  return links;
}

}  // namespace

RunResult run_scenario(const Scenario& scenario, RunObserver* observer) {
  RunResult result;
  const auto wall_begin = std::chrono::steady_clock::now();
  coll::Machine machine{scenario.cluster.topology, scenario.cluster.routing, scenario.simulation.seed,
                        scenario.simulation.shuffle_ties};
  Watch watch{observer, scenario.workload.flows.empty() ? nullptr : &machine.fabric, 0, scenario.workload.collectives.size()};
  if (observer != nullptr) {
    machine.simulator.set_progress_hook(watch_hook, &watch, 100'000);
    observer->on_begin(machine.simulator);
  }

  Digest digest;
  std::set<std::string> notes;
  std::vector<std::unique_ptr<coll::CollectiveRunner>> runners;
  std::vector<std::vector<DeviceId>> groups;
  Duration collective_time;
  Duration device_time;  // of one call of each, what the links' counters span
  for (const work::CollectiveItem& item : scenario.workload.collectives) {
    const auto known = std::ranges::find(groups, item.devices);
    const auto index = static_cast<std::size_t>(known - groups.begin());
    if (known == groups.end()) {
      groups.push_back(item.devices);
      runners.push_back(std::make_unique<coll::CollectiveRunner>(machine, scenario.cluster.profile, item.devices));
    }
    coll::RunOptions options;
    options.algorithm = item.algorithm;
    options.channels = item.channels;
    options.grain = scenario.simulation.grain;
    options.settings = scenario.nccl;
    coll::CollectiveResult done;
    // Calls on an idle machine repeat exactly, so one is simulated and counted as often as it is called.
    done = runners[index]->run(item.call, options);
    if (machine.simulator.stopped()) break;
    const Int128 total = static_cast<Int128>(collective_time.ps()) + static_cast<Int128>(item.count) * done.time.ps();
    if (total > Duration::max().ps())
      throw ConfigError("the collectives together would take more than 106 days, the range of simulated time");
    collective_time = Duration::from_ps(static_cast<std::int64_t>(total));
    if (item.count > 1) notes.insert("bytes and busy time of links count one call of each collective");
    device_time += done.device;
    digest.add(done.digest).add(done.time).add(item.count);
    notes.insert(done.notes.begin(), done.notes.end());
    result.collectives.push_back(std::move(done));
    result.counts.push_back(item.count);
    ++watch.done;
  }

  if (!scenario.workload.flows.empty()) {
    watch.total = scenario.workload.flows.size();
    work::FlowRun run{machine, scenario.workload.flows};
    run.run();
    digest.add(run.digest());
    result.flows = run.results();
  }
  Time last_end;
  for (const work::FlowResult& flow : result.flows) {
    if (flow.end != Time::max()) last_end = std::max(last_end, flow.end);
  }
  result.makespan = scenario.workload.collectives.empty() ? last_end - Time{} : collective_time;
  result.interrupted = machine.simulator.stopped();
  result.hottest = hottest_links(machine, scenario.workload.collectives.empty() ? last_end - Time{} : device_time);
  for (std::size_t i = 0; i < machine.topology.link_count(); ++i) {
    digest.add(static_cast<std::int64_t>(machine.fabric.counters(ResourceId::from_index(i)).bytes + 0.5));
  }
  result.digest = digest.value();
  result.events = machine.simulator.events();
  result.transfers = machine.fabric.totals().posted;
  result.solves = machine.fabric.totals().solves;
  result.peak_live = machine.fabric.totals().peak_live;
  result.notes.assign(notes.begin(), notes.end());
  result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_begin).count();
  if (observer != nullptr) observer->on_end();
  return result;
}

std::uint64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace weft::plan
