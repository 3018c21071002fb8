#include "sim/network/import/nccl_xml_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/network/import/import_support.h"

namespace weft::net {
namespace {

using test::count_of;
using test::data_path;
using test::data_text;
using test::default_profile;
using test::links_between;
using ::testing::HasSubstr;
using namespace literals;

Imported import_data(const std::string& name) { return import_nccl_xml(data_text(name), name, default_profile()); }

// One CPU with two GPUs; `first` and `second` stand inside their `gpu` elements.
std::string two_gpus(const std::string& first, const std::string& second) {
  return R"(<system version="1"><cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
<pci busid="0000:10:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"><gpu dev="0" sm="90" rank="0" gdr="1">)" +
         first + R"(</gpu></pci>
<pci busid="0000:11:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"><gpu dev="1" sm="90" rank="1" gdr="1">)" +
         second + "</gpu></pci></cpu></system>";
}
Imported import_text(const std::string& text) { return import_nccl_xml(text, "t.xml", default_profile()); }

TEST(NcclXmlReaderTest, ReadsTheMeasuredH200Node) {
  const Imported h200 = import_data("h200x4/topo_4gpu.xml");
  const Topology& t = h200.topology;
  EXPECT_EQ(t.host_count(), 1U);
  EXPECT_EQ(count_of(t, DeviceKind::kGpu), 4U);
  EXPECT_EQ(count_of(t, DeviceKind::kNvSwitch), 1U);
  EXPECT_EQ(count_of(t, DeviceKind::kCpu), 1U);
  EXPECT_EQ(count_of(t, DeviceKind::kNic), 1U);
  for (const char* gpu : {"gpu0", "gpu1", "gpu2", "gpu3"}) {
    const std::vector<LinkSpec> nvlink = links_between(t, gpu, "nvswitch0");
    ASSERT_EQ(nvlink.size(), 1U);
    EXPECT_EQ(nvlink[0].type, "nvlink4");
    EXPECT_EQ(nvlink[0].width, 18);
    EXPECT_EQ(nvlink[0].rate, 450_GBps);  // 18 x 25 GB/s
    const std::vector<LinkSpec> pcie = links_between(t, gpu, "cpu0");
    ASSERT_EQ(pcie.size(), 1U);
    EXPECT_EQ(pcie[0].type, "pcie5");
    EXPECT_EQ(pcie[0].width, 16);
  }
  EXPECT_THAT(t.labels(t.find("gpu2").value()),
              ::testing::Contains(std::pair<std::string, std::string>{"busid", "0000:00:08.0"}));
  EXPECT_THAT(t.labels(t.find("nic0").value()), ::testing::Contains(std::pair<std::string, std::string>{"speed", "10000"}));
}

TEST(NcclXmlReaderTest, WarnsThatAWidthOfZeroIsTakenAsSixteenLanes) {
  const Imported h200 = import_data("h200x4/topo_4gpu.xml");
  ASSERT_EQ(h200.warnings.size(), 4U);
  EXPECT_EQ(h200.warnings[0].message, "pci.link_width: '0' at 0000:00:06.0 is unknown, taken as x16");
  EXPECT_EQ(h200.warnings[0].where.line, 3);
  EXPECT_EQ(h200.warnings[0].where.column, 160);
}

