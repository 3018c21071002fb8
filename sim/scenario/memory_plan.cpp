#include "sim/scenario/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "sim/collectives/executor_memory.h"
#include "sim/core/error.h"
#include "sim/core/memory.h"
#include "sim/network/builtin.h"
#include "sim/network/fabric_memory.h"
#include "sim/network/router.h"
#include "sim/scenario/parts_choice.h"
#include "sim/scenario/step_program.h"
#include "sim/workloads/program_calls.h"
#include "sim/workloads/replay/fabric_places.h"
#include "sim/workloads/replay/group_costs.h"
#include "sim/workloads/replay/replay_state.h"

namespace weft::scenario {
namespace {

// Channels of a collective that names none: most that NCCL opens.
constexpr double kChannels = 32;
constexpr std::size_t kSampledWays = 64;
constexpr std::size_t kSampledGroups = 4;
constexpr std::size_t kAllPairs = 16;  // groups up to here are routed pair by pair, larger ones at distances of powers of two
// Arrays that grow double: of what is added one by one, they hold half as many again on average.
constexpr double kGrowth = 1.5;
// A step of so many times the microbatches of a short one is not made to be counted.
constexpr std::int64_t kManySteps = 8;
// Sizes in libstdc++: a map's node with the allocator's own words, and a deque with its first block.
constexpr double kNodeBytes = 32 + 16;
constexpr double kDequeBytes = 64 + 512 + 2 * 16;

// The mean of what `value_of` says of so many items of a list, which lie evenly in it; nothing said does not count.
double sampled_mean(const auto& list, std::size_t samples, const auto& value_of) {
  const std::size_t step = std::max<std::size_t>(1, list.size() / samples);
  double sum = 0;
  double sampled = 0;
  std::size_t i = 0;
  for (const auto& item : list) {
    if (i++ % step != 0) continue;
    const std::optional<double> value = value_of(item);
    if (!value) continue;
    sum += *value;
    ++sampled;
  }
  return sum / std::max(1.0, sampled);
}

template <class T>
double list_bytes(const std::vector<T>& list) {
  return static_cast<double>(list.capacity() * sizeof(T));
}

double program_bytes(const work::Program& program) {
  double bytes = list_bytes(program.devices) + list_bytes(program.groups) + list_bytes(program.ranks);
  for (const work::RankProgram& each : program.programs) {
    bytes += list_bytes(each.operations) + list_bytes(each.waits) + list_bytes(each.memory);
    bytes += static_cast<double>(each.operations.size() * work::ProgramLayout::kOperationBytes);
  }
  for (const work::Group& group : program.groups) bytes += list_bytes(group.ranks);
  for (const work::ProgramRank& rank : program.ranks) bytes += list_bytes(rank.groups) + list_bytes(rank.peers);
  return bytes;
}

void keep_once(auto& list) {
  std::ranges::sort(list);
  const auto same = std::ranges::unique(list);
  list.erase(same.begin(), same.end());
}

// A replay of a program holds its ranks' operations, its groups and pairs that communicate, the loads of their calls, and the
// routes under these.
class ProgramMemory {
 public:
  // `every_rank`: followers are run too.
  ProgramMemory(const work::Program& program, const net::Router& router, bool every_rank, std::vector<MemoryPart>& parts)
      : program_{program}, router_{router}, every_rank_{every_rank}, parts_{parts} {}

  void add() {
    for (const work::RankProgram& each : program_.programs) calls_by_program_.push_back(work::calls_of(each));
    add_ranks();
    add_part("programs", static_cast<double>(program_.programs.size()), program_bytes(program_));
    collect_calls();
    add_collectives();
    add_messages();
    add_routes();
  }

