#include "sim/network/parted_fabric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "sim/core/memory.h"
#include "sim/network/builtin.h"
#include "sim/network/packet_level/packet_fabric.h"
#include "tests/network/cluster_support.h"

namespace weft::net {
namespace {

using namespace weft::literals;

struct PartsOutcome {
  std::vector<Time> ends;
  std::vector<std::int64_t> ports;                   // what each link counted
  std::vector<std::int64_t> holds;                   // how long each was paused and without credits, and packets that it marked
  std::vector<std::pair<std::size_t, Time>> pauses;  // of which link, and when
  std::uint64_t hops = 0;
  std::array<std::uint64_t, 2> held = {};  // ports and queue pairs

  bool operator==(const PartsOutcome&) const = default;
};

constexpr std::size_t kHosts = 16;

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

// Each host sends to the third behind it. Of the four in a pod the first stays in it.
Pairs pairs() {
  Pairs all;
  for (std::size_t host = 0; host < kHosts; ++host) all.emplace_back(host, (host + 3) % kHosts);
  return all;
}

// All others send to the first host: three of them from its own pod.
Pairs incast() {
  Pairs all;
  for (std::size_t host = 1; host < kHosts; ++host) all.emplace_back(host, 0);
  return all;
}

PacketSettings settings() {
  PacketSettings settings;
  settings.pfc.priorities = 0xFF;
  settings.transport.acks = AckMode::kPackets;
  settings.transport.reliability = Reliability::kNone;
  return settings;
}

PacketSettings small_queues() {
  PacketSettings pauses = settings();
  pauses.pfc.xoff = 20'000_B;
  pauses.pfc.xon = 16'000_B;
  pauses.ecn = {.priorities = 0xFF, .kmin = 5'000_B, .kmax = 20'000_B, .pmax = 0.5};
  return pauses;
}

void add_flows(const Cluster& cluster, const Router& router, Fabric& fabric, std::vector<Transfer>& transfers,
               const Pairs& flows = pairs()) {
  const std::vector<DeviceId> hosts = cluster.topology.endpoints();
  for (const auto& [from, to] : flows) {
    const FootprintId way = fabric.add_footprint(router.route(hosts[from], hosts[to], {from}));
    transfers.push_back({.footprint = way, .bytes = 200_KiB, .tag = transfers.size()});
  }
}

PartsOutcome counts(const PacketProbe& fabric, const Topology& topology) {
  PartsOutcome seen;
  for (std::size_t i = 0; i < topology.link_count(); ++i) {
    const PortCounters port = fabric.port(LinkId::from_index(i));
    seen.ports.insert(seen.ports.end(), {port.bytes, port.packets, port.drops});
    seen.holds.insert(seen.holds.end(), {port.paused.ps(), port.xmit_wait.ps(), port.marks});
  }
  for (const PauseRecord& pause : fabric.pauses()) seen.pauses.emplace_back(pause.link.index(), pause.start);
  seen.hops = fabric.packet_hops();
  return seen;
}

PartsOutcome in_parts(const Cluster& cluster, std::string_view routing, const PartHands& hands,
                      const PacketSettings& how = settings(), const Pairs& flows = pairs()) {
  Simulator clock;
  const Router router{cluster.topology, make_routing_policy(routing), 1};
  const Partition partition = cut_into_parts(cluster.topology);
  EXPECT_EQ(partition.parts, 4U);
  PartedFabric fabric{clock, router, routing, how, 1, partition, hands};
  std::vector<Transfer> transfers;
  add_flows(cluster, router, fabric, transfers, flows);
  for (const Transfer& transfer : transfers) fabric.post_at(Time{}, transfer);
  fabric.run();
  fabric.check_conservation();
  PartsOutcome seen = counts(fabric, cluster.topology);
  for (const Transfer& transfer : transfers) seen.ends.push_back(fabric.delivered_at(transfer.tag));
  const auto held = fabric.held();
  seen.held = {held[static_cast<std::size_t>(MemoryKind::kPort)].count,
               held[static_cast<std::size_t>(MemoryKind::kTransfer)].count};
  return seen;
}

Cluster fat_tree() { return test::load(test::hosts_yaml(kHosts, "type: fat_tree, k: 4")); }

TEST(PartedFabricTest, ThreadsChangeNothing) {
  const Cluster cluster = fat_tree();
  for (const std::string_view routing : {"spray", "ecmp", "adaptive"}) {
    const PartsOutcome one = in_parts(cluster, routing, {.threads = 1});
    for (const int threads : {2, 3, 4})
      EXPECT_EQ(in_parts(cluster, routing, {.threads = threads}), one) << routing << ", " << threads;
  }
}

// Processes that are threads of this one: a round ends when each of them has given its texts.
class Threads {
 public:
  explicit Threads(int count) : texts_(static_cast<std::size_t>(count)), round_{count} {}

  class One final : public PartProcesses {
   public:
    One(Threads& all, int rank) : all_{all}, rank_{rank} {}
    [[nodiscard]] int rank() const override { return rank_; }
    [[nodiscard]] int size() const override { return static_cast<int>(all_.texts_.size()); }
    void begin(int) override {}
    [[nodiscard]] std::vector<std::string> exchange(std::vector<std::string> to) override {
      all_.texts_[static_cast<std::size_t>(rank_)] = std::move(to);
      all_.round_.arrive_and_wait();
      std::vector<std::string> from(all_.texts_.size());
      for (std::size_t other = 0; other < from.size(); ++other) {
        if (static_cast<int>(other) != rank_) from[other] = all_.texts_[other][static_cast<std::size_t>(rank_)];
      }
      all_.round_.arrive_and_wait();
      return from;
    }
    void finish() override {}

