#include "sim/network/link_type.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/network/builtin.h"

namespace weft::net {
namespace {

using namespace literals;

Profile defaults() { return Profile::defaults(network_param_groups()); }

LinkSpec read_link_of(const std::string& yaml, std::vector<std::string>* errors = nullptr, std::string* note = nullptr) {
  const ConfigNode node = ConfigNode::parse(yaml, "link.yaml", "link");
  Diagnostics diagnostics;
  ParamReader params{node, diagnostics};
  LinkSpec spec = read_link_spec(params, defaults());
  params.finish();
  for (const Diagnostic& error : diagnostics.errors()) {
    if (errors != nullptr) errors->push_back(error.message);
    if (note != nullptr) *note = error.note;
  }
  if (errors == nullptr) diagnostics.throw_if_any();
  return spec;
}

TEST(LinkTypeTest, EveryRegisteredTypeMakesALinkThatCarriesBytes) {
  const Profile profile = defaults();
  for (const std::string_view name : link_types().names()) {
    const LinkSpec spec = make_link_spec(name, 1, profile);
    EXPECT_EQ(spec.type, name);
    EXPECT_GT(spec.rate, Bandwidth{}) << name;
    EXPECT_GT(spec.efficiency, 0) << name;
    EXPECT_LE(spec.efficiency, 1) << name;
    EXPECT_EQ(spec.width, 1) << name;
  }
}

TEST(LinkTypeTest, StatedValuesReplaceTypeAndProfile) {
  const LinkSpec spec = read_link_of("{type: nvlink4, width: 18, rate: 400 GB/s, latency: 70 ns, efficiency: 95 %}");
  EXPECT_EQ(spec.rate, 400_GBps);
  EXPECT_EQ(spec.latency, 70_ns);
  EXPECT_DOUBLE_EQ(spec.efficiency, 0.95);
  EXPECT_EQ(spec.width, 18);
}

TEST(LinkTypeTest, ProfileSetsEfficiencyAndLatency) {
  const Profile profile = Profile::from_node(ConfigNode::parse("{kind: profile, name: p, parameters: {"
                                                               "network.nvlink4.efficiency: {value: 0.9, source: assumed}, "
                                                               "network.nvlink4.latency: {value: 80 ns, source: assumed}}}",
                                                               "p.yaml"),
                                             network_param_groups());
  const LinkSpec spec = make_link_spec("nvlink4", 18, profile);
  EXPECT_DOUBLE_EQ(spec.efficiency, 0.9);
  EXPECT_EQ(spec.latency, 80_ns);
  EXPECT_EQ(make_link_spec("nvlink5", 18, profile).latency, 100_ns);
}

TEST(LinkTypeTest, UnknownTypeIsAnsweredWithTheNearest) {
  std::vector<std::string> errors;
  std::string note;
  read_link_of("{type: nvlnk4, width: 18}", &errors, &note);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_NE(errors[0].find("unknown link type 'nvlnk4'"), std::string::npos) << errors[0];
  EXPECT_NE(note.find("did you mean 'nvlink4'?"), std::string::npos) << note;
}

TEST(LinkTypeTest, KeysOfAnotherFamilyAreErrors) {
  std::vector<std::string> errors;
  read_link_of("{type: pcie5, width: 16}", &errors);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_NE(errors[0].find("unknown key 'width'"), std::string::npos) << errors[0];
}

TEST(LinkTypeTest, WidthIsOneAtLeast) {
  for (const char* width : {"0", "-1", "1025"}) {
    std::vector<std::string> errors;
    read_link_of(std::string{"{type: nvlink4, width: "} + width + "}", &errors);
    EXPECT_EQ(errors.size(), 1U) << width;
  }
  EXPECT_EQ(read_link_of("{type: nvlink4, width: 1}").width, 1);
  EXPECT_EQ(read_link_of("{type: nvlink4, width: 1024}").width, 1024);
}

TEST(LinkTypeTest, CodeThatNamesNoTypeIsABug) {
  EXPECT_THROW(static_cast<void>(make_link_spec("nvlink7", 1, defaults())), InternalError);
  EXPECT_THROW(static_cast<void>(make_link_spec("nvlink4", 0, defaults())), InternalError);
}

}  // namespace
}  // namespace weft::net
