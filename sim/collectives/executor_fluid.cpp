// The fluid grain of the executor: a channel as one coupled transfer, and the latency its chain of messages pays.
#include <algorithm>
#include <functional>
#include <limits>

#include "sim/collectives/executor.h"
#include "sim/collectives/step_work.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

bool is_chain(const FluidFlow& flow) { return flow.fill_bytes.count() > 0; }

bool is_local(const FluidEdge& edge) { return edge.from == edge.to; }

// Each edge begins where the one before ends, and the first where the last does.
bool is_ring(const FluidFlow& flow) {
  const auto follows = [](const FluidEdge& a, const FluidEdge& b) { return a.to == b.from; };
  return std::ranges::adjacent_find(flow.edges, std::not_fn(follows)) == flow.edges.end() &&
         follows(flow.edges.back(), flow.edges.front());
}

// What the lane that sends over the edge does with each message. Where lanes share a block's warps out, each has steps of one
// kind.
double effort_on(const FluidEdge& edge, const FluidFlow& flow, const Schedule& schedule, const StepCosts& costs, double usual) {
  if (edge.share >= 1.0 || edge.work > Bytes{}) return usual;
  for (int lane = 0; lane < schedule.lanes(edge.from, flow.channel); ++lane) {
    if (schedule.step_count(edge.from, flow.channel, lane) == 0) continue;
    const Step step = schedule.step(edge.from, flow.channel, lane, 0);
    if (std::ranges::find(step.send_to, edge.to) != step.send_to.end()) return costs.effort(work_of(step));
  }
  return usual;
}

// For one message.
Duration work_on(const FluidEdge& edge, const FluidFlow& flow, const StepCosts& costs, double effort) {
  return costs.work(edge.work > Bytes{} ? edge.work : flow.step_bytes, edge.share, effort);
}

Duration most_work(const FluidFlow& flow, const Schedule& schedule, const StepCosts& costs, double usual) {
  Duration most;
  const FluidEdge* known = nullptr;  // edges are mostly alike
  for (const FluidEdge& edge : flow.edges) {
    const bool alike = known != nullptr && edge.work == known->work && edge.share == known->share;
    if (alike && (edge.share >= 1.0 || edge.work > Bytes{})) continue;
    known = &edge;
    most = std::max(most, work_on(edge, flow, costs, effort_on(edge, flow, schedule, costs, usual)));
  }
  return most;
}

// Edges that the first message of a chain or tree passes one after another (schedule.h).
std::size_t path_length(const FluidFlow& flow) {
  const std::int64_t step = std::max<std::int64_t>(flow.step_bytes.count(), 1);
  return std::min(flow.edges.size(), static_cast<std::size_t>(1 + flow.fill_bytes.count() / step));
}

}  // namespace

void Executor::add_demand(const FluidFlow& flow, std::size_t hop, std::vector<double>& demand) {
  if (is_local(flow.edges[hop])) return;
  for (const Usage& usage : fabric_.footprint(path(flow.edges[hop].from, flow.edges[hop].to, flow.channel)).usages) {
    demand[usage.resource.index()] += usage.usage;
  }
}

