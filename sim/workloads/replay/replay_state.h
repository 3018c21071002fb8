// The Replayer's state of programs, ranks and meetings. No part of its interface.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "sim/core/digest.h"
#include "sim/core/ids.h"
#include "sim/core/random.h"
#include "sim/workloads/program.h"
#include "sim/workloads/replay/group_costs.h"
#include "sim/workloads/replay/link_sleep.h"
#include "sim/workloads/replay/link_turns.h"
#include "sim/workloads/replay/replay_options.h"
#include "sim/workloads/replay/replayer.h"

namespace weft::work {

[[nodiscard]] constexpr bool is_host(OpKind kind) { return kind == OpKind::kHostDelay || kind == OpKind::kHostSync; }
[[nodiscard]] constexpr bool is_message(OpKind kind) { return kind == OpKind::kSend || kind == OpKind::kReceive; }

[[nodiscard]] constexpr bool is_tensor(Category c) { return c == Category::kGemm || c == Category::kAttention; }

struct Member {
  std::uint32_t state = kNoState;
  OpIndex op = kNoOp;
};

// A RankProgram by streams, and when its host issues what. Shared by all ranks of the program.
struct ProgramLayout {
  ProgramLayout(const RankProgram& program, Duration launch);

  // How many calls of this kind, slot and tag one iteration has.
  [[nodiscard]] std::uint64_t calls_like(const Operation& op) const;

  std::vector<std::vector<OpIndex>> streams;
  std::vector<OpIndex> host_operations;
  std::vector<std::uint32_t> place;         // by operation: in its stream, or among the host's
  std::vector<std::uint32_t> segment;       // by operation: host operations before it
  std::vector<Duration> issue_offset;       // by operation: after the host operation before it
  std::vector<std::uint32_t> sequence;      // by operation: communication of the same kind, slot and tag before it
  std::vector<std::uint32_t> first_memory;  // by operation, and one more: into RankProgram::memory

  // Bytes kept of each operation, its place in its stream too.
  static constexpr std::size_t kOperationBytes = 4 * sizeof(std::uint32_t) + sizeof(Duration) + sizeof(OpIndex);

 private:
  using CallKey = std::tuple<OpKind, std::uint16_t, std::uint8_t>;
  std::vector<std::pair<CallKey, std::uint32_t>> calls_;
};

struct OperationTiming {
  Time start;
  Time ready;  // a member of a collective: all others are there
  Time end;    // once it is done
  Cause cause;
};

// The timings of all ranks, in one block that the system may map as large pages. Nothing is set until it is written.
class TimingStore {
 public:
  explicit TimingStore(std::size_t operations);
  // Takes room for `operations` that no rank has yet.
  OperationTiming* take(std::size_t operations);

 private:
  struct Free {
    void operator()(OperationTiming* block) const;
  };
  std::unique_ptr<OperationTiming[], Free> block_;
  std::size_t taken_ = 0;
};

struct StreamState {
  std::uint32_t next = 0;      // into ProgramLayout::streams
  OpIndex head = kNoOp;        // the operation there; none: all have ended
  OpIndex blocked_by = kNoOp;  // what its head waits for, and has not ended
  bool busy = false;
  bool background = false;  // busy with storage that no iteration waits for
  Time woken_for;           // an event is pending for then
};

struct RunningKernel {
  OpIndex op = kNoOp;
  double alone_ps = 0;
  double remaining_ps = 0;  // at `since`, at speed 1
  double speed = 1;
  Time since;
  double drain_ps = 0;     // of remaining_ps, from where on it leaves SMs to communication
  bool holds_gpu = false;  // it fills the GPU, and does not drain yet
  bool drained = false;    // it did
  // Started beside communication, its blocks that found no SM run after the others (models/training_steps §6).
  bool has_second_wave = false;

  [[nodiscard]] Time end() const { return after(remaining_ps); }
  [[nodiscard]] Time drains() const { return after(std::max(0.0, remaining_ps - drain_ps)); }