   private:
    Threads& all_;
    int rank_;
  };

 private:
  std::vector<std::vector<std::string>> texts_;  // by who wrote them
  std::barrier<> round_;
};

// The first process knows in the end what one process would have seen.
TEST(PartedFabricTest, ProcessesChangeNothing) {
  const Cluster cluster = fat_tree();
  for (const std::string_view routing : {"spray", "ecmp"}) {
    PartsOutcome one = in_parts(cluster, routing, {.threads = 1}, small_queues(), incast());
    EXPECT_FALSE(one.pauses.empty());
    for (const int count : {2, 3, 4}) {
      Threads all{count};
      std::vector<std::jthread> others;
      for (int rank = 1; rank < count; ++rank) {
        others.emplace_back([&, rank] {
          Threads::One self{all, rank};
          EXPECT_THROW(static_cast<void>(in_parts(cluster, routing, {.processes = &self}, small_queues(), incast())),
                       ServedOthers);
        });
      }
      Threads::One first{all, 0};
      PartsOutcome seen = in_parts(cluster, routing, {.processes = &first}, small_queues(), incast());
      EXPECT_LT(seen.held[0], one.held[0]) << "its own parts alone";
      seen.held = one.held;
      EXPECT_EQ(seen, one) << routing << ", " << count;
    }
  }
}

// Parts do more to each other than send packets: a full last link holds up senders of all four, by pauses or by credits.
TEST(PartedFabricTest, ThreadsChangeNothingWhereQueuesFill) {
  const Cluster cluster = fat_tree();
  const PacketSettings pauses = small_queues();
  PacketSettings credits = settings();
  credits.pfc.priorities = 0;
  credits.credits.enabled = true;
  const auto sum_of = [](const PartsOutcome& seen, std::size_t which) {
    std::int64_t sum = 0;
    for (std::size_t i = which; i < seen.holds.size(); i += 3) sum += seen.holds[i];
    return sum;
  };
  for (const std::string_view routing : {"spray", "ecmp"}) {
    for (const PacketSettings& how : {pauses, credits}) {
      const PartsOutcome one = in_parts(cluster, routing, {.threads = 1}, how, incast());
      EXPECT_EQ(sum_of(one, 0) > 0, !how.credits.enabled);
      EXPECT_EQ(sum_of(one, 1) > 0, how.credits.enabled);
      EXPECT_EQ(sum_of(one, 2) > 0, !how.credits.enabled);
      for (const int threads : {2, 3, 4})
        EXPECT_EQ(in_parts(cluster, routing, {.threads = threads}, how, incast()), one) << routing << ", " << threads;
    }
  }
}

// Packets of flows with one path take the same links as in one part. Only what meets at an instant may have another order.
TEST(PartedFabricTest, CountsAreThoseOfOnePart) {
  class Ends final : public TransferListener {
   public:
    void on_source_free(TransferId, std::uint64_t) override {}
    void on_delivered(TransferId, std::uint64_t) override { ++delivered; }
    void on_aborted(TransferId, std::uint64_t) override { FAIL(); }
    std::size_t delivered = 0;
  };
  const Cluster cluster = fat_tree();
  const PacketSettings how = settings();
  Simulator simulator;
  const Router router{cluster.topology, make_routing_policy("ecmp"), 1};
  PacketFabric fabric{simulator, router, how, 1};
  std::vector<Transfer> transfers;
  add_flows(cluster, router, fabric, transfers);
  Ends ends;
  for (const Transfer& transfer : transfers) fabric.post(transfer, ends);
  simulator.run();
  EXPECT_EQ(ends.delivered, kHosts);
  const PartsOutcome whole = counts(fabric, cluster.topology);
  const PartsOutcome parts = in_parts(cluster, "ecmp", {.threads = 2});
  EXPECT_EQ(parts.hops, whole.hops);
  EXPECT_EQ(parts.ports, whole.ports);
}

// Each part holds its own links, and of flows those that begin or end in it: all but the four inside pods have ends in two.
TEST(PartedFabricTest, PartsHoldWhatIsTheirs) {
  const Cluster cluster = fat_tree();
  const PartsOutcome seen = in_parts(cluster, "spray", {.threads = 2});
  EXPECT_EQ(seen.held[0], cluster.topology.link_count());
  EXPECT_EQ(seen.held[1], 2 * kHosts - 4);
}

TEST(PartedFabricTest, PacketsAreSortedByTheirTimes) {
  for (const std::int64_t spread : {std::int64_t{1}, std::int64_t{50}, std::int64_t{3'000'000}, std::int64_t{1} << 50}) {
    for (const std::uint32_t count : {0U, 1U, 10U, 1'000U}) {
      std::vector<DuePacket> due;
      std::uint64_t state = 7;
      for (std::uint32_t i = 0; i < count; ++i) {
        state = state * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;  // Knuth's generator
        due.push_back({Time::from_ps(std::int64_t{1'000} + static_cast<std::int64_t>(state >> 13) % spread), i});
      }
      std::vector<DuePacket> expected = due;
      std::ranges::stable_sort(expected, {}, &DuePacket::at);
      std::vector<DuePacket> room;
      sort_due(due, room);
      ASSERT_EQ(due.size(), expected.size());
      for (std::size_t i = 0; i < due.size(); ++i) ASSERT_EQ(due[i].packet, expected[i].packet) << spread << ", " << i;
    }
  }
}

}  // namespace
}  // namespace weft::net