Executor::EdgeTime Executor::edge_time(const FluidFlow& flow, std::size_t hop, const std::vector<double>& demand) {
  const FluidEdge& edge = flow.edges[hop];
  const double effort = effort_on(edge, flow, *schedule_, costs_, usual_.effort);
  const auto busy = static_cast<double>(work_on(edge, flow, costs_, effort).ps());
  const auto before = static_cast<double>((costs_.before_slices(usual_.copies) + edge.peers * costs_.peer_slice).ps());
  const int full = costs_.slice_bytes(flow.step_bytes, 1) > Bytes{} ? costs_.slices : 1;  // slices with data
  const double slices = before + full * edge.share * static_cast<double>(costs_.after_slice.ps());
  if (is_local(edge)) return {busy, busy + slices, busy + slices, busy + slices};
  const net::Footprint& path_of_edge = fabric_.footprint(path(edge.from, edge.to, flow.channel));
  double rate = std::numeric_limits<double>::infinity();
  for (const Usage& usage : path_of_edge.usages) {
    rate = std::min(rate, fabric_.capacity(usage.resource) / demand[usage.resource.index()]);
  }
  const Bytes wire = costs_.on_wire(flow.step_bytes);
  const Transport by = transport(edge.from, edge.to);
  const double carried = static_cast<double>(wire.count()) / rate;
  double drain = std::max(carried, busy);
  if (memory_between(edge.from, edge.to)) drain += static_cast<double>(costs_.host_wait(flow.step_bytes, 1.0, true).ps());
  const auto overhead = static_cast<double>((path_of_edge.latency_of(wire) + costs_.message_overhead(by, usual_.copies)).ps());
  if (costs_.rendezvous) return {drain, drain + overhead, drain + overhead, drain + overhead};
  const double first = overhead - (costs_.slices - 1) * static_cast<double>(costs_.slice.ps());
  EdgeTime time{drain, drain + overhead, drain + slices, drain / full + first};
  if (by == Transport::kNet) {  // a proxy sends a slice when it is whole
    time = {drain, busy / full + carried + overhead, std::max(carried, busy + slices), (busy + carried) / full + first};
  }
  if (costs_.cut_through) {  // the next edge starts with the first pass, or as soon as the proxy does
    const Bytes pass{static_cast<std::int64_t>(static_cast<double>(costs_.pass.count()) * edge.share)};
    const Bytes passed = by == Transport::kNet ? flow.step_bytes : std::min(flow.step_bytes, pass);
    time.step = static_cast<double>(costs_.work(passed, edge.share, effort).ps()) + overhead;
  }
  // No more slices are on their way, or with their receiver, than there are slots.
  const double held = time.slice + busy / full + static_cast<double>((costs_.slice + costs_.load_wait).ps());
  time.pace = std::max(time.pace, held * costs_.slices / costs_.slots);
  return time;
}

// The first messages of chains go hop by hop, all channels in step; on its way each meets the channels that have come as far.
std::vector<double> Executor::first_message_times(const std::vector<FluidFlow>& flows) {
  std::vector<double> times(flows.size(), 0.0);
  std::vector<double> front(fabric_.resource_count(), 0.0);
  std::size_t longest = 0;
  for (const FluidFlow& flow : flows) {
    if (is_chain(flow)) longest = std::max(longest, path_length(flow));
  }
  for (std::size_t hop = 0; hop < longest; ++hop) {
    for (const FluidFlow& flow : flows) {
      if (is_chain(flow) && hop < path_length(flow)) add_demand(flow, hop, front);
    }
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (!is_chain(flows[f]) || hop >= path_length(flows[f])) continue;
      const EdgeTime time = edge_time(flows[f], hop, front);
      times[f] += time.step;
      if (costs_.cut_through && hop + 1 == path_length(flows[f])) times[f] += time.drain;
    }
  }
  return times;
}

// What a flow's messages pay beyond its bytes at the slowest edge's share. Round a ring each slice waits for the one before it
// on the edge before, so that messages follow at the mean of what a slice takes over all edges, or at the slowest edge's pace
// if that is slower. In a chain the first one passes every edge before the last edge is busy, and the others follow at the
// slowest edge's pace; a single edge is the shortest chain.
Duration Executor::latency_of(const FluidFlow& flow, const std::vector<double>& demand, double first_message) {
  EdgeTime slowest;
  double round = 0;
  for (std::size_t hop = 0; hop < flow.edges.size(); ++hop) {
    const EdgeTime time = edge_time(flow, hop, demand);
    slowest.drain = std::max(slowest.drain, time.drain);
    slowest.step = std::max(slowest.step, time.step);
    slowest.pace = std::max(slowest.pace, time.pace);
    round += time.slice;
  }
  const bool ring = is_ring(flow);
  const double pace = ring ? std::max(slowest.pace, round / static_cast<double>(flow.edges.size())) : slowest.pace;
  const std::int64_t filling = is_chain(flow) ? static_cast<std::int64_t>(path_length(flow)) - 1 : 0;
  double latency = static_cast<double>(flow.serial_steps - filling) * (pace - slowest.drain);
  const double alone = slowest.step + (costs_.cut_through ? slowest.drain : 0.0);
  if (!ring) latency += (is_chain(flow) ? first_message : alone) - pace;
  // The first message may find links emptier than the pace of all of them has it.
  return Duration::from_ps(static_cast<std::int64_t>(std::max(latency, 0.0)));
}

