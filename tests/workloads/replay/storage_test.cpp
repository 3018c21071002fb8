#include "sim/workloads/replay/storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/core/error.h"
#include "sim/workloads/replay/replayer.h"
#include "tests/support/topologies.h"
#include "tests/workloads/replay/replay_support.h"

namespace weft::work::test {
namespace {

using namespace weft::literals;

constexpr Bandwidth gigabytes(std::int64_t per_second) { return Bandwidth::from_bytes_per_second(per_second * 1'000'000'000); }
constexpr Bytes kGigabyte{1'000'000'000};
constexpr Duration ms(std::int64_t count) { return Duration::from_us(1000 * count); }

// Nodes of two GPUs, each 10 GB/s from the CPU. Nothing joins them.
net::Topology nodes(int count) {
  net::TopologyBuilder builder;
  net::HostTemplate host;
  for (const char* name : {"gpu0", "gpu1", "cpu0"}) {
    net::TemplateDevice device;
    device.name = name;
    host.devices.push_back(device);
  }
  host.devices.back().kind = net::DeviceKind::kCpu;
  const std::uint32_t spec = builder.add_spec(weft::testing::plain_link(gigabytes(10), {}));
  weft::testing::add_template_cable(host, 0, 2, spec);
  weft::testing::add_template_cable(host, 1, 2, spec);
  const std::uint32_t id = builder.add_template(host);
  for (int i = 0; i < count; ++i) builder.add_host(id);
  return std::move(builder).freeze();
}

// Ranks 0 and 1 on the first node, 2 and 3 on the second.
class StorageTest : public ::testing::Test {
 protected:
  static constexpr Rank kRanks = 4;

  StorageTest() {
    launch_.host_cost = {};
    for (Rank r = 0; r < kRanks; ++r) {
      program_.programs.emplace_back();
      program_.programs.back().names = {"op"};
      program_.programs.back().streams = {"compute", "checkpoint", "more"};
      program_.ranks.push_back({.program = static_cast<std::uint32_t>(r), .leader = r});
      program_.devices.push_back(topology_.endpoints()[static_cast<std::size_t>(r)]);
    }
    options_.storage = {.local = {.write = gigabytes(2), .read = gigabytes(4)},
                        .file_system = {.write = gigabytes(3), .read = gigabytes(6)}};
  }

  OpIndex add(Rank rank, Operation op, const std::vector<OpIndex>& waits = {}) {
    RankProgram& program = program_.programs[static_cast<std::size_t>(rank)];
    op.first_wait = static_cast<std::uint32_t>(program.waits.size());
    op.wait_count = static_cast<std::uint16_t>(waits.size());
    program.waits.insert(program.waits.end(), waits.begin(), waits.end());
    program.operations.push_back(op);
    return static_cast<OpIndex>(program.operations.size() - 1);
  }
  static Operation io(OpKind kind, int slot, Bytes bytes = kGigabyte) {
    Operation op{
        .bytes = bytes, .slot = static_cast<std::uint16_t>(slot), .stream = 1, .kind = kind, .category = Category::kIo};
    op.launched = false;
    return op;
  }
  // A kernel, a copy of its result to the host (1 ms), and a write to the node's drives (5 ms), as a checkpoint is made.
  void add_checkpoint(Duration compute, bool background, int every = 1) {
    const OpIndex kernel = add(0, {.duration = compute});
    Operation copy = io(OpKind::kCopy, 0, 10'000'000_B), write = io(OpKind::kStorage, 0, 10'000'000_B);
    copy.every = write.every = static_cast<std::uint16_t>(every);
    write.background = background;
    add(0, write, {add(0, copy, {kernel})});
  }

  ReplayResult run(int iterations = 1) {
    options_.iterations = iterations;
    net::Machine machine{topology_, "ecmp", 1};
    GroupCosts costs{topology_, "ecmp", 1, profile_, {}};
    Replayer replayer{machine, program_, costs, launch_, options_};
    replayer.start();
    machine.simulator.run();
    replayer.check_finished();
    machine.fabric.check_conservation();
    return replayer.result();
  }
  // When each rank's first iteration ends.
  std::vector<Duration> ends() {
    std::vector<Duration> ends;
    for (const RankResult& rank : run().ranks) ends.push_back(rank.iteration_ends.front() - Time{});
    return ends;
  }
  std::string error() {
    try {
      static_cast<void>(run());
    } catch (const ConfigError& error) {
      return error.what();
    }
    return {};
  }

  net::Topology topology_ = nodes(2);
  Profile profile_ = Profile::defaults(groups());
  net::LaunchTimings launch_;
  ReplayOptions options_;
  Program program_;
};

TEST_F(StorageTest, ACopyTakesTheWayBetweenGpuAndHost) {
  add(0, io(OpKind::kCopy, 0));
  add(1, io(OpKind::kCopy, kInwards));
  EXPECT_EQ(ends(), (std::vector{ms(100), ms(100), ms(0), ms(0)}));
}

TEST_F(StorageTest, RanksOfANodeShareItsDrives) {
  // 2 GB/s for two, and for one.
  for (const Rank rank : {0, 1, 2}) add(rank, io(OpKind::kStorage, 0));
  EXPECT_EQ(ends(), (std::vector{ms(1000), ms(1000), ms(500), ms(0)}));
}

TEST_F(StorageTest, DrivesReadAndWriteAtTheSameTime) {
  add(0, io(OpKind::kStorage, 0));
  add(1, io(OpKind::kStorage, kInwards));
  EXPECT_EQ(ends(), (std::vector{ms(500), ms(250), ms(0), ms(0)}));
}

TEST_F(StorageTest, AllNodesShareTheFileSystem) {
  // 3 GB/s for four.
  for (Rank rank = 0; rank < kRanks; ++rank) add(rank, io(OpKind::kStorage, kFileSystem, 750'000'000_B));
  EXPECT_EQ(ends(), std::vector(4, ms(1000)));
}

TEST_F(StorageTest, ANodesShareOfTheFileSystemIsALimitOfItsOwn) {
  // 1 GB/s for the two of the first node; the one of the second node has its own.
  options_.storage.per_node = gigabytes(1);
  for (const Rank rank : {0, 1, 2}) add(rank, io(OpKind::kStorage, kFileSystem));
  EXPECT_EQ(ends(), (std::vector{ms(2000), ms(2000), ms(1000), ms(0)}));
}

TEST_F(StorageTest, GpuDirectSharesTheGpusLinkWithACopy) {
  options_.storage.local.write = gigabytes(8);
  Operation copy = io(OpKind::kCopy, 0);
  copy.stream = 2;
  add(0, io(OpKind::kStorage, kGpuDirect));
  add(0, copy);
  add(2, io(OpKind::kStorage, 0));
  add(2, copy);
  // Through the link: 5 GB/s for each of two. Past it: 8 GB/s.
  EXPECT_EQ(ends(), (std::vector{ms(200), ms(0), ms(125), ms(0)}));
}

TEST_F(StorageTest, ASynchronousWriteIsWaitedFor) {
  add_checkpoint(ms(3), false);
  const ReplayResult result = run(3);
  EXPECT_EQ(result.iterations, std::vector(3, ms(3 + 1 + 5)));
  const RankTimes& times = result.ranks.front().last;
  EXPECT_EQ(times.busy[static_cast<std::size_t>(Category::kIo)], ms(6));
  EXPECT_EQ(times.exposed[static_cast<std::size_t>(Category::kIo)], ms(6));
  EXPECT_EQ(times.idle, ms(0));
}

TEST_F(StorageTest, OfAnAsynchronousWriteOnlyTheCopyIsWaitedFor) {
  add_checkpoint(ms(6), true);
  const ReplayResult result = run(3);
  EXPECT_EQ(result.iterations, std::vector(3, ms(7)));
  const RankTimes& times = result.ranks.front().last;
  EXPECT_EQ(times.busy[static_cast<std::size_t>(Category::kIo)], ms(6));
  EXPECT_EQ(times.exposed[static_cast<std::size_t>(Category::kIo)], ms(1));
  EXPECT_EQ(times.idle, ms(0));
}

TEST_F(StorageTest, TheNextCopyWaitsForAWriteThatIsSlowerThanTheStep) {
  // The write of 5 ms begins when the copy has ended, 1 ms after the kernel; a kernel of 3 ms is then too short for it.
  add_checkpoint(ms(3), true);
  const ReplayResult result = run(3);
  EXPECT_EQ(result.iterations, (std::vector{ms(4), ms(6), ms(6)}));
  EXPECT_EQ(result.ranks.front().last.exposed[static_cast<std::size_t>(Category::kIo)], ms(3));
  EXPECT_EQ(result.ranks.front().last.idle, ms(0));
}

TEST_F(StorageTest, ACheckpointEverySecondIterationIsWrittenBesideTheOther) {
  add_checkpoint(ms(3), true, 2);
  EXPECT_EQ(run(4).iterations, (std::vector{ms(3), ms(4), ms(3), ms(4)}));
}

TEST_F(StorageTest, WhatIsDoneOnceIsDoneFirst) {
  Operation read = io(OpKind::kStorage, kInwards);
  read.every = 0;
  add(0, {.duration = ms(10)}, {add(0, read)});
  EXPECT_EQ(run(3).iterations, (std::vector{ms(260), ms(10), ms(10)}));
}

TEST_F(StorageTest, ARankThatStandsForOthersTakesAsLongAsTheyAll) {
  options_.storage.per_node = gigabytes(1);
  for (const int slot : {0, kGpuDirect + kInwards, int{kFileSystem}, kFileSystem + kInwards}) {
    for (Rank rank = 0; rank < kRanks; ++rank) add(rank, io(OpKind::kStorage, slot, 300'000'000_B));
  }
  for (Rank rank = 0; rank < kRanks; ++rank) add(rank, io(OpKind::kCopy, 0));
  const std::vector<Duration> apart = ends();
  for (ProgramRank& rank : program_.ranks) rank.leader = 0;
  EXPECT_EQ(apart, std::vector(4, apart.front()));
  EXPECT_EQ(ends(), std::vector{apart.front()});
}

TEST_F(StorageTest, StorageThatIsNotThereIsTheUsersError) {
  add(0, io(OpKind::kStorage, 0));
  options_.storage.local = {};
  EXPECT_THAT(error(), ::testing::HasSubstr("needs workload.storage.local"));
}

TEST_F(StorageTest, ACopyNeedsACpu) {
  topology_ = weft::testing::star(4, 100_Gbps, 0_us);
  add(0, io(OpKind::kCopy, 0));
  EXPECT_THAT(error(), ::testing::HasSubstr("need a CPU in its node"));
}

}  // namespace
}  // namespace weft::work::test