 private:
  [[nodiscard]] Time after(double work_ps) const { return since + Duration::whole_ps(work_ps / speed + 0.999999); }
};

// A collective that a rank waits in for others: it sends its first step meanwhile (first_steps.cpp).
struct FirstStep {
  Meeting* meeting = nullptr;
  OpIndex op = kNoOp;
  Time since;
  std::uint32_t moving = kNoState;  // once it is beside another call
};

// A meeting that a rank has been to, by what its operations say of it.
struct KnownMeeting {
  std::uint32_t key = 0;
  Meeting* meeting = nullptr;

  static std::uint32_t key_of(const Operation& op) {
    return static_cast<std::uint32_t>(op.kind) << 24 | static_cast<std::uint32_t>(op.tag) << 16 | op.slot;
  }
};

// Fields that nearly every event of a rank reads or changes come first, so that they lie on few lines. Those of 16,384 ranks do
// not fit into a cache, and are fetched ahead.
struct alignas(64) RankState {
  // Both last as long: the rank's operations and streams.
  RankState(Rank rank, const Program& program, const ProgramLayout& layout, const ReplayOptions& options,
            OperationTiming* timing, std::span<StreamState> streams);

  void begin(Time now);
  void end(Time now);
  // Books the time since the last change to what was going on; to be called before any of the counts below changes.
  void account(Time now);
  void change_memory(OpIndex op, bool starts);
  // An operation is at its turn, or has ended; what it leads to elsewhere is the Replayer's.
  void start(OpIndex op, Time now, Cause cause);
  void finish(OpIndex op, Time now);
  // The newest of `kernels` from now on.
  void start_kernel(OpIndex op, Time now, const ReplayOptions& options);
  // It is none of `kernels` any more. What its end is to the memory is the caller's.
  void end_kernel(const Operation& op);
  // Duration of a kernel over what the program says: clock, straggling, jitter.
  [[nodiscard]] double stretch(OpIndex op, const ReplayOptions& options);
  [[nodiscard]] double speed(const Operation& op, const RunningKernel& kernel, const ContentionCosts& contention) const;
  // In this iteration. Operations of a stream end in order.
  [[nodiscard]] bool is_done(OpIndex op) const {
    const Operation& its = program->operations[op];
    return layout->place[op] < (is_host(its.kind) ? segment : streams[its.stream].next);
  }
  // Beside what starts now.
  [[nodiscard]] bool computes() const {
    return std::ranges::any_of(kernels, [](const RunningKernel& kernel) { return !kernel.drained; });
  }
  // In this iteration (Operation::every).
  [[nodiscard]] bool is_due(const Operation& op) const {
    return op.every == 0 ? iteration_ends.empty() : (iteration_ends.size() + 1) % op.every == 0;
  }
  // All that what it does from now on depends on, with times from now: equal where it will do the same.
  void add_to(Digest& digest, Time now) const;
  // Bytes kept of each operation of its program.
  static constexpr std::size_t kOperationBytes = sizeof(OperationTiming);
  // The next operation of a stream is held up by nothing but the background storage before it.
  [[nodiscard]] bool waits_for_storage() const;

  // Inlined whatever it costs: for the compiler a call that only prefetches has no effect, and it leaves it out.
  [[gnu::always_inline]] void fetch() const {
    for (std::size_t line = 0; line < kHotLines; ++line) __builtin_prefetch(reinterpret_cast<const char*>(this) + 64 * line, 1);
  }
  // Fetches what the lines above point to, once they are there.
  [[gnu::always_inline]] void fetch_lists() const {
    const char* const times_of_newest = reinterpret_cast<const char*>(timing + newest);
    for (std::size_t line = 0; line < 4; ++line) __builtin_prefetch(times_of_newest + 64 * line, 1);
    for (std::size_t line = 0; line < 3; ++line)
      __builtin_prefetch(reinterpret_cast<const char*>(streams.data()) + 64 * line, 1);
    __builtin_prefetch(kernels.data(), 1);
    __builtin_prefetch(calls.data(), 1);
    __builtin_prefetch(meetings.data());
  }

