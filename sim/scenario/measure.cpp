#include "sim/scenario/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "sim/core/config/quantity.h"
#include "sim/core/config/time_bounds.h"
#include "sim/network/packet_probe.h"
#include "sim/scenario/link_names.h"

namespace weft::scenario {
namespace {

enum Event : std::uint64_t { kBegin, kEnd, kSampleNow };

constexpr std::array<std::string_view, 2> kLinkOnly{"queue", "ingress"};
constexpr std::size_t kMaxUnnamed = 512;  // links or flows that a series without `of` covers

bool of_links(std::string_view quantity) {
  return quantity == "rate" || std::ranges::find(kLinkOnly, quantity) != kLinkOnly.end();
}
bool of_flows(std::string_view quantity) { return std::ranges::find(kLinkOnly, quantity) == kLinkOnly.end(); }

double gigabits(double bytes, Duration time) {
  return time > Duration{} ? 8 * bytes / static_cast<double>(time.ps()) * 1e3 : 0;
}

class SeriesReader {
 public:
  SeriesReader(ParamReader& section, const net::Topology& topology, std::size_t flows)
      : section_{section}, topology_{topology}, flows_{flows} {}

  void read(MeasureOptions& out) {
    const std::size_t errors_before = section_.diagnostics().errors().size();
    const std::vector<std::string> quantities = section_.list<std::string>("series");
    std::vector<SeriesItem> targets;
    const std::optional<ConfigNode> of = section_.optional_raw("of");
    if (of) {
      if (!of->is_list()) {
        target(*of, targets);
      } else {
        for (std::size_t i = 0; i < of->size(); ++i) target((*of)[i], targets);
      }
      if (quantities.empty()) section_.error("of", "without 'series' there is nothing to sample of it");
    }
    for (const std::string& quantity : quantities) {
      if (!of) targets = everything(quantity);
      const std::size_t before = out.series.size();
      for (const SeriesItem& item : targets) {
        if (!(item.link.valid() ? of_links(quantity) : of_flows(quantity))) continue;
        out.series.push_back(item);
        out.series.back().quantity = quantity;
      }
      if (of && out.series.size() == before && section_.diagnostics().errors().size() == errors_before) {
        section_.error("series", fmt::format("'{}' is a quantity of {}, and 'of' names none", quantity,
                                             of_flows(quantity) ? "flows" : "links"));
      }
    }
    out.drop_idle = !of;
  }

 private:
  void target(const ConfigNode& node, std::vector<SeriesItem>& out) {
    Diagnostics& diagnostics = section_.diagnostics();
    SeriesItem item;
    if (node.is_map()) {
      ParamReader map{node, diagnostics};
      if (map.has("flow")) {
        flow(map.raw("flow"), out);
      } else if (const auto link = read_link(map.raw("link"), topology_, diagnostics)) {
        item.link = *link;
        item.priority = static_cast<int>(map.optional<std::int64_t>("priority", -1, between(0, 7)));
        item.of = topology_.name(*link) + (item.priority >= 0 ? fmt::format("@{}", item.priority) : "");
        out.push_back(item);
      }
      if (map.has("flow") && map.optional_raw("link")) map.error("link", "an entry names a link or a flow");
      map.finish();
    } else if (node.is_scalar() && parse_integer(node.scalar())) {
      flow(node, out);
    } else if (const auto link = read_link(node, topology_, diagnostics)) {
      item.link = *link;
      item.of = topology_.name(*link);
      out.push_back(item);
    }
  }

  void flow(const ConfigNode& node, std::vector<SeriesItem>& out) {
    const auto number = node.is_scalar() ? parse_integer(node.scalar()) : std::nullopt;
    if (!number || *number < 0 || static_cast<std::size_t>(*number) >= flows_) {
      section_.diagnostics().error(node.diagnostic(
          fmt::format("{}: no flow {}", node.path(), found_text(node)),
          flows_ == 0 ? std::string{"the workload has no flows"} : fmt::format("flows here: 0 to {}", flows_ - 1)));
      return;
    }
    SeriesItem item;
    item.flow = static_cast<std::size_t>(*number);
    item.of = std::to_string(item.flow);
    out.push_back(item);
  }

  std::vector<SeriesItem> everything(std::string_view quantity) {
    std::vector<SeriesItem> all;
    const bool links = !of_flows(quantity);
    const std::size_t count = links ? topology_.link_count() : flows_;
    if (count > kMaxUnnamed) {
      section_.error("series", fmt::format("this would sample all {} {}", count, links ? "links" : "flows"),
                     "name those that matter: of: [\"s0->h1\"], or [0, 1] for flows");
      return all;
    }
    for (std::size_t i = 0; i < count; ++i) {
      SeriesItem item;
      if (links) {
        item.link = LinkId::from_index(i);
        item.of = topology_.name(item.link);
      } else {
        item.flow = i;
        item.of = std::to_string(i);
      }
      all.push_back(std::move(item));
    }
    return all;
  }

