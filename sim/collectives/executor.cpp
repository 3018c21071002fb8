#include "sim/collectives/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/core/error.h"

namespace weft::coll {
namespace {

// Payload of the event that starts a call; others are a lane that ends.
constexpr std::uint64_t kStart = ~std::uint64_t{0};

constexpr std::string_view kGrainNames[] = {"auto", "chunk", "fluid", "closed_form"};

}  // namespace

std::string_view to_string(Grain grain) { return kGrainNames[static_cast<std::size_t>(grain)]; }

std::optional<Grain> grain_from(std::string_view name) {
  const auto* const found = std::ranges::find(kGrainNames, name);
  if (found == std::end(kGrainNames)) return std::nullopt;
  return static_cast<Grain>(found - std::begin(kGrainNames));
}

Executor::Executor(Simulator& simulator, net::Fabric& fabric, const net::Router& router, const Communicator& communicator)
    : simulator_{simulator},
      fabric_{fabric},
      router_{router},
      communicator_{communicator},
      component_{simulator.add_component("collectives")} {}

std::uint64_t Executor::count_messages(const Schedule& schedule, std::uint64_t limit) {
  std::uint64_t count = 0;
  for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
    for (int channel = 0; channel < schedule.channels(); ++channel) {
      for (int lane = 0; lane < schedule.lanes(rank, channel); ++lane) {
        count += static_cast<std::uint64_t>(schedule.step_count(rank, channel, lane));
        if (count > limit) return count;
      }
    }
  }
  return count;
}

void Executor::start(const Schedule& schedule, const StepCosts& costs, Grain grain, ExecutorListener& listener) {
  WEFT_CHECK(!running());
  WEFT_CHECK(schedule.ranks() == communicator_.ranks() && schedule.channels() <= communicator_.channels());
  WEFT_CHECK(grain == Grain::kChunk || grain == Grain::kFluid);
  schedule_ = &schedule;
  listener_ = &listener;
  costs_ = costs;
  grain_ = grain;
  finished_.assign(static_cast<std::size_t>(schedule.ranks()), simulator_.now());
  lanes_left_.assign(static_cast<std::size_t>(schedule.ranks()), 0);
  if (grain == Grain::kChunk) {
    start_chunks();
  } else {
    start_fluid();
  }
  // Work that ends at once (one rank, nothing to move) is reported from the run loop, never from inside start().
  simulator_.schedule(simulator_.now(), Phase::kAction, component_, *this, kStart);
  unfinished_ += 1;
}

void Executor::on_event(std::uint64_t payload) {
  if (payload != kStart) {
    end_lane(lanes_[payload]);
  } else {
    if (grain_ == Grain::kChunk) {
      for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) advance(lane);
      drain();
    }
    --unfinished_;
  }
  if (unfinished_ == 0) listener_->on_collective_done(simulator_.now());
}

Duration Executor::copy_out(const Step& last) const {
  const bool receives_only = !last.receive_from.empty() && last.send_to.empty();
  return receives_only && costs_.channel_rate > Bandwidth{} ? transmission_time(last.bytes, costs_.channel_rate) : Duration{};
}

void Executor::start_chunks() {
  lanes_.clear();
  for (Connection& connection : connections_) {
    connection.arrived = connection.occupied = 0;
    connection.receiver = connection.sender = kNone;
  }
  for (Rank rank = 0; rank < schedule_->ranks(); ++rank) {
    for (int channel = 0; channel < schedule_->channels(); ++channel) {
      for (int lane = 0; lane < schedule_->lanes(rank, channel); ++lane) {
        const std::int64_t count = schedule_->step_count(rank, channel, lane);
        if (count == 0) continue;
        Lane& made = lanes_.emplace_back();
        made.rank = rank;
        made.channel = channel;
        made.lane = lane;
        made.count = count;
        ++lanes_left_[static_cast<std::size_t>(rank)];
      }
    }
  }
  unfinished_ = lanes_.size();
}

void Executor::load(Lane& lane) {
  const Peers receive_before = lane.step.receive_from;
  const Peers send_before = lane.step.send_to;
  const bool first = lane.next == 0;
  lane.step = schedule_->step(lane.rank, lane.channel, lane.lane, lane.next);
  lane.loaded = true;
  // Most lanes have the same peers all along; then the connections stay.
  if (first || !(lane.step.receive_from == receive_before)) {
    int i = 0;
    for (const Rank peer : lane.step.receive_from) lane.receive_connection[i++] = connection(peer, lane.rank, lane.channel);
  }
  if (first || !(lane.step.send_to == send_before)) {
    int i = 0;
    for (const Rank peer : lane.step.send_to) lane.send_connection[i++] = connection(lane.rank, peer, lane.channel);
  }
}

