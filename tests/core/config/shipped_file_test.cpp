#include "sim/core/config/shipped_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "sim/core/config/layers.h"
#include "sim/core/config/node.h"
#include "sim/core/error.h"
#include "tests/support/temp_folder.h"

namespace weft {
namespace {

TEST(ShippedFile, ANameStandsForTheShippedFile) {
  const std::filesystem::path file = file_or_shipped("dgx_h100", "clusters");
  EXPECT_EQ(file.filename(), "dgx_h100.yaml");
  EXPECT_EQ(file.parent_path().filename(), "clusters");
  EXPECT_EQ(file_or_shipped("dgx_h100.yaml", "clusters"), file);
}

TEST(ShippedFile, AFileStandsForItself) {
  const std::filesystem::path file = WEFT_SOURCE_DIR "/configs/models/llama3_70b.yaml";
  EXPECT_EQ(file_or_shipped(file, "clusters"), file);
}

TEST(ShippedFile, AMissingOneIsToldWithTheNearestShippedName) {
  for (const char* missing : {"dgx_h10", "no/such/folder/dgx_h10.yaml"}) {
    try {
      static_cast<void>(file_or_shipped(missing, "clusters"));
      FAIL() << missing;
    } catch (const ConfigError& error) {
      EXPECT_NE(error.diagnostics().front().message.find("none of the shipped clusters"), std::string::npos);
      EXPECT_NE(error.diagnostics().front().note.find("did you mean 'dgx_h100'?"), std::string::npos)
          << error.diagnostics().front().note;
    }
  }
}

// Pages name files as a checkout has them; who installed a package has them elsewhere. The tests run where there is no
// configs/.
TEST(ShippedFile, AMissingFileOfACheckoutIsToldWhereItIs) {
  const std::string file = "configs/scenarios/llama3_8b_dp32.yaml";
  const test::TempFolder empty;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(empty.path());
  try {
    static_cast<void>(ConfigNode::load_file(file));
    ADD_FAILURE() << file << " is read";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.diagnostics().front().note, "the shipped one is '" WEFT_SOURCE_DIR "/" + file + "'");
  }
  std::filesystem::current_path(before);
}

TEST(ShippedFile, AKeyOfAFileTakesTheNameOfAShippedOne) {
  const ConfigNode scenario = ConfigNode::parse("cluster: dgx_h100\nworkload: {model: llama3_70b}\n", "run.yaml");
  EXPECT_EQ(load_reference(*scenario.find("cluster")).file(), file_or_shipped("dgx_h100", "clusters"));
  EXPECT_EQ(load_reference(*scenario.find("workload")->find("model")).file(), file_or_shipped("llama3_70b", "models"));
  EXPECT_TRUE(names_yaml_file(*scenario.find("cluster")));
  const ConfigNode changed = scenario.with_override("cluster.nodes", "4", "--set");
  EXPECT_EQ(changed.find("cluster")->find("nodes")->scalar(), "4");
}

TEST(ShippedFile, AKeyWithAnUnknownNameIsToldTheNearest) {
  const ConfigNode cluster = ConfigNode::parse("profile: h100_sxn\n", "pod.yaml");
  EXPECT_FALSE(names_yaml_file(*cluster.find("profile")));
  try {
    static_cast<void>(load_reference(*cluster.find("profile")));
    FAIL();
  } catch (const ConfigError& error) {
    const Diagnostic& told = error.diagnostics().front();
    EXPECT_EQ(told.where.line, 1);
    EXPECT_EQ(told.message, "profile: cannot read 'h100_sxn': no such file, and none of the shipped profiles by this name");
    EXPECT_NE(told.note.find("did you mean 'h100_sxm'?"), std::string::npos) << told.note;
  }
}

}  // namespace
}  // namespace weft
