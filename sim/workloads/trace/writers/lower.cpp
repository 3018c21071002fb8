// A Program without collectives: each becomes the messages of its textbook schedule.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "sim/collectives/builtin.h"
#include "sim/collectives/schedule.h"
#include "sim/network/topology.h"
#include "sim/workloads/trace/task_graph.h"
#include "sim/workloads/trace/writers/writers.h"

namespace weft::work {
namespace {

constexpr std::int64_t kCollectiveTags = 1'000;  // above those of messages

// Schedules of calls on `n` ranks of nowhere: textbook algorithms do not look at places.
class Schedules {
 public:
  const coll::Schedule& of(const Operation& op, int ranks) {
    std::unique_ptr<coll::Schedule>& known = schedules_[{op.collective, op.bytes, op.element_size, ranks}];
    if (known == nullptr) known = make(op, ranks);
    return *known;
  }

 private:
  std::unique_ptr<coll::Schedule> make(const Operation& op, int ranks) {
    const coll::CollectiveCall call{.kind = op.collective, .bytes = op.bytes, .element_size = op.element_size};
    for (const std::string_view name : {"plain_ring", "pairwise", "direct", "full_mesh", "binomial_tree"}) {
      std::unique_ptr<coll::Algorithm>& algorithm = algorithms_[name];
      if (algorithm == nullptr) algorithm = coll::make_algorithm(name);
      if (!algorithm->supports(op.collective)) continue;
      return algorithm->plan(communicator(ranks), call, {.algorithm = std::string{name}, .channels = 1});
    }
    throw ConfigError(fmt::format("no textbook algorithm makes messages of {}", coll::to_string(op.collective)));
  }

  const coll::Communicator& communicator(int ranks) {
    Place& place = places_[ranks];
    if (place.communicator == nullptr) {
      net::TopologyBuilder builder;
      net::HostTemplate host;
      host.name = "host";
      net::TemplateDevice device;
      device.name = "h";
      device.kind = net::DeviceKind::kHost;
      host.devices.push_back(device);
      const std::uint32_t id = builder.add_template(host);
      for (int r = 0; r < ranks; ++r) builder.add_host(id);
      place.topology = std::make_unique<net::Topology>(std::move(builder).freeze());
      place.communicator =
          std::make_unique<coll::Communicator>(*place.topology, place.topology->endpoints(), coll::rank_order_rings(ranks, 1));
    }
    return *place.communicator;
  }

  struct Place {
    std::unique_ptr<net::Topology> topology;
    std::unique_ptr<coll::Communicator> communicator;
  };
  std::map<int, Place> places_;
  std::map<std::string_view, std::unique_ptr<coll::Algorithm>> algorithms_;
  std::map<std::tuple<coll::Collective, Bytes, std::uint8_t, int>, std::unique_ptr<coll::Schedule>> schedules_;
};

class RankLowering {
 public:
  RankLowering(const Program& program, Rank rank, Schedules& schedules)
      : program_{program}, rank_{rank}, own_{program.program_of(rank)}, schedules_{schedules} {
    tasks_.file = "program";
    tasks_.places_are_lines = false;
    for (const std::string& name : own_.streams) static_cast<void>(tasks_.lane(name));
    end_.resize(own_.operations.size(), kNoTask);
  }

  RankTasks run() {
    for (OpIndex i = 0; i < own_.operations.size(); ++i) lower(i);
    return std::move(tasks_);
  }
  [[nodiscard]] std::size_t dropped() const { return dropped_; }
  [[nodiscard]] std::size_t unsized() const { return unsized_; }

 private:
  // Behind what stands before it on its lane.
  std::uint32_t append(Task task, OpIndex of) {
    task.place = of;
    task.op.launched = false;
    const std::uint32_t index = tasks_.add(task);
    last_.resize(tasks_.lanes.size(), kNoTask);
    std::uint32_t& before = last_[static_cast<std::size_t>(task.lane)];
    if (before != kNoTask) tasks_.wait(index, before);
    before = index;
    return index;
  }

