// Each kind of file is recognised by its content, and shipped files pass. Messages of broken files: tests/apps/errors.
#include "sim/output/check_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sim/core/error.h"
#include "tests/support/temp_folder.h"

namespace weft::output {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string check_message_of(const fs::path& file) {
  try {
    static_cast<void>(check_file(file));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(CheckFileTest, EveryShippedFilePasses) {
  for (const fs::path& file : files_to_check({(fs::path{WEFT_SOURCE_DIR} / "configs").string()})) {
    EXPECT_EQ(check_message_of(file), "no error") << file;
  }
}

TEST(CheckFileTest, KindsAreRecognisedByTheirKeys) {
  const fs::path configs = fs::path{WEFT_SOURCE_DIR} / "configs";
  EXPECT_EQ(check_file(configs / "clusters" / "h200x4.yaml").kind, "cluster");
  EXPECT_EQ(check_file(configs / "nodes" / "h200x4.yaml").kind, "node");
  EXPECT_EQ(check_file(configs / "profiles" / "h100_sxm.yaml").kind, "profile");
  const weft::test::TempFolder folder;
  const fs::path scenario = folder.write("file.yaml", "cluster: " + (configs / "clusters" / "h200x4.yaml").string() +
                                                          "\nworkload: {collectives: [{kind: all_reduce, bytes: 1 MiB}]}\n");
  EXPECT_EQ(check_file(scenario).kind, "scenario");
}

TEST(CheckFileTest, ModelsAreCounted) {
  const CheckedFile ours = check_file(fs::path{WEFT_SOURCE_DIR} / "configs" / "models" / "mixtral_8x7b.yaml");
  EXPECT_EQ(ours.kind, "model");
  EXPECT_THAT(ours.summary, HasSubstr("46702792704 parameters (46.70 B), 12879925248 active (12.88 B), 32 layers"));
  const CheckedFile theirs = check_file(fs::path{WEFT_TEST_DATA} / "models" / "mixtral_8x7b.json");
  EXPECT_EQ(theirs.kind, "model");
  EXPECT_EQ(theirs.summary, ours.summary);
}

TEST(CheckFileTest, AMisspeltKeyAloneStillTellsTheKind) {
  const weft::test::TempFolder folder;
  const fs::path file = folder.write("file.yaml", "nodee: {type: h200x4}\n");
  EXPECT_THAT(check_message_of(file), HasSubstr("did you mean 'node'?"));
}

TEST(CheckFileTest, AGpuThatCannotReachItsNicIsNoRoute) {
  // The graph is connected, over the NVSwitch; but an NVSwitch does not speak PCIe.
  const weft::test::TempFolder folder;
  const fs::path file = folder.write("file.yaml", R"(
nodes: 2
node:
  devices:
    - {name: gpu0..1, kind: gpu}
    - {name: nvswitch0, kind: nvswitch}
    - {name: nic0, kind: nic}
  links:
    - {between: [gpu0..1, nvswitch0], type: nvlink4}
    - {between: [nic0, nvswitch0], type: pcie5}
fabric: {type: single_switch, link: {type: infiniband, rate: 400 Gb/s}}
)");
  EXPECT_THAT(check_message_of(file),
              HasSubstr("no route from 'n0.gpu0' to 'n1.gpu0': 'n0.gpu0' has no path to a NIC of its host"));
}

TEST(CheckFileTest, AFolderWithoutFilesIsAnError) {
  const weft::test::TempFolder folder;
  const fs::path file = folder.write("file.yaml", "{}");
  fs::remove(file);
  EXPECT_THROW(static_cast<void>(files_to_check({file.parent_path().string()})), ConfigError);
}

}  // namespace
}  // namespace weft::output
