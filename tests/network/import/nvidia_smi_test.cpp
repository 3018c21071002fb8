#include "sim/network/import/nvidia_smi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/network/import/import_support.h"

namespace weft::net {
namespace {

using test::count_of;
using test::data_path;
using test::data_text;
using test::default_profile;
using test::links_between;
using ::testing::HasSubstr;

Imported import_matrix(const std::string& name, const NvidiaSmiOptions& options = {}) {
  return import_nvidia_smi(data_text(name), name, default_profile(), options);
}

// "gpu0 gpu1 ..." with `cell` between every two.
Imported uniform(int gpus, const std::string& cell) {
  std::string text;
  for (int i = 0; i < gpus; ++i) text += "\tGPU" + std::to_string(i);
  for (int i = 0; i < gpus; ++i) {
    text += "\nGPU" + std::to_string(i);
    for (int j = 0; j < gpus; ++j) text += "\t" + (i == j ? std::string{" X "} : cell);
  }
  return import_nvidia_smi(text + "\n", "m.txt", default_profile());
}

TEST(NvidiaSmiTest, ReadsTheMeasuredH200Node) {
  const Imported h200 = import_matrix("h200x4/topology/topo_matrix.txt");
  const Topology& t = h200.topology;
  EXPECT_EQ(count_of(t, DeviceKind::kGpu), 4U);
  EXPECT_EQ(count_of(t, DeviceKind::kCpu), 1U);
  EXPECT_EQ(count_of(t, DeviceKind::kNvSwitch), 1U);
  for (const char* gpu : {"gpu0", "gpu1", "gpu2", "gpu3"}) {
    ASSERT_EQ(links_between(t, gpu, "nvswitch0").size(), 1U);
    EXPECT_EQ(links_between(t, gpu, "nvswitch0")[0].width, 18);
    EXPECT_EQ(links_between(t, gpu, "nvswitch0")[0].type, "nvlink4");
    EXPECT_EQ(links_between(t, gpu, "cpu0").at(0).type, "pcie5");
  }
  // What the matrix does not say: the kind of GPU, of NVLink group, of PCIe link.
  ASSERT_EQ(h200.warnings.size(), 3U);
  EXPECT_THAT(h200.warnings[0].message, HasSubstr("NV18 between all 4 GPUs"));
  EXPECT_THAT(h200.warnings[1].message, HasSubstr("taken as compute capability 9.0"));
  EXPECT_THAT(h200.warnings[2].message, HasSubstr("taken as pcie5 x16"));
}

TEST(NvidiaSmiTest, AGivenGpuDecidesTheGeneration) {
  const Imported b200 = import_matrix("h200x4/topology/topo_matrix.txt", {.sm = compute_capability_of("B200")});
  EXPECT_EQ(links_between(b200.topology, "gpu0", "nvswitch0").at(0).type, "nvlink5");
  EXPECT_EQ(b200.warnings.size(), 2U);
}

TEST(NvidiaSmiTest, BuildsThePcieTreeFromTheClasses) {
  const Imported node = import_matrix("topologies/dgx_h100_matrix.txt");
  const Topology& t = node.topology;
  EXPECT_EQ(count_of(t, DeviceKind::kCpu), 2U);
  EXPECT_EQ(count_of(t, DeviceKind::kNic), 2U);
  // GPU0 and NIC0 share a switch (PIX); GPU1 is on another below the same one (PXB).
  EXPECT_EQ(links_between(t, "gpu0", "pcie1").size(), 1U);
  EXPECT_EQ(links_between(t, "nic0", "pcie1").size(), 1U);
  EXPECT_EQ(links_between(t, "gpu1", "pcie2").size(), 1U);
  EXPECT_EQ(links_between(t, "pcie1", "pcie0").size(), 1U);
  EXPECT_EQ(links_between(t, "pcie2", "pcie0").size(), 1U);
  EXPECT_EQ(links_between(t, "pcie0", "cpu0").size(), 1U);
  // GPU3 reaches NIC1 through the host bridge only.
  EXPECT_EQ(links_between(t, "gpu3", "cpu1").size(), 1U);
  EXPECT_EQ(links_between(t, "cpu0", "cpu1").size(), 1U);
  EXPECT_THAT(t.labels(t.find("nic1").value()), ::testing::Contains(std::pair<std::string, std::string>{"net_name", "mlx5_3"}));
}

TEST(NvidiaSmiTest, TellsASwitchFromDirectLinks) {
  // HGX A100 with 4 GPUs: NV4 to each of 3 others is all of the 12 links of an A100.
  EXPECT_EQ(count_of(uniform(4, "NV4").topology, DeviceKind::kNvSwitch), 0U);
  EXPECT_EQ(links_between(uniform(4, "NV4").topology, "gpu0", "gpu3").at(0).width, 4);
  // 8 V100: NV6 to each of 7 others would be 42 links; a V100 has 6.
  EXPECT_EQ(count_of(uniform(8, "NV6").topology, DeviceKind::kNvSwitch), 1U);
  EXPECT_EQ(links_between(uniform(8, "NV6").topology, "gpu0", "nvswitch0").at(0).width, 6);
  // A bridge between two GPUs.
  EXPECT_EQ(links_between(uniform(2, "NV4").topology, "gpu0", "gpu1").at(0).width, 4);
}

TEST(NvidiaSmiTest, GpusBehindOneHostBridgeAreOnOneCpu) {
  const Imported t = uniform(2, "PHB");
  EXPECT_EQ(count_of(t.topology, DeviceKind::kCpu), 1U);
  EXPECT_EQ(count_of(t.topology, DeviceKind::kPcieSwitch), 0U);
  EXPECT_EQ(count_of(uniform(2, "SYS").topology, DeviceKind::kCpu), 2U);
  EXPECT_EQ(count_of(uniform(2, "PIX").topology, DeviceKind::kPcieSwitch), 1U);
}

TEST(NvidiaSmiTest, ExplainsEveryBrokenMatrix) {
  test::expect_every_broken_file_explained(".txt", 9, [](const auto&... arguments) { return import_nvidia_smi(arguments...); });
}

}  // namespace
}  // namespace weft::net
