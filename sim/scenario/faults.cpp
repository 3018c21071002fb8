#include "sim/scenario/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "sim/core/config/nearest.h"
#include "sim/core/config/quantity.h"
#include "sim/scenario/link_names.h"

namespace weft::scenario {
namespace {

constexpr std::string_view kQuanta = " quanta";
constexpr std::int64_t kMaxQuanta = 1'000'000'000;

struct FaultReader {
  const net::Topology& topology;
  std::size_t flows;
  Faults faults = {};

  std::optional<std::size_t> flow(ParamReader& item) const {
    if (!item.has("flow")) return std::nullopt;
    const auto number = item.required<std::int64_t>("flow", at_least(0));
    if (number >= 0 && static_cast<std::size_t>(number) >= flows) {
      item.error("flow", flows == 0 ? fmt::format("there is no flow {}: the workload has none", number)
                                    : fmt::format("there is no flow {}; flows here: 0 to {}", number, flows - 1));
      return std::nullopt;
    }
    return static_cast<std::size_t>(number);
  }

  LinkId link(ParamReader& item) const { return read_link(item.raw("link"), topology, item.diagnostics()).value_or(LinkId{0}); }

  static Time time(ParamReader& item, std::string_view key) { return Time{} + item.required<Duration>(key); }

  void drop(ParamReader& item) {
    DropFault fault;
    fault.flow = flow(item);
    if (item.has("link")) fault.rule.link = link(item);
    fault.rule.of = item.choice<net::DropKind>(
        "of", {{"data", net::DropKind::kData}, {"acks", net::DropKind::kAcks}, {"cnps", net::DropKind::kCnps}},
        net::DropKind::kData);
    fault.rule.every = item.optional<std::int64_t>("every", 0, at_least(1));
    fault.rule.probability = item.optional<Ratio>("probability", Ratio{}, at_most(Ratio{1.0})).value;
    fault.rule.packets = item.list<std::int64_t>("packets", at_least(0));
    fault.rule.from = Time{} + item.optional<Duration>("from", Duration{});
    if (const auto until = item.optional<Duration>("until", positive)) fault.rule.until = Time{} + *until;
    if (!item.has("every") && !item.has("probability") && !item.has("packets")) {
      item.error_here("expected 'every', 'probability' or 'packets': which packets are dropped");
    }
    if (fault.rule.until <= fault.rule.from) item.error("until", "must come after 'from'");
    faults.drops.push_back(std::move(fault));
  }

  void pause(ParamReader& item) {
    net::ForcedPause fault;
    fault.link = link(item);
    const auto priority = item.optional_raw("priority");
    if (priority && priority->is_scalar() && priority->scalar() == "all") {
      fault.priority = -1;
    } else {
      fault.priority = static_cast<int>(item.optional<std::int64_t>("priority", 0, between(0, 7)));
    }
    fault.at = time(item, "at");
    fault.duration = length(item, fault.link);
    if (fault.duration != Duration::max() && fault.at + fault.duration == Time::max()) {
      item.error("for", "the pause would end after more than 106 days, where the clock ends", "'forever' is a duration too");
    }
    faults.pauses.push_back(fault);
  }

  // "5 us", "100 quanta" or "forever".
  [[nodiscard]] Duration length(ParamReader& item, LinkId link) const {
    const ConfigNode written = item.raw("for");
    if (written.is_null() || (written.is_scalar() && written.scalar() == "forever")) return Duration::max();
    if (const std::string& text = written.scalar(); text.ends_with(kQuanta)) {
      const auto quanta = parse_integer(std::string_view{text}.substr(0, text.size() - kQuanta.size()));
      if (quanta && *quanta >= 0 && *quanta <= kMaxQuanta) return pause_time(*quanta, topology.spec(link).rate);
    }
    const auto duration = parse_duration(written.scalar());
    if (duration && *duration > Duration{}) return *duration;
    item.error("for", fmt::format("expected a duration, '100 quanta' or 'forever', got {}", found_text(written)));
    return Duration::max();
  }

  void cnp(ParamReader& item) {
    const std::optional<std::size_t> of = flow(item);
    if (!item.has("flow")) item.error_here("missing key 'flow'", "the number of a flow");
    faults.cnps.push_back({of.value_or(0), time(item, "at")});
  }

