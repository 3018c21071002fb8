// The import tests share these: files of tests/data, the default profile, and a device's links by the other end.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "sim/network/builtin.h"
#include "sim/network/import/imported.h"
#include "sim/network/import/source_text.h"

namespace weft::net::test {

inline std::string data_path(const std::string& name) { return std::string{WEFT_TEST_DATA} + "/" + name; }
inline std::string data_text(const std::string& name) { return read_text_file(data_path(name)); }

inline const Profile& default_profile() {
  static const Profile profile = Profile::defaults(network_param_groups());
  return profile;
}

// The specs of all links from one device to another, by name.
inline std::vector<LinkSpec> links_between(const Topology& topology, const std::string& from, const std::string& to) {
  std::vector<LinkSpec> specs;
  for (const LinkId link : topology.out_links(topology.find(from).value())) {
    if (topology.link(link).to == topology.find(to).value()) specs.push_back(topology.spec(link));
  }
  return specs;
}

inline std::size_t count_of(const Topology& topology, DeviceKind kind) {
  return topology.host_template(0).of_kind(kind).size();
}

// Every broken file of that extension beside the exact message `importer(text, name, profile)` must produce.
inline void expect_every_broken_file_explained(const std::string& extension, int at_least, const auto& importer) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(data_path("topologies/broken"))) {
    if (entry.path().extension() != extension) continue;
    ++files;
    const std::string name = entry.path().filename().string();
    const std::string expected = data_text("topologies/broken/" + entry.path().stem().string() + ".expected");
    try {
      static_cast<void>(importer(read_text_file(entry.path().string()), name, default_profile()));
      ADD_FAILURE() << name << " was accepted";
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.what(), expected) << name;
    }
  }
  EXPECT_GE(files, at_least);
}

}  // namespace weft::net::test