void Executor::advance(std::uint32_t index) {
  Lane& lane = lanes_[index];
  while (lane.next < lane.count && !lane.sending) {
    if (!lane.loaded) load(lane);
    const int receives = lane.step.receive_from.size();
    const int sends = lane.step.send_to.size();
    for (int i = 0; i < receives; ++i) {
      Connection& from = connections_[lane.receive_connection[i]];
      if (from.arrived == 0) {
        from.receiver = index;
        return;
      }
    }
    for (int i = 0; i < sends; ++i) {
      Connection& to = connections_[lane.send_connection[i]];
      if (to.occupied >= costs_.slots) {
        to.sender = index;
        return;
      }
    }
    for (int i = 0; i < receives; ++i) --connections_[lane.receive_connection[i]].arrived;
    if (sends == 0) {
      end_step(index);
      continue;
    }
    lane.sending = true;
    lane.outstanding = sends;
    for (int i = 0; i < sends; ++i) {
      Connection& to = connections_[lane.send_connection[i]];
      ++to.occupied;
      ++messages_;
      fabric_.post({.footprint = to.path,
                    .bytes = lane.step.bytes,
                    .rate_cap = costs_.channel_rate,
                    .extra_latency = costs_.step_latency,
                    .tag = (std::uint64_t{index} << 32) | lane.send_connection[i]},
                   *this);
    }
  }
}

void Executor::end_step(std::uint32_t index) {
  Lane& lane = lanes_[index];
  const int receives = lane.step.receive_from.size();
  for (int i = 0; i < receives; ++i) {
    Connection& from = connections_[lane.receive_connection[i]];
    --from.occupied;
    wake(from.sender);
  }
  lane.sending = false;
  lane.loaded = false;
  if (++lane.next < lane.count) return;
  const Duration copy = copy_out(lane.step);
  if (copy > Duration{}) {
    simulator_.schedule(simulator_.now() + copy, Phase::kAction, component_, *this, index);
  } else {
    end_lane(lane);
  }
}

void Executor::end_lane(const Lane& lane) {
  --unfinished_;
  if (--lanes_left_[static_cast<std::size_t>(lane.rank)] == 0)
    finished_[static_cast<std::size_t>(lane.rank)] = simulator_.now();
}

void Executor::wake(std::uint32_t& lane) {
  if (lane == kNone) return;
  ready_.push_back(lane);
  lane = kNone;
}

void Executor::drain() {
  while (!ready_.empty()) {
    const std::uint32_t lane = ready_.back();
    ready_.pop_back();
    advance(lane);
  }
}

void Executor::on_delivered(TransferId, std::uint64_t tag) {
  if (grain_ == Grain::kFluid) {
    if (--unfinished_ > 0) return;
    std::ranges::fill(finished_, simulator_.now());
    listener_->on_collective_done(simulator_.now());
    return;
  }
  const auto index = static_cast<std::uint32_t>(tag >> 32);
  Connection& connection = connections_[static_cast<std::uint32_t>(tag)];
  ++connection.arrived;
  wake(connection.receiver);
  Lane& lane = lanes_[index];
  if (--lane.outstanding == 0) {
    end_step(index);
    ready_.push_back(index);
  }
  drain();
  if (unfinished_ == 0) listener_->on_collective_done(simulator_.now());
}

void Executor::on_aborted(TransferId, std::uint64_t) {
  // Failures are not injected into collectives yet; a transfer of ours that ends so is a bug.
  throw InternalError("a collective's transfer was aborted");
}

std::pair<double, double> Executor::edge_time(const FluidFlow& flow, std::size_t hop, const std::vector<double>& demand) {
  const net::Footprint& path_of_edge = fabric_.footprint(path(flow.edges[hop].from, flow.edges[hop].to, flow.channel));
  double rate = std::numeric_limits<double>::infinity();
  for (const Usage& usage : path_of_edge.usages) {
    rate = std::min(rate, fabric_.capacity(usage.resource) / (demand.empty() ? usage.usage : demand[usage.resource.index()]));
  }
  if (costs_.channel_rate > Bandwidth{}) rate = std::min(rate, costs_.channel_rate.bytes_per_ps());
  const double drain = static_cast<double>(flow.step_bytes.count()) / rate;
  return {drain, drain + static_cast<double>((path_of_edge.latency_of(flow.step_bytes) + costs_.step_latency).ps())};
}