  void link_down(ParamReader& item) {
    LinkDown down{.link = link(item), .at = time(item, "at")};
    if (item.has("until")) down.until = time(item, "until");
    if (down.until <= down.at) item.error("until", "expected a time after 'at'");
    const auto every = item.optional<Duration>("every", positive);
    const auto count = item.optional<std::int64_t>("count", 1, between(1, 1'000'000));
    if (item.has("every") != item.has("count")) {
      item.error_here("'every' and 'count' go together: so many outages, each so long after the one before");
    } else if (every && !item.has("until")) {
      item.error("every", "the cable never comes back to fail again", "state 'until', the end of the first outage");
    } else if (every && *every <= down.until - down.at) {
      item.error("every", "the next outage begins before this one has ended");
    }
    if (every && down.until != Time::max() && down.until + (count - 1) * *every == Time::max()) {
      item.error("every", fmt::format("outage {} of {} would end after more than 106 days, where the clock ends",
                                      2 + (Time::max() - down.until) / *every, count));
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      faults.downs.push_back(down);
      if (!every) break;
      down.at += *every;
      down.until += *every;
    }
  }
};

}  // namespace

Duration pause_time(std::int64_t quanta, Bandwidth rate) { return transmission_time(quanta * Bytes{512 / 8}, rate); }

Faults read_faults(ParamReader& scenario, const net::Topology& topology, std::size_t flows, net::Fidelity fidelity) {
  using ReadFault = void (FaultReader::*)(ParamReader&);
  constexpr std::array<std::pair<std::string_view, ReadFault>, 4> kFaults{{{"drop", &FaultReader::drop},
                                                                           {"pause", &FaultReader::pause},
                                                                           {"cnp", &FaultReader::cnp},
                                                                           {"link_down", &FaultReader::link_down}}};
  FaultReader reader{topology, flows};
  for (ParamReader& entry : scenario.maps("faults")) {
    int given = 0;
    for (const auto& [name, read] : kFaults) {
      if (!entry.has(name)) continue;
      ++given;
      ParamReader item = entry.map(name);
      if (fidelity == net::Fidelity::kHybrid) {
        entry.error(name, "hybrid fidelity knows no faults: what is flows would not meet them",
                    "simulation: {fidelity: packet}");
      } else if (fidelity == net::Fidelity::kFlow && name != "link_down") {
        entry.error(name, "needs packets, and the fidelity is 'flow'", "simulation: {fidelity: packet}");
      }
      (reader.*read)(item);
      item.finish();
    }
    if (given != 1) entry.error_here("expected one fault an entry: drop, pause, cnp or link_down");
    entry.finish();
  }
  return std::move(reader.faults);
}

Time Faults::next_change(Time now) const {
  Time next = Time::max();
  const auto meet = [&](Time at) {
    if (at > now) next = std::min(next, at);
  };
  for (const LinkDown& down : downs) meet(down.at), meet(down.until);
  for (const DropFault& drop : drops) meet(drop.rule.from), meet(drop.rule.until);
  for (const net::ForcedPause& pause : pauses) {
    meet(pause.at);
    if (pause.duration != Duration::max()) meet(pause.at + pause.duration);
  }
  return next;
}

FaultInjector::FaultInjector(net::Machine& machine, const Faults& faults, work::FlowRun* flows)
    : machine_{machine}, faults_{faults} {
  const ComponentId component = machine.simulator.add_component("faults");
  if (!faults.downs.empty()) machine.router.expect_changes();
  for (std::size_t i = 0; i < faults.downs.size(); ++i) {
    machine.simulator.schedule(faults.downs[i].at, Phase::kAction, component, *this, 2 * i);
    if (faults.downs[i].until != Time::max()) {
      machine.simulator.schedule(faults.downs[i].until, Phase::kAction, component, *this, 2 * i + 1);
    }
  }
  for (const DropFault& fault : faults.drops) {
    net::DropRule rule = fault.rule;
    if (fault.flow) rule.flow = flows->footprint(*fault.flow);
    machine.fabric.add_drop_rule(rule);
  }
  for (const net::ForcedPause& pause : faults.pauses) machine.fabric.force_pause(pause);
  for (const CnpFault& fault : faults.cnps) machine.fabric.inject_cnp(flows->footprint(fault.flow), fault.at);
}

void FaultInjector::on_event(std::uint64_t event) {
  const LinkDown& down = faults_.downs[event / 2];
  machine_.set_cable_state(down.link, event % 2 == 1, down.until != Time::max());
}

}  // namespace weft::scenario
