// Runs a Program on a machine: streams, launches, rendezvous of groups, contention for SMs, and what every rank did when.
//
//   Replayer replayer{machine, program, costs, options};
//   replayer.start();
//   machine.simulator.run();
//   replayer.check_finished();                 // a deadlock is an error that names ranks, streams and operations
//   const ReplayResult result = replayer.result();
//
// A rank's operations start as program.h says. A collective starts on the wire when all members of its group have reached it,
// in the order in which each of them issued it; it ends on all of them at once. A message starts when both its ends are there.
//
// Model: the host runs ahead of the GPU without bound and pays one launch per operation; each rank's next iteration begins when
// all its streams have drained, and its host then starts anew.
//
// Model: while communication kernels are resident on a GPU, compute kernels there run slower by their class's factor, in
// proportion to the thread blocks held; a collective moves slower by its own from when compute runs on one of its GPUs until it
// ends, and slower still while a kernel there fills the memory (gpu.contention). Compute kernels of several streams of one GPU
// do not slow each other.
//
// Model: a copy or an access to storage moves at one pace with those of all ranks that its rank stands for (leader).
//
// Model: a kernel that fills the GPU is not interrupted: a communication kernel that becomes ready beside it starts when it has
// ended, or drains (gpu.contention.gemm_drain), which does not slow it (models/training_steps §6).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/collectives/runner.h"
#include "sim/core/digest.h"
#include "sim/core/random.h"
#include "sim/network/launch_timings.h"
#include "sim/workloads/kernels/contention.h"
#include "sim/workloads/program.h"
#include "sim/workloads/replay/group_costs.h"
#include "sim/workloads/replay/in_step.h"
#include "sim/workloads/replay/link_turns.h"
#include "sim/workloads/replay/replay_options.h"

namespace weft::work {

inline constexpr std::uint32_t kNoState = 0xFFFF'FFFF;

// An operation that the one at hand waited for last.
struct Cause {
  std::uint32_t state = kNoState;
  OpIndex op = kNoOp;
};

struct KnownCost;
struct Meeting;
struct Member;
struct Moving;
struct ProgramLayout;
struct RankState;
struct StreamState;
class TimingStore;

class Replayer final : private net::TransferListener, private EventTarget {
 public:
  // All must outlive the run. Followers (ProgramRank::leader) are not run.
  Replayer(net::Machine& machine, const Program& program, GroupCosts& costs, const net::LaunchTimings& launch,
           const ReplayOptions& options, ReplayObserver* observer = nullptr);
  ~Replayer();

  void start();
  [[nodiscard]] bool finished() const { return ranks_left_ == 0; }
  [[nodiscard]] std::uint64_t operations_done() const { return operations_done_; }
  [[nodiscard]] std::uint64_t operations_total() const { return operations_total_; }
  // InternalError where the program is at fault (a deadlock), naming the ranks and what they wait for.
  void check_finished() const;
  [[nodiscard]] ReplayResult result() const;
  // Clocks of each leader that power leaves in a loop of iterations as the last one was, at full clock (power_clocks.cpp).
  [[nodiscard]] std::vector<RankClocks> clocks_under(const StepPower& power) const;
  // Simulated time that skipped iterations would have taken: what happens now happens so much later.
  [[nodiscard]] Duration skipped_time() const { return skip_.times * skip_.period; }

 private:
  enum class EventKind : std::uint8_t { kBegin, kKernelEnd, kWake, kPost, kHostEnd, kMarkerEnd };

  void on_event(std::uint64_t payload) override;
  void on_source_free(TransferId, std::uint64_t) override {}
  void on_delivered(TransferId transfer, std::uint64_t moving) override;
  void on_aborted(TransferId transfer, std::uint64_t moving) override;
  void schedule_event(Time at, EventKind kind, std::uint32_t index, std::uint32_t generation = 0);

  // Streams and hosts, replayer.cpp.
  void begin_iteration(std::uint32_t state);
  void end_iteration(std::uint32_t state);
  void try_streams(std::uint32_t state);
  OpIndex startable(std::uint32_t state, StreamState& at);
  void start_operation(std::uint32_t state, OpIndex op);
  void finish(std::uint32_t state, OpIndex op);
  void advance_host(std::uint32_t state);
  void end_host_operation(std::uint32_t state);
  // Compute kernels.
  void start_kernel(std::uint32_t state, OpIndex op);
  void end_kernels(std::uint32_t state);
  void arm_kernels(std::uint32_t state);
  void slow_calls(std::uint32_t state, int memory_full);
  void retime(std::uint32_t state);
  void schedule_armed();
  void settle();
  // Kernels that nobody sees end, run_ahead.cpp.
  Time run_ahead(std::uint32_t state, Time at);

