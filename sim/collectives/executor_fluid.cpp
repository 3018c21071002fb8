// The fluid grain of the executor: a channel as one coupled transfer, and the latency its chain of messages pays.
#include <algorithm>
#include <functional>
#include <limits>

#include "sim/collectives/executor.h"
#include "sim/collectives/step_work.h"
#include "sim/core/error.h"
#include "sim/core/portable_math.h"

namespace weft::coll {
namespace {

bool is_chain(const FluidFlow& flow) { return flow.fill_bytes.count() > 0; }

bool is_local(const FluidEdge& edge) { return edge.from == edge.to; }

// Messages that the lane moves for one of a flow of a single edge: those of the flows it carries in turn, one of each.
std::int64_t turns_of(const FluidFlow& flow) {
  if (flow.edges.size() > 1 || flow.edges.front().work == Bytes{}) return 1;
  return flow.edges.front().work.count() / flow.step_bytes.count();
}

// Each edge begins where the one before ends, and the first where the last does.
bool is_ring(const FluidFlow& flow) {
  const auto follows = [](const FluidEdge& a, const FluidEdge& b) { return a.to == b.from; };
  return std::ranges::adjacent_find(flow.edges, std::not_fn(follows)) == flow.edges.end() &&
         follows(flow.edges.back(), flow.edges.front());
}

// The lane whose messages the edge carries. Where lanes share a block's warps out, each has steps of one kind.
int lane_of(const FluidEdge& edge, const FluidFlow& flow, const Schedule& schedule) {
  for (int lane = 0; lane < schedule.lanes(edge.from, flow.channel); ++lane) {
    if (schedule.step_count(edge.from, flow.channel, lane) == 0) continue;
    const Step step = schedule.step(edge.from, flow.channel, lane, 0);
    if (std::ranges::find(step.send_to, edge.to) != step.send_to.end()) return lane;
  }
  return -1;
}

bool shares_warps(const FluidEdge& edge) { return edge.share < 1.0 && edge.work == Bytes{}; }

double effort_on(const FluidEdge& edge, const FluidFlow& flow, const Schedule& schedule, const StepCosts& costs, double usual) {
  const int lane = shares_warps(edge) ? lane_of(edge, flow, schedule) : -1;
  return lane < 0 ? usual : effort_of(costs, schedule.step(edge.from, flow.channel, lane, 0));
}

// Picoseconds that each message of many takes the lane. All lanes of the block have one at a time; those with less to do
// leave the rest of the time to fewer threads, which are faster.
double work_on(const FluidEdge& edge, const FluidFlow& flow, const Schedule& schedule, const StepCosts& costs, double effort) {
  const Bytes data = edge.work > Bytes{} ? edge.work : flow.step_bytes;
  const auto beside_all = static_cast<double>(costs.work(data, edge.share, effort).ps());
  if (!shares_warps(edge) || costs.thread_exponent == 0.0) return beside_all;
  const int own = lane_of(edge, flow, schedule);
  double sharing = edge.share;
  std::vector<std::pair<double, double>> others;  // their time beside all, and their share
  for (int lane = 0; lane < schedule.lanes(edge.from, flow.channel); ++lane) {
    if (lane == own || schedule.step_count(edge.from, flow.channel, lane) == 0) continue;
    const double share = schedule.warp_share(edge.from, flow.channel, lane);
    const double of_lane = effort_of(costs, schedule.step(edge.from, flow.channel, lane, 0));
    others.emplace_back(static_cast<double>(costs.work(flow.step_bytes, share, of_lane).ps()), share);
    sharing += share;
  }
  std::ranges::sort(others);
  others.emplace_back(beside_all, 0.0);
  double time = 0;
  double done = 0;  // of `beside_all`
  for (const auto& [other, share] : others) {
    const double until = std::min(other, beside_all);
    time += (until - done) * portable_pow(std::min(sharing, 1.0), costs.thread_exponent);
    done = until;
    sharing -= share;
  }
  return time;
}

Duration most_work(const FluidFlow& flow, const Schedule& schedule, const StepCosts& costs, double usual) {
  double most = 0;
  const FluidEdge* known = nullptr;  // edges are mostly alike
  for (const FluidEdge& edge : flow.edges) {
    const bool alike = known != nullptr && edge.work == known->work && edge.share == known->share;
    if (alike && !shares_warps(edge)) continue;
    known = &edge;
    most = std::max(most, work_on(edge, flow, schedule, costs, effort_on(edge, flow, schedule, costs, usual)));
  }
  return Duration::whole_ps(most);
}

// Edges that the first message of a chain or tree passes one after another (schedule.h).
std::size_t path_length(const FluidFlow& flow) {
  const std::int64_t step = std::max<std::int64_t>(flow.step_bytes.count(), 1);
  return std::min(flow.edges.size(), static_cast<std::size_t>(1 + flow.fill_bytes.count() / step));
}

}  // namespace

void Executor::add_demand(const FluidFlow& flow, std::size_t hop, std::vector<double>& demand) {
  if (is_local(flow.edges[hop])) return;
  const auto turns = static_cast<double>(turns_of(flow));
  for (const Usage& usage : fabric_.footprint(path(flow.edges[hop].from, flow.edges[hop].to, flow.channel)).usages) {
    demand[usage.resource.index()] += usage.usage / turns;
  }
}

Executor::EdgeTime Executor::edge_time(const FluidFlow& flow, std::size_t hop, const std::vector<double>& demand) {
  const FluidEdge& edge = flow.edges[hop];
  const double effort = effort_on(edge, flow, *schedule_, costs_, usual_.effort);
  const double busy = work_on(edge, flow, *schedule_, costs_, effort) / static_cast<double>(turns_of(flow));
  // The first message finds the block's other lanes waiting.
  const Bytes data = edge.work > Bytes{} && flow.edges.size() > 1 ? edge.work : flow.step_bytes;
  const auto alone = static_cast<double>(costs_.work(data, edge.share, effort, edge.share).ps());
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
  const Duration proxy = by == Transport::kNet ? costs_.proxy : Duration{};
  const auto overhead =
      static_cast<double>((path_of_edge.latency_of(wire) + costs_.message_overhead(by, usual_.copies) + proxy).ps());
  if (costs_.rendezvous) return {drain, drain + overhead, drain + overhead, drain + overhead};
  const double first = overhead - (costs_.slices - 1) * static_cast<double>(costs_.slice.ps());
  EdgeTime time{drain, std::max(drain - busy + alone, carried) + overhead, drain + slices, drain / full + first};
  if (by == Transport::kNet) {  // a proxy sends a slice when it is whole
    time = {drain, alone / full + carried + overhead, std::max(carried, busy + slices), (busy + carried) / full + first};
  }
  if (costs_.cut_through) {  // the next edge starts with the first pass, or as soon as the proxy does
    const Bytes pass{static_cast<std::int64_t>(static_cast<double>(costs_.pass.count()) * edge.share)};
    const Bytes passed = by == Transport::kNet ? flow.step_bytes : std::min(flow.step_bytes, pass);
    time.step = static_cast<double>(costs_.work(passed, edge.share, effort, edge.share).ps()) + overhead;
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

// Returns what a flow's messages pay beyond its bytes at the slowest edge's share. Round a ring each slice waits for the one
// before it on the edge before. So messages follow at the mean of what a slice takes over all edges, or at the slowest edge's
// pace if that is slower. In a chain the first one passes every edge before the last edge is busy, and the others follow at the
// slowest edge's pace. A single edge is the shortest chain.
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
  const bool ring = !is_chain(flow) && is_ring(flow);
  const double pace = ring ? std::max(slowest.pace, round / static_cast<double>(flow.edges.size())) : slowest.pace;
  const std::int64_t filling = is_chain(flow) ? static_cast<std::int64_t>(path_length(flow)) - 1 : 0;
  double latency = static_cast<double>(turns_of(flow) * flow.serial_steps - filling) * (pace - slowest.drain);
  const double alone = slowest.step + (costs_.cut_through ? slowest.drain : 0.0);
  if (!ring) latency += (is_chain(flow) ? first_message : alone) - pace;
  // The first message may find links emptier than the pace of all of them has it.
  return Duration::whole_ps(std::max(latency, 0.0));
}

// The last rank of the longest path ends the channel, and copies what it receives at the end of each loop.
Duration Executor::last_copies(const FluidFlow& flow, const std::vector<double>& demand) {
  const std::size_t last_edge = (is_chain(flow) ? path_length(flow) : flow.edges.size()) - 1;
  const FluidEdge& edge = flow.edges[last_edge];
  if (is_local(edge)) return {};  // this is that copy
  for (int lane = 0; lane < schedule_->lanes(edge.to, flow.channel); ++lane) {
    const std::int64_t steps = schedule_->step_count(edge.to, flow.channel, lane);
    if (steps == 0) continue;
    const Step last = schedule_->step(edge.to, flow.channel, lane, steps - 1);
    if (std::ranges::find(last.receive_from, edge.from) == last.receive_from.end() || !last.send_to.empty()) continue;
    const bool is_ring = !is_chain(flow) && flow.edges.size() > 1;
    const double share = is_ring ? 1.0 : schedule_->warp_share(edge.to, flow.channel, lane);
    const double effort = effort_of(last, transport(edge.from, edge.to));
    Duration copy = costs_.work(flow.step_bytes, share, effort, share);
    // Data in host memory is read over links, not copied.
    if (memory_between(edge.from, edge.to)) copy = std::max(copy, Duration::whole_ps(edge_time(flow, last_edge, demand).drain));
    Duration wait = last.copies() && !last.delivered ? costs_.copy_wait : Duration{};
    // A lone message's slices wait at the receiver as they did at the sender; in a ring other messages hide that.
    const int full = costs_.slice_bytes(last.bytes, 1) > Bytes{} ? costs_.slices : 1;
    if (flow.edges.size() == 1) wait = wait + full * costs_.slice;
    return (flow.copies - 1) * copy + costs_.work(last.bytes, share, effort, share) + wait;
  }
  return {};
}

void Executor::start_fluid() {
  const std::int64_t count = schedule_->fluid_flow_count();
  unfinished_ = static_cast<std::uint64_t>(count);
  // Adds up what all flows together take of each resource, so that an edge's rate is its share beside the channels that run
  // with it. There may be very many flows of one edge: they are not kept.
  std::vector<FluidFlow> coupled_flows;
  std::vector<double> demand(fabric_.resource_count(), 0.0);
  const auto stores_to_peer = [&](const FluidEdge& edge) {
    return !is_local(edge) && transport(edge.from, edge.to) == Transport::kNvlink;
  };
  // Blocks, in whole ones' warps, that a rank's port serves while lanes carry the first of their flows, the second, and so on.
  std::vector<std::vector<double>> loads_by_turn(static_cast<std::size_t>(schedule_->ranks()));
  for (std::int64_t i = 0; i < count; ++i) {
    FluidFlow flow = schedule_->fluid_flow(i);
    for (std::size_t hop = 0; hop < flow.edges.size(); ++hop) add_demand(flow, hop, demand);
    if (flow.edges.size() > 1) {
      coupled_flows.push_back(std::move(flow));
    } else if (const FluidEdge& edge = flow.edges.front(); stores_to_peer(edge)) {
      const auto turns = static_cast<std::size_t>(turns_of(flow));
      std::vector<double>& loads = loads_by_turn[static_cast<std::size_t>(edge.from)];
      loads.resize(std::max(loads.size(), turns), 0.0);
      for (std::size_t turn = 0; turn < turns; ++turn) loads[turn] += edge.share / static_cast<double>(turns);
    }
  }
  const std::vector<double> first_message = first_message_times(coupled_flows);
  // How long the lanes of a block queue at a port for a message. Of fewer warps each store brings less, and there are more to
  // wait for.
  const auto port_wait = [&](const FluidFlow& flow) {
    const FluidEdge& edge = flow.edges.front();
    if (flow.edges.size() > 1) return port_queue_.wait(flow.step_bytes, schedule_->channels() - 1);
    if (costs_.port.raw == Bandwidth{} || !stores_to_peer(edge)) return Duration{};
    const double inward = port_loads_.inward(edge.from, edge.to);
    const std::vector<double>& loads = loads_by_turn[static_cast<std::size_t>(edge.from)];
    Duration of_block;
    for (std::int64_t turn = 0; turn < turns_of(flow); ++turn)
      of_block = of_block + port_queue_.wait(flow.step_bytes, loads[static_cast<std::size_t>(turn)] - edge.share, inward);
    return Duration::whole_ps(static_cast<double>(of_block.ps()) / edge.share);
  };
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
    const Duration extra =
        latency_of(flow, demand, first) + costs_.start + costs_.start_of(flow.channel) + last_copies(flow, demand);
    net::Transfer transfer{.footprint = fabric_.add_footprint(std::move(coupled)),
                           .bytes = costs_.on_wire(flow.bytes),
                           .kind = net::TransferKind::kCoupled,
                           .extra_latency = extra,
                           .tag = static_cast<std::uint64_t>(i)};
    transfer.rate_cap =
        StepCosts::pace(costs_.on_wire(flow.step_bytes), most_work(flow, *schedule_, costs_, usual_.effort) + port_wait(flow));
    ++messages_;
    post(transfer);
  }
}

}  // namespace weft::coll
