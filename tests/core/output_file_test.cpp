#include "sim/core/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>  // NOLINT: signals are POSIX
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>
#include <string>

#include "sim/core/error.h"
#include "sim/core/used_files.h"
#include "tests/support/temp_folder.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class OutputFileTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  static std::string content(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream{file, std::ios::binary}.rdbuf();
    return text.str();
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator{folder_.path()}, fs::directory_iterator{}));
  }
  static void put(const std::string& file, const std::string& text) {
    write_file(file, [&](std::ostream& out) { out << text; });
  }
  // "" where nothing is thrown.
  template <class F>
  static std::string refusal(F&& call) {
    try {
      call();
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }

  test::TempFolder folder_;
};

TEST_F(OutputFileTest, AFileIsThereOnceItIsWhole) {
  put(path("a"), "old");
  OutputFile file{path("a")};
  file.stream() << std::string(1'000'000, 'x');
  EXPECT_EQ(content(path("a")), "old");
  file.commit();
  EXPECT_EQ(content(path("a")), std::string(1'000'000, 'x'));
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, AnErrorLeavesTheOldFileAndNothingElse) {
  put(path("a"), "old");
  EXPECT_THROW(write_file(path("a"),
                          [](std::ostream& out) {
                            out << "new";
                            throw ConfigError("no");
                          }),
               ConfigError);
  EXPECT_EQ(content(path("a")), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, AFullDiskIsToldAndLeavesTheOldFile) {
  put(path("a"), "old");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{.rlim_cur = 4096, .rlim_max = before.rlim_max};
  ::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string told = refusal([&] { put(path("a"), std::string(100'000, 'x')); });
  setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, SIG_DFL);
  EXPECT_THAT(told, HasSubstr("cannot write '" + path("a") + "': File too large"));
  EXPECT_EQ(content(path("a")), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, ASignalTakesTheUnfinishedFileAlong) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const pid_t child = fork();
    if (child == 0) {
      ::signal(signal, SIG_DFL);  // a parent in the background may have ignored it
      clean_up_on_signals();
      OutputFile file{path("a")};
      file.stream() << std::string(1'000'000, 'x');
      raise(signal);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << signal;
    EXPECT_EQ(files(), 0U) << signal;
  }
}

TEST_F(OutputFileTest, PermissionsAreThoseOfTheFileReplacedOrOfTheMask) {
  const auto mode = [&](const std::string& name) {
    struct stat status {};
    stat(path(name).c_str(), &status);
    return status.st_mode & 07777U;
  };
  const mode_t before = umask(027);
  put(path("new"), "x");
  umask(before);
  EXPECT_EQ(mode("new"), 0640U);
  chmod(path("new").c_str(), 0604);
  put(path("new"), "y");
  EXPECT_EQ(mode("new"), 0604U);
}

TEST_F(OutputFileTest, ALinkStaysOneAndWhatItNamesIsWritten) {
  fs::create_directory(path("sub"));
  fs::create_symlink("sub/target", path("link"));
  put(path("link"), "first");  // there is no target yet
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content(path("sub/target")), "first");
  put(path("link"), "second");
  EXPECT_EQ(content(path("sub/target")), "second");
}

TEST_F(OutputFileTest, ADeviceIsWrittenAsItStands) {
  put("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_THAT(refusal([] { put("/dev/full", "x"); }), HasSubstr("cannot write '/dev/full': No space left on device"));
}

TEST_F(OutputFileTest, AnOutputIsNoFileThatIsRead) {
  put(path("in"), "precious");
  fs::create_symlink("in", path("symbolic"));
  fs::create_hard_link(path("in"), path("hard"));
  fs::create_directory(path("sub"));
  for (const std::string& name : {path("in"), path("sub/../in"), path("symbolic"), path("hard")}) {
    {
      const FileScope command;
      claim_output("--json", name);
      EXPECT_THAT(refusal([&] { static_cast<void>(open_input(path("in"))); }),
                  HasSubstr("--json: cannot write '" + name + "': this command reads that file"));
    }
    {
      const FileScope command;
      note_input(path("in"));
      EXPECT_THAT(refusal([&] { claim_output("--json", name); }), HasSubstr("this command reads that file"));
      EXPECT_THAT(refusal([&] { put(name, "x"); }), HasSubstr("this command reads that file"));
    }
  }
  EXPECT_EQ(content(path("in")), "precious");
}

TEST_F(OutputFileTest, NothingIsWrittenOnceAnInputWasRefusedEvenIfSomeoneWentOn) {
  put(path("in"), "precious");
  const FileScope command;
  claim_output("--to", path("in"));
  EXPECT_NE(refusal([&] { note_input(path("in")); }), "");
  EXPECT_THAT(refusal([&] { put(path("in"), "x"); }), HasSubstr("--to: cannot write"));
  EXPECT_THAT(refusal([&] { put(path("other"), "x"); }), HasSubstr("--to: cannot write"));
  EXPECT_EQ(content(path("in")), "precious");
}

TEST_F(OutputFileTest, NoTwoOutputsAreOneFile) {
  fs::create_symlink("a", path("symbolic"));
  for (const std::string& other : {path("a"), path("./a"), path("symbolic")}) {
    const FileScope command;
    claim_output("--json", path("a"));
    EXPECT_THAT(refusal([&] { claim_output("--timeline", other); }),
                HasSubstr("--timeline: cannot write '" + other + "': --json writes that file"));
  }
  put(path("old"), "x");
  fs::create_hard_link(path("old"), path("hard"));
  const FileScope command;
  claim_output("--json", path("old"));
  EXPECT_THAT(refusal([&] { claim_output("--timeline", path("hard")); }), HasSubstr("--json writes that file, as '"));
}

TEST_F(OutputFileTest, WhatWasWrittenIsNotWrittenAgainByTheSameCommand) {
  {
    const FileScope command;
    claim_output("--json", path("a"));
    put(path("a"), "first");
    EXPECT_THAT(refusal([&] { put(path("a"), "second"); }), HasSubstr("--json has written that file"));
    EXPECT_EQ(content(path("a")), "first");
    put("/dev/null", "x");
    put("/dev/null", "x");
  }
  put(path("a"), "second");  // the next command may
  EXPECT_EQ(content(path("a")), "second");
}

TEST_F(OutputFileTest, OneOutputOnlyGoesToStandardOutput) {
  const FileScope command;
  claim_output("--json", "-");
  EXPECT_THAT(refusal([] { claim_output("--dot", "/dev/stdout"); }),
              HasSubstr("--json and --dot cannot both go to standard output"));
}

TEST_F(OutputFileTest, BadPathsAreToldWhenTheyAreClaimed) {
  EXPECT_THAT(refusal([&] { claim_output("--json", path("no/a")); }), HasSubstr("there is no folder"));
  EXPECT_THAT(refusal([&] { claim_output("--json", folder_.path().string()); }), HasSubstr("it is a folder"));
  put(path("a"), "x");
  EXPECT_THAT(refusal([&] { claim_output_folder("--out", path("a/b")); }), HasSubstr("is no folder"));
  EXPECT_EQ(refusal([&] { claim_output_folder("--out", path("b/c/d")); }), "");
}

}  // namespace
}  // namespace weft
