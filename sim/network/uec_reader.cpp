#include "sim/network/uec_reader.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <memory>
#include <string_view>
#include <utility>

#include "sim/network/builtin.h"

namespace weft::net {
namespace {

constexpr std::int64_t kMostEntropies = 65'536;  // a value has 16 bits (UEC 1.0)
// uet-htsim: least time until packets are sent again, and size of an acknowledgement and of a trimmed packet.
constexpr Duration kUecTimeout = Duration::from_us(100);
constexpr Bytes kUecHeader{64};

constexpr std::array<std::string_view, 3> kUecKeys = {"delivery_mode", "load_balancing", "entropy_values"};
// Keys of RDMA's transport, and where UEC has what they say.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kRdmaKeys = {
    {{"reliability", "delivery_mode says how it is reliable"},
     {"queue_pairs", "entropy_values spreads it over paths"},
     {"cnps", "marks come back with acknowledgements"},
     {"cnp_size", "marks come back with acknowledgements"},
     {"cnp_interval", "marks come back with acknowledgements"}}};

UecSettings read_uec(ParamReader& section) {
  UecSettings uec;
  uec.mode =
      section.choice<DeliveryMode>("delivery_mode", {{"rud", DeliveryMode::kRud}, {"rod", DeliveryMode::kRod}}, uec.mode);
  uec.spreading = section.choice<EntropySpreading>(
      "load_balancing",
      {{"oblivious", EntropySpreading::kOblivious}, {"bitmap", EntropySpreading::kBitmap}, {"reps", EntropySpreading::kReps}},
      uec.spreading);
  const auto values =
      section.optional<std::int64_t>("entropy_values", uec.entropy_values, between(std::int64_t{1}, kMostEntropies));
  uec.entropy_values = static_cast<std::uint32_t>(values);
  if (values >= 1 && !std::has_single_bit(static_cast<std::uint64_t>(values)))
    section.error("entropy_values", fmt::format("expected a power of two, got {}", values));
  if (uec.mode == DeliveryMode::kRod) {
    for (const std::string_view key : {"load_balancing", "entropy_values"})
      if (section.has(key)) section.error(key, "has no effect on reliable ordered delivery, which takes one path");
  }
  return uec;
}

}  // namespace

void read_transport_type(ParamReader& section, TransportSettings& settings) {
  const bool is_uec = section.choice<bool>("type", {{"rdma", false}, {"uec", true}}, false);
  const UecSettings uec = read_uec(section);
  if (!is_uec) {
    for (const std::string_view key : kUecKeys)
      if (section.has(key)) section.error(key, "has no effect without type: uec");
    return;
  }
  settings.uec = uec;
  settings.acks = AckMode::kPackets;
  settings.ack_size = kUecHeader;
  settings.timeout = kUecTimeout;
  settings.cnps = AckMode::kNone;
  settings.reliability = settings.uec->mode == DeliveryMode::kRod ? Reliability::kGoBackN : Reliability::kSelectiveRepeat;
  if (section.has("congestion_control")) return;
  ParamReader none{ConfigNode::parse("{}", section.node().file(), section.node().child_path("congestion_control")),
                   section.diagnostics()};
  settings.congestion = nscc.make(none);
  none.finish();
}

void refuse_beside_uec(ParamReader& section, const TransportSettings& settings) {
  if (!settings.uec) return;
  for (const auto& [key, why] : kRdmaKeys)
    if (section.has(key)) section.error(key, fmt::format("is not of Ultra Ethernet's transport: {}", why));
  if (section.has("acks") && settings.acks == AckMode::kNone)
    section.error("acks", "Ultra Ethernet's delivery is reliable: it needs acknowledgements", "acks: free, or packets");
}

void read_trimming(ParamReader& switches, SwitchSettings& settings) {
  const bool trims = switches.optional<bool>("trimming", settings.trim_size.has_value());
  const auto size = switches.optional<Bytes>("trim_size", settings.trim_size.value_or(kUecHeader), positive);
  settings.trim_priority =
      static_cast<int>(switches.optional<std::int64_t>("trim_priority", settings.trim_priority, between(0, kPriorities - 1)));
  settings.trim_size = trims ? std::optional{size} : std::nullopt;
  if (!trims) {
    for (const std::string_view key : {"trim_size", "trim_priority"})
      if (switches.has(key)) switches.error(key, "has no effect without trimming: true");
  } else if (switches.has("trimming") && !settings.buffer && !settings.queue_limit) {
    switches.error("trimming", "has no effect where queues have no limit", "state queue_limit or buffer");
  }
}

void check_trimming(ParamReader& switches, const PacketSettings& settings) {
  if (!settings.switches.trim_size || settings.transport.uec || !switches.has("trimming")) return;
  switches.error("trimming", "the receivers of this transport do not answer trimmed packets", "transport: {type: uec}");
}

bool grants_credit(const TransportSettings& settings) { return settings.uec && settings.uec->mode != DeliveryMode::kRod; }

void check_credits(ParamReader& section, const TransportSettings& settings) {
  if (settings.congestion == nullptr || !settings.congestion->needs().credits || grants_credit(settings)) return;
  if (!settings.uec) {
    section.error("congestion_control", "destinations grant credit with Ultra Ethernet's transport only", "type: uec");
  } else {
    section.error("congestion_control", "destinations grant no credit to reliable ordered delivery",
                  "delivery_mode: rud, or congestion_control: nscc");
  }
}

void read_link_retry(ParamReader& fabric, PacketSettings& settings) {
  settings.link_retry = fabric.optional<bool>("llr", false);
  const auto link = fabric.node().find("link");
  const auto type = link && link->is_map() ? link->find("type") : std::nullopt;
  if (settings.link_retry && type && type->is_scalar() && type->scalar() != "ethernet")
    fabric.error("llr", fmt::format("is of Ethernet's links; those of this fabric are of type '{}'", type->scalar()));
}

std::string default_routing(const ConfigNode& fabric) {
  const auto transport = fabric.find("transport");
  if (!transport || !transport->is_map()) return "ecmp";
  const auto type = transport->find("type");
  return type && type->is_scalar() && type->scalar() == "uec" ? "entropy" : "ecmp";
}

void check_routing(ParamReader& fabric, const std::string& routing, const TransportSettings& transport) {
  if (!fabric.has("routing")) return;
  if (routing == entropy_routing.name && !transport.uec) {
    fabric.error("routing", "packets have entropy values with Ultra Ethernet's transport only", "transport: {type: uec}");
  } else if (transport.uec && transport.uec->mode == DeliveryMode::kRud && transport.uec->entropy_values > 1 &&
             routing == ecmp.name) {
    fabric.error("routing", "a flow has one path with 'ecmp', whatever its entropy values",
                 "routing: entropy, or entropy_values: 1");
  }
}

}  // namespace weft::net
