#include "sim/network/import/nvidia_smi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sim/network/gpu_spec.h"
#include "tests/network/import/import_support.h"

namespace weft::net {
namespace {

using test::count_of;
using test::data_path;
using test::data_text;
using test::default_profile;
using test::links_between;
using ::testing::HasSubstr;

Imported import_matrix(const std::string& name, const ImportHints& options = {}) {
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

// `cell(i, j)` between every two of some GPUs.
template <typename Cell>
Imported matrix_of(int gpus, const Cell& cell, const ImportHints& options = {}) {
  std::string text;
  for (int i = 0; i < gpus; ++i) text += "\tGPU" + std::to_string(i);
  text += "\tCPU Affinity\tNUMA Affinity";
  for (int i = 0; i < gpus; ++i) {
    text += "\nGPU" + std::to_string(i);
    for (int j = 0; j < gpus; ++j) text += "\t" + (i == j ? std::string{"X"} : cell(std::min(i, j), std::max(i, j)));
    text += "\t0-31\t" + std::to_string(i / ((gpus + 1) / 2));
  }
  return import_nvidia_smi(text + "\n", "m.txt", default_profile(), options);
}

// Widths of the NVLinks of each GPU: to others directly, and into its NVSwitch.
std::map<std::string, int> nvlinks(const Topology& t, const std::string& gpu) {
  std::map<std::string, int> widths;
  for (const LinkId link : t.out_links(t.find(gpu).value())) {
    if (t.spec(link).type.starts_with("nvlink")) widths[t.name(t.link(link).to)] += t.spec(link).width;
  }
  return widths;
}
using Widths = std::map<std::string, int>;

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
  // The matrix does not say the kind of GPU, of NVLink group, of PCIe link.
  ASSERT_EQ(h200.warnings.size(), 3U);
  EXPECT_THAT(h200.warnings[0].message, HasSubstr("NV18 between all 4 GPUs"));
  EXPECT_THAT(h200.warnings[1].message, HasSubstr("taken as compute capability 9.0"));
  EXPECT_THAT(h200.warnings[2].message, HasSubstr("taken as pcie5 x16"));
}

TEST(NvidiaSmiTest, AGivenGpuDecidesTheGeneration) {
  const Imported b200 = import_matrix("h200x4/topology/topo_matrix.txt", {.sm = gpu_spec("b200").sm});
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

// Bridges of all 12 links of an A100 join GPUs 0 and 1, 2 and 3, ...: NVSwitches would join all of a board.
TEST(NvidiaSmiTest, PairsAmongOtherGpusHaveBridges) {
  const auto pairs = [](int i, int j) -> std::string {
    return j == i + 1 && i % 2 == 0 ? "NV12" : i / 4 == j / 4 ? "PXB" : "SYS";
  };
  const Imported bridges = matrix_of(8, pairs);
  EXPECT_EQ(count_of(bridges.topology, DeviceKind::kNvSwitch), 0U);
  EXPECT_EQ(nvlinks(bridges.topology, "gpu4"), (Widths{{"n0.gpu5", 12}}));
  EXPECT_EQ(bridges.warnings.at(0).message, "NV12 between all 2 GPUs of each of 4 groups: taken as direct links");
  // H200 NVL: 18 links to the one other.
  EXPECT_EQ(count_of(matrix_of(8, [&](int i, int j) { return pairs(i, j) == "NV12" ? "NV18" : pairs(i, j); }).topology,
                     DeviceKind::kNvSwitch),
            0U);
  // One pair, and two GPUs without.
  EXPECT_EQ(nvlinks(matrix_of(4, [](int, int j) { return j == 1 ? "NV12" : "SYS"; }).topology, "gpu0"),
            (Widths{{"n0.gpu1", 12}}));
}

// Two GPUs are all that is seen of a board of NVSwitches, or have a bridge; the kind of GPU, where it is named, says more.
TEST(NvidiaSmiTest, TwoGpusAloneAreOfABoardWhereTheyShareAllTheirLinks) {
  const auto switches = [](const std::string& cell, const char* gpu) {
    const ImportHints options{.sm = gpu == nullptr ? std::nullopt : std::optional{gpu_spec(gpu).sm}};
    return count_of(matrix_of(
                        2, [&](int, int) { return cell; }, options)
                        .topology,
                    DeviceKind::kNvSwitch);
  };
  EXPECT_EQ(switches("NV18", nullptr), 1U);
  EXPECT_EQ(switches("NV18", "h200"), 1U);
  EXPECT_EQ(switches("NV12", "h100"), 0U);
  EXPECT_EQ(switches("NV12", "a100"), 1U);
  EXPECT_EQ(switches("NV4", "a40"), 1U);
}

// 4 x NV12 among 4 GPUs would be 36 links of one.
TEST(NvidiaSmiTest, IslandsKeepTheirOwnNvSwitch) {
  const Imported islands = matrix_of(8, [](int i, int j) { return i / 4 == j / 4 ? "NV12" : "SYS"; });
  EXPECT_EQ(count_of(islands.topology, DeviceKind::kNvSwitch), 2U);
  EXPECT_EQ(nvlinks(islands.topology, "gpu3"), (Widths{{"n0.nvswitch0", 12}}));
  EXPECT_EQ(nvlinks(islands.topology, "gpu4"), (Widths{{"n0.nvswitch1", 12}}));
  // An island beside GPUs without NVLink, and one beside a bridge.
  const Imported half = matrix_of(8, [](int, int j) { return j < 4 ? "NV18" : "NODE"; });
  EXPECT_EQ(count_of(half.topology, DeviceKind::kNvSwitch), 1U);
  EXPECT_EQ(nvlinks(half.topology, "gpu4"), Widths{});
  const Imported beside = matrix_of(6, [](int i, int j) { return j < 4 ? "NV12" : i == 4 ? "NV12" : "SYS"; });
  EXPECT_EQ(count_of(beside.topology, DeviceKind::kNvSwitch), 1U);
  EXPECT_EQ(nvlinks(beside.topology, "gpu5"), (Widths{{"n0.gpu4", 12}}));
}

// The matrix of models/network §1.6: six links of each GPU, to four others.
TEST(NvidiaSmiTest, AHybridCubeMeshKeepsItsLinks) {
  const char* const kLinks[] = {"01122000", "10210200", "12020010", "21200001", "20000112", "02001021", "00101202", "00012120"};
  const Imported mesh = matrix_of(8, [&](int i, int j) {
    const char links = kLinks[i][j];
    return links == '0' ? std::string{"SYS"} : std::string{"NV"} + links;
  });
  EXPECT_EQ(count_of(mesh.topology, DeviceKind::kNvSwitch), 0U);
  for (int i = 0; i < 8; ++i) {
    Widths expected;
    for (int j = 0; j < 8; ++j) {
      if (kLinks[i][j] != '0') expected["n0.gpu" + std::to_string(j)] = kLinks[i][j] - '0';
    }
    EXPECT_EQ(nvlinks(mesh.topology, "gpu" + std::to_string(i)), expected);
  }
}

TEST(NvidiaSmiTest, PartlyConnectedGpusKeepTheirLinks) {
  const Imported chain = matrix_of(4, [](int i, int j) { return j == i + 1 ? "NV4" : "PHB"; });
  EXPECT_EQ(nvlinks(chain.topology, "gpu0"), (Widths{{"n0.gpu1", 4}}));
  EXPECT_EQ(nvlinks(chain.topology, "gpu2"), (Widths{{"n0.gpu1", 4}, {"n0.gpu3", 4}}));
}

// Behind NVSwitches two GPUs share what the one with fewer links has.
TEST(NvidiaSmiTest, AGpuWithLinksDownIsStillBehindTheNvSwitch) {
  const auto cells = [](int, int j) { return j == 3 ? "NV16" : "NV18"; };
  const Imported degraded = matrix_of(4, cells);
  EXPECT_EQ(nvlinks(degraded.topology, "gpu0"), (Widths{{"n0.nvswitch0", 18}}));
  EXPECT_EQ(nvlinks(degraded.topology, "gpu3"), (Widths{{"n0.nvswitch0", 16}}));
}

TEST(NvidiaSmiTest, MoreLinksThanAGpuHasThatAreOfNoSwitchAreAnError) {
  try {
    static_cast<void>(matrix_of(4, [](int i, int j) { return i == 0 && j == 3 ? "NV6" : "NV12"; }));
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(
        error.diagnostics().at(0).message,
        "GPU0 to GPU3 is NV6: GPU1 has NV36 in all, too many for direct links (at most NV18), and NVSwitches would join the "
        "two by NV12");
  }
}

// 14.0625 GB/s a link, as NCCL's file of the same GPU is read.
TEST(NvidiaSmiTest, NvLinksAreThoseOfTheNamedGpu) {
  const auto pair = [](int, int) { return "NV4"; };
  const Imported a40 = matrix_of(2, pair, {.sm = gpu_spec("a40").sm});
  EXPECT_EQ(links_between(a40.topology, "gpu0", "nvswitch0").at(0).rate, Bandwidth::from_bits_per_second(450'000'000'000));
}

TEST(NvidiaSmiTest, GpusBehindOneHostBridgeAreOnOneCpu) {
  const Imported t = uniform(2, "PHB");
  EXPECT_EQ(count_of(t.topology, DeviceKind::kCpu), 1U);
  EXPECT_EQ(count_of(t.topology, DeviceKind::kPcieSwitch), 0U);
  EXPECT_EQ(count_of(uniform(2, "SYS").topology, DeviceKind::kCpu), 2U);
  EXPECT_EQ(count_of(uniform(2, "PIX").topology, DeviceKind::kPcieSwitch), 1U);
}

TEST(NvidiaSmiTest, ALineThatBeginsWithNoDeviceEndsTheMatrix) {
  const std::string matrix = "\tGPU0\tGPU1\nGPU0\tX\tPIX\nGPU1\tPIX\tX\n";
  const auto gpus = [](const std::string& text) {
    return count_of(import_nvidia_smi(text, "m.txt", default_profile()).topology, DeviceKind::kGpu);
  };
  for (const char* rest : {"```\n", "user@host:~$ \n", "$ nvidia-smi topo -m\n", "Legend:\n  X    = Self\n"})
    EXPECT_EQ(gpus(matrix + rest), 2U) << rest;
  // A row of a device that has no column is an error still, and so is one that a prompt cuts off.
  EXPECT_THROW(gpus(matrix + "GPU2\tPIX\tPIX\n"), ConfigError);
  EXPECT_THROW(gpus(matrix + "mlx5_0\tPIX\tPIX\n"), ConfigError);
  EXPECT_THROW(gpus("\tGPU0\tGPU1\nGPU0\tX\tPIX\n$ \nGPU1\tPIX\tX\n"), ConfigError);
}

TEST(NvidiaSmiTest, ExplainsEveryBrokenMatrix) {
  test::expect_every_broken_file_explained(".txt", 9, [](const auto&... arguments) { return import_nvidia_smi(arguments...); });
}

TEST(NvidiaSmiTest, TablesOfOtherToolsAreRefusedByName) {
  for (const auto& [text, tool] :
       {std::pair{"======= Weight between two GPUs =======\n       GPU0  GPU1\nGPU0   0     15\nGPU1   15    0\n",
                  "rocm-smi --showtopo"},
        std::pair{"ACCESS TABLE:\n        0000:0c:00.0\n0000:0c:00.0  ENABLED\n", "amd-smi topology"},
        std::pair{"        NPU0   NPU1\nNPU0    X      HCCS\n", "npu-smi info -t topo"}}) {
    try {
      static_cast<void>(import_nvidia_smi(text, "t.txt", test::default_profile()));
      ADD_FAILURE() << "accepted: " << text;
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string{error.what()}.find(std::string{"the tables of `"} + tool + "` are not read"), std::string::npos)
          << error.what();
    }
  }
}

// Drivers before 384 wrote SOC where later ones write SYS.
TEST(NvidiaSmiTest, SocOfOldDriversIsSys) {
  const Imported old =
      import_nvidia_smi("     GPU0 GPU1 CPU Affinity\nGPU0 X SOC 0-7\nGPU1 SOC X 8-15\n", "t.txt", test::default_profile());
  EXPECT_EQ(test::count_of(old.topology, DeviceKind::kCpu), 2U);
}

TEST(NvidiaSmiTest, TakesTheSpeedOfNicsAndTheKindOfCpuFromTheUser) {
  using namespace literals;
  const char* const kMatrix = "     GPU0 GPU1 mlx5_0\nGPU0 X SYS PIX\nGPU1 SYS X SYS\nmlx5_0 PIX SYS X\n";
  const ImportHints hints{.sm = 80, .nic_rate = 200_Gbps, .cpu = cpu_named("broadwell")};
  const Imported t = import_nvidia_smi(kMatrix, "t.txt", test::default_profile(), hints);
  EXPECT_EQ(*find_label(t.topology.labels(t.topology.find("nic0").value()), "speed"), "200000 Mb/s");
  EXPECT_EQ(test::links_between(t.topology, "cpu0", "cpu1").at(0).type, "qpi");
  for (const Diagnostic& warning : t.warnings) {
    EXPECT_EQ(warning.message.find("the speed of NICs"), std::string::npos);
    EXPECT_EQ(warning.message.find("the kind of CPU"), std::string::npos);
  }
}

}  // namespace
}  // namespace weft::net
