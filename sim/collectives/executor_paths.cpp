// Which ways the executor's messages take: directly or through host memory.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sim/collectives/executor.h"
#include "sim/collectives/executor_memory.h"
#include "sim/collectives/step_work.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

// A read's requests take this share of its bytes: a header of about 30 bytes for the 128 that a warp's loads ask for. Thread
// blocks of an H200 that read or write pinned host memory over PCIe 5 x16 reach 51 GB/s; where they do both, 42 GB/s each way.
constexpr double kRequestShare = 30.0 / 128.0;

}  // namespace

Transport Executor::transport(Rank from, Rank to) const {
  if (communicator_.node_of(from) != communicator_.node_of(to)) return Transport::kNet;
  if (talks_through_memory(from, to)) return Transport::kHost;
  return router_.path_class(communicator_.device(from), communicator_.device(to)) <= net::PathClass::kNvb ? Transport::kNvlink
                                                                                                          : Transport::kHost;
}

bool Executor::talks_through_memory(Rank from, Rank to) const {
  if (options_.p2p_level == net::PathClass::kDis || from == to) return false;
  if (communicator_.node_of(from) != communicator_.node_of(to)) return false;
  return router_.path_class(communicator_.device(from), communicator_.device(to)) > options_.p2p_level;
}

double Executor::effort_of(const Step& step, Transport from) const {
  const bool stores_all = costs_.direct == 0.0 || !step.store || step.receive_from.empty() || from != Transport::kNvlink;
  if (stores_all || step.delivered) return coll::effort_of(costs_, step);
  StepWork work = work_of(step);
  work.stored = 0;
  return costs_.effort(work) + direct_store_;
}

bool Executor::is_behind_switch(DeviceId gpu) const {
  const net::Topology& topology = router_.topology();
  return std::ranges::any_of(topology.out_links(gpu),
                             [&](LinkId link) { return topology.kind(topology.link(link).to) == net::DeviceKind::kNvSwitch; });
}

// Model: whom blocks store to in their first steps is whom they store to throughout.
PortLoads Executor::port_loads() const {
  if (costs_.port.raw == Bandwidth{}) return {};
  PortLoads loads{static_cast<std::size_t>(schedule_->ranks())};
  for (Rank rank = 0; rank < schedule_->ranks(); ++rank) {
    for (int channel = 0; channel < schedule_->channels(); ++channel) {
      for (int lane = 0; lane < schedule_->lanes(rank, channel); ++lane) {
        if (schedule_->step_count(rank, channel, lane) == 0) continue;
        for (const Rank to : schedule_->step(rank, channel, lane, 0).send_to) {
          if (to == rank || transport(rank, to) != Transport::kNvlink) continue;
          loads.add(rank, to, schedule_->warp_share(rank, channel, lane), is_behind_switch(communicator_.device(to)));
        }
      }
    }
  }
  return loads;
}

// Model: a receiver's work in send/recv over NVLink costs it time by the cube of the share of time that the port is busy, all
// of it from two thirds on. Measured, not understood: with one channel a message of one chunk takes 10.8 us and its bytes at
// the sender's rate, as if it were kept while it comes; with 16 channels between two GPUs, which keep the port busy for two
// thirds of the time, 512 KiB on each take 14 us longer, and an all-to-all that fills the port shows no more
// (validate/measured, h200x2_full: sendrecv with NCCL_MAX_NCHANNELS of 1 to 32; h200x4_full: alltoall).
double Executor::direct_store() const {
  if (costs_.direct == 0.0 || costs_.port.raw == Bandwidth{}) return 0.0;
  double blocks = 0.0;  // of any rank that sends: they are alike
  for (Rank rank = 0; rank < schedule_->ranks() && blocks == 0.0; ++rank) blocks = port_loads_.out(rank);
  constexpr double kAllOfIt = 2.0 / 3.0;
  const double part = std::min(1.0, port_queue_.busy(blocks) / kAllOfIt);
  return costs_.direct * part * part * part;
}

