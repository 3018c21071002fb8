// What the import tests share: files of tests/data, the default profile, and a device's links by the other end.
#pragma once

#include <gtest/gtest.h>

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

}  // namespace weft::net::test
