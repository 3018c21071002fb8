#include "sim/workloads/flow_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/core/digest.h"
#include "sim/network/packet_probe.h"
#include "sim/network/parted_fabric.h"
#include "sim/workloads/cut_reason.h"

namespace weft::work {
namespace {

constexpr std::uint64_t kStop = std::uint64_t{1} << 63;  // of an event's payload; the rest is the flow
constexpr std::uint64_t kRequest = kStop;                // of a transfer's tag

}  // namespace

FlowRun::FlowRun(net::Machine& machine, const Workload& workload, std::uint64_t seed)
    : machine_{machine},
      workload_{workload},
      seed_{seed},
      component_{machine.simulator.add_component("flows")},
      sources_(workload.options.size() - 1),
      triggers_{workload.chains} {
  results_.reserve(workload.flows.size());
  for (std::size_t i = 0; i < workload.flows.size(); ++i) {
    const FlowItem& flow = workload.flows[i];
    results_.push_back({.bytes = flow.bytes, .start = flow.start});
    if (Source* source = source_of(i)) source->flow = i;
  }
}

void FlowRun::start() {
  if (machine_.parted != nullptr) {
    for (std::size_t i = 0; i < results_.size(); ++i) machine_.parted->post_at(results_[i].start, transfer_of(i));
    return;
  }
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (machine_.router.expects_changes()) find_ways(i);
    if (triggers_.waits(i)) continue;
    machine_.simulator.schedule(results_[i].start, Phase::kAction, component_, *this, i);
    const FlowOptions& options = workload_.options_of(workload_.flows[i]);
    if (options.unlimited && options.stop != Time::max()) {
      machine_.simulator.schedule(options.stop, Phase::kAction, component_, *this, i | kStop);
    }
  }
}

FlowRun::Source* FlowRun::source_of(std::size_t flow) {
  const std::uint32_t options = workload_.flows[flow].options;
  return options == 0 ? nullptr : &sources_[options - 1];
}

const MessageCounts* FlowRun::messages(std::size_t flow) const {
  const std::uint32_t options = workload_.flows[flow].options;
  return options == 0 || workload_.options[options].messages == 1 ? nullptr : &sources_[options - 1].counts;
}

// The flow's number is its entropy, as a queue pair's number is to a switch's hash.
net::FlowKey FlowRun::key_of(std::size_t flow) {
  net::FlowKey key{flow};
  const FlowItem& item = workload_.flows[flow];
  const net::NamedWay& way = workload_.options_of(item).way;
  if (!way.stated()) return key;
  std::uint32_t& named = source_of(flow)->named_way;
  if (named == 0) named = machine_.router.add_named_way(item.from, item.to, way, flow);
  key.named_way = named;
  return key;
}

FootprintId FlowRun::footprint(std::size_t flow) {
  FootprintId& made = results_[flow].footprint;
  if (made.valid()) return made;
  const FlowItem& item = workload_.flows[flow];
  const FlowOptions& options = workload_.options_of(item);
  made = machine_.fabric.add_footprint(options.read ? machine_.router.route(item.to, item.from, {flow}, true)
                                                    : machine_.router.route(item.from, item.to, key_of(flow)));
  if (options.has_transport) machine_.fabric.set_transport(made, options.transport);
  return made;
}

// Before any link fails: a flow that starts while it has no way waits for the one that it had.
void FlowRun::find_ways(std::size_t flow) {
  machine_.fabric.set_up(footprint(flow));
  if (workload_.options_of(workload_.flows[flow]).read) machine_.fabric.set_up(requests(*source_of(flow)));
}

// Model: requests go over a queue pair of their own, without acknowledgements: a lost one is not asked for again.
FootprintId FlowRun::requests(Source& source) {
  if (source.requests.valid()) return source.requests;
  const FlowItem& item = workload_.flows[source.flow];
  source.requests = machine_.fabric.add_footprint(machine_.router.route(item.from, item.to, {source.flow}));
  machine_.fabric.set_transport(source.requests, {.datagrams = true});
  return source.requests;
}

void FlowRun::on_event(std::uint64_t payload) {
  const std::uint64_t flow = payload & ~kStop;
  if ((payload & kStop) != 0) {
    stop(flow);
    return;
  }
  Source* source = source_of(flow);
  if (source == nullptr) {
    post(flow);
  } else {
    post_next(*source);
  }
}

// The flow has waited for a trigger.
void FlowRun::start_now(std::size_t flow) {
  results_[flow].start = machine_.simulator.now();
  machine_.simulator.schedule(results_[flow].start, Phase::kAction, component_, *this, flow);
}

