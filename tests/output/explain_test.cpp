#include "sim/output/explain/explain.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "sim/core/error.h"
#include "sim/output/explain/glossary.h"
#include "sim/scenario/catalog.h"
#include "sim/scenario/scenario.h"

namespace weft::output {
namespace {

using ::testing::HasSubstr;

std::string explain_message_of(const std::string& thing) {
  try {
    static_cast<void>(explain(thing));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

std::set<std::string> all_names() {
  std::set<std::string> names;
  for (const Explanation& each : explanations()) names.insert(each.names.begin(), each.names.end());
  return names;
}

TEST(ExplainTest, EveryRegisteredModelHasAText) {
  const std::set<std::string> names = all_names();
  for (const char* kind : {"algorithms", "collectives", "fabrics", "routing", "congestion", "link_types", "schedules",
                           "trace_formats", "frameworks"}) {
    for (const scenario::CatalogEntry& entry : scenario::catalog(kind)) {
      EXPECT_TRUE(names.contains(entry.name)) << kind << " " << entry.name << " says nothing of what it assumes";
    }
  }
  for (const scenario::CatalogEntry& entry : scenario::catalog("trace_writers"))
    EXPECT_TRUE(names.contains("write_" + entry.name)) << entry.name;
}

TEST(ExplainTest, TheListOfTopicsNamesEveryWordAndOnlyWhatCanBeExplained) {
  const std::string text = explained_topics();
  for (const Term& term : glossary()) EXPECT_NE(text.find(fmt::format("\n  {} ", term.name)), std::string::npos) << term.name;
  const std::vector<std::string> known = explained_names();
  std::istringstream lines{text};
  int listed = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ") || line[2] == ' ') continue;
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    EXPECT_NE(std::ranges::find(known, name), known.end()) << name;
    ++listed;
  }
  EXPECT_GT(listed, static_cast<int>(glossary().size()) + 30);
}

TEST(ExplainTest, NoNameIsExplainedTwice) {
  std::set<std::string> seen;
  for (const Explanation& each : explanations()) {
    for (const std::string& name : each.names) EXPECT_TRUE(seen.insert(name).second) << name;
  }
}

TEST(ExplainTest, EveryTextNamesSourcesAndFilesThatExist) {
  for (const Explanation& each : explanations()) {
    EXPECT_FALSE(each.summary.empty() || each.text.assumes.empty() || each.text.sources.empty()) << each.names.front();
    EXPECT_FALSE(each.files.empty()) << each.names.front();
    for (const std::string& file : each.files) {
      EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::path{WEFT_SOURCE_DIR} / "sim" / file)) << file;
    }
  }
}

// A registration's own file needs no mention: its text stands there.
TEST(ExplainTest, AModelNamesTheFileThatItIsRegisteredIn) {
  const auto timely =
      std::ranges::find_if(explanations(), [](const Explanation& each) { return each.names.front() == "timely"; });
  ASSERT_NE(timely, explanations().end());
  EXPECT_THAT(timely->files, ::testing::ElementsAre("network/congestion/timely.cpp"));
}

// A source file states a simplification under "Model:", and `weft explain` must know of it.
TEST(ExplainTest, EveryFileThatStatesASimplificationIsNamedByAText) {
  std::set<std::string> named;
  for (const Explanation& each : explanations()) named.insert(each.files.begin(), each.files.end());
  const std::filesystem::path root = std::filesystem::path{WEFT_SOURCE_DIR} / "sim";
  int found = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string extension = entry.path().extension();
    if (extension != ".h" && extension != ".cpp") continue;
    std::ifstream file{entry.path()};
    for (std::string line; std::getline(file, line);) {
      const std::size_t text = line.find_first_not_of(' ');
      if (text == std::string::npos || !line.substr(text).starts_with("// Model:")) continue;
      ++found;
      const std::string name = std::filesystem::relative(entry.path(), root).generic_string();
      EXPECT_TRUE(named.contains(name)) << name << ": \"" << line << "\" is in no registration and in no topics_*.cpp";
    }
  }
  EXPECT_GE(found, 10);
}

