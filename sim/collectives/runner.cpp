#include "sim/collectives/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "sim/collectives/builtin.h"
#include "sim/collectives/busiest_link.h"
#include "sim/collectives/closed_form.h"
#include "sim/collectives/registered_schedule.h"
#include "sim/collectives/runner_buffers.h"
#include "sim/core/error.h"
#include "sim/network/gpu_spec.h"

namespace weft::coll {
namespace {

// Calls whose ranks together move more than this are not looped at packet fidelity.
constexpr std::int64_t kLoopPacketBytes = std::int64_t{64} << 20;

// `auto` simulates every message up to this many, about a second's work; above, runs of no more that stand for all
// (shortened_schedule.h); where there are none, channels become coupled transfers.
constexpr std::uint64_t kChunkMessages = 200'000;
// Between nodes each message of a pair changes the shares of hundreds, so fewer are simulated. Coupled transfers are within 1 %
// of them from 1 MiB a rank, 2 % below (tools/grains.py).
constexpr std::uint64_t kChunkMessagesOfPairs = 20'000;
// Chains and rounds are less exact as coupled transfers, so more of their messages are simulated.
constexpr std::uint64_t kChunkMessagesOfChains = 2'000'000;

// For the closed form: what the rings of all channels together get on their narrowest link, and their longest latency.
IdealNetwork ideal_network(const net::Machine& machine, const Communicator& communicator, const StepCosts& costs,
                           int channels) {
  std::vector<double> demand(machine.topology.link_count(), 0.0);
  Duration latency;
  for (int channel = 0; channel < channels; ++channel) {
    const RingOrder& ring = communicator.ring(channel);
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const Rank next = ring[(i + 1) % ring.size()];
      const net::Footprint path = machine.router.route(communicator.device(ring[i]), communicator.device(next),
                                                       communicator.flow_key(Nets::kRing, ring[i], next, channel));
      for (const Usage& usage : path.usages) demand[usage.resource.index()] += usage.usage;
      latency = std::max(latency, path.latency + costs.message_overhead(Transport::kNvlink, 0.0));
    }
  }
  double rate = costs.rate > Bandwidth{} ? costs.rate.bytes_per_ps() : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < demand.size(); ++i) {
    if (demand[i] > 0) rate = std::min(rate, machine.fabric.capacity(ResourceId::from_index(i)) / demand[i]);
  }
  return {Bandwidth::from_bits_per_second(static_cast<std::int64_t>(rate * channels * 8e12)), latency};
}

// Why MSCCL leaves a call to NCCL; nothing where it runs the custom algorithm.
std::optional<std::string> refusal_of(const MscclAlgorithm& custom, const CollectiveCall& call, int ranks) {
  const msccl::Program& program = custom.program();
  if (!custom.supports(call.kind)) {
    throw ConfigError(fmt::format("{}: algorithm '{}' is for {}, not for {}", program.file, program.name,
                                  to_string(program.collective), to_string(call.kind)));
  }
  return custom.refusal(call, ranks);
}

nccl::Chosen custom_choice(const msccl::Program& program) {
  nccl::Chosen chosen;
  chosen.kernel = nccl::Kernel::kCollective;
  chosen.reason = program.file;
  chosen.choice = {.algorithm = program.name.empty() ? "msccl" : program.name,
                   .protocol = program.protocol,
                   .channels = program.channels,
                   .chunk = msccl::largest_chunk(program)};
  return chosen;
}

// Channels on which some rank has work; ranks differ little, so the first stands for all.
std::int64_t used_channels(const Schedule& schedule) {
  std::int64_t used = 0;
  for (int channel = 0; channel < schedule.channels(); ++channel) {
    bool works = false;
    for (int lane = 0; lane < schedule.lanes(0, channel); ++lane) works = works || schedule.step_count(0, channel, lane) > 0;
    if (works) ++used;
  }
  return used;
}