  std::uint32_t append_calc(Duration duration, std::int32_t lane, std::string_view name, OpIndex of) {
    Task task;
    task.op.duration = Duration::from_ns((duration.ps() + 999) / 1'000);
    task.lane = lane;
    task.name = tasks_.name(name);
    return append(task, of);
  }

  void wait_for_causes(std::uint32_t task, const Operation& op) {
    const auto wait = [&](std::uint32_t on) {
      if (on != kNoTask && on != task) tasks_.wait(task, on);
    };
    for (const OpIndex each : own_.waits_of(op)) wait(end_[each]);
    wait(host_);
  }

  void lower(OpIndex index) {
    const Operation& op = own_.operations[index];
    const std::string& name = own_.names[op.name];
    switch (op.kind) {
      case OpKind::kHostDelay:
      case OpKind::kHostSync:
        end_[index] = append_calc(op.duration, tasks_.lane("host"), name, index);
        wait_for_causes(end_[index], op);
        host_ = end_[index];
        return;
      case OpKind::kCollective:
        if (takes_its_time(op)) {
          ++unsized_;
          end_[index] = append_calc(op.duration, op.stream, name, index);
          break;
        }
        collective(index);
        return;
      case OpKind::kSend:
      case OpKind::kReceive: {
        Task task;
        task.op.kind = op.kind;
        task.op.bytes = op.bytes;
        task.op.category = Category::kCommOther;
        task.peer = program_.ranks[static_cast<std::size_t>(rank_)].peers.at(op.slot);
        task.tag = op.tag;
        task.lane = op.stream;
        task.name = tasks_.name(name);
        end_[index] = append(task, index);
        break;
      }
      case OpKind::kCopy:
      case OpKind::kStorage:
        ++dropped_;
        end_[index] = append_calc({}, op.stream, name, index);
        break;
      case OpKind::kKernel:
        end_[index] = append_calc(op.duration, op.stream, name, index);
        break;
      case OpKind::kMarker:  // what it stands for, the lead of a host, is no part of a step
        end_[index] = append_calc({}, op.stream, name, index);
        break;
    }
    wait_for_causes(end_[index], op);
  }

  // A calc of no time where the call starts on its stream and one where it ends; between them its messages, what is sent and
  // what is received in a lane of its own for each lane of the schedule.
  void collective(OpIndex index) {
    const Operation& op = own_.operations[index];
    const std::uint32_t group_index = program_.ranks[static_cast<std::size_t>(rank_)].groups.at(op.slot);
    const std::vector<Rank>& group = program_.groups[group_index].ranks;
    const auto self = static_cast<Rank>(std::ranges::find(group, rank_) - group.begin());
    const std::uint32_t begin = append_calc({}, op.stream, own_.names[op.name], index);
    wait_for_causes(begin, op);
    std::vector<std::uint32_t> ends;
    if (group.size() > 1) {
      const coll::Schedule& schedule = schedules_.of(op, static_cast<int>(group.size()));
      for (int channel = 0; channel < schedule.channels(); ++channel) {
        for (int lane = 0; lane < schedule.lanes(self, channel); ++lane) {
          lane_of(index, schedule, {self, channel, lane}, group, group_index, begin, ends);
        }
      }
    }
    end_[index] = append_calc({}, op.stream, own_.names[op.name], index);
    for (const std::uint32_t end : ends) tasks_.wait(end_[index], end);
  }

  struct LaneId {
    Rank self;
    int channel;
    int lane;
  };

  void lane_of(OpIndex index, const coll::Schedule& schedule, const LaneId& id, const std::vector<Rank>& group,
               std::uint32_t group_index, std::uint32_t begin, std::vector<std::uint32_t>& ends) {
    const Operation& op = own_.operations[index];
    const std::string& stream = own_.streams.at(op.stream);
    const std::array lanes = {tasks_.lane(fmt::format("{} {}.{} receives", stream, id.channel, id.lane)),
                              tasks_.lane(fmt::format("{} {}.{} sends", stream, id.channel, id.lane))};
    std::array<std::uint32_t, 2> last = {kNoTask, kNoTask};
    const auto message = [&](OpKind kind, Rank peer, Bytes bytes, int connection) {
      const std::size_t way = kind == OpKind::kSend ? 1 : 0;
      Task task;
      task.op.kind = kind;
      task.op.bytes = bytes;
      task.op.category = Category::kCommOther;
      task.peer = group[static_cast<std::size_t>(peer)];
      task.tag = kCollectiveTags + (static_cast<std::int64_t>(group_index) * schedule.channels() + id.channel) * 2 + connection;
      task.lane = lanes[way];
      task.name = tasks_.name(own_.names[op.name]);
      const std::uint32_t made = append(task, index);
      if (last[way] == kNoTask) tasks_.wait(made, begin);
      last[way] = made;
      return made;
    };
    const std::int64_t steps = schedule.step_count(id.self, id.channel, id.lane);
    for (std::int64_t s = 0; s < steps; ++s) {
      const coll::Step step = schedule.step(id.self, id.channel, id.lane, s);
      WEFT_CHECK(!step.send_in_switch && !step.receive_in_switch && step.after.steps == 0);
      std::vector<std::uint32_t> received;
      for (const Rank peer : step.receive_from) {
        received.push_back(message(OpKind::kReceive, peer, step.bytes, step.receive_connection));
      }
      // Data received before on this lane is there too: it came in order.
      if (received.empty() && last[0] != kNoTask) received.push_back(last[0]);
      for (const Rank peer : step.send_to) {
        const std::uint32_t sent = message(OpKind::kSend, peer, step.bytes, step.send_connection);
        for (const std::uint32_t each : received) tasks_.wait(sent, each);
      }
    }
    for (const std::uint32_t each : last) {
      if (each != kNoTask) ends.push_back(each);
    }
  }

  const Program& program_;
  Rank rank_;
  const RankProgram& own_;
  Schedules& schedules_;
  RankTasks tasks_;
  std::vector<std::uint32_t> end_;   // by operation: the task at whose end it has ended
  std::vector<std::uint32_t> last_;  // by lane
  std::uint32_t host_ = kNoTask;
  std::size_t dropped_ = 0;
  std::size_t unsized_ = 0;
};

}  // namespace

LoweredProgram lower_to_messages(const Program& program) {
  Schedules schedules;
  std::vector<RankTasks> ranks;
  std::size_t dropped = 0;
  std::size_t unsized = 0;
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    RankLowering lowering{program, static_cast<Rank>(r), schedules};
    ranks.push_back(lowering.run());
    dropped += lowering.dropped();
    unsized += lowering.unsized();
  }
  TaskProgram made = make_program(std::move(ranks), {});
  LoweredProgram lowered{.program = std::move(made.program), .findings = std::move(made.findings)};
  lowered.program.devices = program.devices;
  if (unsized > 0) {
    Diagnostic finding;
    finding.message = fmt::format("{} calls of unknown size are computation in GOAL, and wait for no other rank", unsized);
    lowered.findings.push_back(std::move(finding));
  }
  if (dropped > 0) {
    Diagnostic finding;
    finding.message = fmt::format("{} copies and accesses to storage take no time in GOAL", dropped);
    lowered.findings.push_back(std::move(finding));
  }
  return lowered;
}

}  // namespace weft::work