// Without P2P the FIFO lies in host memory near the receiver (models/nccl §6.2).
std::optional<DeviceId> Executor::memory_between(Rank from, Rank to) const {
  if (!talks_through_memory(from, to)) return std::nullopt;
  return router_.host_memory(communicator_.device(to));
}

bool Executor::reads_host_memory(const Lane& lane) const {
  return std::ranges::any_of(lane.receives, [&](std::uint32_t from) { return connections_[from].in_host_memory; });
}

bool Executor::uses_host_memory(const Lane& lane) const {
  return reads_host_memory(lane) ||
         std::ranges::any_of(lane.sends, [&](std::uint32_t to) { return connections_[to].in_host_memory; });
}

net::Footprint Executor::write_route(DeviceId writer, DeviceId memory, const net::FlowKey& flow) const {
  net::Footprint write = router_.route(writer, memory, flow);
  for (Usage& usage : write.usages) usage.usage /= costs_.pcie_share;
  return write;
}

// Requests take room on the way to the memory.
net::Footprint Executor::read_route(DeviceId memory, DeviceId reader, const net::FlowKey& flow) const {
  net::Footprint read = router_.route(memory, reader, flow);
  net::Footprint requests = router_.route(reader, memory, flow);
  for (Usage& usage : read.usages) usage.usage /= costs_.pcie_share;
  for (Usage& usage : requests.usages) usage.usage *= kRequestShare / costs_.pcie_share;
  read.couple(requests);
  read.paths.resize(1);  // packets carry the data; what their requests take is not charged there
  return read;
}

// All of the way, written and read at once where it leads through host memory: for flows without steps.
std::optional<net::Footprint> Executor::find_way(Rank from, Rank to, int channel, Nets nets) const {
  const DeviceId source = communicator_.device(from);
  const DeviceId destination = communicator_.device(to);
  const net::FlowKey key = communicator_.flow_key(nets, from, to, channel);
  const std::optional<DeviceId> memory = memory_between(from, to);
  if (!memory) return router_.find_route(source, destination, key);
  net::Footprint both = write_route(source, *memory, key);
  const net::Footprint down = read_route(*memory, destination, key);
  const Duration latency = both.latency + down.latency;
  both.couple(down);
  both.latency = latency;
  return both;
}

net::Footprint Executor::route(Rank from, Rank to, int channel) const {
  if (std::optional<net::Footprint> way = find_way(from, to, channel, nets_)) return *std::move(way);
  if (const std::optional<std::string> cut = what_is_cut(from, to, channel)) throw ConfigError(*cut);
  return router_.route(communicator_.device(from), communicator_.device(to), {});  // says why there is none
}

bool Executor::crosses(const Schedule& schedule, const std::vector<bool>& links) const {
  const auto is_one = [&](const Usage& usage) {
    return usage.resource.index() < links.size() && links[usage.resource.index()];
  };
  std::set<std::pair<Rank, Rank>> known;  // of a channel
  const auto leads_over = [&](Rank from, Rank to, int channel) {
    if (from == to || !known.emplace(from, to).second) return false;
    const std::optional<net::Footprint> way = find_way(from, to, channel, schedule.nets());
    return way && std::ranges::any_of(way->usages, is_one);
  };
  for (int channel = 0; channel < schedule.channels(); ++channel) {
    known.clear();
    for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
      for (int lane = 0; lane < schedule.lanes(rank, channel); ++lane) {
        for (std::int64_t i = 0; i < schedule.step_count(rank, channel, lane); ++i) {
          const Step step = schedule.step(rank, channel, lane, i);
          // Data that a switch adds up come to the receiver at once, and say who sends them.
          for (const Rank to : step.send_to) {
            if (leads_over(rank, to, channel)) return true;
          }
          for (const Rank from : step.receive_from) {
            if (leads_over(from, rank, channel)) return true;
          }
        }
      }
    }
  }
  return false;
}

