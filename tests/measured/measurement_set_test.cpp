#include "sim/measured/readers/measurement_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/temp_folder.h"

namespace weft::measured {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

const std::string kNamed = "# Collective test starting: all_reduce_perf\n";
const std::string kBody =
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 1 iters: 20\n"
    "#  Rank  0 Group  0 Pid 1 on a device  0 [0x07] X\n"
    "# size count type redop root time algbw busbw #wrong\n"
    "  8 2 float sum -1 10.00 0.00 0.00 N/A\n"
    "# Out of bounds values : 0 OK\n";

// A folder of its own for each test, with characters that a pattern would take for its own in the name.
class MeasurementSetTest : public ::testing::Test {
 protected:
  MeasurementSetTest() { fs::create_directories(folder_ / "sub"); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  std::string name(const std::string& file) const { return (folder_ / file).string(); }

  std::string error_of(const std::vector<std::string>& paths) {
    try {
      read_measurements(paths);
    } catch (const ConfigError& error) {
      std::string text = error.what();
      const std::string prefix = folder_.path().string() + "/";
      for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) text.erase(at, prefix.size());
      return text;
    }
    return "no error";
  }

  weft::test::TempFolder folder_{"measurement_set[1]_"};
};

// Processes follow from the list of devices; the user's threads and GPUs replace those of the header.
TEST_F(MeasurementSetTest, TheLayoutThatTheUserSaysReplacesTheLogs) {
  std::string body = kBody;
  for (const char* rank : {"1", "2", "3"}) {
    const std::string row = std::string{"#  Rank  "} + rank + " Group  0 Pid 1 on a device  " + rank + " [0x0" + rank + "] X\n";
    body.insert(body.find("# size"), row);
  }
  const std::string file = write("log.txt", kNamed + body);
  const auto layout = [&](std::optional<int> threads, std::optional<int> gpus) {
    MeasurementSet set = read_measurements({file});
    set_layout(set, threads, gpus);
    const NcclTestsLog& log = set.measurements.at(0).log;
    return std::vector{log.processes, log.threads, log.gpus_per_thread};
  };
  EXPECT_THAT(layout({}, {}), ElementsAre(4, 1, 1));
  EXPECT_THAT(layout({}, 4), ElementsAre(1, 1, 4));
  EXPECT_THAT(layout(2, 2), ElementsAre(1, 2, 2));
  EXPECT_THAT(layout(2, {}), ElementsAre(2, 2, 1));
  try {
    layout(3, {});
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("4 ranks are no multiple of 3 threads (-t) x 1 GPUs of a thread (-g)"));
  }
}

TEST_F(MeasurementSetTest, ReadsLogsInTheOrderGiven) {
  const std::string b = write("b.txt", kNamed + kBody);
  const std::string a = write("a.txt", "# env NCCL_ALGO=Ring\n# env PATH=/bin\n" + kNamed + kBody);
  const MeasurementSet set = read_measurements({b, a});
  ASSERT_THAT(set.measurements, SizeIs(2));
  EXPECT_EQ(set.measurements[0].file, b);
  EXPECT_THAT(set.measurements[0].settings, IsEmpty());
  EXPECT_EQ(set.measurements[1].file, a);
  EXPECT_THAT(set.measurements[1].settings, ElementsAre(Pair("NCCL_ALGO", "Ring")));
  EXPECT_THAT(set.warnings, IsEmpty());
}

TEST_F(MeasurementSetTest, CommandLineWinsOverListAndListOverLog) {
  write("a.txt", "# env NCCL_ALGO=Log\n# env NCCL_PROTO=Log\n# env NCCL_NTHREADS=Log\n" + kNamed + kBody);
  const std::string list = write("measurements.yaml", "- {file: a.txt, nccl: {ALGO: Tree, NCCL_PROTO: LL}}\n");
  const MeasurementSet set = read_measurements({list}, parse_nccl_settings({"ALGO=NVLS"}));
  ASSERT_THAT(set.measurements, SizeIs(1));
  EXPECT_THAT(set.measurements[0].settings,
              ElementsAre(Pair("NCCL_ALGO", "NVLS"), Pair("NCCL_NTHREADS", "Log"), Pair("NCCL_PROTO", "LL")));
}