 private:
  // `bytes`: of all of them.
  void add_part(std::string what, double count, double bytes) {
    if (count > 0) parts_.push_back({std::move(what), count, bytes / count});
  }
  [[nodiscard]] bool runs(Rank rank) const {
    return every_rank_ || program_.ranks[static_cast<std::size_t>(rank)].leader == rank;
  }
  [[nodiscard]] DeviceId device(Rank rank) const { return program_.devices[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::int32_t host(Rank rank) const { return router_.topology().host_of(device(rank)); }

  void add_ranks() {
    double ranks = 0;
    double bytes = 0;
    for (std::size_t r = 0; r < program_.ranks.size(); ++r) {
      const auto rank = static_cast<Rank>(r);
      if (!runs(rank)) continue;
      const work::RankProgram& its = program_.program_of(rank);
      ++ranks;
      bytes += static_cast<double>(sizeof(work::RankState) + its.streams.size() * sizeof(work::StreamState) +
                                   its.operations.size() * work::RankState::kOperationBytes);
      if (host(rank) >= 0) hosts_run_.insert(host(rank));
    }
    add_part("ranks", ranks, bytes);
  }

  // Counts the calls of followers, too, whose hosts are run: they load links there. Counts all calls where switches may hold
  // others up.
  void collect_calls() {
    const bool counts_all = !every_rank_ && work::switches_hold_up(program_, router_);
    std::vector<std::tuple<std::uint32_t, coll::Collective, std::int64_t, std::uint8_t>> of_groups;
    std::vector<std::tuple<Rank, Rank, std::int64_t>> of_pairs;
    for (std::size_t r = 0; r < program_.ranks.size(); ++r) {
      const auto rank = static_cast<Rank>(r);
      if (!runs(rank) && !counts_all && !hosts_run_.contains(host(rank))) continue;
      const work::ProgramRank& table = program_.ranks[r];
      for (const auto& [kind, slot, collective, bytes, element_size] : calls_by_program_[table.program]) {
        if (kind == work::OpKind::kCollective && slot < table.groups.size()) {
          of_groups.emplace_back(table.groups[slot], collective, bytes, element_size);
        } else if (kind == work::OpKind::kSend && slot < table.peers.size()) {
          of_pairs.emplace_back(rank, table.peers[slot], bytes);
        }
      }
    }
    keep_once(of_groups);
    keep_once(of_pairs);
    for (const auto& [group, collective, bytes, element_size] : of_groups)
      ++groups_[{group, collective == coll::Collective::kAllToAll}];
    for (const auto& [from, to, bytes] : of_pairs) ++pairs_[{from, to}];
  }

  // A call is remembered with its loads, and its transfers have them as their footprint; one of them is in flight.
  [[nodiscard]] static double call_bytes(double members, double usages) {
    return static_cast<double>(work::GroupCosts::kCallBytes + sizeof(net::Footprint) + sizeof(double)) + 2 * kNodeBytes +
           members * static_cast<double>(sizeof(DeviceId)) + 2 * usages * static_cast<double>(sizeof(Usage));
  }
  [[nodiscard]] static double meeting_bytes(double members) {
    return static_cast<double>(sizeof(work::Meeting) + sizeof(work::Moving) +
                               net::fabric_memory(net::Fidelity::kFlow).transfer) +
           kDequeBytes + 2 * kNodeBytes + members * static_cast<double>(sizeof(DeviceId) + 2 * sizeof(work::Member));
  }

  void add_collectives() {
    // Groups of one axis are alike: "tp 3" is as "tp 4".
    std::map<std::pair<std::string, bool>, std::vector<std::pair<std::uint32_t, int>>> by_axis;
    for (const auto& [key, calls] : groups_) {
      const std::string& name = program_.groups[key.first].name;
      by_axis[{name.substr(0, name.find(' ')), key.second}].emplace_back(key.first, calls);
    }
    double count = 0;
    double bytes = 0;
    for (const auto& [axis, groups] : by_axis) {
      const bool exchanges = axis.second;
      const double usages = sampled_mean(groups, kSampledGroups, [&](const auto& group) {
        return std::optional{loads_of(program_.groups[group.first].ranks, exchanges)};
      });
      for (const auto& [group, calls] : groups) {
        const auto members = static_cast<double>(program_.groups[group].ranks.size());
        count += calls;
        bytes += meeting_bytes(members) + calls * call_bytes(members, usages);
      }
    }
    add_part("collectives", count, bytes);
  }

  [[nodiscard]] double loads_of(const std::vector<Rank>& ranks, bool exchanges) const {
    net::Footprint all;
    const std::size_t count = ranks.size();
    for (std::size_t distance = 1; distance < count; distance = count <= kAllPairs ? distance + 1 : 2 * distance) {
      if (distance > 1 && !exchanges) break;
      for (std::size_t i = 0; i < count; ++i) {
        const auto way = router_.find_route(device(ranks[i]), device(ranks[(i + distance) % count]), {});
        if (way) all.usages.insert(all.usages.end(), way->usages.begin(), way->usages.end());
      }
    }
    net::Footprint sum;
    sum.couple(all);
    return static_cast<double>(sum.usages.capacity());
  }

  [[nodiscard]] std::optional<net::Footprint> way_between(Rank from, Rank to) const {
    return router_.find_route(device(from), device(to), {});
  }

  void add_messages() {
    double calls = 0;
    for (const auto& [pair, count] : pairs_) calls += count;
    const double usages = sampled_mean(pairs_, kSampledWays, [this](const auto& pair) -> std::optional<double> {
      const auto way = way_between(pair.first.first, pair.first.second);
      return way ? std::optional{static_cast<double>(way->usages.capacity())} : std::nullopt;
    });
    add_part("messages", calls, static_cast<double>(pairs_.size()) * meeting_bytes(2) + calls * call_bytes(2, usages));
  }

  // The router keeps a way between two leaves once it is asked for, where its policy spreads.
  void add_routes() {
    if (!router_.policy().spreads()) return;
    std::map<std::pair<DeviceId, DeviceId>, std::pair<Rank, Rank>> ways;  // by leaves, and ranks between which one leads
    const auto add_way = [&](Rank from, Rank to) {
      const DeviceId source = router_.leaf_of(device(from));
      const DeviceId destination = router_.leaf_of(device(to));
      if (source.valid() && destination.valid() && source != destination) ways.insert({{source, destination}, {from, to}});
    };
    for (const auto& [pair, calls] : pairs_) add_way(pair.first, pair.second);
    for (const auto& [key, calls] : groups_) {
      const std::vector<Rank>& ranks = program_.groups[key.first].ranks;
      for (std::size_t i = 0; i < ranks.size(); ++i) add_way(ranks[i], ranks[(i + 1) % ranks.size()]);
    }
    const double usages = sampled_mean(ways, kSampledWays, [this](const auto& ends) -> std::optional<double> {
      const auto way = way_between(ends.second.first, ends.second.second);
      return way ? std::optional{static_cast<double>(way->usages.size())} : std::nullopt;
    });
    const double each = usages * sizeof(Usage) + kNodeBytes + sizeof(net::Footprint);
    add_part("ways between leaves", static_cast<double>(ways.size()), static_cast<double>(ways.size()) * each);
  }

  const work::Program& program_;
  const net::Router& router_;
  bool every_rank_;
  std::vector<MemoryPart>& parts_;
  std::vector<std::vector<work::SlotCall>> calls_by_program_;
  std::set<std::int32_t> hosts_run_;
  std::map<std::pair<std::uint32_t, bool>, int> groups_;  // by group, and whether they are exchanges: calls
  std::map<std::pair<Rank, Rank>, int> pairs_;            // by sender and receiver: sizes of messages
};

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
    const net::Partition partition = choose_parts(scenario).partition;
    parted_ = partition.parts > 1;
    for (std::size_t i = 0; parted_ && i < topology_.link_count(); ++i) {
      if (partition.is_cut(topology_.link(LinkId::from_index(i)))) ++links_cut_;
    }
    add_ports();
    if (workload.training) add_step(scenario, *workload.training, false);
    for (const work::TrainingJob& job : workload.training_jobs) add_step(scenario, job.setup, true);
    if (!workload.flows.empty() || !workload.jobs.empty()) add_flows(workload);
    for (const work::CollectiveItem& item : workload.collectives) add_collective(item);
    return std::move(plan_);
  }
  MemoryPlan plan(const work::Program& program) {
    add_ports();
    ProgramMemory{program, router_, false, plan_.parts}.add();
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
  // A link that is cut lies in two parts.
  void add_ports() {
    add("ports", static_cast<double>(topology_.link_count() + links_cut_), static_cast<double>(memory_.port));
  }

  // A transfer between two devices: its path, and its place on every link of it.
  double path_bytes(DeviceId from, DeviceId to) {
    const std::optional<net::Footprint> path = from == to ? std::nullopt : router_.find_route(from, to, {});
    const double links = path ? static_cast<double>(path->usages.size()) : 0;
    return (static_cast<double>(sizeof(net::Footprint) + sizeof(net::PathEnds)) + links * static_cast<double>(memory_.usage));
  }
  // Where the fabric is in parts, a flow has its sender in one and its receiver in another.
  [[nodiscard]] double transfer_bytes() const { return (parted_ ? 2.0 : 1.0) * static_cast<double>(memory_.transfer); }

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
    const work::Program program = step_program(scenario, setup, notes);
    ProgramMemory{program, router_, every_rank, parts}.add();
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
    return sampled_mean(pairs, kSampledWays,
                        [this](const auto& pair) { return std::optional{path_bytes(pair.first, pair.second)}; });
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
  bool parted_ = false;  // the fabric is in parts
  std::size_t links_cut_ = 0;
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