// All NVLinks of a GPU together; a rate of 0: it has none.
PortRate nvlink_port(const net::Topology& topology, DeviceId gpu) {
  std::int64_t rate = 0;
  double efficiency = 1.0;
  for (const LinkId link : topology.out_links(gpu)) {
    const net::LinkSpec& spec = topology.spec(link);
    if (!spec.type.starts_with("nvlink")) continue;
    rate += spec.rate.bits_per_second();
    efficiency = spec.efficiency;
  }
  return {.raw = Bandwidth::from_bits_per_second(rate), .efficiency = efficiency};
}

Bytes l2_of(const net::Topology& topology, DeviceId gpu) {
  const net::GpuSpec* spec = topology.gpu(gpu);
  return Bytes{spec == nullptr ? 0 : spec->l2_bytes};
}

// A loop of calls is simulated as long as it has no more than this many steps; above, one call stands for all.
constexpr std::uint64_t kLoopMessages = 40'000;

}  // namespace

double CollectiveResult::algorithm_bandwidth_gbps() const {
  if (time <= Duration{}) return 0.0;
  return static_cast<double>(sizes.reported.count()) / time.seconds() / 1e9;
}

double CollectiveResult::bus_bandwidth_gbps() const { return algorithm_bandwidth_gbps() * bus_factor(call.kind, ranks); }

CollectiveRunner::CollectiveRunner(net::Machine& machine, const Profile& profile, std::vector<DeviceId> devices,
                                   std::shared_ptr<const nccl::View> view)
    : machine_{machine},
      costs_{profile, net::nic_costs(machine.topology, devices.front(), profile), l2_of(machine.topology, devices.front())},
      launch_{profile.get(net::launch_timings)},
      devices_{std::move(devices)},
      view_{std::move(view)} {
  std::set<std::int32_t> hosts;
  for (const DeviceId device : devices_) {
    hosts.insert(machine.topology.host_of(device));
    if (machine.topology.kind(device) != net::DeviceKind::kGpu) gpus_only_ = false;
  }
  if (gpus_only_) nvlink_port_ = nvlink_port(machine.topology, devices_.front());
  nodes_ = static_cast<int>(hosts.size());
}

const nccl::View* CollectiveRunner::view(const nccl::Settings& settings) {
  if (!gpus_only_) return nullptr;
  if (view_ == nullptr || view_->settings().all() != settings.all()) {
    std::erase_if(opened_, [](const Opened& opened) { return opened.view != nullptr; });
    view_ = std::make_shared<const nccl::View>(machine_.topology, devices_, settings);
  }
  return view_.get();
}

CollectiveRunner::Opened& CollectiveRunner::open(const nccl::View* view, int channels, net::PathClass p2p_level) {
  const auto found = std::ranges::find_if(
      opened_, [&](const Opened& o) { return o.view == view && o.channels >= channels && o.p2p_level == p2p_level; });
  if (found != opened_.end()) return *found;
  std::vector<RingOrder> rings = view != nullptr ? view->rings() : rank_order_rings(ranks(), channels);
  std::vector<Tree> trees = view != nullptr ? view->trees() : std::vector<Tree>{};
  while (static_cast<int>(rings.size()) < channels) {
    rings.push_back(rings[rings.size() % static_cast<std::size_t>(view->most_channels())]);
    if (!trees.empty()) trees.push_back(trees[trees.size() % static_cast<std::size_t>(view->most_channels())]);
  }
  Opened opened{view, static_cast<int>(rings.size()), p2p_level, nullptr, nullptr};
  opened.communicator = std::make_unique<Communicator>(machine_.topology, devices_, std::move(rings));
  if (!trees.empty()) opened.communicator->set_trees(std::move(trees));
  if (view != nullptr) opened.communicator->set_nics(view->nics());
  opened.executor = std::make_unique<Executor>(machine_.simulator, machine_.fabric, machine_.router, *opened.communicator,
                                               ExecutorOptions{.p2p_level = p2p_level});
  return opened_.emplace_back(std::move(opened));
}