TEST(NcclXmlReaderTest, ReadsTheHybridCubeMeshAsDirectLinks) {
  const Imported dgx1 = import_data("topologies/dgx1v.xml");
  const Topology& t = dgx1.topology;
  EXPECT_TRUE(dgx1.warnings.empty());
  EXPECT_EQ(count_of(t, DeviceKind::kNvSwitch), 0U);
  EXPECT_EQ(count_of(t, DeviceKind::kPcieSwitch), 4U);
  // models/network §1.6: 0-3 is doubled, 0-1 single, 0-5 not adjacent; 24 links in 16 pairs.
  EXPECT_EQ(links_between(t, "gpu0", "gpu3").at(0).width, 2);
  EXPECT_EQ(links_between(t, "gpu0", "gpu1").at(0).width, 1);
  EXPECT_TRUE(links_between(t, "gpu0", "gpu5").empty());
  int links = 0;
  for (std::size_t i = 0; i < t.link_count(); ++i) {
    const LinkId link = LinkId::from_index(i);
    EXPECT_EQ(t.link(t.link(link).twin).twin, link);
    EXPECT_EQ(t.link(t.link(link).twin).from, t.link(link).to);
    if (t.spec(link).type == "nvlink2") links += t.spec(link).width;
  }
  EXPECT_EQ(links, 2 * 24);
  EXPECT_EQ(links_between(t, "cpu0", "cpu1").at(0).type, "qpi");
}

TEST(NcclXmlReaderTest, ReadsARackOfSeveralOsHostsAsOneHost) {
  const Imported rack = import_data("topologies/gb200.xml");
  const Topology& t = rack.topology;
  EXPECT_EQ(t.host_count(), 1U);
  EXPECT_EQ(count_of(t, DeviceKind::kGpu), 72U);
  EXPECT_EQ(count_of(t, DeviceKind::kCpu), 36U);
  EXPECT_EQ(links_between(t, "gpu71", "nvswitch0").at(0).width, 18);
  // 10 links of 40 GB/s.
  const std::vector<LinkSpec> to_cpu = links_between(t, "gpu71", "cpu35");
  ASSERT_EQ(to_cpu.size(), 2U);  // PCIe and C2C
  EXPECT_EQ(to_cpu[1].type, "c2c");
  EXPECT_EQ(to_cpu[1].rate, 400_GBps);
  EXPECT_EQ(links_between(t, "cpu0", "cpu1").size(), 1U);
  EXPECT_TRUE(links_between(t, "cpu1", "cpu2").empty());
}

TEST(NcclXmlReaderTest, SumsTheLinksToSeveralNvSwitches) {
  const std::string six =
      R"(<nvlink target="0000:c1:00.0" count="2" tclass="0x068000"/><nvlink target="0000:c2:00.0" count="4" tclass="0x068000"/>)";
  const Imported t = import_text(two_gpus(six, six));
  EXPECT_EQ(count_of(t.topology, DeviceKind::kNvSwitch), 1U);
  ASSERT_EQ(links_between(t.topology, "gpu0", "nvswitch0").size(), 1U);
  EXPECT_EQ(links_between(t.topology, "gpu0", "nvswitch0")[0].width, 6);
}

TEST(NcclXmlReaderTest, LeavesOutAnNvlinkToAGpuOutsideTheFile) {
  const Imported t = import_text(two_gpus(R"(<nvlink target="0000:77:00.0" count="2" tclass="0x030200"/>)", ""));
  ASSERT_EQ(t.warnings.size(), 1U);
  EXPECT_THAT(t.warnings[0].message, HasSubstr("nvlink.target: no GPU with a rank at 0000:77:00.0"));
}

TEST(NcclXmlReaderTest, LeavesOutAGpuWithoutRank) {
  std::string text = two_gpus("", "");
  text.replace(text.find(R"( rank="1")"), 9, "");
  const Imported t = import_text(text);
  EXPECT_EQ(count_of(t.topology, DeviceKind::kGpu), 1U);
  ASSERT_EQ(t.warnings.size(), 1U);
  EXPECT_THAT(t.warnings[0].message, HasSubstr("gpu.rank: the GPU at 0000:11:00.0 has none"));
}

TEST(NcclXmlReaderTest, TakesAnUnknownSpeedAsPcie3) {
  std::string text = two_gpus("", "");
  text.replace(text.find("32.0 GT/s PCIe"), 14, "warp");
  const Imported t = import_text(text);
  EXPECT_EQ(links_between(t.topology, "gpu0", "cpu0").at(0).type, "pcie3");
  EXPECT_EQ(links_between(t.topology, "gpu1", "cpu0").at(0).type, "pcie5");
  ASSERT_EQ(t.warnings.size(), 1U);
  EXPECT_THAT(t.warnings[0].message, HasSubstr("pci.link_speed: 'warp' at 0000:10:00.0 is unknown, taken as PCIe 3"));
}