TEST(ExplainTest, AModelShowsWhatItLeavesOutAndItsSources) {
  const std::string text = explain("pcie5");
  EXPECT_THAT(text, HasSubstr("completions are charged as writes, unless a link states their size"));
  EXPECT_THAT(text, HasSubstr("models/network §1.4"));
  EXPECT_THAT(text, HasSubstr("network.pcie5"));
}

TEST(ExplainTest, ModelsOfAFamilyNameEachOtherAndThemselves) {
  const std::string text = explain("pcie5");
  EXPECT_THAT(text, ::testing::StartsWith("pcie5: PCI Express 5: 32 GT/s per lane"));
  EXPECT_THAT(text, HasSubstr("family       PCI Express: rate from lanes and coding"));
  EXPECT_THAT(text, HasSubstr("also for     pcie3, pcie4, pcie5, pcie6"));
}

TEST(ExplainTest, AWordForSeveralModelsLeadsToEachOfThem) {
  EXPECT_EQ(explain("gloo"), explain("gloo_ring") + explain("gloo_halving_doubling") + explain("gloo_bcube"));
}

TEST(ExplainTest, SimplificationsAreThoseOfAllModels) {
  const std::string text = explain("simplifications");
  for (const Explanation& each : explanations()) {
    for (const std::string_view line : each.text.leaves_out) EXPECT_THAT(text, HasSubstr(std::string{line.substr(0, 60)}));
  }
}

TEST(ExplainTest, AParameterShowsTypeRangeDefaultAndSource) {
  const std::string text = explain("device.launch.host_cost");
  EXPECT_THAT(text, HasSubstr("duration"));
  EXPECT_THAT(text, HasSubstr("default  5 us"));
  EXPECT_THAT(explain("device.launch"), HasSubstr("device.launch.graph_kernel_cost"));
}

TEST(ExplainTest, AParameterShowsItsValueInAProfile) {
  const Profile profile = Profile::defaults(scenario::all_param_groups()).with_value("device.launch.host_cost", "7 us", "test");
  EXPECT_THAT(explain("device.launch.host_cost", &profile), HasSubstr("7 us (assumed"));
  EXPECT_THAT(explain("device.launch.graph_kernel_cost", &profile), HasSubstr("(the default)"));
}

TEST(ExplainTest, AProfileShowsWhatItSetsAndThatItIsNotValidated) {
  const Profile profile = Profile::defaults(scenario::all_param_groups()).with_value("device.launch.host_cost", "7 us", "test");
  const std::string text = explain_profile(profile);
  EXPECT_THAT(text, HasSubstr("not validated"));
  EXPECT_THAT(text, HasSubstr("device.launch.host_cost"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("device.launch.graph_kernel_cost")));
}

// A value that was fitted or measured here is not literature.
void expect_a_source(const std::string& where, ParamSource source, const std::string& reference,
                     const std::string& calibration) {
  if (source == ParamSource::kAssumed) return;
  EXPECT_FALSE(reference.empty() && calibration.empty()) << where << " is " << to_string(source) << ", but by whom?";
  if (source != ParamSource::kLiterature) return;
  for (const char* not_published :
       {"fitted", "between fits", "validate/measured", "models/training_steps", "models/nccl_calibration"})
    EXPECT_THAT(reference, ::testing::Not(HasSubstr(not_published))) << where;
}

TEST(ExplainTest, EveryParameterHasASourceAndNothingFittedIsLiterature) {
  std::set<ParamSource> sources;
  for (const ParamGroupBase* group : scenario::all_param_groups()) {
    for (const ParamInfo& info : group->infos()) {
      sources.insert(info.source);
      expect_a_source(info.key, info.source, info.reference, {});
      if (info.source == ParamSource::kFitted || info.source == ParamSource::kMeasured) {
        EXPECT_TRUE(!info.gpu.empty() || info.key.starts_with("device.launch")) << info.key << ": of which GPU?";
      }
    }
  }
  EXPECT_EQ(sources.size(), kParamSources);
}

