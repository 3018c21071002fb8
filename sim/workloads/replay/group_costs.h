// Times that a group's collectives take alone, and the links they load. The collectives' executor runs each distinct call once
// on an idle machine (group_runs.h), and the result is remembered. Groups that lie alike take the same time, so that one is run
// for all. They have places within hosts that look the same (host_places.h), and share switches, CPUs, NICs, hosts and leaves
// in the same pattern.
//
// Model: inside a program at flow fidelity a collective is one transfer over all the links its run alone loaded, in proportion,
// that moves at its pace alone or slower where others share its links. How its channels drift against each other under
// contention is left out, and its start-up stretches with the rest. Of a group that another was run for, links in its hosts and
// to their NICs are loaded as the other's that correspond are, links between switches as if each NIC sent to its like on the
// next host what the other's sent, or in an all-to-all to all that receive on others; where nothing corresponds, all links as
// if each member sent to the next one what a member of the other sent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "sim/collectives/runner.h"
#include "sim/core/profile.h"
#include "sim/core/simulator.h"
#include "sim/network/transfer.h"
#include "sim/workloads/program.h"
#include "sim/workloads/replay/group_runs.h"
#include "sim/workloads/replay/host_places.h"

namespace weft::work {

// Settings that the runs of a program's communication may be given, as a scenario's list of collectives is.
struct GroupRunSettings {
  coll::Grain grain = coll::Grain::kAuto;
  coll::nccl::Settings nccl = {};
  std::string library = {};  // RunOptions::engine
  double slowdown = 1.2;     // RunOptions::slowdown of the runs between which and those at full clock others lie
};

// A call as it is known by: devices in group order, kind, bytes, element size.
using GroupCall = std::tuple<std::vector<DeviceId>, int, std::int64_t, std::int64_t>;

struct GroupCost {
  Duration alone;                  // from the last rank's arrival to the end, on idle links, beside no compute
  net::Footprint loads;            // usage per byte of the call; no latency: `alone` has it
  int ctas = 0;                    // thread blocks its kernel holds on each GPU
  std::string choice = {};         // "ring Simple 24", for reports
  double step = 0;                 // GroupRun::step
  double memory_bytes = 0;         // GroupRun::memory_bytes
  const GroupCall* ran = nullptr;  // what was run for it
};

// Who runs calls before a program needs them, and hears of it.
struct RunAhead {
  int threads = 1;
  const Simulator* until = nullptr;                            // nothing is begun once it is stopped
  std::function<void(std::size_t done, std::size_t of)> done;  // one call at a time, on any thread; may be empty
};

class GroupCosts {
 public:
  // `routing`, `seed`: as the machine's that the program runs on. All must outlive it. `runs`: made for the same of all these,
  // and shared with others; null: its own.
  GroupCosts(const net::Topology& topology, const std::string& routing, std::uint64_t seed, const Profile& profile,
             GroupRunSettings settings, std::shared_ptr<GroupRuns> runs = nullptr);

  // Runs calls of `program` that may take long, `on.threads` at once, unless one that lies alike was run: the first of those
  // that do then stands for all, whichever the program asks for first.
  void run_ahead(const Program& program, const RunAhead& on);

  // `devices` in group order, at least two.
  const GroupCost& collective(const std::vector<DeviceId>& devices, const coll::CollectiveCall& call);
  // One message from one to the other; loads its way only. `one_way`: no kernel of either end moves anything the other way.
  const GroupCost& message(DeviceId from, DeviceId to, Bytes bytes, bool one_way = false);

  // One of DeepEP's kernels; it is not remembered.
  [[nodiscard]] Duration exchange(const std::vector<DeviceId>& devices, const coll::ExpertCall& call) {
    ++runs_;
    return group_runs_->exchange(devices, call);
  }

  // Time over `alone` where the SMs' clock is full clock over `slowdown`.
  [[nodiscard]] double stretch_at(const GroupCost& cost, double slowdown);

  // An idle machine, for routes and capacities. Its routes inside hosts are the runs'.
  [[nodiscard]] const net::Machine& machine() const { return machine_; }
  // Calls asked of the runs so far; the rest was remembered.
  [[nodiscard]] std::size_t runs() const { return runs_; }

 private:
  // By member: host as numbered where it first appears, its template, leaf numbered like hosts; the kind of its place, and what
  // it shares with members of the host, numbered too. A place that stands by itself: its own number.
  using Pattern = std::vector<std::array<std::int32_t, 4 + HostPlaces::kRings>>;
  using PatternKey = std::tuple<Pattern, int, std::int64_t, std::int64_t>;
  [[nodiscard]] PatternKey pattern_key(const std::vector<DeviceId>& devices, const coll::CollectiveCall& call) const;
  // The loads of another group that makes the call that `cost` is of.
  [[nodiscard]] net::Footprint loads_like(const GroupCost& cost, const std::vector<DeviceId>& of,
                                          const std::vector<DeviceId>& devices, coll::Collective kind) const;
  [[nodiscard]] Pattern pattern_of(const std::vector<DeviceId>& devices) const;
  const GroupRun& run(const GroupCall& call, double slowdown);

  GroupRunSettings settings_;
  std::shared_ptr<GroupRuns> group_runs_;
  net::Machine machine_;
  HostPlaces places_;
  std::map<GroupCall, GroupCost> costs_;
  std::map<PatternKey, const GroupCall*> run_for_;  // the call that was run
  std::map<const GroupCall*, double> stretches_;    // at settings_.slowdown
  std::size_t runs_ = 0;

 public:
  // Bytes kept of a call, beside the list of its group's devices and the loads' usages. Plans of a run's memory ask for them.
  static constexpr std::size_t kCallBytes = sizeof(std::pair<const GroupCall, GroupCost>);
};

}  // namespace weft::work