  static constexpr std::size_t kHotLines = 8;  // up to half of `times`
  const RankProgram* program;
  const ProgramLayout* layout;
  OperationTiming* timing;  // by operation, of this iteration
  std::span<StreamState> streams;
  Rank rank;
  std::uint32_t segment = 0;     // host operations done
  std::uint32_t generation = 0;  // of the pending event of the kernels
  OpIndex newest = 0;            // of its operations, the one that started last
  std::vector<RunningKernel> kernels;
  Time host_base;  // when the last host operation ended
  Time changed;
  int fills_gpu = 0;  // kernels that hold every SM
  int held_ctas = 0;
  int computing = 0;
  int memory_kernels = 0;  // of those, such as fill the memory
  int tensor_kernels = 0;  // of those, GEMMs and attention
  int waiting_collectives = 0;
  int waiting_messages = 0;
  bool host_busy = false;
  std::vector<std::uint32_t> calls;  // collectives of this rank that are posted
  std::vector<FirstStep> first_steps;
  std::size_t remaining = 0;  // operations of this iteration
  std::array<int, kCategories> moving{};
  LinkSleep links;
  double slowness = 1;                 // of the rank
  const RankClocks* clocks = nullptr;  // null: full clock
  std::vector<OpIndex> draining;       // communication that waits for those to end
  std::vector<KnownMeeting> meetings;
  std::int64_t bytes = 0;  // live, beside what is resident
  std::int64_t peak_bytes = 0;
  RankTimes times;  // of this iteration

  const ProgramRank* table;
  RankTimes last;
  Time began;                          // this iteration
  std::vector<Time> iteration_ends;    // of those that were run
  std::vector<std::uint64_t> digests;  // of their operations' times, each from its iteration's begin
  std::optional<RandomStream> random;
};

// The cost and the loads of a meeting's call.
struct KnownCost {
  using Key = std::tuple<coll::Collective, Bytes, std::uint8_t, bool, Duration>;
  Key key;
  const GroupCost* cost = nullptr;
  FootprintId loads = {};  // once one of them has been on the wire
  bool on_nvlinks = false;
};

// A group, or the two ends of messages in one direction: the calls that members have reached.
struct Meeting {
  std::size_t expected = 0;  // leaders that take part
  std::vector<DeviceId> devices;
  // The groups of followers on hosts that are run: they load links as this one does.
  std::vector<std::vector<DeviceId>> alike;
  std::string name;
  std::deque<std::vector<Member>> calls;  // who is there, from call `next` on
  std::vector<KnownCost> costs;           // of calls there have been: a handful of sizes
  std::uint64_t next = 0;
  bool busy = false;
};

// Communication on the wire.
struct Moving {
  Meeting* meeting = nullptr;  // null: a copy, or storage
  std::vector<Member> members;
  FootprintId loads = {};
  Bytes bytes;
  Duration alone;
  double clock = 1;  // alone over what it is at full clock
  int ctas = 0;
  double step = 0;
  double memory_share = 0;  // contention.h
  bool on_nvlinks = false;
  bool takes_its_time = false;  // whatever is beside it
  bool first_step = false;      // of one member alone, while it waits for the others
  // Once it is posted.
  TransferId transfer = {};
  Bandwidth pace = {};
  bool beside_compute = false;        // since it began, or since compute began
  int memory_full = 0;                // members whose memory a kernel fills
  std::vector<std::uint32_t> beside;  // other calls on its NVLinks (link_turns.h)

  [[nodiscard]] LinkTurns::Call call() const { return {loads, bytes, alone, step}; }
  [[gnu::always_inline]] void fetch() const {
    __builtin_prefetch(this);
    __builtin_prefetch(reinterpret_cast<const char*>(this) + 64);
  }
  // In the background: when and in which iteration it began.
  bool background = false;
  int iteration = 0;
  Time since;
};

}  // namespace weft::work
