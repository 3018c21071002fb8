// Communicators and schedules for tests of collectives.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "sim/collectives/builtin.h"
#include "sim/collectives/communicator.h"
#include "sim/collectives/schedule.h"
#include "tests/support/topologies.h"

namespace weft::testing {

// Returns a call on elements of 4 bytes.
inline coll::CollectiveCall call(coll::Collective kind, Bytes bytes, Rank root = 0) {
  return {.kind = kind, .bytes = bytes, .element_size = 4, .root = root};
}

inline std::string msccl_file(const std::string& name) { return std::string{WEFT_TEST_DATA} + "/msccl/" + name + ".xml"; }

// `ranks` bare hosts on one switch. The rings of the channels differ: rank order, then its reverse from another start, then the
// even ranks before the odd ones, and so on again.
class Group {
 public:
  explicit Group(int ranks, int channels = 1)
      : topology_{star(ranks, Bandwidth::from_bytes_per_second(1'000'000'000), Duration::from_us(1))},
        communicator_{topology_, topology_.endpoints(), mixed_rings(ranks, channels)} {}
  // One node for each number, with as many GPUs. `dealt_out`: ranks go to the nodes in turn, not node after node.
  explicit Group(const std::vector<int>& ranks_of_nodes, int channels = 1, bool dealt_out = false)
      : topology_{bare_nodes(ranks_of_nodes)},
        communicator_{topology_, gpus(topology_, ranks_of_nodes, dealt_out),
                      mixed_rings(std::accumulate(ranks_of_nodes.begin(), ranks_of_nodes.end(), 0), channels)} {}
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  [[nodiscard]] const coll::Communicator& communicator() const { return communicator_; }

  static std::vector<coll::RingOrder> mixed_rings(int ranks, int channels) {
    std::vector<coll::RingOrder> rings;
    for (int channel = 0; channel < channels; ++channel) {
      coll::RingOrder order;
      if (channel % 3 == 0) {
        for (Rank i = 0; i < ranks; ++i) order.push_back(i);
      } else if (channel % 3 == 1) {
        for (Rank i = 0; i < ranks; ++i) order.push_back((ranks / 2 - i + ranks) % ranks);
      } else {
        for (Rank i = 0; i < ranks; i += 2) order.push_back(i);
        for (Rank i = 1; i < ranks; i += 2) order.push_back(i);
      }
      rings.push_back(std::move(order));
    }
    return rings;
  }

 private:
  // GPUs only: who is on which node is all that schedules ask.
  static net::Topology bare_nodes(const std::vector<int>& ranks_of_nodes) {
    net::TopologyBuilder builder;
    for (const int ranks : ranks_of_nodes) {
      net::HostTemplate host;
      host.name = "gpus" + std::to_string(ranks);
      for (int g = 0; g < ranks; ++g) {
        net::TemplateDevice device;
        device.name = "gpu" + std::to_string(g);
        host.devices.push_back(device);
      }
      builder.add_host(builder.add_template(host));
    }
    return std::move(builder).freeze();
  }

  static std::vector<DeviceId> gpus(const net::Topology& topology, const std::vector<int>& ranks_of_nodes, bool dealt_out) {
    std::vector<DeviceId> devices(topology.endpoints().begin(), topology.endpoints().end());
    if (!dealt_out) return devices;
    std::vector<DeviceId> dealt;
    for (std::size_t round = 0; dealt.size() < devices.size(); ++round) {
      std::size_t first = 0;
      for (const int ranks : ranks_of_nodes) {
        if (round < static_cast<std::size_t>(ranks)) dealt.push_back(devices[first + round]);
        first += static_cast<std::size_t>(ranks);
      }
    }
    return dealt;
  }

  net::Topology topology_;
  coll::Communicator communicator_;
};

inline std::unique_ptr<coll::Schedule> plan(const coll::Communicator& communicator, const coll::CollectiveCall& call,
                                            const std::string& algorithm, int channels = 1, Bytes chunk = Bytes{2 << 20}) {
  const coll::Choice choice{.algorithm = algorithm, .protocol = "", .channels = channels, .chunk = chunk};
  return coll::make_algorithm(algorithm)->plan(communicator, call, choice);
}

// A schedule written out: every lane's steps in a table that a test may fill or change.
class TableSchedule final : public coll::Schedule {
 public:
  using Lane = std::vector<coll::Step>;

  TableSchedule(int ranks, int channels) : ranks_{ranks}, channels_{channels}, lanes_(count(ranks) * count(channels)) {}
  explicit TableSchedule(const coll::Schedule& other) : TableSchedule{other.ranks(), other.channels()} {
    for (Rank rank = 0; rank < ranks_; ++rank) {
      for (int channel = 0; channel < channels_; ++channel) {
        for (int k = 0; k < other.lanes(rank, channel); ++k) {
          Lane& steps = lane(rank, channel, k);
          for (std::int64_t i = 0; i < other.step_count(rank, channel, k); ++i) {
            steps.push_back(other.step(rank, channel, k, i));
          }
        }
      }
    }
  }

  // Made if it is not there.
  Lane& lane(Rank rank, int channel = 0, int lane = 0) {
    std::vector<Lane>& lanes = lanes_[index(rank, channel)];
    if (lanes.size() <= count(lane)) lanes.resize(count(lane) + 1);
    return lanes[count(lane)];
  }

  [[nodiscard]] int ranks() const override { return ranks_; }
  [[nodiscard]] int channels() const override { return channels_; }
  [[nodiscard]] int lanes(Rank rank, int channel) const override {
    return static_cast<int>(lanes_[index(rank, channel)].size());
  }
  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override {
    return static_cast<std::int64_t>(lanes_[index(rank, channel)][count(lane)].size());
  }
  [[nodiscard]] coll::Step step(Rank rank, int channel, int lane, std::int64_t i) const override {
    return lanes_[index(rank, channel)][count(lane)][static_cast<std::size_t>(i)];
  }

 private:
  static std::size_t count(int i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] std::size_t index(Rank rank, int channel) const { return count(rank * channels_ + channel); }

  int ranks_;
  int channels_;
  std::vector<std::vector<Lane>> lanes_;  // by rank and channel
};

// Bytes each pair of ranks exchanges on each channel, added up from the steps. What a rank gives to itself crosses no link.
using Traffic = std::map<std::pair<int, std::pair<Rank, Rank>>, std::int64_t>;  // (channel, (from, to))
inline Traffic traffic_of_steps(const coll::Schedule& schedule) {
  Traffic traffic;
  for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
    for (int channel = 0; channel < schedule.channels(); ++channel) {
      for (int lane = 0; lane < schedule.lanes(rank, channel); ++lane) {
        for (std::int64_t i = 0; i < schedule.step_count(rank, channel, lane); ++i) {
          const coll::Step step = schedule.step(rank, channel, lane, i);
          int peer = 0;
          for (const Rank to : step.send_to) {
            const Bytes bytes = step.bytes_of_peer(peer++);
            if (to != rank) traffic[{channel, {rank, to}}] += bytes.count();
          }
        }
      }
    }
  }
  return traffic;
}

// The most bytes an edge of each fluid flow carries by the steps; the flows together must name every edge that carries any.
inline std::vector<std::int64_t> busiest_edges(const coll::Schedule& schedule) {
  Traffic traffic = traffic_of_steps(schedule);
  std::vector<std::int64_t> busiest;
  for (std::int64_t i = 0; i < schedule.fluid_flow_count(); ++i) {
    const coll::FluidFlow flow = schedule.fluid_flow(i);
    std::int64_t most = 0;
    for (const coll::FluidEdge& edge : flow.edges) {
      const auto at = traffic.find({flow.channel, {edge.from, edge.to}});
      if (at == traffic.end()) return {-1};
      most = std::max(most, at->second);
      traffic.erase(at);
    }
    busiest.push_back(most);
  }
  return traffic.empty() ? busiest : std::vector<std::int64_t>{-1};
}

}  // namespace weft::testing
