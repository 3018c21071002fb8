// Lanes send, and what they send is carried: by the block's own stores or by a proxy. By a switch: executor_switch.cpp.
#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/collectives/executor.h"
#include "sim/core/error.h"

namespace weft::coll {

void Executor::post(const net::Transfer& transfer) {
  ++unsent_;
  fabric_.post(transfer, *this);
}

// Connections outlive calls, and calls differ in protocol.
Duration Executor::hop(std::uint32_t connection) const {
  return costs_.hop[static_cast<std::size_t>(connections_[connection].transport)];
}

// NCCL's network transport: the block leaves a slice in a buffer, and a proxy thread on the host has the NIC send it.
bool Executor::is_proxys(std::uint32_t connection) const {
  return !costs_.rendezvous && connections_[connection].transport == Transport::kNet;
}

// Whether the lane's block or an NVSwitch sends any of its slice, until when the lane is not free.
bool Executor::sends_itself(const Lane& lane) const {
  if (lane.in_network) return false;
  return lane.step.receive_in_switch || lane.step.multicasts() ||
         std::ranges::any_of(lane.sends, [&](std::uint32_t to) { return !is_proxys(to); });
}

// Whether it stores to a peer over NVLink, where the stores of a GPU's blocks queue.
bool Executor::uses_port(const Lane& lane) const {
  return costs_.port.raw > Bandwidth{} && std::ranges::any_of(lane.sends, [&](std::uint32_t to) {
           return connections_[to].transport == Transport::kNvlink && !connections_[to].in_host_memory;
         });
}

// How long `data` queues behind the stores of the rank's other lanes: those that began before, and half of those that begin
// with it, whichever of them comes first. `busy`, what the slice takes by itself: of fewer warps than a block's each store
// brings less, and there are more to wait for.
Duration Executor::wait_at_port(const Lane& lane, Bytes data, Duration busy) const {
  if (lane.stores_from == Time::max()) return {};
  const Member& member = members_[static_cast<std::size_t>(lane.rank)];
  const Time now = simulator_.now();
  double blocks = 0;
  double share = 0;  // of the warps of one block
  for (std::uint32_t i = member.first_lane; i < member.first_lane + member.lane_count; ++i) {
    const Lane& other = lanes_[i];
    if (other.stores_from <= now && &other != &lane) share += other.stores_from < now ? other.share : other.share / 2;
    const bool block_ends = i + 1 == member.first_lane + member.lane_count || lanes_[i + 1].channel != other.channel;
    if (!block_ends) continue;
    blocks += costs_.blocks_worth(share);
    share = 0;
  }
  double inward = 0.0;
  for (const std::uint32_t to : lane.sends) inward = std::max(inward, port_loads_.inward(lane.rank, connections_[to].to));
  const Duration of_block = port_queue_.wait(data, blocks, inward);
  const Duration whole = costs_.work(data, 1.0, lane.effort);
  if (busy <= whole || whole == Duration{}) return of_block;
  return Duration::nearest_ps(static_cast<double>(of_block.ps()) * (busy.seconds() / whole.seconds()));
}

void Executor::post_slice(std::uint32_t index, Bytes data, Duration busy) {
  Lane& lane = lanes_[index];
  const Bytes wire = costs_.on_wire(data);
  net::Transfer transfer{.bytes = wire, .resend = true, .weight = lane.weight, .tag = std::uint64_t{index} << 32};
  transfer.rate_cap = StepCosts::pace(wire, busy);
  if (lane.step.receive_in_switch || lane.step.multicasts()) {
    post_in_switch(index, transfer);
    return;
  }
  lane.outstanding = 0;
  for (const std::uint32_t to : lane.sends) lane.outstanding += is_proxys(to) ? 0 : 1;
  for (const std::uint32_t from : lane.receives) lane.outstanding += connections_[from].in_host_memory ? 1 : 0;
  for (const std::uint32_t from : lane.receives) {
    if (!connections_[from].in_host_memory) continue;
    ++messages_;
    transfer.footprint = connections_[from].read_path;
    transfer.weight = 1.0;  // one PCIe link serves in turn; it is the many NVLinks that share unequally
    transfer.tag = std::uint64_t{index} << 32 | kNone;
    post(transfer);
  }
  int peer = 0;
  for (const std::uint32_t to : lane.sends) {
    if (lane.step.is_spread()) {
      transfer.bytes = costs_.on_wire(costs_.slice_bytes(lane.step.bytes_of_peer(peer++), lane.slice));
      transfer.rate_cap = StepCosts::pace(transfer.bytes, busy);
    }
    if (is_proxys(to)) continue;
    ++messages_;
    transfer.weight = connections_[to].in_host_memory ? 1.0 : lane.weight;
    transfer.footprint = connections_[to].path;
    transfer.extra_latency = hop(to);
    transfer.tag = std::uint64_t{index} << 32 | to;
    post(transfer);
    if (!costs_.cut_through) continue;
    const Bytes pass{static_cast<std::int64_t>(static_cast<double>(costs_.pass.count()) * lane.share)};
    const Duration first = costs_.work(std::min(data, pass), lane.share, lane.effort, busy_share(index));
    schedule_event(first + fabric_.footprint(connections_[to].path).latency + hop(to), EventKind::kFirstPass, to);
  }
}

// The slice is whole, and its lane goes on.
void Executor::send_by_proxy(std::uint32_t index) {
  const Lane& lane = lanes_[index];
  if (lane.in_network) {
    send_in_network(index);
    return;
  }
  if (!lane.step.receive_in_switch && contributes_to_network(lane)) arrive(*lane.sends.begin());
  if (lane.step.receive_in_switch || lane.step.send_in_switch) return;
  for (const std::uint32_t to : lane.sends) {
    if (!is_proxys(to)) continue;
    const Bytes data = costs_.slice_bytes(lane.step.bytes, lane.slice);
    hand_to_proxy({.connection = to,
                   .footprint = connections_[to].path,
                   .wire = costs_.on_wire(data),
                   .weight = lane.weight,
                   .hop = hop(to),
                   .lane = index,
                   .to = to});
  }
}

// Model: one thread on the host does the messages of all of a GPU's channels, in the order in which their slices are whole. It
// does the next one while a message is on its way.
void Executor::hand_to_proxy(const ProxySlice& slice) {
  if (costs_.proxy == Duration{}) {
    queue_at_proxy(slice);
    return;
  }
  Time& free = members_[static_cast<std::size_t>(lanes_[slice.lane].rank)].proxy_free;
  free = std::max(free, simulator_.now()) + costs_.proxy;
  const std::uint32_t place = at_proxy_.take();
  at_proxy_[place] = slice;
  schedule_event(free - simulator_.now(), EventKind::kProxy, place);
}

void Executor::queue_at_proxy(const ProxySlice& slice) {
  std::uint32_t& queue = connections_[slice.connection].queue;
  if (queue != kNone) {
    proxy_queues_[queue].push_back(slice);
    return;
  }
  queue = proxy_queues_.take();
  proxy_queues_[queue].clear();
  start_proxy(slice);
}

void Executor::start_proxy(const ProxySlice& slice) {
  ++messages_;
  post({.footprint = slice.footprint,
        .bytes = slice.wire,
        .kind = slice.kind,
        .resend = true,
        .weight = slice.weight,
        .rate_cap = slice.cap,
        .extra_latency = slice.hop,
        .tag = kByProxy | std::uint64_t{slice.lane} << 32 | slice.to});
  if (costs_.cut_through)
    schedule_event(fabric_.footprint(slice.footprint).latency + slice.hop, EventKind::kFirstPass, slice.to);
}

void Executor::free_proxy(std::uint32_t connection) {
  std::uint32_t& queue = connections_[connection].queue;
  std::vector<ProxySlice>& waiting = proxy_queues_[queue];
  if (waiting.empty()) {
    proxy_queues_.give_back(std::exchange(queue, kNone));
    return;
  }
  const ProxySlice next = waiting.front();
  waiting.erase(waiting.begin());
  start_proxy(next);
}

void Executor::arrive(std::uint32_t connection) {
  Connection& to = connections_[connection];
  if (!costs_.cut_through) {
    ++to.arrived;
    wake(to.receiver);
    return;
  }
  ++to.whole;
  const std::uint32_t follower = to.follower;
  to.follower = kNone;
  if (follower != kNone) end_slice(follower);
}

void Executor::on_source_free(TransferId, std::uint64_t tag) {
  --unsent_;
  free_source(tag);
  settle_if_done();
}

void Executor::free_source(std::uint64_t tag) {
  const bool is_read = static_cast<std::uint32_t>(tag) == kNone;
  if (grain_ == Grain::kFluid || costs_.rendezvous || is_read) return;
  if ((tag & kByProxy) != 0) {
    const auto to = static_cast<std::uint32_t>(tag);
    free_proxy((to & kManyConnections) != 0 ? deliveries_[to & ~kManyConnections].front() : to);
    return;
  }
  const auto index = static_cast<std::uint32_t>(tag >> 32);
  if (--lanes_[index].outstanding > 0) return;
  Lane& lane = lanes_[index];
  if (lane.stores_from != Time::max() && lane.slice + 1 < costs_.slices) {
    const Duration alone = costs_.work(costs_.slice_bytes(lane.step.bytes, lane.slice), lane.share, lane.effort);
    lane.held_at_port = std::max(simulator_.now() - lane.stores_from - alone, Duration{});
  }
  lane.stores_from = Time::max();
  end_slice(index);
  drain();
  finish_if_done();
}

void Executor::on_delivered(TransferId, std::uint64_t tag) {
  if (grain_ == Grain::kFluid) {
    if (--unfinished_ == 0) {
      std::ranges::fill(finished_, simulator_.now());
      call_ends_.assign(1, simulator_.now());
    }
    finish_if_done();
    return;
  }
  const auto to = static_cast<std::uint32_t>(tag);
  const bool is_read = to == kNone;
  if (is_read) {
    // A lane has what it reads when it is here, not when it has left the memory.
  } else if ((to & kManyConnections) != 0) {
    const std::uint32_t list = to & ~kManyConnections;
    for (const std::uint32_t each : deliveries_[list]) arrive(each);
    deliveries_.give_back(list);
  } else {
    arrive(to);
  }
  const auto index = static_cast<std::uint32_t>((tag & ~kByProxy) >> 32);
  if ((costs_.rendezvous || is_read) && --lanes_[index].outstanding == 0) end_slice(index);
  drain();
  finish_if_done();
}

void Executor::on_aborted(TransferId, std::uint64_t tag) { throw ConfigError(what_is_cut(tag)); }

}  // namespace weft::coll
