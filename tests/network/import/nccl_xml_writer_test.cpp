#include "sim/network/import/nccl_xml_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "sim/network/import/nccl_xml_reader.h"
#include "tests/network/import/import_support.h"
#include "tests/support/topologies.h"

namespace weft::net {
namespace {

using test::data_path;
using test::data_text;
using test::default_profile;

XmlElement parse(const std::string& text) { return parse_xml(SourceText{"t.xml", text}); }

// Equal but for the order of attributes.
void expect_equal(const XmlElement& a, const XmlElement& b, const std::string& path) {
  EXPECT_EQ(a.name, b.name) << path;
  Labels left = a.attributes;
  Labels right = b.attributes;
  std::ranges::sort(left);
  std::ranges::sort(right);
  EXPECT_EQ(left, right) << path << "/" << a.name;
  ASSERT_EQ(a.children.size(), b.children.size()) << path << "/" << a.name;
  for (std::size_t i = 0; i < a.children.size(); ++i) expect_equal(a.children[i], b.children[i], path + "/" + a.name);
}

void expect_round_trip(const std::string& text, const std::string& name) {
  const Imported imported = import_nccl_xml(text, name, default_profile());
  expect_equal(parse(export_nccl_xml(imported.topology)), parse(text), name);
}

TEST(NcclXmlWriterTest, GivesTheMeasuredNodeBackByteForByte) {
  const std::string text = data_text("h200x4/topo_4gpu.xml");
  const Imported imported = import_nccl_xml(text, "topo_4gpu.xml", default_profile());
  EXPECT_EQ(export_nccl_xml(imported.topology), text);
}

TEST(NcclXmlWriterTest, GivesEveryGoldenMachineBack) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(data_path("topologies"))) {
    if (entry.path().extension() != ".xml") continue;
    ++files;
    expect_round_trip(read_text_file(entry.path().string()), entry.path().filename().string());
  }
  EXPECT_EQ(files, 10);
}

TEST(NcclXmlWriterTest, KeepsElementsAndAttributesItDoesNotModelInTheirPlace) {
  expect_round_trip(R"(<system version="1" extra="a &amp; &quot;b&quot;">
  <note text="first"/>
  <cpu numaid="0" arch="arm64" affinity_offset="3">
    <pci busid="0000:05:00.0" class="0x068000" link_speed="16.0 GT/s PCIe" link_width="2"/>
    <pci busid="0000:80:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pcilink target="0000:81:00.0"/>
      <pci busid="0000:10:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
        <future a="1"/>
        <gpu dev="0" sm="100" rank="0" gdr="1" mood="good">
          <c2c bw="40000" count="10"/>
          <nvlink target="0000:99:00.0" count="1" tclass="0x030200"/>
          <nvlink target="0000:11:00.0" count="2" tclass="0x030200"/>
          <nvlink target="fffffff:ff:ff.0" count="4" tclass="0x068000"/>
          <thing/>
        </gpu>
      </pci>
    </pci>
    <pci busid="0000:81:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:11:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="100" rank="1" gdr="1">
          <nvlink target="fffffff:ff:ff.0" count="4" tclass="0x068000"/>
          <nvlink target="0000:10:00.0" count="2" tclass="0x030200"/>
        </gpu>
      </pci>
      <pcilink target="0000:80:00.0"/>
      <pci busid="0000:12:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="2" sm="100" gdr="1"/>
      </pci>
    </pci>
    <nic>
      <net name="a" dev="0" speed="400000" port="1"/>
      <net name="b" dev="1" speed="400000" port="2"/>
      <gin name="g" dev="0" speed="400000"/>
    </nic>
  </cpu>
</system>)",
                    "odd.xml");
}