TEST(NcclXmlReaderTest, RefusesMoreElementsThanAnyMachineHas) {
  std::string text = "<system version=\"1\">";
  for (std::size_t i = 0; i < kMaxXmlElements; ++i) text += "<a/>";
  text += "</system>";
  try {
    import_text(text);
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("more than 100000 elements"));
  }
}

TEST(NcclXmlReaderTest, RefusesATextLargerThanTheLimit) {
  const std::string text(SourceText::kMaxBytes + 1, ' ');
  EXPECT_THROW(import_text(text), ConfigError);
}

TEST(NcclXmlReaderTest, ExplainsEveryBrokenFile) {
  test::expect_every_broken_file_explained(".xml", 10, [](const auto&... arguments) { return import_nccl_xml(arguments...); });
}

// RCCL's files: two GPUs of AMD with two links between them.
std::string two_amd_gpus(const std::string& gcn) {
  const auto gpu = [&](int number, int peer) {
    return "<pci busid=\"0000:1" + std::to_string(number) +
           ":00.0\" class=\"0x120000\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"" + std::to_string(number) +
           "\" sm=\"94\" gcn=\"" + gcn + "\" rank=\"" + std::to_string(number) + "\" gdr=\"1\"><xgmi target=\"0000:1" +
           std::to_string(peer) + ":00.0\" count=\"2\" tclass=\"0x120000\"/></gpu></pci>";
  };
  return R"(<system version="2"><cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="1">)" + gpu(0, 1) +
         gpu(1, 0) + "</cpu></system>";
}

TEST(NcclXmlReaderTest, XgmiLinksOfRcclsVersion2AreInfinityFabric) {
  // AMD's data sheets: 64 GB/s per link and direction of an MI300X, 50 of an MI250X, which older files call 910.
  for (const auto& [gcn, rate] : {std::pair{"gfx942", 128_GBps}, std::pair{"940", 128_GBps}, std::pair{"910", 100_GBps}}) {
    const Imported t = import_text(two_amd_gpus(gcn));
    EXPECT_TRUE(t.warnings.empty());
    const std::vector<LinkSpec> links = links_between(t.topology, "gpu0", "gpu1");
    ASSERT_EQ(links.size(), 1U);
    EXPECT_EQ(links[0].type, "infinity_fabric");
    EXPECT_EQ(links[0].width, 2);
    EXPECT_EQ(links[0].rate, rate) << gcn;
  }
}

TEST(NcclXmlReaderTest, ALinkOfAGpuToItselfIsLeftOut) {
  const Imported t = import_text(two_gpus(R"(<nvlink target="0000:10:00.0" count="12" tclass="0x030200"/>)", ""));
  ASSERT_EQ(t.warnings.size(), 1U);
  EXPECT_THAT(t.warnings[0].message, HasSubstr("nvlink.target: a link of the GPU at 0000:10:00.0 to itself reaches no other"));
  EXPECT_EQ(count_of(t.topology, DeviceKind::kGpu), 2U);
}

