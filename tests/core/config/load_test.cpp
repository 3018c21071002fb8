// Files: what can be wrong with them, `extends`, and values that name other files.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sim/core/config/node.h"
#include "tests/support/temp_folder.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

// Runs in a folder of its own, so that names in messages are short and exact.
class LoadTest : public ::testing::Test {
 public:
  LoadTest() : before_{fs::current_path()} { fs::current_path(folder_.path()); }
  ~LoadTest() override { fs::current_path(before_); }

 protected:
  static void write(const fs::path& file, const std::string& text) {
    if (file.has_parent_path()) fs::create_directories(file.parent_path());
    std::ofstream{file, std::ios::binary} << text;
  }

  static std::string error_of(const auto& action) {
    try {
      action();
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  }
  static std::string load_error(const std::string& file) {
    return error_of([&file] { (void)ConfigNode::load_file(file); });
  }

 private:
  fs::path before_;
  weft::test::TempFolder folder_;
};

TEST_F(LoadTest, NamesTheNearestFileWhenOneIsMissing) {
  write("clusters/pod.yaml", "a: 1\n");
  write("clusters/rack.yaml", "a: 1\n");
  write("clusters/notes.txt", "");
  EXPECT_EQ(load_error("clusters/podd.yaml"),
            "clusters/podd.yaml: error: cannot read this file: no such file\n"
            "note: did you mean 'pod.yaml'? files in 'clusters': pod.yaml, rack.yaml\n");
  EXPECT_EQ(load_error("nowhere/pod.yaml"),
            "nowhere/pod.yaml: error: cannot read this file: no such file\n"
            "note: there is no folder 'nowhere'\n");
}

TEST_F(LoadTest, RefusesFoldersAndPipes) {
  fs::create_directory("clusters");
  EXPECT_EQ(load_error("clusters"), "clusters: error: cannot read this file: it is a folder\n");
  ASSERT_EQ(mkfifo("pipe.yaml", 0600), 0);
  EXPECT_EQ(load_error("pipe.yaml"), "pipe.yaml: error: cannot read this file: it is not a regular file\n");
}

TEST_F(LoadTest, RefusesFilesOver64MiBWithoutReadingThem) {
  // Sparse: takes no disk. One byte less is read, and refused for what it holds.
  write("huge.yaml", "");
  fs::resize_file("huge.yaml", (64U << 20) + 1);
  EXPECT_EQ(load_error("huge.yaml"),
            "huge.yaml: error: cannot read this file: it has 67108865 bytes, more than 64 MiB\n"
            "note: large data belong into files of their own kind\n");
  fs::resize_file("huge.yaml", 64U << 20);
  EXPECT_EQ(load_error("huge.yaml"),
            "huge.yaml:1:1: error: a NUL byte, where text is expected\n"
            "note: is this a YAML file?\n");
}

TEST_F(LoadTest, RefusesAnEmptyFile) {
  write("empty.yaml", "");
  EXPECT_EQ(load_error("empty.yaml"), "empty.yaml: error: file is empty\n");
}

TEST_F(LoadTest, LaysAFileOverItsBase) {
  write("base/node.yaml", "name: base\nnic: {rate: 100 Gb/s, ports: 1}\ngpus: [a, b]\n");
  write("pod.yaml", "extends: base/node.yaml\nnic: {rate: 400 Gb/s}\ngpus: [c]\nmore: 1\n");
  const ConfigNode node = ConfigNode::load_file("pod.yaml", "cluster");
  EXPECT_EQ(node.to_json(), R"({"name": "base", "nic": {"rate": "400 Gb/s", "ports": 1}, "gpus": ["c"], "more": 1})");
  // Every value knows the file it came from.
  EXPECT_EQ(node.find("nic")->find("rate")->file(), "pod.yaml");
  EXPECT_EQ(node.find("nic")->find("rate")->location().line, 2);
  EXPECT_EQ(node.find("nic")->find("ports")->file(), "base/node.yaml");
  EXPECT_EQ(node.find("nic")->find("ports")->path(), "cluster.nic.ports");
}

TEST_F(LoadTest, ANullDropsAKeyOfTheBase) {
  write("base.yaml", "flows: [a, b]\nfabric: {pfc: {xoff: 1}, ecn: {kmin: 2}}\n");
  write("over.yaml", "extends: base.yaml\nflows: null\nfabric: {pfc: null}\njobs: [c]\n");
  EXPECT_EQ(ConfigNode::load_file("over.yaml").to_json(), R"({"fabric": {"ecn": {"kmin": 2}}, "jobs": ["c"]})");
  // One that the base does not have stays, for the reader of the file to refuse.
  write("typo.yaml", "extends: base.yaml\nflow: null\n");
  EXPECT_EQ(ConfigNode::load_file("typo.yaml").find("flow")->is_null(), true);
  // And it may be stated anew by the next file.
  write("again.yaml", "extends: over.yaml\nflows: [d]\n");
  EXPECT_EQ(ConfigNode::load_file("again.yaml").find("flows")->to_json(), R"(["d"])");
}

TEST_F(LoadTest, FollowsBasesOfBasesRelativeToTheFileThatNamesThem) {
  write("a/one.yaml", "x: 1\ny: 1\nz: 1\n");
  write("a/two.yaml", "extends: one.yaml\ny: 2\nz: 2\n");
  write("b/three.yaml", "extends: ../a/two.yaml\nz: 3\n");
  EXPECT_EQ(ConfigNode::load_file("b/three.yaml").to_json(), R"({"x": 1, "y": 2, "z": 3})");
}

TEST_F(LoadTest, PrintsTheChainOfACycle) {
  write("a.yaml", "extends: sub/b.yaml\n");
  write("sub/b.yaml", "extends: c.yaml\n");
  write("sub/c.yaml", "x: 1\nextends: ../a.yaml\n");
  EXPECT_EQ(load_error("a.yaml"),
            "sub/c.yaml:2:10: error: extends: cannot read 'a.yaml': it is part of a cycle\n"
            "   2 | extends: ../a.yaml\n"
            "     |          ^~~~~~~~~\n"
            "note: the chain is a.yaml -> sub/b.yaml -> sub/c.yaml -> a.yaml\n");
  write("self.yaml", "extends: self.yaml\n");
  EXPECT_NE(load_error("self.yaml").find("note: the chain is self.yaml -> self.yaml\n"), std::string::npos);
}

TEST_F(LoadTest, SeesACycleBehindALink) {
  write("a.yaml", "extends: b.yaml\n");
  fs::create_symlink("a.yaml", "b.yaml");
  EXPECT_NE(load_error("a.yaml").find("note: the chain is a.yaml -> b.yaml\n"), std::string::npos) << load_error("a.yaml");
}

TEST_F(LoadTest, LetsTwoFilesShareABase) {
  write("base.yaml", "x: 1\n");
  write("one.yaml", "extends: base.yaml\n");
  write("top.yaml", "extends: one.yaml\nother: one.yaml\nbase: base.yaml\n");
  const ConfigNode top = ConfigNode::load_file("top.yaml");
  EXPECT_EQ(load_reference(*top.find("other")).find("x")->scalar(), "1");
  EXPECT_EQ(load_reference(*top.find("base")).find("x")->scalar(), "1");
}

TEST_F(LoadTest, RefusesABaseThatIsNoMapOrNoPath) {
  write("list.yaml", "- 1\n");
  write("a.yaml", "extends: list.yaml\n");
  write("b.yaml", "extends: [list.yaml]\n");
  write("c.yaml", "extends: lisst.yaml\n");
  EXPECT_EQ(load_error("a.yaml"),
            "a.yaml:1:10: error: extends: expected a file that holds a map, 'list.yaml' holds something else\n"
            "   1 | extends: list.yaml\n"
            "     |          ^~~~~~~~~\n");
  EXPECT_EQ(load_error("b.yaml"),
            "b.yaml:1:10: error: extends: expected the path of a file, got a list\n"
            "   1 | extends: [list.yaml]\n"
            "     |          ^\n");
  EXPECT_EQ(load_error("c.yaml"),
            "c.yaml:1:10: error: extends: cannot read 'lisst.yaml': no such file\n"
            "   1 | extends: lisst.yaml\n"
            "     |          ^~~~~~~~~~\n"
            "note: did you mean 'list.yaml'? files in '.': a.yaml, b.yaml, c.yaml, list.yaml\n");
}

TEST_F(LoadTest, RefusesALongChainOfFiles) {
  for (int i = 0; i < 110; ++i) write(std::to_string(i) + ".yaml", "extends: " + std::to_string(i + 1) + ".yaml\n");
  write("110.yaml", "x: 1\n");
  EXPECT_NE(load_error("0.yaml").find("files name each other over more than 100 levels"), std::string::npos);
  EXPECT_EQ(load_error("20.yaml"), "no error");
}

TEST_F(LoadTest, FollowsAReferenceAndKeepsItsPath) {
  write("clusters/pod.yaml", "nodes: 4\n");
  write("scenarios/run.yaml", "cluster: ../clusters/pod.yaml\nother: {nodes: 8}\nwrong: [1]\n");
  const ConfigNode run = ConfigNode::load_file("scenarios/run.yaml");
  const ConfigNode nodes = *load_reference(*run.find("cluster")).find("nodes");
  EXPECT_EQ(nodes.path(), "cluster.nodes");
  EXPECT_EQ(nodes.file(), "clusters/pod.yaml");
  EXPECT_EQ(load_reference(*run.find("other")).find("nodes")->scalar(), "8");
  EXPECT_EQ(error_of([&run] { (void)load_reference(*run.find("wrong")); }),
            "scenarios/run.yaml:3:8: error: wrong: expected a map or the path of a file that holds one, got a list\n"
            "   3 | wrong: [1]\n"
            "     |        ^\n");
}

TEST_F(LoadTest, LaysAnInlineMapOverItsBase) {
  write("nodes/dgx.yaml", "gpus: 8\nnics: 8\n");
  write("clusters/pod.yaml", "node: {extends: ../nodes/dgx.yaml, nics: 4}\n");
  const ConfigNode node = load_reference(*ConfigNode::load_file("clusters/pod.yaml").find("node"));
  EXPECT_EQ(node.to_json(), R"({"gpus": 8, "nics": 4})");
  EXPECT_EQ(node.find("gpus")->path(), "node.gpus");
}

TEST_F(LoadTest, SeesCyclesAcrossReferences) {
  write("a.yaml", "cluster: b.yaml\n");
  write("b.yaml", "profile: a.yaml\n");
  const ConfigNode cluster = load_reference(*ConfigNode::load_file("a.yaml").find("cluster"));
  EXPECT_EQ(error_of([&cluster] { (void)load_reference(*cluster.find("profile")); }),
            "b.yaml:1:10: error: cluster.profile: cannot read 'a.yaml': it is part of a cycle\n"
            "   1 | profile: a.yaml\n"
            "     |          ^~~~~~\n"
            "note: the chain is a.yaml -> b.yaml -> a.yaml\n");
}

TEST_F(LoadTest, LoadsAReferenceThatAnOverrideGoesThrough) {
  write("pod.yaml", "nodes: 4\nfabric: {leaf_ports: 32}\n");
  write("run.yaml", "cluster: pod.yaml\n");
  const ConfigNode run = ConfigNode::load_file("run.yaml").with_override("cluster.fabric.leaf_ports", "64", "--set");
  EXPECT_EQ(run.to_json(), R"({"cluster": {"nodes": 4, "fabric": {"leaf_ports": 64}}})");
}

TEST_F(LoadTest, TakesPathsOnTheCommandLineFromTheWorkingFolder) {
  write("pod.yaml", "nodes: 4\n");
  write("deep/run.yaml", "cluster: none.yaml\n");
  const ConfigNode run = ConfigNode::load_file("deep/run.yaml").with_override("cluster", "pod.yaml", "--set");
  EXPECT_EQ(load_reference(*run.find("cluster")).find("nodes")->scalar(), "4");
}

TEST_F(LoadTest, FindsOtherKindsOfFilesBesideTheOneThatNamesThem) {
  write("bench/perm128.txt", "0 1\n");
  write("bench/run.yaml", "flows_file: perm128.txt\ntypo: perm12.txt\n");
  const ConfigNode run = ConfigNode::load_file("bench/run.yaml");
  EXPECT_EQ(referenced_file(*run.find("flows_file")), fs::path{"bench/perm128.txt"});
  EXPECT_EQ(error_of([&run] { (void)referenced_file(*run.find("typo")); }),
            "bench/run.yaml:2:7: error: typo: cannot read 'bench/perm12.txt': no such file\n"
            "   2 | typo: perm12.txt\n"
            "     |       ^~~~~~~~~~\n"
            "note: did you mean 'perm128.txt'? files in 'bench': perm128.txt, run.yaml\n");
}

}  // namespace
}  // namespace weft
