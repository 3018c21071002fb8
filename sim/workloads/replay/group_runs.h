// Runs collectives, each by itself on an idle machine, and remembers what it saw: how long the call took and what each link
// carried. A result depends on the topology, the settings and the call alone, not on what was run before or by whom, so that
// programs on one cluster can share them, on several threads too.
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/collectives/expert_costs.h"
#include "sim/collectives/runner.h"
#include "sim/core/profile.h"
#include "sim/core/simulator.h"

namespace weft::work {

struct GroupRun {
  Duration device;  // from the last rank's arrival to the end
  int channels = 0;
  std::string choice;       // "ring Simple 24"
  double memory_bytes = 0;  // read and written in the memory of the rank that has most of it to do
  double step = 0;          // of a ring: share of what a rank sends that all channels' steps are at once
  std::vector<std::pair<LinkId, double>> link_bytes;  // that crossed each link, by link; those that carried some
};

// A run was stopped from outside; it has no result.
struct RunStopped : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return "a run of a collective was stopped"; }
};

// Hears which simulators run calls, on any thread, and may stop them: run() then throws RunStopped.
class GroupRunWatch {
 public:
  virtual void begin(Simulator& simulator) = 0;
  virtual void end(Simulator& simulator) = 0;

 protected:
  ~GroupRunWatch() = default;
};

class GroupRuns {
 public:
  // `routing`, `seed`: as the machine's that programs run on. Topology and profile must outlive it.
  // `library`: RunOptions::engine of every call.
  GroupRuns(const net::Topology& topology, std::string routing, std::uint64_t seed, const Profile& profile, coll::Grain grain,
            coll::nccl::Settings nccl, std::string library = {});

  // It must outlive all runs; before the first one.
  void set_watch(GroupRunWatch* watch) { watch_ = watch; }

  // Returns the routes that all machines which it runs calls on share, and those that programs run on may share.
  [[nodiscard]] const std::shared_ptr<const net::HostRoutes>& host_routes() const { return host_routes_; }

  // Simulates the call unless it was before; `devices` in group order; `slowdown`: RunOptions::slowdown. Any thread; the result
  // stays where it is.
  const GroupRun& run(const std::vector<DeviceId>& devices, const coll::CollectiveCall& call, double slowdown = 1.0);
  // One of DeepEP's kernels among `devices`, on an idle machine; it is not remembered.
  [[nodiscard]] Duration exchange(const std::vector<DeviceId>& devices, const coll::ExpertCall& call) const;

 private:
  using Key = std::tuple<std::vector<DeviceId>, int, std::int64_t, std::int64_t, bool, double>;
  // Whoever needs a value that another thread is making waits for it; others go on.
  struct View {
    std::once_flag once;
    std::shared_ptr<const coll::nccl::View> view;
  };
  struct Slot {
    std::once_flag once;
    GroupRun run;
  };
  void simulate(const std::vector<DeviceId>& devices, const coll::CollectiveCall& call, double slowdown, GroupRun& run);
  std::shared_ptr<const coll::nccl::View> view_of(const std::vector<DeviceId>& devices);

  const net::Topology& topology_;
  std::string routing_;
  std::uint64_t seed_;
  const Profile& profile_;
  coll::Grain grain_;
  coll::nccl::Settings nccl_;
  std::string library_;
  std::shared_ptr<const net::HostRoutes> host_routes_;
  GroupRunWatch* watch_ = nullptr;
  std::mutex mutex_;  // of the maps, not of what is in them
  std::map<std::vector<DeviceId>, View> views_;
  std::map<Key, Slot> runs_;
};

}  // namespace weft::work
