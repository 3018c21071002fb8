#include "sim/network/packet_settings_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/config/quantity.h"
#include "sim/core/config/reading_watch.h"
#include "sim/network/infiniband_reader.h"
#include "sim/network/name_range.h"
#include "sim/network/numbered_map.h"
#include "sim/network/uec_reader.h"

namespace weft::net {
namespace {

using namespace literals;

constexpr PriorityMask kAllPriorities = 0xFF;
// Below XOFF, where nothing else is said: three packets of about 1 kB, as in models/network §7 K4.
constexpr Bytes kXonBelowXoff{3'000};
constexpr int kMostRetries = 250;
// INT of five hops, in the format of the HPCC paper (models/network §3.2).
constexpr Bytes kTelemetry{42};

struct Chip {
  std::string_view name;
  Bytes buffer;
};
// Packet memory of switch chips (models/network §2.3). Of Quantum and NVSwitch none is published: their links give credits.
constexpr std::array kChips{Chip{"trident_plus", 9_MB}, Chip{"trident2", 12_MB},  Chip{"tomahawk", 16_MB},
                            Chip{"tomahawk2", 42_MB},   Chip{"tomahawk3", 64_MB}, Chip{"tomahawk4", 113_MB},
                            Chip{"tomahawk5", 165_MB},  Chip{"spectrum", 16_MB},  Chip{"spectrum2", 42_MB},
                            Chip{"spectrum3", 64_MB},   Chip{"spectrum4", 160_MB}};

// The memory stated, or that of the chip stated.
std::optional<Bytes> read_buffer(ParamReader& switches, std::optional<Bytes> buffer) {
  std::vector<std::string> names;
  for (const Chip& chip : kChips) names.emplace_back(chip.name);
  if (switches.has("chip")) {
    const std::string name = switches.choice("chip", names);
    buffer = std::ranges::find(kChips, name, &Chip::name)->buffer;
  }
  const auto stated = switches.optional<Bytes>("buffer", positive);
  return stated ? stated : buffer;
}

bool enabled(ParamReader& section) { return section.optional<bool>("enabled", true); }

// "all", one priority, or a list of them.
PriorityMask read_priorities(ParamReader& section, PriorityMask otherwise = 0) {
  const std::optional<ConfigNode> written = section.optional_raw("priorities");
  if (!written && otherwise != 0) return otherwise;
  if (!written || (written->is_scalar() && written->scalar() == "all")) return kAllPriorities;
  PriorityMask mask = 0;
  const auto take = [&](const ConfigNode& item) {
    const auto number = item.is_scalar() ? parse_integer(item.scalar()) : std::nullopt;
    if (!number || *number < 0 || *number >= kPriorities) {
      section.diagnostics().error(
          item.diagnostic(fmt::format("{}: expected a priority of 0 to 7, got {}", item.path(), found_text(item))));
      return;
    }
    mask |= priority_bit(static_cast<int>(*number));
  };
  if (written->is_list()) {
    for (std::size_t i = 0; i < written->size(); ++i) take((*written)[i]);
    if (written->size() == 0) section.error("priorities", "expected at least one priority", "enabled: false turns it off");
  } else {
    take(*written);
  }
  return mask;
}

// Refuses each of `keys` that is stated although `why` makes it idle.
void refuse_idle(ParamReader& section, std::initializer_list<std::string_view> keys, std::string_view why) {
  for (const std::string_view key : keys) {
    if (section.has(key)) section.error(key, fmt::format("has no effect {}", why));
  }
}

void read_weights(ParamReader& switches, SwitchSettings& settings) {
  if (switches.has("weights") && settings.scheduling != Scheduling::kDwrr) {
    switches.error("weights",
                   fmt::format("has no effect with {}",
                               settings.scheduling == Scheduling::kStrict ? "strict priorities" : "VL arbitration"),
                   "state scheduling: dwrr");
  }
  const NumberedMap expected{.what = "priorities to weights",
                             .example = "{3: 3, 4: 1}",
                             .number = "a priority of 0 to 7",
                             .value = "a number above 0",
                             .numbers = kPriorities};
  read_numbered_map(switches, "weights", expected, [&](std::size_t priority, const std::string& text) {
    const auto weight = parse_number(text);
    if (!weight || *weight <= 0) return false;
    settings.weights[priority] = *weight;
    return true;
  });
}

// Keys that are not stated leave `settings` as they are; so in the sections below.
SwitchSettings read_switch(ParamReader& switches, SwitchSettings settings = {}) {
  settings.buffer = read_buffer(switches, settings.buffer);
  settings.egress_alpha = switches.optional<double>("egress_alpha", settings.egress_alpha, at_least(0.0));
  const auto limit = switches.optional<Bytes>("queue_limit", positive);
  if (limit) settings.queue_limit = limit;
  settings.scheduling = switches.choice<Scheduling>(
      "scheduling", {{"strict", Scheduling::kStrict}, {"dwrr", Scheduling::kDwrr}, {"vl_arbitration", Scheduling::kLanes}},
      settings.scheduling);
  read_weights(switches, settings);
  read_lane_tables(switches, settings);
  read_trimming(switches, settings);
  if (switches.has("egress_alpha") && settings.egress_alpha > 0 && !settings.buffer && !switches.has("buffer") &&
      !switches.has("chip")) {
    switches.error("egress_alpha", "is a share of what is free of 'buffer', which is not given");
  }
  return settings;
}

// A size, "unlimited" or "auto".
void read_headroom(ParamReader& section, PfcSettings& settings) {
  const std::optional<ConfigNode> written = section.optional_raw("headroom");
  if (!written || (written->is_scalar() && written->scalar() == "unlimited")) return;
  if (written->is_scalar() && written->scalar() == "auto") {
    settings.compute_headroom = true;
    return;
  }
  const std::optional<Bytes> size = written->is_scalar() ? parse_bytes(written->scalar()) : std::nullopt;
  if (!size || size->count() < 0) {
    section.error("headroom", fmt::format("expected a size, 'auto' or 'unlimited', got {}", found_text(*written)));
    return;
  }
  settings.headroom = size;
}

// A whole number of quanta, and how soon a switch that still pauses says so again.
void read_quanta(ParamReader& section, PfcSettings& settings) {
  settings.quanta = section.optional<std::int64_t>("quanta", settings.quanta, between(1, 65'535));
  const std::optional<ConfigNode> refresh = section.optional_raw("refresh");
  if (!refresh) return;
  if (settings.quanta == 0) {
    section.error("refresh", "has no effect on pauses that last until they are taken back", "state quanta: 65535, for example");
  } else if (refresh->is_scalar() && refresh->scalar() == "none") {
    settings.refresh = Duration::max();
  } else if (const auto time = refresh->is_scalar() ? parse_duration(refresh->scalar()) : std::nullopt;
             time && *time > Duration{}) {
    settings.refresh = *time;
  } else {
    section.error("refresh", fmt::format("expected a duration or 'none', got {}", found_text(*refresh)));
  }
}

// SONiC's names and its default times; the ports are placed once the topology is there.
std::optional<WatchdogSettings> read_watchdog(ParamReader& pfc, const std::optional<WatchdogSettings>& otherwise) {
  std::optional<ParamReader> section = pfc.optional_map("watchdog");
  if (!section) return otherwise;
  WatchdogSettings settings = otherwise.value_or(WatchdogSettings{});
  const bool on = enabled(*section);
  settings.detection = section->optional<Duration>("detection_time", settings.detection, positive);
  settings.restoration = section->optional<Duration>("restoration_time", settings.restoration, positive);
  settings.drops = section->choice<bool>("action", {{"drop", true}, {"alert", false}}, settings.drops);
  static_cast<void>(section->list<std::string>("ports"));
  section->finish();
  return on ? std::optional{settings} : std::nullopt;
}

PfcSettings read_pfc(ParamReader section, const SwitchSettings& switches, PfcSettings settings = {}) {
  const bool on = enabled(section);
  settings.priorities = read_priorities(section, settings.priorities);
  settings.dynamic = section.choice<bool>("threshold", {{"static", false}, {"dynamic", true}}, settings.dynamic);
  const Bytes before = settings.xon;
  settings.xoff = section.optional<Bytes>("xoff", settings.xoff, positive);
  const Bytes below{std::max<std::int64_t>(0, settings.xoff.count() - kXonBelowXoff.count())};
  settings.xon = section.optional<Bytes>("xon", section.has("xoff") ? below : before);
  settings.alpha = section.optional<double>("alpha", settings.alpha, positive);
  settings.reserved = section.optional<Bytes>("reserved", settings.reserved);
  settings.hysteresis = section.optional<Bytes>("hysteresis", settings.hysteresis);
  read_headroom(section, settings);
  settings.frame = section.optional<Bytes>("frame", settings.frame);
  settings.response = section.optional<Duration>("response", settings.response);
  read_quanta(section, settings);
  settings.deadlock_after = section.optional<Duration>("deadlock_after", settings.deadlock_after, positive);
  settings.watchdog = read_watchdog(section, settings.watchdog);
  if (settings.dynamic) {
    refuse_idle(section, {"xoff", "xon"}, "with a dynamic threshold, which is alpha x what is free of the buffer");
    if (!switches.buffer) {
      section.error("threshold", "a dynamic threshold is a share of the switches' buffer, which is not given",
                    "state fabric.switch.buffer, for example 32 MB");
    }
  } else {
    refuse_idle(section, {"alpha", "reserved", "hysteresis"}, "with a static threshold; state threshold: dynamic");
    if (settings.xon > settings.xoff) {
      section.error("xon", fmt::format("{} is above xoff, {}: a pause would never end as it should", to_string(settings.xon),
                                       to_string(settings.xoff)));
    }
  }
  section.finish();
  if (!on) settings.priorities = 0;
  return settings;
}

EcnSettings read_ecn(ParamReader section, EcnSettings settings = {}) {
  const bool on = enabled(section);
  settings.priorities = read_priorities(section, settings.priorities);
  settings.kmin = section.optional<Bytes>("kmin", settings.kmin);
  settings.kmax = section.optional<Bytes>("kmax", std::max(settings.kmax, settings.kmin));
  settings.pmax = section.optional<Ratio>("pmax", Ratio{settings.pmax}, at_most(Ratio{1.0})).value;
  settings.at_enqueue = section.choice<bool>("mark", {{"dequeue", false}, {"enqueue", true}}, settings.at_enqueue);
  if (settings.kmin > settings.kmax) {
    section.error("kmin", fmt::format("{} is above kmax, {}", to_string(settings.kmin), to_string(settings.kmax)));
  }
  if (settings.pmax < 0) section.error("pmax", "must not be negative");
  section.finish();
  if (!on) settings.priorities = 0;
  return settings;
}

// InfiniBand's marks, in place of RED.
EcnSettings read_forward_marks(ParamReader section, EcnSettings settings) {
  const bool on = enabled(section);
  settings.priorities = read_priorities(section, settings.fecn ? settings.priorities : PriorityMask{0});
  settings.at_enqueue = false;
  settings.fecn = read_fecn(section, settings.fecn.value_or(FecnSettings{}));
  section.finish();
  if (!on) settings = {};
  return settings;
}

// Reads the marks of a fabric or of some switches: RED or InfiniBand's.
EcnSettings read_marks(ParamReader& from, EcnSettings settings) {
  auto red = from.optional_map("ecn");
  auto forward = from.optional_map("fecn");
  if (red) settings = read_ecn(std::move(*red), settings.fecn ? EcnSettings{} : settings);
  if (!forward) return settings;
  const EcnSettings marks = read_forward_marks(std::move(*forward), settings.fecn ? settings : EcnSettings{});
  if (!marks.fecn) return settings.fecn ? EcnSettings{} : settings;
  if (red && settings.priorities != 0) {
    from.error("fecn", "a switch marks by RED (ecn) or as InfiniBand does (fecn); both are on",
               "enabled: false turns a section off");
  }
  return marks;
}

CreditSettings read_credits(ParamReader section) {
  CreditSettings settings;
  settings.enabled = enabled(section);
  settings.block = section.optional<Bytes>("block", settings.block, positive);
  settings.update = section.optional<Bytes>("update", settings.update);
  if (const auto written = section.optional_raw("credits"); written && !(written->is_scalar() && written->scalar() == "auto")) {
    const auto count = written->is_scalar() ? parse_integer(written->scalar()) : std::nullopt;
    if (!count || *count < 1) {
      section.error("credits", fmt::format("expected a number of blocks or 'auto', got {}", found_text(*written)));
    } else {
      settings.credits = count;
    }
  }
  section.finish();
  return settings;
}

// Switches that differ from the rest, by name.
void read_own(ParamReader& fabric, PacketSettings& settings) {
  for (ParamReader& entry : fabric.maps("switches")) {
    if (entry.required_list<std::string>("names").empty()) entry.error("names", "expected at least one name");
    DeviceSettings own{settings.switches, settings.pfc, settings.ecn};
    own.switches = read_switch(entry, own.switches);
    if (auto section = entry.optional_map("pfc")) own.pfc = read_pfc(std::move(*section), own.switches, own.pfc);
    own.ecn = read_marks(entry, own.ecn);
    if (settings.credits.enabled && own.pfc.priorities != 0) {
      entry.error_here("a link either pauses its sender (pfc) or gives it credits; both are on");
    }
    entry.finish();
    settings.own.push_back(own);
  }
}

// Turns on what is needed and was left open; refuses what the file rules out.
void provide(ParamReader& section, const CongestionNeeds& needs, bool needs_acks, std::string_view why,
             TransportSettings& settings) {
  if (needs_acks && settings.acks == AckMode::kNone) {
    if (section.has("acks")) {
      section.error("acks", fmt::format("{} needs acknowledgements", why), "acks: free, or packets");
    } else {
      settings.acks = AckMode::kPackets;
    }
  }
  if (needs.cnps && settings.uec) {
    section.error("congestion_control", "goes by congestion notifications, which Ultra Ethernet's transport does not have",
                  "congestion_control: nscc, or rccc, or a transport of type: rdma");
  } else if (needs.cnps && settings.cnps == AckMode::kNone) {
    section.error("cnps", fmt::format("{} needs congestion notifications", why), "cnps: free, or packets");
  }
  if (needs.telemetry && settings.telemetry.count() == 0) {
    if (section.has("telemetry")) {
      section.error("telemetry", fmt::format("{} needs telemetry in every packet", why), "42 B for five hops");
    } else {
      settings.telemetry = kTelemetry;
    }
  }
}

AckMode read_mode(ParamReader& section, std::string_view key, AckMode otherwise) {
  return section.choice<AckMode>(key, {{"none", AckMode::kNone}, {"free", AckMode::kFree}, {"packets", AckMode::kPackets}},
                                 otherwise);
}

void read_acknowledgements(ParamReader& section, TransportSettings& settings) {
  settings.acks = read_mode(section, "acks", settings.acks);
  if (section.has("acks")) settings.no_acks_stated = settings.acks == AckMode::kNone;
  settings.ack_size = section.optional<Bytes>("ack_size", settings.ack_size, positive);
  settings.ack_every = static_cast<int>(section.optional<std::int64_t>("ack_every", settings.ack_every, between(1, 1'000'000)));
  settings.ack_priority =
      static_cast<int>(section.optional<std::int64_t>("ack_priority", settings.ack_priority, between(0, 7)));
  settings.cnps = read_mode(section, "cnps", settings.cnps);
  settings.cnp_size = section.optional<Bytes>("cnp_size", settings.cnp_size, positive);
  settings.cnp_interval = section.optional<Duration>("cnp_interval", settings.cnp_interval);
  settings.nak_interval = section.optional<Duration>("nak_interval", settings.nak_interval, positive);
  settings.timeout = section.optional<Duration>("timeout", settings.timeout, positive);
  settings.timeout_stated |= section.has("timeout");
  settings.retries = static_cast<int>(section.optional<std::int64_t>("retries", settings.retries, between(0, kMostRetries)));
}

// Reads what a queue pair may state for itself too.
void read_queue_pair(ParamReader& section, TransportSettings& settings) {
  settings.reliability = section.choice<Reliability>(
      "reliability",
      {{"none", Reliability::kNone}, {"go_back_n", Reliability::kGoBackN}, {"selective_repeat", Reliability::kSelectiveRepeat}},
      settings.reliability);
  read_acknowledgements(section, settings);
  settings.queue_pairs =
      static_cast<int>(section.optional<std::int64_t>("queue_pairs", settings.queue_pairs, between(1, 1'024)));
  settings.post_latency = section.optional<Duration>("post_latency", settings.post_latency);
  const auto rate = section.optional<double>("message_rate", positive);
  if (rate) settings.message_rate = rate;
  refuse_beside_uec(section, settings);
}

constexpr std::array<std::string_view, 14> kQueuePairKeys = {
    "reliability",  "acks",         "ack_size", "ack_every", "ack_priority", "cnps",         "cnp_size",
    "cnp_interval", "nak_interval", "timeout",  "retries",   "queue_pairs",  "post_latency", "message_rate"};

TransportSettings read_transport(ParamReader section) {
  TransportSettings settings;
  read_transport_type(section, settings);
  settings.payload = section.optional<Bytes>("payload", positive);
  settings.window = section.optional<Bytes>("window", positive);
  read_queue_pair(section, settings);
  settings.telemetry = section.optional<Bytes>("telemetry", settings.telemetry);
  if (const auto control = section.optional_raw("congestion_control")) {
    settings.congestion = read_congestion_control(*control, section.diagnostics());
  }

  if (settings.window) provide(section, {}, true, "a window", settings);
  const bool repeats = section.has("reliability") && settings.reliability != Reliability::kNone;
  if (repeats) provide(section, {}, true, "sending lost packets again", settings);
  if (settings.congestion != nullptr) {
    const CongestionNeeds needs = settings.congestion->needs();
    provide(section, needs, needs.acks || needs.telemetry, "this congestion control", settings);
    check_credits(section, settings);
  }
  section.finish();
  // Nobody would know what is lost.
  if (settings.acks == AckMode::kNone) settings.reliability = Reliability::kNone;
  return settings;
}

}  // namespace

PacketSettings read_packet_settings(ParamReader& fabric, ParamReader& switches) {
  PacketSettings settings;
  settings.switches = read_switch(switches);
  if (auto section = fabric.optional_map("pfc")) settings.pfc = read_pfc(std::move(*section), settings.switches);
  settings.ecn = read_marks(fabric, {});
  read_service_levels(fabric, settings);
  read_link_retry(fabric, settings);
  if (auto section = fabric.optional_map("credits")) settings.credits = read_credits(std::move(*section));
  settings.transport = read_transport(fabric.map_or_empty("transport"));
  read_own(fabric, settings);
  check_trimming(switches, settings);
  if (settings.credits.enabled && settings.pfc.priorities != 0) {
    fabric.error("credits", "a link either pauses its sender (pfc) or gives it credits; both are on",
                 "enabled: false turns a section off");
  }
  if (settings.transport.congestion != nullptr && settings.transport.congestion->needs().cnps && settings.ecn.priorities == 0 &&
      std::ranges::all_of(settings.own, [](const DeviceSettings& own) { return own.ecn.priorities == 0; })) {
    fabric.warning("transport", "this congestion control hears of marks only, and no switch marks",
                   "add ecn: {kmin: 5 kB, kmax: 200 kB, pmax: 1 %} to the fabric");
  }
  return settings;
}

namespace {

// The devices at the far ends of the ports that a watchdog names; none: it names no ports.
std::optional<std::vector<DeviceId>> watched_ports(const ConfigNode& section, const Topology& topology,
                                                   Diagnostics& diagnostics) {
  const std::optional<ConfigNode> pfc = section.find("pfc");
  const std::optional<ConfigNode> watchdog = pfc && pfc->is_map() ? pfc->find("watchdog") : std::nullopt;
  const std::optional<ConfigNode> names = watchdog && watchdog->is_map() ? watchdog->find("ports") : std::nullopt;
  if (!names || !names->is_list()) return std::nullopt;
  std::vector<DeviceId> ports;
  for (std::size_t k = 0; k < names->size(); ++k) {
    const ConfigNode written = (*names)[k];
    NameRange range = expand_names(written.scalar(), topology.device_count());
    for (const std::string& name : range.names) {
      if (const std::optional<DeviceId> device = topology.find(name)) {
        ports.push_back(*device);
      } else if (range.error.empty()) {
        range.error = fmt::format("no device '{}', at whose cable a port could be watched", name);
      }
    }
    if (!range.error.empty()) diagnostics.error(written.diagnostic(fmt::format("{}: {}", written.path(), range.error)));
  }
  return ports;
}

void place_watchdogs(const ConfigNode& fabric, const Topology& topology, Diagnostics& diagnostics, PacketSettings& settings) {
  if (!settings.has_watchdog()) return;
  const auto of_all = watched_ports(fabric, topology, diagnostics);
  if (settings.pfc.watchdog && of_all) settings.pfc.watchdog->ports = *of_all;
  for (std::size_t i = 0; i < settings.own.size(); ++i) {
    const auto own = watched_ports((*fabric.find("switches"))[i], topology, diagnostics);
    std::optional<WatchdogSettings>& watchdog = settings.own[i].pfc.watchdog;
    if (watchdog && (own || of_all)) watchdog->ports = own ? *own : *of_all;
  }
}

}  // namespace

void place_own_settings(const ConfigNode& fabric, const Topology& topology, Diagnostics& diagnostics,
                        PacketSettings& settings) {
  place_watchdogs(fabric, topology, diagnostics, settings);
  if (settings.own.empty() || topology.fabric_switches().empty()) return;
  settings.own_index.assign(topology.device_count(), 0);
  const ConfigNode list = *fabric.find("switches");
  for (std::size_t i = 0; i < settings.own.size(); ++i) {
    const ConfigNode names = *list[i].find("names");
    for (std::size_t k = 0; k < names.size(); ++k) {
      const ConfigNode written = names[k];
      const auto refuse = [&](const std::string& why) {
        diagnostics.error(written.diagnostic(fmt::format("{}: {}", written.path(), why)));
      };
      const NameRange range = expand_names(written.scalar(), topology.device_count());
      if (!range.error.empty()) refuse(range.error);
      for (const std::string& name : range.names) {
        const std::optional<DeviceId> device = topology.find(name);
        if (!device || topology.kind(*device) != DeviceKind::kSwitch) {
          refuse(fmt::format("no switch '{}'; the fabric's are '{}' to '{}'", name,
                             topology.name(topology.fabric_switches().front()),
                             topology.name(topology.fabric_switches().back())));
          break;
        }
        std::uint32_t& index = settings.own_index[device->index()];
        if (index != 0) refuse(fmt::format("'{}' is named twice", name));
        index = static_cast<std::uint32_t>(i + 1);
      }
    }
  }
}

std::shared_ptr<const TransportSettings> read_own_transport(ParamReader& item, bool needs_acks, const CongestionNeeds& needs,
                                                            const TransportSettings& fabric) {
  const bool states = std::ranges::any_of(kQueuePairKeys, [&](std::string_view key) { return item.has(key); });
  const bool lacks_acks = needs_acks && fabric.acks == AckMode::kNone && !fabric.no_acks_stated;
  if (!states && !lacks_acks) return nullptr;
  auto own = std::make_shared<TransportSettings>(fabric);
  if (fabric.acks == AckMode::kNone) own->reliability = Reliability::kGoBackN;  // what is so where nothing is said
  read_queue_pair(item, *own);
  if (needs_acks && !own->no_acks_stated) provide(item, {}, true, "a window or congestion control", *own);
  const bool repeats = item.has("reliability") && own->reliability != Reliability::kNone;
  if (repeats) provide(item, {}, true, "sending lost packets again", *own);
  if (needs.cnps && item.has("cnps")) provide(item, needs, false, "this congestion control", *own);
  if (own->acks == AckMode::kNone) own->reliability = Reliability::kNone;
  return own;
}

std::shared_ptr<const CongestionFactory> read_congestion_control(const ConfigNode& node, Diagnostics& diagnostics) {
  const bool is_name = node.is_scalar();
  const std::optional<ConfigNode> type = is_name ? std::optional{node} : node.find("type");
  if (!type || !type->is_scalar()) {
    diagnostics.error(node.diagnostic(
        fmt::format("{}: expected the name of a congestion control, got {}", node.path(), found_text(type.value_or(node))),
        "or a map with its name under 'type' and its parameters"));
    return nullptr;
  }
  const std::string& name = type->scalar();
  std::vector<std::string> names(congestion_controls().names().begin(), congestion_controls().names().end());
  names.emplace_back("none");
  note_names(type->path(), names);
  const Registration<CongestionFactory>* entry = name == "none" ? nullptr : congestion_controls().find(name);
  if (entry == nullptr && name != "none") {
    diagnostics.error(type->diagnostic(fmt::format("{}: {}", type->path(), congestion_controls().unknown(name)),
                                       congestion_controls().note(name)));
    return nullptr;
  }
  ParamReader params{is_name ? ConfigNode::parse("{}", node.file(), node.path()) : node, diagnostics};
  static_cast<void>(params.optional_raw("type"));
  std::shared_ptr<const CongestionFactory> made;
  if (entry != nullptr) made = entry->make(params);
  params.finish();
  return made;
}

std::string missing_for(const CongestionNeeds& needs, const TransportSettings& transport) {
  std::string missing;
  const auto add = [&](bool is_missing, std::string_view what) {
    if (is_missing) missing += (missing.empty() ? "" : ", ") + std::string{what};
  };
  add(needs.acks && transport.acks == AckMode::kNone, "acknowledgements (transport.acks)");
  add(needs.cnps && transport.cnps == AckMode::kNone,
      transport.uec ? "congestion notifications (transport.type: rdma)" : "congestion notifications (transport.cnps)");
  add(needs.telemetry && transport.telemetry.count() == 0, "telemetry (transport.telemetry)");
  add(needs.credits && !grants_credit(transport), "credits of the destination (transport.type: uec, delivery_mode: rud)");
  return missing;
}

}  // namespace weft::net