// 2 GPUs on one switch, NVLinks into two NVSwitches, no labels at all.
Topology unlabelled_host() {
  TopologyBuilder builder;
  HostTemplate host;
  host.name = "plain";
  host.devices = {{"gpu0", DeviceKind::kGpu, {}, {}},           {"gpu1", DeviceKind::kGpu, {}, {}},
                  {"nvswitch0", DeviceKind::kNvSwitch, {}, {}}, {"nvswitch1", DeviceKind::kNvSwitch, {}, {}},
                  {"pcie0", DeviceKind::kPcieSwitch, {}, {}},   {"cpu0", DeviceKind::kCpu, {}, {}}};
  const std::uint32_t nvlink = builder.add_spec(make_link_spec("nvlink3", 6, default_profile()));
  const std::uint32_t pcie = builder.add_spec(make_link_spec("pcie4", 8, default_profile()));
  const auto join = [&](std::uint32_t a, std::uint32_t b, std::uint32_t spec) {
    const auto at = static_cast<std::uint32_t>(host.links.size());
    host.links.push_back({a, b, spec, at + 1, {}});
    host.links.push_back({b, a, spec, at, {}});
  };
  for (const std::uint32_t gpu : {0U, 1U}) {
    join(gpu, 2, nvlink);
    join(gpu, 3, nvlink);
    join(gpu, 4, pcie);
  }
  join(4, 5, pcie);
  builder.add_host(builder.add_template(std::move(host)));
  return std::move(builder).freeze();
}

TEST(NcclXmlWriterTest, MakesUpWhatAnUnlabelledHostDoesNotSay) {
  EXPECT_EQ(export_nccl_xml(unlabelled_host()), R"(<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:03:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="8">
      <pci busid="0000:01:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="8">
        <gpu dev="0" sm="80" rank="0" gdr="1">
          <nvlink target="fffffff:ff:ff.0" count="12" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:02:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="8">
        <gpu dev="1" sm="80" rank="1" gdr="1">
          <nvlink target="fffffff:ff:ff.0" count="12" tclass="0x068000"/>
        </gpu>
      </pci>
    </pci>
  </cpu>
</system>
)");
}

TEST(NcclXmlWriterTest, WhatItMakesUpReadsBackWithoutAWarning) {
  const Imported again = import_nccl_xml(export_nccl_xml(unlabelled_host()), "plain.xml", default_profile());
  EXPECT_TRUE(again.warnings.empty());
  EXPECT_EQ(test::links_between(again.topology, "gpu1", "nvswitch0").at(0).width, 12);
}

// Two bridges, the second below the first, each with two GPUs. NCCL numbers GPUs in the order of the file.
TEST(NcclXmlWriterTest, GpusComeInOneOrderWhicheverKindOfDeviceADescriptionNamesFirst) {
  const auto ranks_of = [](bool gpus_first) {
    TopologyBuilder builder;
    HostTemplate host;
    host.name = "serial";
    const auto add = [&](const std::string& name, DeviceKind kind) {
      host.devices.push_back({.name = name, .kind = kind, .forwarding = {}, .labels = {}});
      return static_cast<std::uint32_t>(host.devices.size() - 1);
    };
    std::vector<std::uint32_t> gpus;
    const auto add_gpus = [&] {
      for (int i = 0; i < 4; ++i) gpus.push_back(add("gpu" + std::to_string(i), DeviceKind::kGpu));
    };
    if (gpus_first) add_gpus();
    const std::uint32_t upper = add("pcie0", DeviceKind::kPcieSwitch);
    const std::uint32_t lower = add("pcie1", DeviceKind::kPcieSwitch);
    const std::uint32_t cpu = add("cpu0", DeviceKind::kCpu);
    if (!gpus_first) add_gpus();
    const std::uint32_t pcie = builder.add_spec(make_link_spec("pcie4", 16, default_profile()));
    weft::testing::add_template_cable(host, upper, lower, pcie);
    weft::testing::add_template_cable(host, upper, cpu, pcie);
    for (std::size_t i = 0; i < 4; ++i) weft::testing::add_template_cable(host, gpus[i], i < 2 ? upper : lower, pcie);
    builder.add_host(builder.add_template(std::move(host)));
    std::vector<std::string> ranks;
    const auto collect = [&](const auto& self, const XmlElement& at) -> void {
      if (at.name == "gpu") ranks.push_back(*at.find("rank"));
      for (const XmlElement& child : at.children) self(self, child);
    };
    collect(collect, nccl_xml_tree(std::move(builder).freeze(), 0));
    return ranks;
  };
  const std::vector<std::string> in_order{"0", "1", "2", "3"};
  EXPECT_EQ(ranks_of(true), in_order);
  EXPECT_EQ(ranks_of(false), in_order);
}