std::string refusal_of(const std::string& text, const ImportHints& hints = {}) {
  try {
    static_cast<void>(import_nccl_xml(text, "t.xml", default_profile(), hints));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(NcclXmlReaderTest, AGpuOutsideEveryCpuIsRefused) {
  std::string text = two_gpus("", "");
  const std::string outside = R"(<pci busid="0000:12:00.0" class="0x030200"><gpu dev="2" sm="90" rank="2"/></pci></system>)";
  text.replace(text.find("</system>"), 9, outside);
  EXPECT_THAT(refusal_of(text),
              HasSubstr("gpu.rank: rank 2 stands where NCCL finds no GPU: element 'pci' is outside every cpu"));
}

// Each GPU behind a switch of the same bus id, as in models that were put together from parts of one machine.
TEST(NcclXmlReaderTest, ASwitchThatIsGivenTwiceIsTwo) {
  std::string text = R"(<system version="1"><cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">)";
  for (const char* gpu : {"0", "1"}) {
    text += fmt::format(R"(<pci busid="0000:c5:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
<pci busid="0000:1{}:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16"><gpu dev="{}" sm="80" rank="{}"/></pci></pci>)",
                        gpu, gpu, gpu);
  }
  const Imported t = import_text(text + "</cpu></system>");
  ASSERT_EQ(t.warnings.size(), 1U);
  EXPECT_THAT(t.warnings[0].message, HasSubstr("pci.busid: 0000:c5:00.0 is given twice: taken as two devices"));
  EXPECT_EQ(count_of(t.topology, DeviceKind::kPcieSwitch), 2U);
}

// A cloud's file: the places of two GPUs and a NIC. The second GPU has the lower bus id.
constexpr const char* kPlaces = R"(<system version="1"><cpu numaid="0">
<pci busid="0002:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
<pci busid="0001:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
<pci busid="0101:00:00.0" class="0x020700" link_speed="16 GT/s" link_width="16"/></cpu></system>)";

TEST(NcclXmlReaderTest, PlacesOfGpusAreCompletedWhereTheUserNamesTheGpu) {
  EXPECT_THAT(refusal_of(kPlaces), HasSubstr("system: no GPU with a rank, but 2 functions of class 0x03"));
  EXPECT_THAT(refusal_of(kPlaces), HasSubstr("--gpu h100"));
  const ImportHints hints{.sm = 90, .nvlinks = 18, .nic_rate = 400_Gbps, .cpu = cpu_named("sapphire_rapids")};
  const Imported t = import_nccl_xml(kPlaces, "t.xml", default_profile(), hints);
  EXPECT_EQ(count_of(t.topology, DeviceKind::kGpu), 2U);
  EXPECT_EQ(find_label(t.topology.labels(t.topology.find("gpu0").value()), "busid")->substr(0, 4), "0001");
  EXPECT_EQ(links_between(t.topology, "gpu1", "nvswitch0").at(0).rate, 450_GBps);  // 18 x 25 GB/s
  EXPECT_EQ(links_between(t.topology, "gpu1", "cpu0").at(0).type, "pcie4");
  EXPECT_EQ(*find_label(t.topology.labels(t.topology.find("nic0").value()), "speed"), "400000");
  EXPECT_EQ(*find_label(t.topology.labels(t.topology.find("cpu0").value()), "modelid"), "143");
  ASSERT_EQ(t.warnings.size(), 1U);
  EXPECT_EQ(t.warnings[0].message, "system: completed as NCCL does: 2 GPUs and 1 NICs in the order of their bus ids");
}

TEST(NcclXmlReaderTest, PlacesWithoutAClassNeedADump) {
  EXPECT_THAT(refusal_of(R"(<system version="1"><cpu numaid="0"><pci busid="0000:00:16.0"/></cpu></system>)", {.sm = 86}),
              HasSubstr("a dump of that machine is needed (NCCL_TOPO_DUMP_FILE)"));
}

// NCCL compares as many characters as its own words have.
TEST(NcclXmlReaderTest, ASpeedOfPcieMayGoOnAfterTheWordsThatNcclKnows) {
  EXPECT_EQ(pcie_lane_rate("32 GT/s PCIe/s"), 240);
  EXPECT_EQ(pcie_lane_rate("32.0 GT/s PCIe"), 240);
  EXPECT_EQ(pcie_lane_rate("2.5 GT/s"), 15);
  EXPECT_EQ(pcie_lane_rate("5 GT/s"), 30);
  EXPECT_EQ(pcie_lane_rate("5 GT"), std::nullopt);
  EXPECT_EQ(pcie_lane_rate(" 5 GT/s"), std::nullopt);
}

}  // namespace
}  // namespace weft::net
