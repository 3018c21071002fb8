#include "sim/scenario/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/collectives/executor_memory.h"
#include "sim/core/error.h"
#include "sim/core/memory.h"
#include "sim/network/builtin.h"
#include "sim/network/fabric_memory.h"
#include "sim/network/router.h"
#include "sim/scenario/program_memory.h"
#include "sim/scenario/step_program.h"

namespace weft::scenario {
namespace {

// Channels of a collective that names none: most that NCCL opens.
constexpr double kChannels = 32;
constexpr std::size_t kSampledPairs = 64;
// Arrays that grow double: of what is added one by one, they hold half as many again on average.
constexpr double kGrowth = 1.5;
// A step of so many times the microbatches of a short one is not made to be counted.
constexpr std::int64_t kManySteps = 8;

class MemoryPlanner {
 public:
  MemoryPlanner(const net::Cluster& cluster, const SimulationOptions& simulation)
      : cluster_{cluster},
        topology_{cluster.topology},
        memory_{net::fabric_memory(simulation.fidelity)},
        grain_{simulation.grain},
        until_{simulation.until},
        router_{topology_, net::make_routing_policy(cluster.routing), simulation.seed} {
    plan_.resident = static_cast<double>(resident_memory());
  }

  MemoryPlan plan(const Scenario& scenario) {
    const work::Workload& workload = scenario.workload;
    add_ports();
    if (workload.training) add_step(scenario, *workload.training, false);
    for (const work::TrainingJob& job : workload.training_jobs) add_step(scenario, job.setup, true);
    if (!workload.flows.empty() || !workload.jobs.empty()) add_flows(workload);
    for (const work::CollectiveItem& item : workload.collectives) add_collective(item);
    return std::move(plan_);
  }
  MemoryPlan plan(const work::Program& program) {
    add_ports();
    add_program_memory(program, router_, false, plan_.parts);
    return std::move(plan_);
  }
  MemoryPlan plan(const work::CollectiveItem& item) {
    add_ports();
    add_collective(item);
    return std::move(plan_);
  }

 private:
  void add(std::string what, double count, double each) {
    if (count > 0) plan_.parts.push_back({std::move(what), count, each});
  }

  // Counts the machine that runs. The machines beside it, for routes and costs, keep alike ports as one (bundles.h).
  void add_ports() { add("ports", static_cast<double>(topology_.link_count()), static_cast<double>(memory_.port)); }

  // A transfer between two devices: its path, and its place on every link of it.
  double path_bytes(DeviceId from, DeviceId to) {
    const std::optional<net::Footprint> path = from == to ? std::nullopt : router_.find_route(from, to, {});
    const double links = path ? static_cast<double>(path->usages.size()) : 0;
    return static_cast<double>(sizeof(net::Footprint) + sizeof(net::PathEnds)) + links * static_cast<double>(memory_.usage);
  }
  [[nodiscard]] double transfer_bytes() const { return static_cast<double>(memory_.transfer); }

  // The program is made here to be counted, and again for the run. From a full pipeline on each microbatch adds the same: of
  // many of them, two short steps are counted in place of a program that may never fit.
  void add_step(const Scenario& scenario, const work::TrainingSetup& setup, bool every_rank) {
    const std::int64_t few = 2LL * setup.plan.pipeline * setup.plan.virtual_stages;
    const std::int64_t all = setup.batch.microbatches(setup.plan);
    std::vector<MemoryPart> parts;
    std::vector<MemoryPart> more;
    if (all > kManySteps * few && work::training_refusal(with_microbatches(setup, few)).empty()) {
      parts = step_parts(scenario, with_microbatches(setup, few), every_rank);
      more = step_parts(scenario, with_microbatches(setup, 2 * few), every_rank);
    }
    if (!parts.empty() && parts.size() == more.size()) {
      const auto further = static_cast<double>(all - few) / static_cast<double>(few);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const double count = parts[i].count + (more[i].count - parts[i].count) * further;
        const double first = parts[i].count * parts[i].each;
        parts[i].each = (first + (more[i].count * more[i].each - first) * further) / count;
        parts[i].count = count;
      }
    } else {
      parts = step_parts(scenario, setup, every_rank);
    }
    plan_.parts.insert(plan_.parts.end(), parts.begin(), parts.end());
  }
  [[nodiscard]] static work::TrainingSetup with_microbatches(work::TrainingSetup setup, std::int64_t count) {
    setup.batch.global = count * setup.batch.micro * setup.plan.data;
    return setup;
  }
  [[nodiscard]] std::vector<MemoryPart> step_parts(const Scenario& scenario, const work::TrainingSetup& setup,
                                                   bool every_rank) const {
    std::vector<std::string> notes;
    std::vector<MemoryPart> parts;
    add_program_memory(step_program(scenario, setup, notes), router_, every_rank, parts);
    for (MemoryPart& part : parts) {
      if (part.what == "programs") part.what = "programs of the training step";
    }
    return parts;
  }