std::string Executor::what_is_cut(std::uint64_t tag) const {
  struct Hop {
    Rank from;
    Rank to;
    int channel;
  };
  std::vector<Hop> hops;
  if (grain_ == Grain::kFluid) {
    const FluidFlow flow = schedule_->fluid_flow(static_cast<std::int64_t>(tag));
    for (const FluidEdge& edge : flow.edges) hops.push_back({edge.from, edge.to, flow.channel});
  } else {
    const Lane& lane = lanes_[(tag & ~kByProxy) >> 32];
    const auto add = [&](std::uint32_t id) { hops.push_back({connections_[id].from, connections_[id].to, lane.channel}); };
    const auto to = static_cast<std::uint32_t>(tag);
    const bool is_read = to == kNone;
    if (is_read || (to & kManyConnections) != 0) std::ranges::for_each(lane.receives, add);
    if (!is_read && (to & kManyConnections) != 0) {
      std::ranges::for_each(lane.sends, add);
    } else if (!is_read) {
      add(to);
    }
  }
  for (const Hop& hop : hops) {
    if (const std::optional<std::string> cut = what_is_cut(hop.from, hop.to, hop.channel)) return *cut;
  }
  const auto name = [&](Rank rank) {
    return fmt::format("rank {} ({})", rank, router_.topology().name(communicator_.device(rank)));
  };
  return fmt::format(
      "packets from {} to {} were lost, and nobody sends them again: state fabric.transport: {{reliability: go_back_n}} in the "
      "cluster, and a timeout in which the loss passes",
      name(hops.front().from), name(hops.front().to));
}

std::optional<std::string> Executor::what_is_cut(Rank from, Rank to, int channel) const {
  if (from == to) return std::nullopt;
  const std::optional<std::string> cut = router_.what_cuts(find_way(from, to, channel, nets_));
  if (!cut) return std::nullopt;
  const net::Topology& topology = router_.topology();
  return fmt::format("no path is left from rank {} ({}) to rank {} ({}): {}", from, topology.name(communicator_.device(from)),
                     to, topology.name(communicator_.device(to)), *cut);
}

FootprintId Executor::path(Rank from, Rank to, int channel) {
  IdMap& paths = paths_[static_cast<std::size_t>(nets_)];
  const std::uint64_t key =
      (static_cast<std::uint64_t>(from) << 40) | (static_cast<std::uint64_t>(to) << 16) | static_cast<std::uint64_t>(channel);
  if (const std::uint32_t* known = paths.find(key)) return FootprintId{*known};
  const FootprintId made = fabric_.add_footprint(route(from, to, channel));
  paths.find_or_add(key, made.value());
  return made;
}

std::uint32_t Executor::connection(Rank from, Rank to, int channel, int index) {
  const std::uint64_t key = (static_cast<std::uint64_t>(from) << 42) | (static_cast<std::uint64_t>(to) << 18) |
                            (static_cast<std::uint64_t>(channel) << 2) | static_cast<std::uint64_t>(index);
  IdMap& ids = connection_ids_[static_cast<std::size_t>(nets_)];
  const auto [id, is_new] = ids.find_or_add(key, static_cast<std::uint32_t>(connections_.size()));
  if (is_new) {
    static_assert(sizeof(Lane) <= kLaneBytes && sizeof(Connection) + 24 <= kConnectionBytes);
    Connection& made = connections_.emplace_back();
    made.from = from;
    made.to = to;
    made.transport = transport(from, to);
    const net::FlowKey flow{static_cast<std::uint64_t>(channel)};
    if (const std::optional<DeviceId> memory = memory_between(from, to)) {
      made.in_host_memory = true;
      made.path = fabric_.add_footprint(write_route(communicator_.device(from), *memory, flow));
      made.read_path = fabric_.add_footprint(read_route(*memory, communicator_.device(to), flow));
    } else if (from != to) {
      made.path = path(from, to, channel);
    }
  }
  return id;
}

}  // namespace weft::coll
