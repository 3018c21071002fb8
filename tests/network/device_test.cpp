#include "sim/network/device.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/profile.h"
#include "tests/support/allocation_count.h"
#include "tests/support/moments.h"

namespace weft::net {
namespace {

using namespace literals;
using weft::testing::at;

constexpr double ps(Duration d) { return static_cast<double>(d.ps()); }

// Runs scripted actions at given times.
class Script final : private EventTarget {
 public:
  explicit Script(Simulator& simulator) : simulator_{simulator}, component_{simulator.add_component("script")} {}
  void add(Duration when, std::function<void()> action) {
    actions_.push_back(std::move(action));
    simulator_.schedule(at(when), Phase::kAction, component_, *this, actions_.size() - 1);
  }

 private:
  void on_event(std::uint64_t index) override { actions_[index](); }
  Simulator& simulator_;
  ComponentId component_;
  std::vector<std::function<void()>> actions_;
};

// 132 SMs and 4 bytes per picosecond; kernels are named by tag.
class GpuTest : public ::testing::Test, protected KernelListener {
 protected:
  void run_at(Duration when, std::uint64_t tag, const KernelWork& work) {
    script_.add(when, [this, tag, work] { gpu_.run(work, *this, tag); });
  }
  void hold_between(Duration from, Duration to, int ctas, double hbm = 0) {
    const std::size_t index = claims_.size();
    claims_.emplace_back();
    script_.add(from, [this, index, ctas, hbm] { claims_[index] = gpu_.hold(ctas, hbm); });
    script_.add(to, [this, index] { gpu_.release(claims_[index]); });
  }
  [[nodiscard]] Time end(std::uint64_t tag) const { return tag < ends_.size() ? ends_[tag] : Time::max(); }

  // A kernel that fills all 132 SMs for `alone`, and little else.
  static KernelWork compute(Duration alone) { return {.sm_ps = 132 * ps(alone)}; }

  Simulator simulator_;
  Script script_{simulator_};
  Gpu gpu_{simulator_, "gpu0", {.sms = 132, .hbm_bytes_per_ps = 4.0, .copy_engines = 2}};

