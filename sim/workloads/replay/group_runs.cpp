#include "sim/workloads/replay/group_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/collectives/expert_exchange.h"
#include "sim/network/routing/host_routes.h"

namespace weft::work {
namespace {

// A program has many groups: of a call of this size or more, no more messages are simulated than these, which stand for all
// (collectives/shortened_schedule.h), or its channels are coupled transfers.
constexpr Bytes kLargeBytes{std::int64_t{16} << 20};
constexpr std::uint64_t kChunkMessages = 100'000;

// A ring goes round with chunks of all channels at once: of NCCL's no more than its largest, of a textbook's all there is.
double step_share(const coll::CollectiveCall& call, const coll::Choice& choice, int ranks) {
  const bool once = call.kind == coll::Collective::kAllGather || call.kind == coll::Collective::kReduceScatter;
  if (choice.algorithm != "ring" || ranks < 2 || (!once && call.kind != coll::Collective::kAllReduce)) return 0;
  const double whole = static_cast<double>(std::max(call.bytes, Bytes{1}).count()) / ranks;
  double chunk = choice.protocol.empty() ? whole : static_cast<double>(choice.chunk.count()) * choice.channels;
  if (!choice.shares.empty()) {
    chunk = 0;
    for (const coll::ChannelShare& share : choice.shares) chunk += static_cast<double>(share.chunk.count());
  }
  return std::min(1.0, chunk / whole) / ((once ? 1 : 2) * (ranks - 1));
}

double most_received(const net::Topology& topology, const std::vector<DeviceId>& devices,
                     const std::vector<std::pair<LinkId, double>>& link_bytes) {
  std::vector<double> received(topology.device_count());
  for (const auto& [link, bytes] : link_bytes) received[topology.link(link).to.index()] += bytes;
  double most = 0;
  for (const DeviceId device : devices) most = std::max(most, received[device.index()]);
  return most;
}

// Model: whatever the algorithm, what comes in is stored in a buffer and read there (user buffers are not registered), a rank's
// input is read once and its output written once. Of broadcast and reduce a rank that is not the root has one of them.
double own_bytes(coll::Collective kind, const coll::CallSizes& sizes) {
  const double input = static_cast<double>(sizes.input.count());
  const double output = static_cast<double>(sizes.output.count());
  if (kind == coll::Collective::kBroadcast) return output;
  return kind == coll::Collective::kReduce ? input : input + output;
}

struct Watched {
  Watched(GroupRunWatch* watch, Simulator& simulator) : watch_{watch}, simulator_{simulator} {
    if (watch_ != nullptr) watch_->begin(simulator_);
  }
  ~Watched() {
    if (watch_ != nullptr) watch_->end(simulator_);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  GroupRunWatch* watch_;
  Simulator& simulator_;
};

}  // namespace

GroupRuns::GroupRuns(const net::Topology& topology, std::string routing, std::uint64_t seed, const Profile& profile,
                     coll::Grain grain, coll::nccl::Settings nccl, std::string library)
    : topology_{topology},
      routing_{std::move(routing)},
      seed_{seed},
      profile_{profile},
      grain_{grain},
      nccl_{std::move(nccl)},
      library_{std::move(library)},
      host_routes_{std::make_shared<const net::HostRoutes>(topology)} {}

std::shared_ptr<const coll::nccl::View> GroupRuns::view_of(const std::vector<DeviceId>& devices) {
  const auto is_gpu = [&](DeviceId device) { return topology_.kind(device) == net::DeviceKind::kGpu; };
  if (!std::ranges::all_of(devices, is_gpu)) return nullptr;
  View* slot = nullptr;
  {
    const std::lock_guard lock{mutex_};
    slot = &views_[devices];
  }
  std::call_once(slot->once, [&] { slot->view = std::make_shared<const coll::nccl::View>(topology_, devices, nccl_); });
  return slot->view;
}

const GroupRun& GroupRuns::run(const std::vector<DeviceId>& devices, const coll::CollectiveCall& call, double slowdown) {
  Slot* slot = nullptr;
  {
    const std::lock_guard lock{mutex_};
    slot = &runs_[Key{devices, static_cast<int>(call.kind), call.bytes.count(), call.element_size, call.one_way, slowdown}];
  }
  std::call_once(slot->once, [&] { simulate(devices, call, slowdown, slot->run); });
  return slot->run;
}

// On a machine of its own: sums of doubles and ties between transfers would otherwise remember what ran before. Routes inside
// hosts remember nothing.
void GroupRuns::simulate(const std::vector<DeviceId>& devices, const coll::CollectiveCall& call, double slowdown,
                         GroupRun& run) {
  coll::RunOptions options;
  options.grain = grain_;
  options.iterations = 1;
  options.slowdown = slowdown;
  if (call.bytes >= kLargeBytes) options.chunk_messages = kChunkMessages;
  options.settings = nccl_;
  options.engine = library_;
  net::Machine machine{topology_, routing_, seed_, 0, {}, host_routes_};
  coll::CollectiveRunner runner{machine, profile_, devices, view_of(devices)};
  const Watched watched{watch_, machine.simulator};
  const coll::CollectiveResult result = runner.run(call, options);
  if (machine.simulator.stopped()) throw RunStopped{};
  run.device = result.device;
  run.channels = result.choice.channels;
  run.choice = fmt::format("{}{}{} {}", result.choice.algorithm, result.choice.protocol.empty() ? "" : " ",
                           result.choice.protocol, result.choice.channels);
  run.step = step_share(call, result.choice, static_cast<int>(devices.size()));
  for (std::size_t i = 0; i < topology_.link_count(); ++i) {
    const double bytes = machine.fabric.counters(ResourceId::from_index(i)).bytes;
    if (bytes > 0) run.link_bytes.emplace_back(LinkId::from_index(i), bytes);
  }
  run.memory_bytes = 2 * most_received(topology_, devices, run.link_bytes) + own_bytes(call.kind, result.sizes);
}

Duration GroupRuns::exchange(const std::vector<DeviceId>& devices, const coll::ExpertCall& call) const {
  net::Machine machine{topology_, routing_, seed_, 0, {}, host_routes_};
  return coll::ExpertExchange{machine, profile_, devices}.run(call).time;
}

}  // namespace weft::work