void Executor::start_fluid() {
  const std::int64_t count = schedule_->fluid_flow_count();
  unfinished_ = static_cast<std::uint64_t>(count);
  // What all flows together take of each resource, so that an edge's rate is its share beside the channels that run with it.
  // There may be very many flows of one edge: they are not kept.
  std::vector<FluidFlow> coupled_flows;
  std::vector<double> demand(fabric_.resource_count(), 0.0);
  for (std::int64_t i = 0; i < count; ++i) {
    FluidFlow flow = schedule_->fluid_flow(i);
    for (std::size_t hop = 0; hop < flow.edges.size(); ++hop) add_demand(flow, hop, demand);
    if (flow.edges.size() > 1) coupled_flows.push_back(std::move(flow));
  }
  const std::vector<double> first_message = first_message_times(coupled_flows);
  std::size_t next_coupled = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const FluidFlow flow = schedule_->fluid_flow(i);
    const bool alone = flow.edges.size() < 2;
    const double first = alone ? 0.0 : first_message[next_coupled++];
    net::Footprint coupled;
    for (const FluidEdge& edge : flow.edges) {
      if (is_local(edge)) continue;
      const net::Footprint& path_of_edge = fabric_.footprint(path(edge.from, edge.to, flow.channel));
      coupled.usages.insert(coupled.usages.end(), path_of_edge.usages.begin(), path_of_edge.usages.end());
      if (!router_.expects_changes()) continue;
      coupled.paths.insert(coupled.paths.end(), path_of_edge.paths.begin(), path_of_edge.paths.end());
    }
    coupled.couple({});
    // The last rank of the last edge ends the channel, and copies what it receives at the end of each loop.
    const Rank last_rank = flow.edges.back().to;
    const std::int64_t last_index = schedule_->step_count(last_rank, flow.channel, 0) - 1;
    Duration extra = latency_of(flow, demand, first) + costs_.start + costs_.start_of(flow.channel);
    if (last_index >= 0) {
      const Step last = schedule_->step(last_rank, flow.channel, 0, last_index);
      if (!last.receive_from.empty() && last.send_to.empty()) {
        const double effort = effort_of(last, transport(*last.receive_from.begin(), last_rank));
        Duration copy = costs_.work(flow.step_bytes, 1.0, effort);
        // What lies in host memory is read over links, not copied.
        if (memory_between(flow.edges.back().from, last_rank)) {
          const EdgeTime read = edge_time(flow, flow.edges.size() - 1, demand);
          copy = std::max(copy, Duration::from_ps(static_cast<std::int64_t>(read.drain)));
        }
        extra = extra + (flow.copies - 1) * copy + costs_.work(last.bytes, 1.0, effort);
        if (last.copies()) extra = extra + costs_.copy_wait;
      }
    }
    net::Transfer transfer{.footprint = fabric_.add_footprint(std::move(coupled)),
                           .bytes = costs_.on_wire(flow.bytes),
                           .kind = net::TransferKind::kCoupled,
                           .extra_latency = extra,
                           .tag = static_cast<std::uint64_t>(i)};
    transfer.rate_cap =
        StepCosts::pace(costs_.on_wire(flow.step_bytes), most_work(flow, *schedule_, costs_, usual_.effort) +
                                                             port_queue_.wait(flow.step_bytes, schedule_->channels() - 1));
    ++messages_;
    post(transfer);
  }
}

}  // namespace weft::coll
