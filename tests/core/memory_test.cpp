#include "sim/core/memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temp_folder.h"

namespace weft {
namespace {

// Files of /proc and /sys as Linux writes them.
class AvailableMemoryTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((root_ / name).parent_path());
    std::ofstream{root_ / name} << text;
  }
  void machine_has(int kilobytes) {
    write("proc/meminfo", "MemTotal:       1000000 kB\nMemFree:  1 kB\nMemAvailable:   " + std::to_string(kilobytes) + " kB\n");
  }
  [[nodiscard]] std::optional<std::uint64_t> available() const { return available_memory(root_.path()); }

  test::TempFolder root_;
};

TEST_F(AvailableMemoryTest, IsUnknownWhereNothingSaysIt) { EXPECT_EQ(available(), std::nullopt); }

TEST_F(AvailableMemoryTest, IsWhatTheMachineHas) {
  machine_has(500);
  EXPECT_EQ(available(), 500U * 1024);
}

TEST_F(AvailableMemoryTest, AGroupWithoutALimitChangesNothing) {
  machine_has(500);
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "max\n");
  write("sys/fs/cgroup/memory.current", "100\n");
  EXPECT_EQ(available(), 500U * 1024);
}

TEST_F(AvailableMemoryTest, AGroupLeavesItsLimitLessWhatItHoldsBesideCachedFiles) {
  machine_has(500);
  write("proc/self/cgroup", "0::/jobs/7\n");
  write("sys/fs/cgroup/jobs/7/memory.max", "100000\n");
  write("sys/fs/cgroup/jobs/7/memory.current", "70000\n");
  write("sys/fs/cgroup/jobs/7/memory.stat", "anon 60000\ninactive_file 10000\nactive_file 0\n");
  EXPECT_EQ(available(), 40'000U);  // 100000 - (70000 - 10000)
}

TEST_F(AvailableMemoryTest, TheTightestOfNestedGroupsCounts) {
  machine_has(500);
  write("proc/self/cgroup", "0::/jobs/7\n");
  write("sys/fs/cgroup/jobs/7/memory.max", "100000\n");
  write("sys/fs/cgroup/jobs/7/memory.current", "10000\n");
  write("sys/fs/cgroup/jobs/memory.max", "50000\n");
  write("sys/fs/cgroup/jobs/memory.current", "60000\n");  // over its limit: nothing is left
  EXPECT_EQ(available(), 0U);
}

// In a container the path is the host's, and what is mounted is the container's own group.
TEST_F(AvailableMemoryTest, ReadsTheFirstVersionOfControlGroups) {
  machine_has(500);
  write("proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/docker/abc\n0::/\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "200000\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "150000\n");
  EXPECT_EQ(available(), 50'000U);
}

TEST(MemoryTest, KeepsTheLargestOfAKind) {
  note_memory(MemoryKind::kPacket, {10, 640});
  note_memory(MemoryKind::kPacket, {1, 64});
  EXPECT_EQ(most_held(MemoryKind::kPacket).count, 10U);
  EXPECT_EQ(most_held(MemoryKind::kPacket).each(), 64);
  EXPECT_GT(resident_memory(), 0U);
}

}  // namespace
}  // namespace weft