TEST_F(MeasurementSetTest, PatternsMatchBesideTheListInByteOrder) {
  for (const char* file : {"b.txt", "a.txt", "C.txt", "sub/d.txt", "e.log"}) write(file, kNamed + kBody);
  const std::string list =
      write("measurements.yaml",
            "- file: \"*.txt\"\n  nccl: {ALGO: Ring}\n- {file: \"sub/?.txt\"}\n- {file: \"[ab].txt\", nccl: {ALGO: Tree}}\n");
  const MeasurementSet set = read_measurements({list});
  std::vector<std::string> files;
  for (const Measurement& m : set.measurements) files.push_back(m.file);
  EXPECT_THAT(files, ElementsAre(name("C.txt"), name("a.txt"), name("b.txt"), name("sub/d.txt")));
  EXPECT_EQ(set.measurements[0].settings.at("NCCL_ALGO"), "Ring");
  EXPECT_EQ(set.measurements[1].settings.at("NCCL_ALGO"), "Tree");  // the later entry
  EXPECT_THAT(set.measurements[3].settings, IsEmpty());
}

TEST_F(MeasurementSetTest, ListNamesTheCollectiveOfALogThatDoesNot) {
  const std::string log = write("a.txt", kBody);
  EXPECT_EQ(error_of({log}),
            "a.txt: error: the log does not name its collective\n"
            "note: state it in a measurements.yaml: - {file: ..., collective: all_reduce}\n");
  const std::string list = write("measurements.yaml", "- {file: a.txt, collective: all_gather}\n");
  EXPECT_EQ(read_measurements({list}).measurements.at(0).log.collective, "all_gather");
}

TEST_F(MeasurementSetTest, ListMayNotContradictTheLog) {
  write("a.txt", kNamed + kBody);
  EXPECT_EQ(error_of({write("measurements.yaml", "- {file: a.txt, collective: all_gather}\n")}),
            "a.txt: error: the list says all_gather, but the log says all_reduce\n");
}

TEST_F(MeasurementSetTest, AFileGivenTwiceIsReadOnce) {
  const std::string a = write("a.txt", kNamed + kBody);
  const MeasurementSet set = read_measurements({a, name("sub/../a.txt")});
  EXPECT_THAT(set.measurements, SizeIs(1));
  ASSERT_THAT(set.warnings, SizeIs(1));
  EXPECT_EQ(format(set.warnings[0], "warning"), name("sub/../a.txt") + ": warning: given twice, read once\n");
}

TEST_F(MeasurementSetTest, ErrorsOfAllFilesAreReportedAtOnce) {
  const std::string bad = write("bad.txt", "hello\n");
  const std::string worse = write("worse.txt", "");
  const std::string text = error_of({bad, worse, name("none.txt")});
  EXPECT_THAT(text, HasSubstr("bad.txt:1:1: error: not an nccl-tests log: it begins with 'hello'\n"));
  EXPECT_THAT(text, HasSubstr("worse.txt: error: not an nccl-tests log: it is empty\n"));
  EXPECT_THAT(text, HasSubstr("none.txt': No such file or directory\n"));
}

