#include "sim/core/output_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>  // NOLINT: signals are POSIX
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <ostream>
#include <set>
#include <sstream>
#include <string>

#include "sim/core/error.h"
#include "sim/core/output_file.h"
#include "tests/support/temp_folder.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

class OutputFolderTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return (place_.path() / name).string(); }
  // Every file and folder below, by its path from here.
  [[nodiscard]] std::set<std::string> all() const {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator{place_.path()}) {
      names.insert(entry.path().lexically_relative(place_.path()).string());
    }
    return names;
  }
  static void put(OutputFolder& folder, const std::string& name, const std::string& text) {
    folder.write(name, [&](std::ostream& out) { out << text; });
  }
  static std::string content(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream{file, std::ios::binary}.rdbuf();
    return text.str();
  }

  test::TempFolder place_;
};

TEST_F(OutputFolderTest, ComesWhole) {
  OutputFolder folder{path("a/b/")};
  put(folder, "one", "1");
  put(folder, "two", "2");
  EXPECT_FALSE(fs::exists(path("a/b")));
  folder.commit();
  EXPECT_EQ(all(), (std::set<std::string>{"a", "a/b", "a/b/one", "a/b/two"}));
  EXPECT_EQ(content(path("a/b/two")), "2");
}

TEST_F(OutputFolderTest, LeavesNothingWithoutItsCommit) {
  {
    OutputFolder folder{path("a/b")};
    put(folder, "one", "1");
  }
  EXPECT_EQ(all(), std::set<std::string>{});
}

TEST_F(OutputFolderTest, AnErrorLeavesTheOldFiles) {
  fs::create_directory(path("a"));
  write_file(path("a/one"), [](std::ostream& out) { out << "old"; });
  EXPECT_THROW(
      {
        OutputFolder folder{path("a")};
        put(folder, "one", "new");
        folder.write("two", [](std::ostream&) { throw ConfigError("no"); });
      },
      ConfigError);
  EXPECT_EQ(all(), (std::set<std::string>{"a", "a/one"}));
  EXPECT_EQ(content(path("a/one")), "old");
}

TEST_F(OutputFolderTest, ReplacesFilesOfAFolderThatIsThereAndKeepsOthers) {
  fs::create_directory(path("a"));
  for (const char* name : {"a/one", "a/other", "a/gone"}) write_file(path(name), [](std::ostream& out) { out << "old"; });
  OutputFolder folder{path("a")};
  put(folder, "one", "new");
  folder.drop("gone");
  EXPECT_EQ(content(path("a/one")), "old");
  folder.commit();
  EXPECT_EQ(all(), (std::set<std::string>{"a", "a/one", "a/other"}));
  EXPECT_EQ(content(path("a/one")), "new");
}

TEST_F(OutputFolderTest, AFileIsNoFolder) {
  write_file(path("a"), [](std::ostream& out) { out << "old"; });
  EXPECT_THROW(OutputFolder{path("a")}, ConfigError);
  EXPECT_THROW(OutputFolder{path("a/b")}, ConfigError);
  EXPECT_EQ(all(), std::set<std::string>{"a"});
}

TEST_F(OutputFolderTest, ASignalTakesTheUnfinishedFolderAlong) {
  const pid_t child = fork();
  if (child == 0) {
    clean_up_on_signals();
    OutputFolder folder{path("a")};
    for (int i = 0; i < 300; ++i) put(folder, "file with a long name, number " + std::to_string(i), "x");
    raise(SIGTERM);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(all(), std::set<std::string>{});
}

}  // namespace
}  // namespace weft
