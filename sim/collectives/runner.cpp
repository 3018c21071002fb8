#include "sim/collectives/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "sim/collectives/builtin.h"
#include "sim/collectives/closed_form.h"
#include "sim/collectives/nccl/choose.h"
#include "sim/collectives/ring_order.h"
#include "sim/core/error.h"
#include "sim/network/builtin.h"

namespace weft::coll {
namespace {

// `auto` simulates every message up to this many, about a second's work; above, channels become coupled transfers.
constexpr std::uint64_t kChunkMessages = 200'000;
// Chains and rounds are less exact as coupled transfers, so more of their messages are simulated.
constexpr std::uint64_t kChunkMessagesOfChains = 2'000'000;

// For the closed form: what the rings of all channels together get on their narrowest link, and their longest latency.
IdealNetwork ideal_network(const Machine& machine, const Communicator& communicator, const StepCosts& costs, int channels) {
  std::vector<double> demand(machine.topology.link_count(), 0.0);
  Duration latency;
  for (int channel = 0; channel < channels; ++channel) {
    const RingOrder& ring = communicator.ring(channel);
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const net::Footprint path =
          machine.router.route(communicator.device(ring[i]), communicator.device(ring[(i + 1) % ring.size()]),
                               {static_cast<std::uint64_t>(channel)});
      for (const Usage& usage : path.usages) demand[usage.resource.index()] += usage.usage;
      latency = std::max(latency, path.latency + costs.step_latency);
    }
  }
  double rate = costs.channel_rate > Bandwidth{} ? costs.channel_rate.bytes_per_ps() : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < demand.size(); ++i) {
    if (demand[i] > 0) rate = std::min(rate, machine.fabric.capacity(ResourceId::from_index(i)) / demand[i]);
  }
  return {Bandwidth::from_bits_per_second(static_cast<std::int64_t>(rate * channels * 8e12)), latency};
}

}  // namespace

Machine::Machine(const net::Topology& t, std::string_view routing, std::uint64_t seed, std::uint64_t shuffle_ties)
    : topology{t}, router{t, net::make_routing_policy(routing), seed}, fabric{simulator, t} {
  if (shuffle_ties != 0) simulator.set_shuffle_ties(shuffle_ties);
}

double CollectiveResult::algorithm_bandwidth_gbps() const {
  if (time <= Duration{}) return 0.0;
  return static_cast<double>(sizes.reported.count()) / time.seconds() / 1e9;
}

double CollectiveResult::bus_bandwidth_gbps() const { return algorithm_bandwidth_gbps() * bus_factor(call.kind, ranks); }

CollectiveRunner::CollectiveRunner(Machine& machine, const Profile& profile, std::vector<DeviceId> devices)
    : machine_{machine},
      simple_{profile.get(simple_costs)},
      counts_{profile.get(channel_counts)},
      launch_{profile.get(net::launch_timings)},
      devices_{std::move(devices)} {
  std::set<std::int32_t> hosts;
  for (const DeviceId device : devices_) hosts.insert(machine.topology.host_of(device));
  nodes_ = static_cast<int>(hosts.size());
}

Communicator& CollectiveRunner::communicator(int channels, bool textbook) {
  const auto found =
      std::ranges::find_if(opened_, [&](const Opened& o) { return o.channels == channels && o.textbook == textbook; });
  if (found != opened_.end()) {
    std::iter_swap(found, opened_.begin());
    return *opened_.front().communicator;
  }
  std::vector<RingOrder> rings =
      textbook ? rank_order_rings(ranks(), channels) : make_rings(machine_.topology, devices_, channels);
  Opened opened{channels, textbook, std::make_unique<Communicator>(machine_.topology, devices_, std::move(rings)), nullptr};
  opened.executor = std::make_unique<Executor>(machine_.simulator, machine_.fabric, machine_.router, *opened.communicator);
  opened_.insert(opened_.begin(), std::move(opened));
  return *opened_.front().communicator;
}

void CollectiveRunner::on_collective_done(Time at) { done_ = at; }

CollectiveResult CollectiveRunner::run(const CollectiveCall& call, const RunOptions& options) {
  CollectiveResult result;
  result.call = call;
  result.ranks = ranks();
  result.nodes = nodes_;
  result.sizes = sizes_of(call, ranks());
  nccl::Chosen chosen = nccl::choose(call, ranks(), nodes_, counts_, options.settings, options.algorithm, options.channels);
  result.choice = chosen.choice;
  result.notes = std::move(chosen.notes);

  // Textbook algorithms pay for the network alone: no launch, no protocol, no limit of a thread block.
  const bool textbook = chosen.choice.protocol.empty();
  StepCosts costs;
  if (!textbook) {
    costs.step_latency = simple_.step_latency;
    // Point-to-point transfers use as many channels as it takes to fill the link (nccl-model §3.6); they are one message here.
    if (chosen.choice.algorithm == "ring") costs.channel_rate = simple_.channel_rate;
    result.launch = options.launches_per_thread * launch_.host_cost;
  }
  const Communicator& comm = communicator(result.choice.channels, textbook);
  Executor& executor = *opened_.front().executor;
  const std::unique_ptr<Algorithm> algorithm = make_algorithm(result.choice.algorithm);
  const std::unique_ptr<Schedule> schedule = algorithm->plan(comm, call, result.choice);

  result.grain = options.grain;
  const bool chain = call.kind == Collective::kBroadcast || call.kind == Collective::kReduce;
  if (result.grain == Grain::kAuto) {
    const std::uint64_t most = chain || result.choice.algorithm == "pairwise" ? kChunkMessagesOfChains : kChunkMessages;
    result.grain = Executor::count_messages(*schedule, most) > most ? Grain::kFluid : Grain::kChunk;
  }
  if (result.grain == Grain::kFluid && chain && result.choice.channels > 1) {
    result.notes.emplace_back("fluid grain: chains whose channels meet on some links only are up to 10 % off");
  }
  if (result.grain == Grain::kClosedForm) {
    const auto time =
        ranks() == 1 ? std::optional{Duration{}}
                     : closed_form(call, result.choice, ranks(), ideal_network(machine_, comm, costs, result.choice.channels));
    if (!time) {
      throw ConfigError(fmt::format("algorithm '{}' has no closed form for {}; use --grain chunk or fluid",
                                    result.choice.algorithm, to_string(call.kind)));
    }
    result.device = *time;
    result.notes.emplace_back("closed form: every rank has the ring's narrowest link to itself; no other contention");
  } else {
    const Time begin = machine_.simulator.now();
    const std::uint64_t messages = executor.messages();
    done_ = Time::max();
    executor.start(*schedule, costs, result.grain, *this);
    machine_.simulator.run();
    if (machine_.simulator.stopped()) return result;
    if (done_ == Time::max())
      throw InternalError("deadlock in " + std::string{to_string(call.kind)} + ":\n" + executor.blocked());
    machine_.fabric.check_conservation();
    result.device = done_ - begin;
    result.messages = executor.messages() - messages;
    Digest digest;
    for (Rank rank = 0; rank < ranks(); ++rank) digest.add(executor.finished(rank) - begin);
    result.digest = digest.value();
  }
  if (!textbook) result.device += simple_.base_latency;
  result.time = std::max(result.device, result.launch);
  return result;
}

}  // namespace weft::coll