net::Transfer FlowRun::transfer_of(std::size_t flow) {
  const FlowItem& item = workload_.flows[flow];
  net::Transfer transfer;
  transfer.footprint = footprint(flow);
  transfer.bytes = item.bytes;
  transfer.rate_cap = item.rate_cap;
  transfer.priority = static_cast<std::uint8_t>(item.priority);
  transfer.tag = flow;
  return transfer;
}

void FlowRun::post(std::size_t flow) { results_[flow].transfer = machine_.fabric.post(transfer_of(flow), *this); }

void FlowRun::post_next(Source& source) {
  const std::size_t flow = source.flow;
  const FlowOptions& options = workload_.options_of(workload_.flows[flow]);
  Time next = machine_.simulator.now();
  if (options.is_poisson() && !source.random) {
    // The first message comes after a gap too.
    source.random.emplace(options.seed != 0 ? options.seed : seed_, fmt::format("flows/{}/arrivals", flow));
    source.gap_ps = mean_gap_ps(flow);
  } else {
    do {
      source.posts.push_back(next);
      ++source.counts.posted;
      post_message(source);
    } while (source.counts.posted < options.messages && !options.is_poisson() && options.every == Duration{});
  }
  source.closed = source.counts.posted >= options.messages;
  if (source.closed) return;
  const Duration gap = options.is_poisson() ? Duration::nearest_ps(source.random->exponential(source.gap_ps)) : options.every;
  next += gap;
  source.closed = next >= options.stop;
  if (!source.closed) machine_.simulator.schedule(next, Phase::kAction, component_, *this, flow);
}

void FlowRun::post_request(Source& source) {
  const FlowItem& item = workload_.flows[source.flow];
  machine_.fabric.post({.footprint = requests(source),
                        .bytes = workload_.options_of(item).request,
                        .priority = static_cast<std::uint8_t>(item.priority),
                        .tag = source.flow | kRequest},
                       *this);
}

void FlowRun::post_message(Source& source) {
  const FlowOptions& options = workload_.options_of(workload_.flows[source.flow]);
  if (options.read) {
    if (source.reads == options.reads) {
      ++source.waiting;
    } else {
      ++source.reads;
      post_request(source);
    }
    return;
  }
  send(source);
}

void FlowRun::send(Source& source) {
  if (source.sending && !machine_.fabric.takes_packets(footprint(source.flow))) {
    ++source.held;
    return;
  }
  source.sending = true;
  post(source.flow);
}

void FlowRun::send_next(Source& source) {
  source.sending = false;
  if (source.held == 0) return;
  --source.held;
  send(source);
}

void FlowRun::on_source_free(TransferId, std::uint64_t flow) {
  if ((flow & kRequest) != 0) return;
  if (Source* source = source_of(flow)) send_next(*source);
  triggers_.sent(flow, [this](std::size_t next) { start_now(next); });
}

void FlowRun::stop(std::size_t flow) {
  if (results_[flow].end != Time::max() || results_[flow].aborted) return;
  results_[flow].bytes = Bytes{std::llround(delivered_bytes(flow))};
  if (!results_[flow].transfer.valid()) return;  // a READ that has not been answered yet
  machine_.fabric.cut_short(results_[flow].transfer);
}

void FlowRun::on_delivered(TransferId, std::uint64_t flow) {
  if ((flow & kRequest) != 0) {
    send(*source_of(flow & ~kRequest));
    return;
  }
  const Time now = machine_.simulator.now();
  Source* source = source_of(flow);
  if (source == nullptr) {
    results_[flow].end = now;
    triggers_.delivered(flow, [this](std::size_t next) { start_now(next); });
    return;
  }
  const Duration latency = now - source->posts.front();
  source->posts.pop_front();
  source->counts.latency_ps += static_cast<double>(latency.ps());
  source->counts.max_latency = std::max(source->counts.max_latency, latency);
  ++source->counts.delivered;
  source->counts.delivered_bytes += workload_.flows[flow].bytes;
  if (source->posts.empty()) results_[flow].end = now;
  if (workload_.options_of(workload_.flows[flow]).read) {
    --source->reads;
    if (source->waiting > 0) {
      --source->waiting;
      post_message(*source);
    }
  }
}

void FlowRun::on_aborted(TransferId, std::uint64_t tag) {
  const std::uint64_t flow = tag & ~kRequest;
  if (!results_[flow].aborted && first_cuts_.size() < kToldCuts) {
    const FlowItem& item = workload_.flows[flow];
    const bool back = tag == flow && workload_.options_of(item).read;
    first_cuts_.push_back({.flow = flow,
                           .at = machine_.simulator.now(),
                           .why = why_aborted(machine_, tag == flow ? results_[flow].footprint : requests(*source_of(flow)),
                                              back ? net::PathEnds{item.to, item.from, {flow}}
                                                   : net::PathEnds{item.from, item.to, key_of(flow)})});
  }
  results_[flow].aborted = true;
  Source* source = source_of(flow);
  if (source == nullptr) return;
  source->posts.pop_front();
  if (tag != flow) return;
  send_next(*source);
}