  ParamReader& section_;
  const net::Topology& topology_;
  std::size_t flows_;
};

}  // namespace

MeasureOptions read_measure(ParamReader& scenario, const net::Topology& topology, std::size_t flows, std::optional<Time> until,
                            net::Fidelity fidelity) {
  MeasureOptions options;
  std::optional<ParamReader> section = scenario.optional_map("measure");
  if (!section) return options;
  options.stated = true;
  const TimeBounds bounds;
  options.from = Time{} + section->optional<Duration>("from", Duration{});
  if (const auto to = section->optional<Duration>("to", positive)) options.to = Time{} + *to;
  if (options.to && *options.to <= options.from) section->error("to", "must come after 'from'");
  if (until && options.from >= *until) section->error("from", "the run ends before that, at simulation.until");
  if (until && options.to && *options.to > *until) section->error("to", "the run ends before that, at simulation.until");
  if (!options.to) options.to = until;
  const auto every = section->optional<Duration>("every", positive);
  SeriesReader{*section, topology, flows}.read(options);
  if (section->has("series") && !every) section->error("series", "needs 'every', the time between samples");
  if (!section->has("series") && every) section->error("every", "without 'series' there is nothing to sample");
  options.every = every.value_or(Duration{});
  if (!net::has_packets(fidelity)) {
    for (const SeriesItem& item : options.series) {
      if (item.quantity == "rate") continue;
      section->error("series", fmt::format("'{}' needs packets, and the fidelity is 'flow'", item.quantity),
                     "simulation: {fidelity: packet}");
      break;
    }
  }
  if (every && options.to) {
    const double samples = static_cast<double>((*options.to - options.from).ps()) / static_cast<double>(every->ps()) *
                           static_cast<double>(options.series.size());
    if (samples > kMaxSamples) {
      section->error("every", fmt::format("{:.3g} samples are over the limit of {:.3g}", samples, kMaxSamples));
    }
  }
  section->finish();
  return options;
}

RunMeter::RunMeter(net::Machine& machine, const MeasureOptions& options, const work::FlowRun* flows)
    : machine_{machine}, options_{options}, flows_{flows}, component_{machine.simulator.add_component("meter")} {
  for (const SeriesItem& item : options.series) series_.push_back({item.quantity, item.of, {}});
  last_.resize(series_.size(), 0);
}

void RunMeter::start() {
  if (!options_.stated) return;
  machine_.simulator.schedule(options_.from, Phase::kSample, component_, *this, kBegin);
  if (options_.to) machine_.simulator.schedule(*options_.to, Phase::kSample, component_, *this, kEnd);
}

void RunMeter::on_event(std::uint64_t kind) {
  if (kind == kEnd) {
    end_ = snapshot();
    to_ = machine_.simulator.now();
    open_ = false;
    return;
  }
  if (kind == kBegin) {
    open_ = true;
    begin_ = snapshot();
    machine_.fabric.reset_peaks();
    if (series_.empty()) return;
  }
  sample();
  // Nothing else to come: the last sample has been taken.
  if (machine_.simulator.pending() == 0) return;
  const Time next = machine_.simulator.now() + options_.every;
  if (!options_.to || next <= *options_.to) {
    machine_.simulator.schedule(next, Phase::kSample, component_, *this, kSampleNow);
  }
}

void RunMeter::finish(Time end) {
  if (options_.stated && to_ > options_.from) return;
  if (options_.stated && !open_) begin_ = snapshot();  // the run ended before the window began
  end_ = snapshot();
  to_ = std::max(end, options_.from);
  open_ = false;
}

RunMeter::Port RunMeter::port(LinkId link) const {
  const net::PortCounters counters = machine_.fabric.probe().port(link);
  return {.bytes = machine_.fabric.wire_bytes(link),
          .busy = machine_.fabric.counters(ResourceId{link.value()}).busy,
          .packets = counters.packets,
          .queue_byte_ps = counters.queue_byte_ps,
          .wait_ps = counters.wait_ps,
          .marks = counters.marks,
          .drops = counters.drops,
          .paused = counters.paused,
          .xmit_wait = counters.xmit_wait,
          .peak_queue = counters.peak_queue_bytes,
          .peak_ingress = counters.peak_ingress_bytes};
}

RunMeter::Snapshot RunMeter::snapshot() const {
  Snapshot taken;
  const std::size_t links = machine_.topology.link_count();
  taken.ports.reserve(links);
  for (std::size_t i = 0; i < links; ++i) taken.ports.push_back(port(LinkId::from_index(i)));
  if (flows_ != nullptr && options_.stated) {
    const std::size_t flows = flows_->results().size();
    taken.flows.reserve(flows);
    for (std::size_t i = 0; i < flows; ++i) taken.flows.push_back(flows_->delivered_bytes(i));
  }
  return taken;
}

double RunMeter::moved(const SeriesItem& item) const {
  if (!item.link.valid()) return flows_->delivered_bytes(item.flow);
  return machine_.fabric.wire_bytes(item.link);
}

double RunMeter::value_of(const SeriesItem& item, double& last) const {
  if (item.quantity == "rate") {
    const double before = std::exchange(last, moved(item));
    return times_.size() < 2 ? 0 : gigabits(last - before, times_.back() - times_[times_.size() - 2]);
  }
  const net::PacketProbe& packets = machine_.fabric.probe();
  if (item.quantity == "queue") {
    return static_cast<double>(item.priority < 0 ? packets.queued_bytes(item.link)
                                                 : packets.queued_bytes(item.link, item.priority));
  }
  if (item.quantity == "ingress") return static_cast<double>(packets.ingress_bytes(item.link));
  const FootprintId flow = flows_->results()[item.flow].footprint;
  if (!flow.valid()) return std::numeric_limits<double>::quiet_NaN();  // it has not begun
  const net::FlowCounters counters = packets.flow(flow);
  if (item.quantity == "rate_limit") {
    // The control's own word is of this instant; the counter is of its last packet.
    const double rate = packets.flow_state(flow, "rate_gbps");
    return std::isnan(rate) ? counters.rate.gbps() : rate;
  }
  if (item.quantity == "outstanding") return static_cast<double>(counters.outstanding_bytes);
  if (item.quantity == "window") {
    return counters.window == Bytes::max() ? std::numeric_limits<double>::quiet_NaN()
                                           : static_cast<double>(counters.window.count());
  }
  return packets.flow_state(flow, item.quantity);
}

void RunMeter::sample() {
  times_.push_back(machine_.simulator.now());
  for (std::size_t i = 0; i < series_.size(); ++i) {
    series_[i].values.push_back(value_of(options_.series[i], last_[i]));
  }
}

std::vector<Series> RunMeter::take_series() {
  if (options_.drop_idle) {
    std::erase_if(series_, [](const Series& series) {
      return std::ranges::none_of(series.values, [](double value) { return value != 0 && !std::isnan(value); });
    });
  }
  return std::move(series_);
}

std::vector<PortResult> RunMeter::ports() const {
  std::vector<PortResult> ports;
  const Duration window = to_ - options_.from;
  for (std::size_t i = 0; i < end_.ports.size(); ++i) {
    const Port& end = end_.ports[i];
    if (end.bytes <= 0 && end.drops == 0 && end.peak_queue == 0 && end.paused == Duration{}) continue;
    const Port begin = begin_.ports.empty() ? Port{} : begin_.ports[i];
    const LinkId link = LinkId::from_index(i);
    PortResult port;
    port.name = machine_.topology.name(link);
    if (window > Duration{}) {
      port.utilization = machine_.fabric.utilization(link, end.bytes - begin.bytes, end.busy - begin.busy, window);
      port.mean_queue_bytes = (end.queue_byte_ps - begin.queue_byte_ps) / static_cast<double>(window.ps());
    }
    port.packets = end.packets - begin.packets;
    if (port.packets > 0) port.mean_wait_ns = (end.wait_ps - begin.wait_ps) / static_cast<double>(port.packets) / 1e3;
    port.peak_queue_bytes = end.peak_queue;
    port.peak_ingress_bytes = end.peak_ingress;
    port.marks = end.marks - begin.marks;
    port.drops = end.drops - begin.drops;
    const net::PortCounters whole_run = machine_.fabric.probe().port(link);
    port.total_marks = whole_run.marks;
    port.total_drops = whole_run.drops;
    port.paused = end.paused - begin.paused;
    port.xmit_wait = end.xmit_wait - begin.xmit_wait;
    ports.push_back(std::move(port));
  }
  return ports;
}

std::vector<FlowMeasure> RunMeter::flow_rates() const {
  std::vector<FlowMeasure> rates;
  if (!options_.stated || flows_ == nullptr) return rates;
  const Duration window = to_ - options_.from;
  for (std::size_t i = 0; i < end_.flows.size(); ++i) {
    const double rate = gigabits(end_.flows[i] - begin_.flows[i], window);
    rates.push_back({.rate_gbps = rate, .wire_rate_gbps = rate * flows_->wire_share(i)});
  }
  return rates;
}

}  // namespace weft::scenario