void CollectiveRunner::on_collective_done(Time at) { done_ = at; }

void CollectiveRunner::on_collective_settled(Time) {
  if (keep_pending_) machine_.simulator.leave();
}

StepCosts CollectiveRunner::costs_of(const nccl::Chosen& chosen, const Algorithm& algorithm, const CollectiveResult& result,
                                     const RunOptions& options, bool copies_in) const {
  const Collective kind = result.call.kind;
  const bool chain = kind == Collective::kBroadcast || kind == Collective::kReduce;
  const Bytes kept = kind == Collective::kReduce ? Bytes{} : result.sizes.output;  // of a rank that is not the root
  CallData data{.element = kernel_element_size(result.call),
                .buffers = std::max(result.sizes.input + kept, options.walked),
                .channels = result.choice.channels,
                .port = nvlink_port_.raw};
  if (result.choice.registration.in_switch) data.of_head = costs_.peers.of_head(kind, ranks(), nvlink_port_.raw);
  switch (chosen.kernel) {
    case nccl::Kernel::kTextbook:
      return {};
    case nccl::Kernel::kSendRecv:
      return costs_.of(chosen.choice.protocol, 0, true, true, data);
    case nccl::Kernel::kInSwitch:
      return costs_.in_switch(data);
    case nccl::Kernel::kPeer: {
      const net::GpuSpec* gpu = machine_.topology.gpu(devices_.front());
      PeerCall call{.algorithm = chosen.choice.algorithm,
                    .protocol = chosen.choice.protocol,
                    .ranks = ranks(),
                    .bytes = result.call.bytes,
                    .port = nvlink_port_.raw,
                    .memory_bytes_per_second = gpu == nullptr ? 0.0 : gpu->hbm_bytes_per_second,
                    .in_graph = options.cuda_graph};
      if (ranks() > 1) call.way = machine_.router.route(devices_[0], devices_[1], {}).latency;
      call.multicasts = has_nvswitch() && gpu != nullptr && gpu->sm >= 90 && options.settings.integer("NVLS_ENABLE") != 0;
      if (chosen.choice.algorithm != kNcclSymmetric) return costs_.peers.of(call);
      const std::optional<nccl::SymmetricKernel> kernel =
          nccl::symmetric_kernel(symmetric_call(result.call, result.sizes), chosen.choice.protocol);
      WEFT_CHECK(kernel.has_value());
      call.kernel = &*kernel;
      call.to_peer = std::min(result.sizes.input, result.sizes.output);
      if (kernel->name == "RSxLD_AGxST") call.to_peer = Bytes{2 * call.to_peer.count() / ranks()};
      if (copies_in) call.copy_in = launch_.graph_kernel_cost;
      return costs_.peers.of(call);
    }
    case nccl::Kernel::kCollective:
      break;
  }
  // A NIC is given all of a registered chunk at once.
  const bool one_slice =
      chain || !algorithm.sends_slices() || (chosen.choice.registration.of_network && kind == Collective::kAllGather);
  return costs_.of(chosen.choice.protocol, chosen.choice.warps, one_slice, false, data);
}

LaunchPlan CollectiveRunner::launches(const nccl::Chosen& chosen, const RunOptions& options, Duration launch_cost,
                                      std::uint64_t messages) const {
  LaunchPlan plan;
  if (chosen.kernel == nccl::Kernel::kTextbook) return plan;
  plan.ranks_per_thread = options.launches_per_thread;
  plan.launch = launch_cost;
  const Duration in_graph = options.launch > Duration{} ? options.launch : launch_.graph_kernel_cost;
  if (options.cuda_graph) plan.graph_launch = options.iterations * in_graph;
  const std::uint64_t affordable = kLoopMessages / std::max<std::uint64_t>(messages, 1);
  plan.iterations = static_cast<int>(std::clamp<std::uint64_t>(affordable, 1, static_cast<std::uint64_t>(options.iterations)));
  return plan;
}