  void add_flows(const work::Workload& workload) {
    std::vector<std::pair<DeviceId, DeviceId>> pairs;
    double packets = 0;
    const auto& how = cluster_.packet.transport;
    const double payload = static_cast<double>(how.payload.value_or(Bytes{4096}).count());
    const auto add_pair = [&](DeviceId from, DeviceId to, Bytes bytes) {
      pairs.emplace_back(from, to);
      const Bytes most = how.window ? std::min(bytes, *how.window) : bytes;
      packets += static_cast<double>(most.count()) / payload + 1;
    };
    double backlog = 0;
    for (const work::FlowItem& flow : workload.flows) {
      add_pair(flow.from, flow.to, flow.bytes);
      backlog += work::message_backlog(flow, workload.options_of(flow), topology_, until_);
    }
    for (const work::JobItem& job : workload.jobs) {
      for (const work::JobTransfer& transfer : job.transfers) add_pair(transfer.from, transfer.to, transfer.bytes);
    }
    const std::size_t message = sizeof(Time) + memory_.message;
    add("messages in queues", backlog, kGrowth * static_cast<double>(message));
    add("transfers", static_cast<double>(pairs.size()), kGrowth * (transfer_bytes() + sampled_path(pairs)));
    if (memory_.packet > 0) {
      add("packets", std::min(packets, packets_in_network(payload)), static_cast<double>(memory_.packet));
    }
  }

  // As many as wires hold, and the switches' memory; where that is unbounded, as many as each port takes before it pauses.
  [[nodiscard]] double packets_in_network(double payload) const {
    const net::PacketSettings& packet = cluster_.packet;
    const std::optional<Bytes> buffer = packet.switches.buffer;
    double bytes = 0;
    for (std::size_t i = 0; i < topology_.link_count(); ++i) {
      const net::LinkSpec& spec = topology_.spec(LinkId::from_index(i));
      bytes += spec.rate.bytes_per_ps() * static_cast<double>(spec.latency.ps()) + payload;
      if (!buffer) bytes += static_cast<double>(packet.pfc.xoff.count());
    }
    const auto switches = static_cast<double>(topology_.device_count() - topology_.endpoints().size());
    return (bytes + switches * static_cast<double>(buffer.value_or(Bytes{}).count())) / payload;
  }

  double sampled_path(const std::vector<std::pair<DeviceId, DeviceId>>& pairs) {
    const std::size_t step = std::max<std::size_t>(1, pairs.size() / kSampledPairs);
    double bytes = 0;
    double count = 0;
    for (std::size_t i = 0; i < pairs.size(); i += step) {
      bytes += path_bytes(pairs[i].first, pairs[i].second);
      ++count;
    }
    return bytes / std::max(1.0, count);
  }

  // Every lane of every rank, and a connection for each pair of ranks that talk.
  void add_collective(const work::CollectiveItem& item) {
    const double ranks = static_cast<double>(item.devices.size());
    const bool all_pairs = item.call.kind == coll::Collective::kAllToAll;
    const double channels = item.channels > 0 ? item.channels : item.algorithm.empty() && !all_pairs ? kChannels : 1;
    std::vector<std::pair<DeviceId, DeviceId>> pairs;
    for (std::size_t i = 0; i < item.devices.size(); ++i) {
      // Far apart for all pairs, neighbours for rings and trees.
      const std::size_t next = all_pairs ? item.devices.size() / 2 : 1;
      pairs.emplace_back(item.devices[i], item.devices[(i + next) % item.devices.size()]);
    }
    const double connections = all_pairs ? ranks * (ranks - 1) : 2 * ranks * channels;
    add("connections", connections, kGrowth * (static_cast<double>(coll::kConnectionBytes) + sampled_path(pairs)));
    if (grain_ != coll::Grain::kFluid)
      add("lanes", all_pairs ? connections : ranks * channels, static_cast<double>(coll::kLaneBytes));
    // A rank's lanes are sent on one after another, but in an exchange all of them are under way.
    add("transfers", all_pairs ? connections : ranks * channels, kGrowth * transfer_bytes());
  }

  const net::Cluster& cluster_;
  const net::Topology& topology_;
  net::FabricMemory memory_;
  coll::Grain grain_;
  std::optional<Time> until_;
  net::Router router_;
  MemoryPlan plan_;
};

}  // namespace

double MemoryPlan::added() const {
  double bytes = 0;
  for (const MemoryPart& part : parts) bytes += part.count * part.each;
  return bytes;
}

MemoryPlan plan_memory(const Scenario& scenario) { return MemoryPlanner{scenario.cluster, scenario.simulation}.plan(scenario); }

MemoryPlan plan_memory(const net::Cluster& cluster, const SimulationOptions& simulation, const work::Program& program) {
  return MemoryPlanner{cluster, simulation}.plan(program);
}

MemoryPlan plan_memory(const net::Cluster& cluster, const SimulationOptions& simulation, const work::CollectiveItem& item) {
  return MemoryPlanner{cluster, simulation}.plan(item);
}

std::string memory_text(const MemoryPlan& plan) {
  std::string text = fmt::format("{}: {} now", memory_size_text(plan.total()), memory_size_text(plan.resident));
  for (const MemoryPart& part : plan.parts) {
    text += fmt::format(", {:.0f} {} of {}", part.count, part.what, memory_size_text(part.each));
  }
  return text;
}

void check_memory(const MemoryPlan& plan, std::optional<std::uint64_t> limit) {
  const std::optional<std::uint64_t> left = limit ? std::nullopt : available_memory();
  if (limit ? plan.total() <= static_cast<double>(*limit) : !left || plan.added() <= static_cast<double>(*left)) return;
  const std::string than = limit ? fmt::format("--memory allows {}", memory_size_text(static_cast<double>(*limit)))
                                 : fmt::format("{} are left on this machine", memory_size_text(static_cast<double>(*left)));
  throw ConfigError(std::vector<Diagnostic>{
      {.where = {},
       .message = fmt::format("the run would take about {} of memory, and {}", memory_size_text(plan.total()), than),
       .source_line = {},
       .length = 1,
       .note = fmt::format("{}; --memory SIZE says otherwise", memory_text(plan))}});
}

}  // namespace weft::scenario