// GPUs that links of one type join in pairs, each pair to a device of its own: an NVSwitch, or one another.
Topology pairs(const std::string& type, bool switched, bool trunk = false, const std::string& sm = "") {
  TopologyBuilder builder;
  HostTemplate host;
  host.name = "pairs";
  for (int i = 0; i < 4; ++i) {
    TemplateDevice gpu{.name = "gpu" + std::to_string(i), .kind = DeviceKind::kGpu, .forwarding = {}, .labels = {}};
    if (!sm.empty()) gpu.labels.emplace_back("sm", sm);
    host.devices.push_back(gpu);
  }
  for (int i = 0; i < 2; ++i)
    host.devices.push_back(
        {.name = "nvswitch" + std::to_string(i), .kind = DeviceKind::kNvSwitch, .forwarding = {}, .labels = {}});
  LinkSpec link = make_link_spec("nvlink3", 12, default_profile());
  link.type = type;
  const std::uint32_t spec = builder.add_spec(link);
  for (std::uint32_t gpu = 0; gpu < 4; ++gpu) {
    if (switched) weft::testing::add_template_cable(host, gpu, 4 + gpu / 2, spec);
    if (!switched && gpu % 2 == 0) weft::testing::add_template_cable(host, gpu, gpu + 1, spec);
  }
  if (trunk) weft::testing::add_template_cable(host, 4, 5, spec);
  builder.add_host(builder.add_template(std::move(host)));
  return std::move(builder).freeze();
}

std::string refusal(const Topology& topology) {
  try {
    static_cast<void>(export_nccl_xml(topology));
  } catch (const ConfigError& error) {
    return error.diagnostics().at(0).message;
  }
  return "";
}

// NCCL's file has one NVSwitch for all of a host.
TEST(NcclXmlWriterTest, RefusesNvSwitchesThatJoinGpusApart) {
  EXPECT_EQ(refusal(pairs("nvlink3", true)),
            "host 'pairs': its NVSwitches join 2 groups of GPUs (gpu0, gpu1; gpu2, gpu3), but NCCL's topology file has one "
            "NVSwitch for all of a host");
  EXPECT_EQ(refusal(pairs("nvlink3", true, true)), "");
  EXPECT_EQ(refusal(pairs("nvlink3", false)), "");
}

TEST(NcclXmlWriterTest, RefusesNvLinksOfAGenerationItDoesNotKnow) {
  EXPECT_EQ(refusal(pairs("nvlink6", false)), "");
  for (const char* type : {"nvlink0", "nvlink7", "nvlink12"}) {
    EXPECT_EQ(refusal(pairs(type, false)), std::string{"host 'pairs': 'gpu0' has links of type '"} + type +
                                               "', which NCCL's topology file has no value for");
  }
  // Stated, the compute capability needs no guess.
  EXPECT_EQ(refusal(pairs("nvlink7", false, false, "100")), "");
}

// NCCL multiplies their number by what one of the compute capability has: 12 x 25 GB/s.
TEST(NcclXmlWriterTest, SaysWhereNvLinksAreOfAnotherRate) {
  std::vector<std::string> notes;
  static_cast<void>(export_nccl_xml(pairs("nvlink3", false), 0, &notes));
  EXPECT_TRUE(notes.empty());
  static_cast<void>(export_nccl_xml(pairs("nvlink3", false, false, "100"), 0, &notes));
  ASSERT_EQ(notes.size(), 4U);
  EXPECT_EQ(notes[0], "host 'pairs': nvlink3 x12 of 2.4 Tb/s at 'gpu0' is written as nvlink5 of 4.8 Tb/s");
}

TEST(NcclXmlWriterTest, RefusesAHostWithoutGpus) {
  TopologyBuilder builder;
  HostTemplate host;
  host.name = "bare";
  host.devices = {{"h", DeviceKind::kHost, {}, {}}};
  builder.add_host(builder.add_template(std::move(host)));
  const Topology topology = std::move(builder).freeze();
  EXPECT_THROW(static_cast<void>(export_nccl_xml(topology)), ConfigError);
}

}  // namespace
}  // namespace weft::net