TEST(ExplainTest, ShippedProfilesNameTheirGpuAndTheSourceOfEveryValue) {
  for (const scenario::CatalogEntry& entry : scenario::catalog("profiles")) {
    const Profile profile = scenario::find_profile(entry.name);
    EXPECT_FALSE(profile.gpu().empty()) << entry.name;
    EXPECT_THAT(entry.summary, HasSubstr(profile.owners()));
    EXPECT_THAT(explain_profile(profile), HasSubstr(profile.gpu() + ": "));
    for (const std::string& key : profile.keys()) {
      const Provenance& from = profile.provenance(key);
      expect_a_source(entry.name + " " + key, from.source, from.reference, from.calibration);
    }
  }
}

// GB300's collectives and kernels were fitted to public tables of it; what else it has is of B200, H200 and others.
TEST(ExplainTest, AProfileLaidOverAnothersSaysWhoseValuesItHas) {
  const Profile gb300 = scenario::find_profile("gb300");
  EXPECT_EQ(gb300.other_gpu("gpu.gemm.efficiency"), "");
  EXPECT_EQ(gb300.other_gpu("collectives.in_switch.port_share"), "B200 and GB300");
  EXPECT_EQ(gb300.other_gpu("gpu.contention.gemm"), "H200");
  EXPECT_THAT(explain("gpu.contention.gemm", &gb300), HasSubstr("(the default, of H200)"));
  // Three of NVLS (base_latency, peer_latency, port_share) come from all-reduces of both GPUs.
  EXPECT_THAT(gb300.owners(), HasSubstr(" values of its own, 7 of A100, 3 of B200 and GB300, "));
}

TEST(ExplainTest, EverythingThatIsListedCanBeExplained) {
  for (const std::string& name : explained_names()) EXPECT_FALSE(explain(name).empty()) << name;
}

TEST(ExplainTest, WordsOfTheFieldAreExplainedInAnyCase) {
  EXPECT_THAT(explain("busbw"), HasSubstr("2 (n - 1) / n for all_reduce"));
  EXPECT_THAT(explain("pfc"), HasSubstr("pause"));
  EXPECT_EQ(explain("MFU"), explain("mfu"));
  EXPECT_EQ(explain("DCQCN"), explain("dcqcn"));  // a model's name too
}

TEST(ExplainTest, WordsOfTheFieldLeadToThingsThatAreExplained) {
  for (const Term& term : glossary()) {
    if (term.more.empty()) continue;
    EXPECT_FALSE(explain(std::string{term.more}).empty()) << term.name;
  }
}

TEST(ExplainTest, UnknownThingsAreAnsweredWithTheNearest) {
  EXPECT_EQ(explain_message_of("nvlink44"), "error: nothing is known of 'nvlink44'\nnote: did you mean 'nvlink4'?\n");
}

TEST(CatalogTest, KindsAreTakenInTheSingularAndWithHyphens) {
  EXPECT_EQ(scenario::catalog_kind("link-type"), "link_types");
  EXPECT_EQ(scenario::catalog_kind("Algorithms"), "algorithms");
  EXPECT_THROW(static_cast<void>(scenario::catalog_kind("colours")), ConfigError);
}

TEST(CatalogTest, EveryEntryHasASummary) {
  for (const scenario::CatalogKind& kind : scenario::catalog_kinds()) {
    const std::vector<scenario::CatalogEntry> entries = scenario::catalog(kind.name);
    EXPECT_FALSE(entries.empty()) << kind.name;
    EXPECT_TRUE(std::ranges::is_sorted(entries, {}, &scenario::CatalogEntry::name)) << kind.name;
    for (const scenario::CatalogEntry& entry : entries) EXPECT_FALSE(entry.summary.empty()) << kind.name << " " << entry.name;
  }
}

}  // namespace
}  // namespace weft::output
