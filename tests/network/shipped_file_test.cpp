#include "sim/network/shipped_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "sim/core/error.h"

namespace weft::net {
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

}  // namespace
}  // namespace weft::net