void CollectiveRunner::simulate(const Opened& opened, const Schedule& schedule, const StepCosts& costs, const LaunchPlan& plan,
                                const RunOptions& options, CollectiveResult& result) {
  Executor& executor = *opened.executor;
  const Time begin = machine_.simulator.now();
  const std::uint64_t messages = executor.messages();
  std::optional<BusiestLink> busiest;
  if (plan.iterations > 1) busiest.emplace(machine_);
  done_ = Time::max();
  keep_pending_ = options.keep_pending;
  executor.observe(options.steps);
  executor.start(schedule, costs, result.grain, *this, plan);
  machine_.simulator.run();
  if (machine_.simulator.stopped()) return;
  if (done_ == Time::max())
    throw InternalError("deadlock in " + std::string{to_string(result.call.kind)} + ":\n" + executor.blocked());
  machine_.fabric.check_conservation();
  result.messages = executor.messages() - messages;
  Digest digest;
  for (Rank rank = 0; rank < ranks(); ++rank) digest.add(executor.finished(rank) - begin);
  result.digest = digest.value();

  const std::vector<Time>& ends = executor.call_ends();
  result.device = ends.front() - begin;
  result.ended = ends.back();
  const auto calls = static_cast<std::int64_t>(ends.size());
  result.simulated = calls;
  Duration loop = ends.back() - begin;
  // The rest of the loop goes on at its pace. A single simulated call stands for all.
  const std::int64_t wanted = plan.launch > Duration{} || plan.graph_launch > Duration{} ? options.iterations : calls;
  if (calls == 1) {
    // Channels that are coupled transfers begin when the call does, and have waited for no launch.
    if (result.grain == Grain::kChunk) result.device = result.device - plan.issued(plan.ranks_per_thread - 1, 0);
    result.time = std::max(result.device, result.launch);
    return;
  }
  // Where ranks are uneven, those ahead make the first call long and the last short: no call is shorter than its busiest link.
  const Duration least = Duration::from_ps(busiest->least_time(loop).ps() / calls);
  loop = loop + (wanted - calls) * std::max(executor.pace(), least);
  result.time = Duration::from_ps(loop.ps() / wanted);
}

void CollectiveRunner::simulate_samples(const Opened& opened, const std::vector<Sample>& samples, const StepCosts& costs,
                                        const LaunchPlan& plan, const RunOptions& options, CollectiveResult& result) {
  const Time begin = machine_.simulator.now();
  Duration sum;
  std::uint64_t messages = 0;
  Digest digest;
  RunOptions untold = options;  // these are not the call's own slices
  untold.steps = nullptr;
  for (const Sample& sample : samples) {
    machine_.fabric.mark_counters();
    simulate(opened, *sample.schedule, costs, plan, untold, result);
    if (machine_.simulator.stopped()) return;
    machine_.fabric.repeat_counted(sample.weight - 1);
    sum = sum + sample.weight * result.device;
    messages += result.messages;
    digest.add(result.digest).add(sample.weight);
  }
  result.messages = messages;
  result.digest = digest.value();
  result.device = sum;
  result.time = std::max(result.device, result.launch);
  result.ended = begin + plan.issued(plan.ranks_per_thread - 1, 0) + result.device;
  if (result.ended > machine_.simulator.now()) machine_.simulator.run_until(result.ended);
}

