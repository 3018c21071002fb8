// NIC transports: what carries NCCL's messages between hosts, a plugin of NCCL and the protocol below it.
//
//   nic: {transport: efa}                          # of a cluster; absent: ib, or roce where the NICs' links are Ethernet
//   nic: {transport: tcpxo, speed: 200 Gb/s}       # `speed`: of every NIC, in place of the template's
//
//   const NicCosts costs = nic_costs(topology, gpu, profile);    // what one message takes beside its bytes and the fabric
//
// Implementations live in transports/, one file each; a new one needs one line in builtin.def. Its numbers are parameters,
// group `network.nic.NAME`. Not here: links and switches of the fabric (link_type.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sim/core/config/params.h"
#include "sim/core/model_text.h"
#include "sim/core/profile.h"
#include "sim/core/registry.h"
#include "sim/core/units.h"
#include "sim/network/topology.h"

namespace weft::net {

// A latency is that of a hop: from a slice ready in its sender's buffer to the receiver that acts on it, beyond the fabric's
// own latency and the time of the bytes. It has proxy threads, NIC, completion and flush.
struct NicCosts {
  Duration ll_latency;
  Duration ll128_latency;
  Duration simple_latency;
  Duration message_cost = {};  // of a GPU's proxy thread, which does the messages of all channels in turn
  double rate_share = 1.0;     // of a link's rate, beside headers
};

struct NicTransport {
  std::string_view called;  // "InfiniBand": in sentences
  const ParamGroupBase* group;
  NicCosts (*costs)(const Profile&);
  bool gpu_direct = true;              // the NIC reads and writes the memory of GPUs
  std::string_view plans_with = {};    // microseconds that the plugin tells NCCL, whose tuning adds them to each step
  std::string_view uncalibrated = {};  // how far off times may be where no measurement tells them; empty: one does
};

// A ParamGroup takes the defaults of its parameters from a default-constructed struct, so each transport has a struct of its
// own.
template <const NicCosts& kDefaults>
struct NicCostsWith : NicCosts {
  NicCostsWith() : NicCosts{kDefaults} {}
};
template <const NicCosts& kDefaults>
using NicGroup = ParamGroup<NicCostsWith<kDefaults>>;

struct NicOrigins {
  Origin ll;
  Origin ll128;
  Origin simple;
  Origin message;
  Origin rate;
};

template <const NicCosts& kDefaults>
NicGroup<kDefaults> nic_group(const std::string& name, const std::string& what, const NicOrigins& origins) {
  using Costs = NicCostsWith<kDefaults>;
  constexpr Duration kLongest = Duration::from_us(1'000);
  const auto time = [&](const char* key, Duration NicCosts::*member, const Origin& origin, const char* description) {
    return from_origin(param<Costs, Duration>(key, member, {.max = kLongest, .description = description}), origin);
  };
  return NicGroup<kDefaults>{
      "network.nic." + name,
      "messages of NCCL over " + what,
      {time("ll_latency", &NicCosts::ll_latency, origins.ll,
            "until the receiver acts on a message in LL, beyond the fabric's own"),
       time("ll128_latency", &NicCosts::ll128_latency, origins.ll128, "the same in LL128"),
       time("simple_latency", &NicCosts::simple_latency, origins.simple, "the same of a slice in Simple"),
       time("message_cost", &NicCosts::message_cost, origins.message, "of a GPU's proxy thread, for each message it sends"),
       from_origin(
           param<Costs, double>(
               "rate_share", &NicCosts::rate_share,
               {.unit = "ratio", .min = 1e-3, .max = 1.0, .description = "of a link's rate that messages get, beside headers"}),
           origins.rate)}};
}

// All transports share this text.
inline constexpr ModelText kNicTransportText{
    .title = "NIC transports: what carries NCCL's messages between hosts",
    .assumes =
        "A message takes a latency by protocol beyond bytes and fabric, and its sender's proxy thread a time of its own, one "
        "message after another. Plugins stripe messages over all ports of a NIC.",
    .leaves_out = {"NIC transports: plugins' own choices of algorithm (tuners) and limits of credit",
                   "NIC transports without GPUDirect: the copy through host memory takes no part of PCIe's rate"},
    .sources = {"models/nccl §6.3, §6.4, §6.6"}};

template <const auto& kGroup>
NicCosts read_nic_costs(const Profile& profile) {
  return profile.get(kGroup);
}

// The transport by name, or nullptr. The objects live for ever.
[[nodiscard]] const NicTransport* find_nic_transport(std::string_view name);

// Reads a cluster's `nic` and labels the host's NICs with it. Returns the transport's name; empty: it states none.
[[nodiscard]] std::string read_nic(ParamReader& nic, HostTemplate& host);
// Returns that of hosts that state none, by the type of the links that join their NICs to the fabric.
[[nodiscard]] std::string_view default_nic_transport(std::string_view link_type);
// That of the host's NICs, or the one that the type of their links suggests.
[[nodiscard]] std::string_view nic_transport_of(const Topology& topology, DeviceId device);

// Returns what messages cost that leave the host of `device`.
[[nodiscard]] NicCosts nic_costs(const Topology& topology, DeviceId device, const Profile& profile);

}  // namespace weft::net
