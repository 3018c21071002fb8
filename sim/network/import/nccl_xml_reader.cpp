#include "sim/network/import/nccl_xml_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/network/import/nccl_xml_checks.h"
#include "sim/network/import/nccl_xml_completion.h"
#include "sim/network/import/nccl_xml_devices.h"
#include "sim/network/import/nccl_xml_links.h"

namespace weft::net {
namespace {

// "topo_4gpu" of "a/b/topo_4gpu.xml".
std::string stem(const std::string& file) {
  const std::size_t slash = file.find_last_of('/');
  const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
  return name.substr(0, name.find('.'));
}

}  // namespace

std::vector<XmlElement> elements_of(const Labels& labels) {
  std::vector<XmlElement> elements;
  for (const auto& [key, value] : labels) {
    if (key == kElementLabel) {
      elements.push_back({.name = value, .attributes = {}, .children = {}, .offset = kNoPosition});
    } else if (key == kPositionLabel && !elements.empty()) {
      elements.back().offset = static_cast<std::size_t>(parse_attribute_integer(value).value_or(0));
    } else if (!elements.empty()) {
      elements.back().attributes.emplace_back(key, value);
    }
  }
  return elements;
}

Imported import_nccl_xml(std::string_view text, const std::string& file, const Profile& profile, const ImportHints& hints) {
  const SourceText source{file, text};
  XmlElement system = parse_xml(source);
  XmlChecks checks{source};
  complete_topology(system, hints, checks);
  checks.throw_if_failed();
  XmlDevices devices = place_devices(system, stem(file), checks);
  TopologyBuilder builder;
  add_links(devices, builder, profile, checks);
  std::ranges::sort(devices.raw);
  for (const auto& [path, element] : devices.raw)
    devices.host.labels.emplace_back(fmt::format("raw {}", fmt::join(path, "/")), element);
  builder.add_host(builder.add_template(std::move(devices.host)));
  return {std::move(builder).freeze(), checks.take_warnings()};
}

Imported import_nccl_xml_file(const std::string& path, const Profile& profile, const ImportHints& hints) {
  return import_nccl_xml(read_text_file(path), path, profile, hints);
}

}  // namespace weft::net