bool FlowRun::in_packets(std::size_t flow) const {
  const FootprintId footprint = results_[flow].footprint;
  return footprint.valid() && machine_.fabric.takes_packets(footprint);
}

double FlowRun::delivered_bytes(std::size_t flow) const {
  const FlowResult& result = results_[flow];
  if (!result.footprint.valid()) return 0;
  if (in_packets(flow)) {
    return static_cast<double>(machine_.fabric.probe().flow(result.footprint).delivered_wire_bytes) / wire_share(flow);
  }
  const MessageCounts* several = messages(flow);
  if (several != nullptr) return static_cast<double>(several->delivered_bytes.count());
  if (result.end != Time::max()) return static_cast<double>(result.bytes.count());
  if (!result.transfer.valid() || result.aborted) return 0;
  return machine_.fabric.moved_bytes(result.transfer);
}

double FlowRun::wire_share(std::size_t flow) const {
  if (!in_packets(flow)) return 1;
  const LinkId link = narrowest_link(flow);
  if (!link.valid()) return 1;
  const net::LinkSpec& spec = machine_.topology.spec(link);
  const auto payload = static_cast<double>(std::min(payload_of(flow, spec), workload_.flows[flow].bytes).count());
  if (payload <= 0) return 1;
  return (payload + static_cast<double>((spec.overhead + machine_.fabric.packet_shape().telemetry).count())) / payload;
}

std::size_t FlowRun::unfinished() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(results_, [](const FlowResult& flow) { return flow.end == Time::max() && !flow.aborted; }));
}

void FlowRun::settle() {
  for (std::size_t i = 0; machine_.parted != nullptr && i < results_.size(); ++i)
    results_[i].end = machine_.parted->delivered_at(i);
  for (std::size_t i = 0; i < results_.size(); ++i) {
    FlowResult& result = results_[i];
    const Source* source = source_of(i);
    if (source == nullptr) continue;
    const FlowOptions& options = workload_.options_of(workload_.flows[i]);
    if (options.unlimited) result.bytes = Bytes{std::llround(delivered_bytes(i))};
    if (options.messages != 1) {
      result.bytes = source->counts.delivered_bytes;
      if (!source->closed) result.end = Time::max();
    }
  }
}

LinkId FlowRun::narrowest_link(std::size_t flow) const {
  LinkId narrowest;
  for (const Usage& usage : machine_.fabric.footprint(results_[flow].footprint).usages) {
    if (usage.resource.index() >= machine_.topology.link_count()) continue;
    const LinkId link{usage.resource.value()};
    const auto weighted = [&](LinkId id) { return machine_.topology.spec(id).rate.bytes_per_ps(); };
    if (!narrowest.valid() || weighted(link) < weighted(narrowest)) narrowest = link;
  }
  return narrowest;
}

Bytes FlowRun::payload_of(std::size_t flow, const net::LinkSpec& narrowest) const {
  const net::FlowTransport& own = workload_.options_of(workload_.flows[flow]).transport;
  if (own.payload) return *own.payload;
  return machine_.fabric.packet_shape().payload.value_or(narrowest.packet);
}

double FlowRun::mean_gap_ps(std::size_t flow) {
  static_cast<void>(footprint(flow));
  const FlowItem& item = workload_.flows[flow];
  const FlowOptions& options = workload_.options_of(item);
  const LinkId link = narrowest_link(flow);
  double wire = static_cast<double>(item.bytes.count());
  double rate = options.rate.bytes_per_ps();
  if (link.valid()) {
    const net::LinkSpec& spec = machine_.topology.spec(link);
    const std::int64_t payload = std::max<std::int64_t>(1, payload_of(flow, spec).count());
    const std::int64_t packets = (item.bytes.count() + payload - 1) / payload;
    const Bytes telemetry = machine_.fabric.packet_shape().telemetry;
    wire += static_cast<double>(packets * (spec.overhead + telemetry).count());
    if (options.load > 0) rate = options.load * spec.rate.bytes_per_ps();
  }
  return rate > 0 ? wire / rate : 0;
}

std::uint64_t FlowRun::digest() const {
  Digest digest;
  for (const FlowResult& flow : results_) digest.add(flow.start).add(flow.end);
  for (const Source& source : sources_) digest.add(source.counts.posted).add(source.counts.delivered);
  return digest.value();
}

}  // namespace weft::work