 private:
  void on_kernel_done(KernelId, std::uint64_t tag) override {
    if (tag >= ends_.size()) ends_.resize(tag + 1, Time::max());
    ends_[tag] = simulator_.now();
  }
  std::vector<ClaimId> claims_;
  std::vector<Time> ends_;
};

TEST_F(GpuTest, AKernelAloneTakesTheTightestOfItsNeeds) {
  // 50 blocks for 66 us of the whole GPU: 66 us x 132 / 50 = 174.24 us.
  const KernelWork narrow{.sm_ps = 132 * ps(66_us), .max_sms = 50};
  const KernelWork memory{.sm_ps = 132 * ps(10_us), .hbm_bytes = 4 * ps(30_us)};
  const KernelWork fixed{.sm_ps = 132 * ps(1_us), .min_duration = 5_us};
  EXPECT_EQ(gpu_.duration_alone(narrow), 174'240_ns);
  EXPECT_EQ(gpu_.duration_alone(memory), 30_us);
  EXPECT_EQ(gpu_.duration_alone(fixed), 5_us);
  run_at(1_us, 0, narrow);
  run_at(1_ms, 1, memory);
  run_at(2_ms, 2, fixed);
  run_at(3_ms, 3, compute(7_us));
  simulator_.run();
  EXPECT_EQ(end(0), at(1_us + 174'240_ns));
  EXPECT_EQ(end(1), at(1_ms + 30_us));
  EXPECT_EQ(end(2), at(2_ms + 5_us));
  EXPECT_EQ(end(3), at(3_ms + 7_us));
}

TEST_F(GpuTest, ACompletionIsRoundedUpOnce) {
  // 100 SM-ps over 132 SMs is 0.76 ps, over 33 SMs 3.03 ps, over 25 SMs 4 ps.
  EXPECT_EQ(gpu_.duration_alone({.sm_ps = 100}), 1_ps);
  EXPECT_EQ(gpu_.duration_alone({.sm_ps = 100, .max_sms = 33}), 4_ps);
  EXPECT_EQ(gpu_.duration_alone({.sm_ps = 100, .max_sms = 25}), 4_ps);
}

TEST_F(GpuTest, AKernelWithoutWorkEndsAtOnceButNotInsideRun) {
  script_.add(1_us, [this] {
    gpu_.run({}, *this, 0);
    EXPECT_EQ(end(0), Time::max());
  });
  simulator_.run();
  EXPECT_EQ(end(0), at(1_us));
}

// Kernel 0 (100 us) alone until 40 us: 60 us left. Then both at half speed. Kernel 1 (20 us) ends at 40 + 2 x 20 = 80 us, when
// kernel 0 has 60 - 20 = 40 us left, and ends at 120 us: the sum of both, as nothing was lost.
TEST_F(GpuTest, TwoKernelsShareTheSms) {
  run_at(0_us, 0, compute(100_us));
  run_at(40_us, 1, compute(20_us));
  simulator_.run();
  EXPECT_EQ(end(1), at(80_us));
  EXPECT_EQ(end(0), at(120_us));
}

// Side by side they need 80 + 50 of 132 SMs, and then 80 + 60.
TEST_F(GpuTest, KernelsThatFitSideBySideDoNotSlowEachOther) {
  run_at(0_us, 0, {.sm_ps = 80 * ps(10_us), .max_sms = 80});
  run_at(0_us, 1, {.sm_ps = 50 * ps(10_us), .max_sms = 50});
  run_at(20_us, 2, {.sm_ps = 80 * ps(33_us), .max_sms = 80});
  run_at(20_us, 3, {.sm_ps = 60 * ps(33_us), .max_sms = 60});
  simulator_.run();
  EXPECT_EQ(end(0), at(10_us));
  EXPECT_EQ(end(1), at(10_us));
  EXPECT_EQ(end(2), at(20_us + 35_us));  // 33 us x 140 / 132
  EXPECT_EQ(end(3), at(20_us + 35_us));
}

// Held from the middle to after the end: what is left at 1 us takes 132/108 as long, rounded up. 109 us: 108 us left become 132
// us. 107 us and 1 ps: 106'000'001 ps left become 129'555'556.8 ps.
TEST_F(GpuTest, AHoldStretchesTheRemainderByTheSmsItTakes) {
  run_at(0_us, 0, compute(109_us));
  hold_between(1_us, 500_us, 24);
  run_at(1_ms, 1, compute(107_us + 1_ps));
  hold_between(1_ms + 1_us, 2_ms, 24);
  simulator_.run();
  EXPECT_EQ(end(0), at(1_us + 132_us));
  EXPECT_EQ(end(1), at(1_ms + 1_us + 129'555'557_ps));
}

// From 100 us to 232 us the kernel does 132 us x 108 / 132 = 108 us of its 300 us; 92 us are left.
TEST_F(GpuTest, AReleaseGivesTheSmsBack) {
  run_at(0_us, 0, compute(300_us));
  hold_between(100_us, 232_us, 24);
  simulator_.run();
  EXPECT_EQ(end(0), at(232_us + 92_us));
  EXPECT_EQ(gpu_.held_sms(), 0);
  EXPECT_EQ(gpu_.running(), 0U);
}

TEST_F(GpuTest, AHoldAndAReleaseAtOneInstantChangeNothing) {
  run_at(0_us, 0, compute(99'999'999_ps));
  for (int i = 1; i < 90; ++i) hold_between(i * 1_us, i * 1_us, 32);
  simulator_.run();
  EXPECT_EQ(end(0), at(99'999'999_ps));
}

// Reading for 100 us it keeps 99 of 132 SMs busy. 108 are enough; of 92, as 40 held leave, it wants 99: 50 us become
// 50 x 99 / 92 = 53'804'347.8 ps.
TEST_F(GpuTest, AMemoryBoundKernelMindsOnlyAHoldThatLeavesTooFewSms) {
  const KernelWork memory{.sm_ps = 99 * ps(100_us), .hbm_bytes = 4 * ps(100_us)};
  run_at(0_us, 0, memory);
  hold_between(50_us, 300_us, 24);
  run_at(1_ms, 1, memory);
  hold_between(1_ms + 50_us, 2_ms, 40);
  simulator_.run();
  EXPECT_EQ(end(0), at(100_us));
  EXPECT_EQ(end(1), at(1_ms + 50_us + 53'804'348_ps));
}

// One of 4 bytes per picosecond held: what is left takes 4/3 as long. A kernel that lives from its SMs does not notice.
TEST_F(GpuTest, AHoldOfHbmSlowsWhatReadsMemory) {
  run_at(0_us, 0, {.hbm_bytes = 4 * ps(100_us)});
  run_at(0_us, 1, {.sm_ps = 132 * ps(80_us), .hbm_bytes = 1 * ps(80_us)});
  run_at(1_ms, 2, {.hbm_bytes = 4 * ps(100_us)});
  run_at(2_ms, 3, {.sm_ps = 132 * ps(80_us), .hbm_bytes = 1 * ps(80_us)});
  hold_between(1_ms + 40_us, 3_ms, 0, 1.0);
  simulator_.run();
  // 4 + 1 bytes wanted of 4: both at 4/5. Kernel 1 ends at 100 us, when 20 us of kernel 0 are left.
  EXPECT_EQ(end(1), at(100_us));
  EXPECT_EQ(end(0), at(120_us));
  EXPECT_EQ(end(2), at(1_ms + 40_us + 80_us));
  EXPECT_EQ(end(3), at(2_ms + 80_us));
}

TEST_F(GpuTest, ComputeWaitsWhileEverythingIsHeld) {
  run_at(0_us, 0, compute(20_us));
  hold_between(10_us, 60_us, 100);
  hold_between(10_us, 50_us, 100);  // together more than there are
  run_at(20_us, 1, {.min_duration = 3_us});
  simulator_.run();
  // From 50 us to 60 us at 32/132: 2'424'242.4 of 10'000'000 ps, so that 7'575'757.6 ps are left.
  EXPECT_EQ(end(0), at(60_us + 7'575'758_ps));
  EXPECT_EQ(end(1), at(23_us));  // needs nothing that is held
}

TEST_F(GpuTest, AListenerMayStartTheNextKernel) {
  struct Chain final : KernelListener {
    explicit Chain(Gpu& g) : gpu{g} {}
    void on_kernel_done(KernelId, std::uint64_t left) override {
      if (left > 0) gpu.run(compute(3_us), *this, left - 1);
    }
    Gpu& gpu;
  } chain{gpu_};
  script_.add(0_us, [&] { gpu_.run(compute(3_us), chain, 9); });
  simulator_.run();
  EXPECT_EQ(simulator_.now(), at(30_us));
}

TEST_F(GpuTest, RefusesWhatItDoesNotHave) {
  EXPECT_NO_THROW(gpu_.hold(132, 0));
  EXPECT_THROW(gpu_.hold(133, 0), InternalError);
  EXPECT_THROW(gpu_.release(ClaimId{7}), InternalError);
}

// A compute kernel after another with a claim in the middle of each, over and over.
TEST_F(GpuTest, SteadyStateAllocatesNothing) {
  struct Loop final : KernelListener, EventTarget {
    Loop(Simulator& s, Gpu& g) : simulator{s}, gpu{g}, component{s.add_component("loop")} {}
    void on_kernel_done(KernelId, std::uint64_t left) override {
      gpu.release(claim);
      if (left > 0) start(left - 1);
    }
    void on_event(std::uint64_t) override { claim = gpu.hold(24, 0.5); }
    void start(std::uint64_t left) {
      gpu.run({.sm_ps = 132 * ps(10_us), .hbm_bytes = ps(10_us)}, *this, left);
      simulator.schedule(simulator.now() + 5_us, Phase::kAction, component, *this, 0);
    }
    Simulator& simulator;
    Gpu& gpu;
    ComponentId component;
    ClaimId claim;
  } first{simulator_, gpu_}, second{simulator_, gpu_};
  first.start(1000);
  second.start(1000);
  simulator_.run_until(at(2_ms));
  const weft::test::AllocationCount allocations;
  simulator_.run_until(at(20_ms));
  EXPECT_EQ(allocations.so_far(), 0);
  EXPECT_GT(gpu_.running(), 0U);
}

// Operations that each take `duration` once started.
class StreamTest : public ::testing::Test, protected OperationListener, protected EventTarget {
 protected:
  struct Start {
    std::uint64_t tag;
    Time when;
    bool operator==(const Start&) const = default;
  };
  void on_start(std::uint64_t tag) override {
    starts_.push_back({tag, simulator_.now()});
    simulator_.schedule(simulator_.now() + duration_, Phase::kCompletion, component_, *this, 0);
  }
  void on_event(std::uint64_t) override { queue_->finish(); }

  Simulator simulator_;
  ComponentId component_ = simulator_.add_component("test");
  OperationQueue* queue_ = nullptr;
  Duration duration_ = 10_us;
  std::vector<Start> starts_;
};

TEST_F(StreamTest, StartsInOrderWhenThePreviousEndedAndTheLaunchWasIssued) {
  Stream stream{simulator_, "stream"};
  queue_ = &stream;
  stream.enqueue(at(5_us), *this, 0);
  stream.enqueue(at(10_us), *this, 1);  // launched while the first runs
  stream.enqueue(at(90_us), *this, 2);  // launched late
  stream.enqueue(at(20_us), *this, 3);  // launched early, behind one launched late
  EXPECT_EQ(stream.waiting(), 4U);
  EXPECT_TRUE(starts_.empty());
  simulator_.run();
  const std::vector<Start> expected{{0, at(5_us)}, {1, at(15_us)}, {2, at(90_us)}, {3, at(100_us)}};
  EXPECT_EQ(starts_, expected);
  EXPECT_EQ(stream.running(), 0);
}

TEST_F(StreamTest, AnOperationMayEndAtTheInstantOfItsStart) {
  Stream stream{simulator_, "stream"};
  queue_ = &stream;
  duration_ = 0_us;
  for (std::uint64_t i = 0; i < 3; ++i) stream.enqueue(at(1_us), *this, i);
  simulator_.run();
  const std::vector<Start> expected{{0, at(1_us)}, {1, at(1_us)}, {2, at(1_us)}};
  EXPECT_EQ(starts_, expected);
  EXPECT_THROW(stream.finish(), InternalError);
}

TEST_F(StreamTest, CopiesStartAsEnginesBecomeFree) {
  Gpu gpu{simulator_, "gpu0", {.copy_engines = 2}};
  queue_ = &gpu.copy_engines();
  for (std::uint64_t i = 0; i < 5; ++i) queue_->enqueue(at(i == 4 ? 50_us : 0_us), *this, i);
  simulator_.run();
  const std::vector<Start> expected{{0, at(0_us)}, {1, at(0_us)}, {2, at(10_us)}, {3, at(10_us)}, {4, at(50_us)}};
  EXPECT_EQ(starts_, expected);
}

TEST_F(StreamTest, SteadyStateAllocatesNothing) {
  Stream stream{simulator_, "stream"};
  queue_ = &stream;
  starts_.reserve(2'000);
  for (std::uint64_t i = 0; i < 50; ++i) stream.enqueue(Time{}, *this, i);
  // One more is enqueued for each that starts, so that the queue never runs empty.
  const auto keep_full = [&](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      simulator_.run_until(simulator_.now() + duration_);
      stream.enqueue(simulator_.now(), *this, i);
    }
  };
  keep_full(500);
  const weft::test::AllocationCount allocations;
  keep_full(1'000);
  EXPECT_EQ(allocations.so_far(), 0);
  EXPECT_EQ(stream.waiting(), 49U);
}

// models/nccl_calibration §3.1: launches count per thread, so one process with four GPUs has a floor of four launches.
TEST(HostThreadTest, OneThreadLaunchesOnFourGpusOneAfterAnother) {
  HostThread one{LaunchTimings{}};
  Time issued;
  for (int gpu = 0; gpu < 4; ++gpu) issued = one.launch(Time{});
  EXPECT_EQ(issued, at(4 * 5_us));
  EXPECT_EQ(one.busy_until(), issued);
  for (int thread = 0; thread < 4; ++thread) EXPECT_EQ(HostThread{LaunchTimings{}}.launch(Time{}), at(5_us));
}

TEST(HostThreadTest, ALaunchWaitsForItsReadyTimeAndForTheThread) {
  HostThread host{{.host_cost = 3_us}};
  EXPECT_EQ(host.launch(at(10_us)), at(13_us));
  EXPECT_EQ(host.launch(at(12_us)), at(16_us));
  EXPECT_EQ(host.launch(at(16_us)), at(19_us));
}

TEST(HostThreadTest, AGraphCostsPerKernelAndIssuesAllAtOnce) {
  HostThread host{{.graph_kernel_cost = 2_us}};
  EXPECT_EQ(host.launch_graph(Time{}, 40), at(80_us));
  EXPECT_EQ(host.launch(Time{}), at(85_us));
}

TEST(LaunchTimingsTest, ComeFromTheProfile) {
  const Profile profile = Profile::defaults({&launch_timings}).with_value("device.launch.host_cost", "4.5 us", "test");
  EXPECT_EQ(profile.get(launch_timings).host_cost, 4'500_ns);
  EXPECT_EQ(profile.get(launch_timings).graph_kernel_cost, LaunchTimings{}.graph_kernel_cost);
}

}  // namespace
}  // namespace weft::net