  // Communication, replayer_communication.cpp.
  void arrive(std::uint32_t state, OpIndex op);
  Meeting& meeting_of(RankState& rank, const Operation& op);
  Meeting& find_meeting(const RankState& rank, const Operation& op);
  void open_group(Meeting& meeting, const RankState& rank, const Operation& op);
  void open_pair(Meeting& meeting, const RankState& rank, const Operation& op);
  [[nodiscard]] bool in_one_host(const std::vector<DeviceId>& devices) const;
  [[nodiscard]] bool is_everybodys(LinkId link) const;
  void begin_next_call(Meeting& meeting);
  void check_agreement(const Meeting& meeting, const std::vector<Member>& members) const;
  // Returns the argument `memory_share` of collective_slowdown.
  [[nodiscard]] double memory_share(const GroupCost& cost) const;
  // Full clock over that of the slowest of them.
  [[nodiscard]] double slowest_clock(const std::vector<Member>& members) const;
  void post(std::uint32_t moving);
  void join(std::uint32_t moving);
  void part(std::uint32_t moving);
  Bandwidth pace(const Moving& moving);
  // Members send before the others are there, first_steps.cpp.
  void wait_in(std::uint32_t state, OpIndex op, Meeting& meeting);
  void send_first_steps(std::uint32_t state);
  void end_first_step(const Meeting& meeting, std::uint32_t state);
  void on_first_step_sent(std::uint32_t moving);
  const LinkTurns::Call& first_step_of(std::uint32_t state, Meeting& meeting, const Operation& op);
  void set_pace(Moving& moving);
  // Links that sleep, link_sleep.cpp.
  Duration wake_links(Moving& moving);
  bool is_on_nvlinks(FootprintId loads);
  // Iterations that repeat are not run again, steady_state.cpp.
  void look_for_repetition(std::uint64_t event);
  [[nodiscard]] std::uint64_t state_digest(std::uint64_t event) const;
  void add_event(Digest& digest, std::uint64_t payload) const;
  [[nodiscard]] int skipped() const { return static_cast<int>(skip_.times) * skip_.iterations; }
  [[nodiscard]] int iterations_to_run() const { return options_.iterations - skipped(); }
  [[nodiscard]] Time in_whole_run(Time at) const { return at + skipped_time(); }
  // By iteration of the whole run, from what was run.
  [[nodiscard]] std::vector<Time> whole_ends(std::size_t state) const;
  [[nodiscard]] std::vector<std::uint64_t> whole_digests(std::size_t state) const;
  // Copies and storage.
  void start_copy(std::uint32_t state, OpIndex op);
  void end_background(const Moving& moving);
  FootprintId loads_of_copy(std::uint32_t state, const Operation& op);
  std::uint32_t new_moving();
  void hold(std::uint32_t state, int ctas);
  const GroupCost& cost_between(const std::vector<DeviceId>& devices, const Operation& op);
  KnownCost& known_cost(Meeting& meeting, const Operation& op);
  FootprintId loads_of(const Meeting& meeting, const Operation& op, const GroupCost& cost);
  [[nodiscard]] bool is_run(std::int32_t host) const { return host >= 0 && hosts_run_[static_cast<std::size_t>(host)]; }
  [[nodiscard]] DeviceId device_of(Rank rank) const { return program_.devices[static_cast<std::size_t>(rank)]; }

  // Reports what is left, replay_report.cpp.
  [[nodiscard]] std::string blocked() const;
  [[nodiscard]] std::vector<CriticalStep> critical_path() const;

  net::Machine& machine_;
  const Program& program_;
  GroupCosts& costs_;
  ReplayOptions options_;
  ReplayObserver* observer_;
  ComponentId component_;
  std::vector<std::unique_ptr<ProgramLayout>> layouts_;                    // by RankProgram
  std::unique_ptr<TimingStore> timings_;                                   // of all states
  std::vector<StreamState> streams_;                                       // the same
  std::vector<RankState> states_;                                          // leaders, in rank order
  std::vector<std::uint32_t> state_of_;                                    // by rank; of followers their leader's
  std::vector<bool> hosts_run_;                                            // hosts that leaders are on
  bool counts_all_ = false;                                                // what followers load, on other hosts too
  std::vector<std::unique_ptr<Meeting>> groups_;                           // by group; null until used
  std::map<std::tuple<Rank, Rank, int>, std::unique_ptr<Meeting>> pairs_;  // by sender, receiver and tag
  std::vector<std::unique_ptr<Moving>> moving_;
  std::vector<std::uint32_t> free_moving_;
  std::map<std::pair<const Meeting*, const GroupCost*>, FootprintId> loads_;
  LinkTurns turns_;
  std::map<FootprintId, bool> on_nvlinks_;
  std::map<std::pair<std::uint32_t, const GroupCost*>, LinkTurns::Call> first_steps_;  // by state
  std::map<Duration, GroupCost> own_times_;  // of calls that take their time whatever the network
  FootprintId no_links_;
  StorageDevices storage_;
  std::map<std::tuple<std::uint32_t, OpKind, std::uint16_t>, FootprintId> copy_loads_;  // by state, kind and slot
  Cause cause_;                     // what led to the operations that start now
  std::uint32_t armed_ = kNoState;  // whose kernels' event is not scheduled yet (arm_kernels)
  Time armed_at_;                   // when that is
  bool runs_ahead_ = false;
  std::vector<OpIndex> ended_;  // scratch of end_kernels
  InStep kernels_;              // states whose kernels' events were scheduled
  InStep posted_;               // entries of moving_
  // A state that may come back.
  struct Mark {
    std::uint64_t state = 0;
    Time at;
    std::size_t iterations = 0;
  };
  // A skip leaves out what lay between two equal states, so often after the second.
  struct Skip {
    std::int64_t times = 0;
    Duration period;
    int iterations = 0;
    std::vector<std::size_t> after;  // by state: iterations it had ended
  };
  bool looks_ = false;            // for a state that comes back
  std::size_t ranks_behind_ = 0;  // that have not ended iteration `boundary_` since the last look
  std::size_t boundary_ = 0;
  std::size_t looks_so_far_ = 0;
  Mark mark_;
  Skip skip_;
  std::size_t ranks_left_ = 0;
  std::uint64_t operations_done_ = 0;
  std::uint64_t operations_total_ = 0;
};

}  // namespace weft::work