// The grain that was asked for, or what `auto` makes of it; notes say what is known to be off.
CollectiveRunner::GrainChoice CollectiveRunner::choose_grain(const Algorithm& algorithm, Kernel kernel,
                                                             const std::shared_ptr<const Schedule>& schedule,
                                                             const Opened& opened, const RunOptions& options,
                                                             CollectiveResult& result) {
  result.grain = options.grain;
  GrainChoice found;
  const CollectiveCall& call = result.call;
  const bool chain = call.kind == Collective::kBroadcast || call.kind == Collective::kReduce;
  const bool is_coarse = chain || algorithm.couples_badly(nodes_);
  const bool are_pairs = nodes_ > 1 && call.kind == Collective::kAllToAll;
  std::uint64_t most = are_pairs ? kChunkMessagesOfPairs : kChunkMessages;
  if (is_coarse || !schedule->has_fluid_flows()) most = kChunkMessagesOfChains;
  if (options.chunk_messages > 0) most = std::min(most, options.chunk_messages);
  // Data that a switch adds up or copies cross the links of a node's ranks.
  const std::uint64_t links = kernel == Kernel::kInSwitch ? static_cast<std::uint64_t>(ranks() / nodes_) : 1;
  found.messages = links * Executor::count_messages(*schedule, most);
  // Where no message of the call can be packets, all of it is as at flow fidelity.
  const std::vector<Collective>& kinds = options.packet_kinds;
  machine_.fabric.allow_packets(kinds.empty() || std::ranges::find(kinds, call.kind) != kinds.end());
  found.in_packets = machine_.fabric.sends_packets(
      [&](const std::vector<bool>& chosen_links) { return opened.executor->crosses(*schedule, chosen_links); });
  if (found.in_packets && result.grain == Grain::kFluid) {
    result.notes.emplace_back("packets cannot be coupled: chunk grain in place of fluid");
    result.grain = Grain::kChunk;
  }
  if (found.in_packets && result.grain == Grain::kAuto) result.grain = Grain::kChunk;
  if (result.grain == Grain::kAuto && found.messages > most && !options.keep_pending) {
    found.samples = samples_of(schedule, most / links);
    if (!found.samples.empty()) result.grain = Grain::kChunk;
  }
  if (result.grain == Grain::kAuto)
    result.grain = found.messages > most && schedule->has_fluid_flows() ? Grain::kFluid : Grain::kChunk;
  if (result.grain == Grain::kFluid && !schedule->has_fluid_flows())
    throw ConfigError(fmt::format("algorithm '{}' has no fluid grain; use --grain chunk", result.choice.algorithm));
  // Nothing goes from one rank to another: the steps, if any, are copies.
  if (result.grain == Grain::kFluid && schedule->fluid_flow_count() == 0) result.grain = Grain::kChunk;
  if (result.grain == Grain::kFluid && chain && result.choice.channels > 1) {
    result.notes.emplace_back("fluid grain: chains whose channels meet on some links only are up to 10 % off");
  }
  const Doubts doubts = algorithm.doubts();
  if (result.grain == Grain::kFluid && doubts.fluid_in_nodes > 0 && nodes_ == 1) {
    result.notes.push_back(fmt::format("fluid grain: sends inside a node were seen up to {} % from what they take in chunks",
                                       doubts.fluid_in_nodes));
  }
  if (result.grain == Grain::kFluid && doubts.fluid_over_nodes > 0 && nodes_ > 1) {
    result.notes.push_back(fmt::format("fluid grain: {} over nodes was seen up to {} % from what it takes in chunks",
                                       result.choice.algorithm, doubts.fluid_over_nodes));
  }
  if (found.in_packets && doubts.in_packets > 0) {
    result.notes.push_back(fmt::format(
        "packets: {} was seen up to {} % from what it takes in flows, to which profiles are fitted; why is not known",
        result.choice.algorithm, doubts.in_packets));
  }
  return found;
}