void Executor::start_fluid() {
  const std::int64_t count = schedule_->fluid_flow_count();
  unfinished_ = static_cast<std::uint64_t>(count);
  // What all flows together take of each resource, so that an edge's rate is its share beside the channels that run with it. A
  // flow of one edge has no slowest edge to find.
  std::vector<FluidFlow> coupled_flows;
  std::vector<double> demand(fabric_.resource_count(), 0.0);
  std::size_t longest = 0;
  const auto add_demand = [&](const FluidFlow& flow, std::size_t hop, std::vector<double>& of) {
    for (const Usage& usage : fabric_.footprint(path(flow.edges[hop].from, flow.edges[hop].to, flow.channel)).usages) {
      of[usage.resource.index()] += usage.usage;
    }
  };
  for (std::int64_t i = 0; i < count; ++i) {
    FluidFlow flow = schedule_->fluid_flow(i);
    if (flow.edges.size() < 2) continue;
    for (std::size_t hop = 0; hop < flow.edges.size(); ++hop) add_demand(flow, hop, demand);
    longest = std::max(longest, flow.edges.size());
    coupled_flows.push_back(std::move(flow));
  }
  // The first messages of chains go hop by hop, all channels in step; on its way each meets the channels that have come as far.
  std::vector<double> first_message(coupled_flows.size(), 0.0);
  std::vector<double> front(demand.size(), 0.0);
  for (std::size_t hop = 0; hop < longest; ++hop) {
    const auto has_hop = [&](const FluidFlow& flow) { return flow.fill_bytes.count() > 0 && hop < flow.edges.size(); };
    for (const FluidFlow& flow : coupled_flows) {
      if (has_hop(flow)) add_demand(flow, hop, front);
    }
    for (std::size_t f = 0; f < coupled_flows.size(); ++f) {
      if (has_hop(coupled_flows[f])) first_message[f] += edge_time(coupled_flows[f], hop, front).second;
    }
  }
  std::size_t next_coupled = 0;
  const std::vector<double> nothing;
  for (std::int64_t i = 0; i < count; ++i) {
    const FluidFlow flow = schedule_->fluid_flow(i);
    const bool alone = flow.edges.size() < 2;
    net::Footprint coupled;
    // A step takes the slowest edge's time; its latency is what that time exceeds the fluid's own by.
    double slowest = 0;       // picoseconds for one message's bytes on the slowest edge
    double slowest_step = 0;  // the same with latency, on the edge where both together are longest
    for (std::size_t hop = 0; hop < flow.edges.size(); ++hop) {
      const auto [drain, step] = edge_time(flow, hop, alone ? nothing : demand);
      slowest = std::max(slowest, drain);
      slowest_step = std::max(slowest_step, step);
      const net::Footprint& path_of_edge = fabric_.footprint(path(flow.edges[hop].from, flow.edges[hop].to, flow.channel));
      coupled.usages.insert(coupled.usages.end(), path_of_edge.usages.begin(), path_of_edge.usages.end());
    }
    coupled.couple({});
    // A ring's messages all pay the slowest edge. In a chain the first one passes every edge before the last edge is busy, and
    // the others follow at the slowest edge's pace.
    const bool chain = flow.fill_bytes.count() > 0;
    const std::int64_t paced = chain ? flow.serial_steps - static_cast<std::int64_t>(flow.edges.size()) + 1 : flow.serial_steps;
    double latency = static_cast<double>(paced) * (slowest_step - slowest);
    if (chain) latency += first_message[next_coupled] - slowest_step;
    if (!alone) ++next_coupled;
    // The last rank of the last edge ends the channel.
    const Rank last_rank = flow.edges.back().to;
    const std::int64_t last_index = schedule_->step_count(last_rank, flow.channel, 0) - 1;
    const Duration copy = last_index < 0 ? Duration{} : copy_out(schedule_->step(last_rank, flow.channel, 0, last_index));
    ++messages_;
    fabric_.post({.footprint = fabric_.add_footprint(std::move(coupled)),
                  .bytes = flow.bytes,
                  .kind = net::TransferKind::kCoupled,
                  .rate_cap = costs_.channel_rate,
                  .extra_latency = Duration::from_ps(static_cast<std::int64_t>(latency)) + copy,
                  .tag = static_cast<std::uint64_t>(i)},
                 *this);
  }
}

FootprintId Executor::path(Rank from, Rank to, int channel) {
  // The channel is the flow's entropy: one queue pair per connection, so ECMP may take another path for another channel.
  const std::uint64_t key =
      (static_cast<std::uint64_t>(from) << 40) | (static_cast<std::uint64_t>(to) << 16) | static_cast<std::uint64_t>(channel);
  const auto found = paths_.find(key);
  if (found != paths_.end()) return found->second;
  const FootprintId made = fabric_.add_footprint(
      router_.route(communicator_.device(from), communicator_.device(to), {static_cast<std::uint64_t>(channel)}));
  paths_.emplace(key, made);
  return made;
}

std::uint32_t Executor::connection(Rank from, Rank to, int channel) {
  const std::uint64_t key =
      (static_cast<std::uint64_t>(from) << 40) | (static_cast<std::uint64_t>(to) << 16) | static_cast<std::uint64_t>(channel);
  const auto [found, inserted] = connection_ids_.emplace(key, static_cast<std::uint32_t>(connections_.size()));
  if (inserted) {
    Connection& made = connections_.emplace_back();
    made.from = from;
    made.to = to;
    made.path = path(from, to, channel);
  }
  return found->second;
}

std::string Executor::blocked() const {
  std::string text;
  int named = 0;
  for (const Lane& lane : lanes_) {
    if (lane.next == lane.count) continue;
    if (++named > 16) return text + "  ...\n";
    text +=
        fmt::format("  rank {} channel {} lane {} step {} of {}:", lane.rank, lane.channel, lane.lane, lane.next, lane.count);
    if (lane.sending) text += " sending";
    for (const Rank peer : lane.step.receive_from) text += fmt::format(" waits for a message of rank {}", peer);
    for (const Rank peer : lane.step.send_to) text += fmt::format(" to send to rank {}", peer);
    text += '\n';
  }
  return text;
}

}  // namespace weft::coll
