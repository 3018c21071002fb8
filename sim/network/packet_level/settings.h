// Packet fidelity needs these settings of a network beyond its topology: buffers, pause, marks, credits, schedulers, and the
// endpoints' transport. They are read from the sections `switch`, `pfc`, `ecn`, `credits` and `transport` of a cluster's fabric
// (packet_settings_reader.h). Flow fidelity ignores all of it.
//
// Priorities are 0 to 7; where nothing else is said the higher one is served first.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/units.h"
#include "sim/network/congestion.h"
#include "sim/network/uec_settings.h"

namespace weft::net {

inline constexpr int kPriorities = 8;
using PriorityMask = std::uint8_t;  // bit p: priority p
constexpr PriorityMask priority_bit(int priority) { return static_cast<PriorityMask>(1U << static_cast<unsigned>(priority)); }

enum class Scheduling : std::uint8_t {
  kStrict,  // the highest priority that has a packet and may send
  kDwrr,    // deficit-weighted round robin, deficits in bytes
  kLanes,   // InfiniBand's VL arbitration (vl_arbitration.cpp)
};

// The two tables of a port that arbitrates virtual lanes.
struct LaneTables {
  struct Entry {
    std::uint8_t lane = 0;
    std::int64_t bytes = 0;  // its weight: what may leave in one turn
  };
  std::vector<Entry> high;
  std::vector<Entry> low;
  std::int64_t high_limit = 0;  // bytes of `high` before `low` has its chance; 0: a packet
};

struct SwitchSettings {
  // Packet memory that all ports of a switch share; none: unbounded. Packets that fit nowhere are dropped.
  std::optional<Bytes> buffer = {};
  // Where `buffer` is given: a queue of a lossy priority holds at most alpha x what is free (Choudhury-Hahne, models/network
  // §2.4). 0: a queue may take all that is free.
  double egress_alpha = 0;
  // The most one egress queue holds; none: no limit of its own.
  std::optional<Bytes> queue_limit = {};
  // A packet of Ultra Ethernet that finds no room is cut to this and goes on at `trim_priority`; none: it is dropped.
  std::optional<Bytes> trim_size = {};
  int trim_priority = 7;
  Scheduling scheduling = Scheduling::kStrict;
  std::array<double, kPriorities> weights = {1, 1, 1, 1, 1, 1, 1, 1};  // of kDwrr
  LaneTables lanes = {};                                               // of kLanes
};

// A switch's watchdog against storms of pauses, in SONiC's words (watchdog.cpp).
struct WatchdogSettings {
  Duration detection = Duration::from_us(200'000);    // a queue with packets that is paused for so long is in a storm
  Duration restoration = Duration::from_us(200'000);  // without a pause for so long, the storm is over
  bool drops = true;                                  // what waits there and what comes; else storms are counted only
  std::vector<DeviceId> ports = {};                   // at the far ends of the ports that it watches; empty: all
};

// Priority flow control (models/network §2.5): bytes are counted per ingress port and priority.
struct PfcSettings {
  PriorityMask priorities = 0;  // lossless ones; 0: no PFC
  bool dynamic = false;         // threshold alpha x free shared bytes instead of `xoff`
  Bytes xoff{100'000};
  Bytes xon{97'000};
  double alpha = 0.125;
  Bytes reserved{0};    // of each ingress and priority, before the shared memory (dynamic)
  Bytes hysteresis{0};  // dynamic: XON where usage + hysteresis <= threshold
  // Bytes above the threshold that an ingress may take while its pause travels; none: as much as comes. What does not fit is
  // dropped.
  std::optional<Bytes> headroom = {};
  bool compute_headroom = false;  // per link, from cable, MTU, response and frame (models/network §2.5), in place of `headroom`
  // Bytes of a pause frame on the wire; it waits for the packet in transmission on its way back. 0: neither, it just
  // propagates.
  Bytes frame{0};
  Duration response = {};  // from a pause frame's arrival until the sender heeds it
  // A pause frame asks for this, in quanta of 512 bit times of the paused link; 0: it lasts until it is taken back.
  std::int64_t quanta = 0;
  Duration refresh = {};  // a switch that still pauses says so again after this time; 0: half of `quanta`; max: never
  // A queue paused for as long as this is looked at for deadlock.
  Duration deadlock_after = Duration::from_us(1'000);
  std::optional<WatchdogSettings> watchdog = {};
};

// InfiniBand's forward notification (fecn.cpp), in place of RED.
struct FecnSettings {
  std::optional<Bytes> threshold = {};  // a lane's queue above which its port is congested; none: by `weight`
  int weight = 15;                      // 1 to 15: (16 - weight) / 16 of what a cable's receiver holds of a lane; 0: never
  std::int64_t marking_rate = 0;        // eligible packets between two marks
  Bytes packet_size{0};                 // of the smallest packet that is marked, headers included
  bool victims = false;                 // ports mark too that wait for credits themselves
};

// RED on the instantaneous egress queue (models/network §2.6), or InfiniBand's marks.
struct EcnSettings {
  PriorityMask priorities = 0;  // 0: no marks
  Bytes kmin{5'000};
  Bytes kmax{200'000};
  double pmax = 0.01;
  bool at_enqueue = false;  // else when the packet leaves
  std::optional<FecnSettings> fecn = {};
};

// Credit-based flow control per link and virtual lane (= priority), as InfiniBand, NVLink and PCIe have it (models/network §4).
struct CreditSettings {
  bool enabled = false;
  Bytes block{64};
  std::optional<std::int64_t> credits = {};  // blocks of the receiver's buffer; none: full rate over the link's round trip
  Bytes update{8};                           // of a credit update on the reverse link; it goes ahead of packets
};

enum class AckMode : std::uint8_t {
  kNone,     // nothing comes back: no windows, no retransmission
  kFree,     // arrives after the propagation of the way back and takes no capacity
  kPackets,  // packets on the links back
};

enum class Reliability : std::uint8_t {
  kNone,             // a lost packet is lost; a message with a loss never completes
  kGoBackN,          // in order only; the first packet out of order is answered with a NAK
  kSelectiveRepeat,  // any order, only what is missing is sent again
};

struct TransportSettings {
  std::optional<Bytes> payload = {};  // of a packet; none: the smallest MTU of the fabric links on the way
  std::optional<Bytes> window = {};   // bytes on the wire not yet acknowledged; none: no limit
  Reliability reliability = Reliability::kGoBackN;
  AckMode acks = AckMode::kNone;
  bool no_acks_stated = false;  // the file rules them out
  Bytes ack_size{86};           // on the wire (RoCEv2, models/network §1.8)
  int ack_every = 1;            // data packets; the last of a message is always acknowledged
  int ack_priority = 7;
  Duration cnp_interval = Duration::from_us(50);  // at most one CNP per queue pair in this time; 0: one per mark
  AckMode cnps = AckMode::kFree;                  // kNone: marks come back with the ACKs only
  Bytes cnp_size{98};
  Duration nak_interval = Duration::from_us(500);  // before a NAK is repeated without progress
  Duration timeout = Duration::from_us(67'109);    // 4.096 us x 2^14 (models/network §3.6)
  bool timeout_stated = false;                     // else it is not below three round trips of the path
  int retries = 7;                                 // after as many timeouts in a row and one more it gives up (InfiniBand)
  Bytes telemetry{0};                              // INT bytes added to a data packet on the wire
  int queue_pairs = 1;                             // a message is spread over so many, each with its own path
  Duration post_latency = {};                      // from a post until the NIC may send: doorbell, WQE fetch
  std::optional<double> message_rate = {};         // messages a second of one queue pair; none: no limit
  std::optional<UecSettings> uec = {};             // Ultra Ethernet's transport, in place of RDMA's
  // The congestion control of every queue pair, from its registration and its parameters; null: none.
  std::shared_ptr<const CongestionFactory> congestion = {};
};

// One device's settings.
struct DeviceSettings {
  SwitchSettings switches;
  PfcSettings pfc;
  EcnSettings ecn;
};

struct PacketSettings {
  // Settings of NICs, and of switches where nothing else is said.
  SwitchSettings switches;
  PfcSettings pfc;
  EcnSettings ecn;
  CreditSettings credits;
  TransportSettings transport;
  bool link_retry = false;  // of Ethernet links: LLR (link_retry.cpp)
  // Service level to virtual lane, which is a priority here; -1: the fabric does not take that level.
  std::array<std::int16_t, 16> lane_of_level = {0, 1, 2, 3, 4, 5, 6, 7, -1, -1, -1, -1, -1, -1, -1, -1};
  std::vector<DeviceSettings> own = {};       // of switches that differ from the rest
  std::vector<std::uint32_t> own_index = {};  // by device: 0, or 1 + its place in `own`; empty: nobody differs

  [[nodiscard]] bool has_watchdog() const {
    return pfc.watchdog || std::ranges::any_of(own, [](const DeviceSettings& one) { return one.pfc.watchdog.has_value(); });
  }
  [[nodiscard]] std::size_t index_of(DeviceId device) const { return own_index.empty() ? 0 : own_index[device.index()]; }
  [[nodiscard]] const SwitchSettings& switches_of(DeviceId device) const {
    const std::size_t index = index_of(device);
    return index == 0 ? switches : own[index - 1].switches;
  }
  [[nodiscard]] const PfcSettings& pfc_of(DeviceId device) const {
    const std::size_t index = index_of(device);
    return index == 0 ? pfc : own[index - 1].pfc;
  }
  [[nodiscard]] const EcnSettings& ecn_of(DeviceId device) const {
    const std::size_t index = index_of(device);
    return index == 0 ? ecn : own[index - 1].ecn;
  }
};

}  // namespace weft::net
