// Collectives while cables fail and come back: their connections take what is left, wait where a cable will be back, and are
// given up only where there is no way. Four hosts, two on each of two leaves, two spines; 100 Gb/s, no latency. A ring in rank
// order sends one flow up from each leaf, so that one spine carries all of it: an all-reduce of 4 MB takes 6 steps of 80 us,
// failure or not.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "sim/collectives/costs.h"
#include "sim/collectives/runner.h"
#include "sim/core/error.h"
#include "sim/network/builtin.h"
#include "tests/support/two_spines.h"

namespace weft::coll {
namespace {

using namespace literals;

struct Outage {
  std::string from;
  std::string to;
  Duration at;
  Duration until = Duration::max();  // max: for good
};

class LinkFailure final : private EventTarget {
 public:
  LinkFailure(std::vector<Outage> outages, Grain grain, const net::PacketSettings* packet = nullptr,
              std::string_view routing = "ecmp")
      : topology_{testing::two_spines(Bytes{1000})},
        machine_{topology_,
                 routing,
                 1,
                 0,
                 {.fidelity = packet == nullptr ? net::Fidelity::kFlow : net::Fidelity::kPacket, .packet = packet}},
        outages_{std::move(outages)},
        grain_{grain} {
    machine_.router.expect_changes();
    const ComponentId component = machine_.simulator.add_component("outages");
    for (std::size_t i = 0; i < outages_.size(); ++i) {
      machine_.simulator.schedule(Time{} + outages_[i].at, Phase::kAction, component, *this, 2 * i);
      if (outages_[i].until == Duration::max()) continue;
      machine_.simulator.schedule(Time{} + outages_[i].until, Phase::kAction, component, *this, 2 * i + 1);
    }
  }

  Duration run() {
    ParamGroups groups = collective_param_groups();
    for (const auto& group : net::network_param_groups()) groups.push_back(group);
    const Profile profile = Profile::defaults(groups);
    CollectiveRunner runner{machine_, profile, topology_.endpoints()};
    RunOptions options;
    options.algorithm = "plain_ring";
    options.channels = 1;
    options.grain = grain_;
    const CollectiveResult result = runner.run({.kind = Collective::kAllReduce, .bytes = 4_MB}, options);
    return result.device;
  }
  std::string error() {
    try {
      run();
    } catch (const ConfigError& error) {
      return error.what();
    }
    return {};
  }
  double bytes(const std::string& from, const std::string& to) {
    return machine_.fabric.counters(ResourceId{link(from, to).value()}).bytes;
  }

 private:
  LinkId link(const std::string& from, const std::string& to) const {
    for (const LinkId id : topology_.out_links(*topology_.find(from))) {
      if (topology_.link(id).to == *topology_.find(to)) return id;
    }
    return {};
  }
  void on_event(std::uint64_t event) override {
    const Outage& outage = outages_[event / 2];
    machine_.set_cable_state(link(outage.from, outage.to), event % 2 == 1, outage.until != Duration::max());
  }

  net::Topology topology_;
  net::Machine machine_;
  std::vector<Outage> outages_;
  Grain grain_;
};

constexpr Grain kGrains[] = {Grain::kChunk, Grain::kFluid};

TEST(LinkFailureTest, ARingGoesOnOverTheOtherSpine) {
  for (const Grain grain : kGrains) {
    // Whichever spine the hash gave a flow: one of the two runs hits it.
    for (const char* spine : {"s2", "s3"}) {
      LinkFailure run{{{"s0", spine, 100_us}}, grain};
      EXPECT_EQ(run.run(), 480_us) << to_string(grain) << ' ' << spine;
      const std::string other = spine == std::string{"s2"} ? "s3" : "s2";
      EXPECT_GE(run.bytes("s0", other), 4.75e6);  // of 6 MB, all but what left in 100 us
    }
  }
}

TEST(LinkFailureTest, WhereOnlyAHostsCableIsLeftARingWaitsForIt) {
  // Steps under way stand still for 50 us, and every later step comes as much later.
  for (const Grain grain : kGrains) {
    LinkFailure run{{{"h0", "s0", 100_us, 150_us}}, grain};
    EXPECT_EQ(run.run(), 530_us) << to_string(grain);
  }
}

TEST(LinkFailureTest, WithoutAWayTheErrorNamesRanksAndCables) {
  for (const Grain grain : kGrains) {
    LinkFailure host{{{"h0", "s0", 100_us}}, grain};
    EXPECT_EQ(host.error(), "error: no path is left from rank 0 (h0) to rank 1 (h1): h0->s0 is down\n") << to_string(grain);
    // Both spines gone; the second failure is the one that cuts.
    LinkFailure spines{{{"s0", "s2", 100_us}, {"s0", "s3", 200_us}}, grain};
    EXPECT_EQ(spines.error(), "error: no path is left from rank 1 (h1) to rank 2 (h2): s0->s2 and s0->s3 are down\n")
        << to_string(grain);
  }
}

TEST(LinkFailureTest, ACableThatComesBackTooLateForAnotherIsAnError) {
  LinkFailure run{{{"s0", "s2", 100_us, 200_us}, {"s0", "s3", 150_us}, {"s1", "s2", 180_us}}, Grain::kChunk};
  EXPECT_NE(run.error().find("no path is left from rank 1 (h1) to rank 2 (h2)"), std::string::npos);
}

// Packets in the link are sent again, though nobody acknowledges: a packet or two of each step's last hop, and what was lost.
TEST(LinkFailureTest, PacketsTakeTheOtherSpineToo) {
  for (const bool reliable : {false, true}) {
    net::PacketSettings packet;
    packet.transport.reliability = net::Reliability::kNone;
    if (reliable) {
      packet.transport.acks = net::AckMode::kFree;
      packet.transport.reliability = net::Reliability::kGoBackN;
      packet.transport.timeout = 1_us;
    }
    for (const char* spine : {"s2", "s3"}) {
      LinkFailure run{{{"s0", spine, 100_us}}, Grain::kChunk, &packet};
      const Duration time = run.run();
      EXPECT_GE(time, 480_us) << spine;
      EXPECT_LE(time, 485_us) << spine;
    }
  }
}

TEST(LinkFailureTest, PacketsWaitForACableThatComesBack) {
  net::PacketSettings packet;
  packet.transport.reliability = net::Reliability::kNone;
  LinkFailure run{{{"h0", "s0", 100_us, 150_us}}, Grain::kChunk, &packet};
  const Duration time = run.run();
  EXPECT_GE(time, 530_us);
  EXPECT_LE(time, 535_us);
}

TEST(LinkFailureTest, PacketsWithoutAWayEndWithTheSameError) {
  net::PacketSettings packet;
  packet.transport.reliability = net::Reliability::kNone;
  LinkFailure run{{{"h0", "s0", 100_us}}, Grain::kChunk, &packet};
  const std::string error = run.error();
  EXPECT_NE(error.find("no path is left from rank"), std::string::npos) << error;
  EXPECT_NE(error.find("h0->s0 is down"), std::string::npos) << error;
}

}  // namespace
}  // namespace weft::coll