CollectiveResult CollectiveRunner::run(const CollectiveCall& call, const RunOptions& options) {
  CollectiveResult result;
  result.call = call;
  result.ranks = ranks();
  result.nodes = nodes_;
  result.sizes = sizes_of(call, ranks());
  nccl::Settings settings = options.settings;
  check_registered(options, settings);
  const std::string idle =
      nccl::idle_policy(settings, options.registered == Registered::kLocal, options.registered == Registered::kSymmetric);
  if (gpus_only_ && !idle.empty()) result.notes.push_back(idle + "; the call runs as without it");
  const bool asks_library = !options.engine.empty() && options.algorithm.empty() && options.custom == nullptr && gpus_only_;
  const LibraryChoice picked = asks_library ? library_choice(options.engine, call, library_gpus()) : LibraryChoice{};
  if (asks_library && picked.algorithm.empty()) result.notes.push_back(library_note(options.engine, call, library_gpus()));
  std::string algorithm_name{options.algorithm.empty() ? picked.algorithm : options.algorithm};
  std::string_view symmetric;  // kernel
  const bool asks_symmetric =
      options.registered == Registered::kSymmetric && algorithm_name.empty() && options.custom == nullptr;
  const bool by_engine = choose_copy_engine(call, settings, asks_symmetric, algorithm_name);
  if (gpus_only_ && !by_engine && (asks_symmetric || algorithm_name == kNcclSymmetric)) {
    std::string why;
    symmetric = symmetric_kernel_of(call, settings, why);
    if (symmetric.empty() && !asks_symmetric) throw ConfigError(fmt::format("algorithm '{}': {}", kNcclSymmetric, why));
    if (symmetric.empty())
      result.notes.push_back(fmt::format("-R 2: {}; the call runs as with buffers that are not registered", why));
    algorithm_name = symmetric.empty() ? std::string{} : std::string{kNcclSymmetric};
  }
  const std::string_view name = nccl::nccl_name_of(algorithm_name);
  if (!name.empty()) settings.set("ALGO", name);
  if (options.channels > 0 && (algorithm_name.empty() || !name.empty())) {
    settings.set("MIN_NCHANNELS", std::to_string(std::min(options.channels, 64)));
    settings.set("MAX_NCHANNELS", std::to_string(std::min(options.channels, 64)));
    if (!settings.find("NVLS_NCHANNELS")) settings.set("NVLS_NCHANNELS", std::to_string(std::min(options.channels, 64)));
  }
  const nccl::View* seen = nccl::is_nccls(algorithm_name) ? view(settings) : nullptr;
  const MscclAlgorithm* custom = options.custom;
  const std::optional<std::string> refusal = custom == nullptr ? std::nullopt : refusal_of(*custom, call, ranks());
  const bool is_custom = custom != nullptr && !refusal;
  nccl::Chosen chosen = is_custom ? custom_choice(custom->program())
                                  : nccl::choose(call, ranks(), seen, algorithm_name, options.channels, user_buffers(options));
  if (refusal) {
    chosen.notes.push_back(
        fmt::format("'{}' does not run {} B ({}): NCCL's own choice", custom->program().name, call.bytes.count(), *refusal));
  }
  if (chosen.kernel == nccl::Kernel::kPeer) {
    if (!gpus_only_)
      throw ConfigError(fmt::format("algorithm '{}' is a kernel of GPUs; the cluster's hosts have none", algorithm_name));
    if (nodes_ > 1 && !all_over_nvlink())
      throw ConfigError(
          fmt::format("algorithm '{}' reads the memory of all GPUs: expected one node or one NVLink domain, got {} nodes",
                      algorithm_name, nodes_));
    chosen.choice.protocol = picked.protocol;
    if (!symmetric.empty()) {
      chosen.choice.protocol = symmetric;
    } else if (picked.algorithm.empty() && !by_engine) {
      chosen.choice.protocol = peer_protocol(algorithm_name, call.bytes, library_gpus());
    }
  }
  result.choice = chosen.choice;
  result.reason = std::move(chosen.reason);
  result.notes.insert(result.notes.end(), chosen.notes.begin(), chosen.notes.end());
  if (options.registered == Registered::kLocal && gpus_only_ && ranks() > 1)
    result.notes.push_back(registration_note(result.choice));

  const std::unique_ptr<Algorithm> registered = is_custom ? nullptr : make_algorithm(result.choice.algorithm);
  const Algorithm& algorithm = is_custom ? static_cast<const Algorithm&>(*custom) : *registered;
  StepCosts costs = costs_of(chosen, algorithm, result, options, picked.copies_in);
  if (options.slowdown != 1.0 && !by_engine) costs_.slow_down(costs, options.slowdown);
  costs.switch_rate = machine_.topology.switch_reduction().rate;
  costs.switch_latency = machine_.topology.switch_reduction().latency;
  const bool is_own = chosen.kernel == nccl::Kernel::kTextbook || chosen.kernel == nccl::Kernel::kPeer;
  const nccl::View* opens = is_own ? nullptr : seen;
  // The switch's multicast needs no P2P.
  const bool has_peers = opens != nullptr && chosen.kernel != nccl::Kernel::kInSwitch;
  Opened& opened = open(opens, result.choice.channels, has_peers ? opens->info().p2p_level : net::PathClass::kDis);
  const std::shared_ptr<const Schedule> schedule = with_registration(algorithm.plan(*opened.communicator, call, result.choice),
                                                                     *opened.communicator, result.choice.registration);
  if (!symmetric.empty())
    result.choice.channels = nccl::symmetric_kernel(symmetric_call(call, result.sizes), symmetric)->blocks;
  const std::int64_t used = by_engine ? 0 : used_channels(*schedule);
  if (by_engine) result.choice.channels = 0;  // no thread block
  // NCCL plans the channels that have work one by one, and each adds to the kernel's arguments.
  const bool from_engine =
      !picked.algorithm.empty() || (chosen.kernel == nccl::Kernel::kPeer && symmetric.empty() && !by_engine);
  const Duration of_kernel = from_engine && !options.cuda_graph ? costs_.peers.host_cost() : launch_.host_cost;
  const Duration launch_cost = options.launch > Duration{} ? options.launch : of_kernel + used * launch_.channel_cost;
  if (chosen.kernel != nccl::Kernel::kTextbook) result.launch = options.launches_per_thread * launch_cost;
  if (chosen.kernel == nccl::Kernel::kCollective || chosen.kernel == nccl::Kernel::kSendRecv)
    costs.port = {.raw = costs.data_rate(nvlink_port_.raw), .efficiency = nvlink_port_.efficiency};

  result.ended = machine_.simulator.now();
  const auto [in_packets, messages, samples] = choose_grain(algorithm, chosen.kernel, schedule, opened, options, result);
  if (result.grain == Grain::kClosedForm) {
    run_closed_form(*opened.communicator, costs, result);
  } else {
    LaunchPlan plan = launches(chosen, options, launch_cost, messages);
    // One large call at packet fidelity is simulated, and its time is that of each in the loop.
    const bool many_packets = in_packets && call.bytes.count() > kLoopPacketBytes / ranks();
    if (result.grain == Grain::kFluid || many_packets || !samples.empty()) plan.iterations = 1;
    if (!samples.empty()) {
      simulate_samples(opened, samples, costs, plan, options, result);
    } else {
      simulate(opened, *schedule, costs, plan, options, result);
    }
  }
  // A time that is computed and not simulated meets the clock's end here.
  if (result.time > Simulator::kEnd - Time{}) throw ClockError();
  return result;
}

void CollectiveRunner::run_closed_form(const Communicator& communicator, const StepCosts& costs,
                                       CollectiveResult& result) const {
  const auto time = ranks() == 1 ? std::optional{Duration{}}
                                 : closed_form(result.call, result.choice, ranks(),
                                               ideal_network(machine_, communicator, costs, result.choice.channels));
  if (!time) {
    throw ConfigError(fmt::format("algorithm '{}' has no closed form for {}; use --grain chunk or fluid",
                                  result.choice.algorithm, to_string(result.call.kind)));
  }
  result.device = *time + costs.start;
  result.time = std::max(result.device, result.launch);
  result.notes.emplace_back("closed form: every rank has the ring's narrowest link to itself; no other contention");
}

}  // namespace weft::coll