TEST_F(MeasurementSetTest, ListsAreCheckedKeyByKey) {
  write("a.txt", kNamed + kBody);
  const std::string text = error_of({write("measurements.yaml",
                                           "- {file: a.txt, ncll: {ALGO: Ring}}\n"
                                           "- {nccl: {ALGO: Ring}}\n"
                                           "- {file: nothing*.txt}\n"
                                           "- {file: a.txt, nccl: {algo: Ring}}\n"
                                           "- {file: a.txt, nccl: {ALGO: [Ring]}}\n"
                                           "- {file: a.txt, nccl: Ring}\n"
                                           "- {file: a.txt, collective: all_produce}\n")});
  EXPECT_THAT(text, HasSubstr("measurements.yaml:1:17: error: unknown key 'ncll' in measurements[0]"));
  EXPECT_THAT(text, HasSubstr("measurements.yaml:2:"));
  EXPECT_THAT(text, HasSubstr("measurements.yaml:3:10: error: measurements[2].file: no file matches 'nothing*.txt'"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "measurements.yaml:4:24: error: measurements[3].nccl.algo: expected the name of an NCCL variable such as ALGO"));
  EXPECT_THAT(text, HasSubstr("measurements.yaml:5:30: error: measurements[4].nccl.ALGO: expected a value, got"));
  EXPECT_THAT(
      text, HasSubstr("measurements.yaml:6:23: error: measurements[5].nccl: expected a map such as {ALGO: Ring}, got 'Ring'"));
  EXPECT_THAT(text, HasSubstr("measurements.yaml:7:29: error: measurements[6].collective: unknown value 'all_produce'"));
}

// NCCL judges what the log itself says; we judge what the user writes.
TEST_F(MeasurementSetTest, MisspeltSettingsOfAListAreRefusedAndThoseOfALogKept) {
  const std::string log = write("a.txt", "# env NCCL_ALGO=Rign\n" + kNamed + kBody);
  const std::string text = error_of({write("measurements.yaml",
                                           "- {file: a.txt, nccl: {ALGO: Rign}}\n"
                                           "- {file: a.txt, nccl: {NCCL_PROTO: Simpel}}\n"
                                           "- {file: a.txt, nccl: {ALGOS: Ring}}\n")});
  EXPECT_THAT(text,
              HasSubstr("measurements.yaml:1:24: error: measurements[0].nccl.ALGO: NCCL_ALGO=Rign: 'Rign' is no algorithm"));
  EXPECT_THAT(text, HasSubstr("did you mean 'Ring'?"));
  EXPECT_THAT(
      text,
      HasSubstr("measurements.yaml:2:24: error: measurements[1].nccl.NCCL_PROTO: NCCL_PROTO=Simpel: 'Simpel' is no protocol"));
  EXPECT_THAT(text, HasSubstr("did you mean 'Simple'?"));
  EXPECT_THAT(text, HasSubstr("measurements.yaml:3:24: error: measurements[2].nccl.ALGOS: unknown NCCL variable 'NCCL_ALGOS'"));
  EXPECT_EQ(read_measurements({log}).measurements.at(0).settings.at("NCCL_ALGO"), "Rign");
}

TEST_F(MeasurementSetTest, AListThatIsNoneIsRefused) {
  EXPECT_THAT(error_of({write("measurements.yaml", "file: a.txt\n")}), HasSubstr("error: expected a list of logs such as"));
}

TEST_F(MeasurementSetTest, WarningsOfLogsAreHandedOn) {
  const MeasurementSet set = read_measurements({write("a.txt", kNamed + kBody.substr(0, kBody.size() - 35))});
  ASSERT_THAT(set.warnings, SizeIs(1));
  EXPECT_THAT(set.warnings[0].message, HasSubstr("0 whole rows read"));
}

TEST(NcclSettingsTest, KeysMayOmitThePrefix) {
  EXPECT_THAT(parse_nccl_settings({"ALGO=Ring", "NCCL_TOPO_FILE=a=b", "PROTO="}),
              ElementsAre(Pair("NCCL_ALGO", "Ring"), Pair("NCCL_PROTO", ""), Pair("NCCL_TOPO_FILE", "a=b")));
}

TEST(NcclSettingsTest, RefusesWhatIsNoAssignment) {
  for (const char* text : {"ALGO", "=Ring", "algo=Ring", "AL GO=Ring", ""}) {
    try {
      parse_nccl_settings({text});
      FAIL() << text;
    } catch (const ConfigError& error) {
      EXPECT_EQ(std::string{error.what()},
                "error: --nccl: expected KEY=VALUE such as ALGO=Ring, got '" + std::string{text} + "'\n");
    }
  }
}

}  // namespace
}  // namespace weft::measured
