#include "sim/scenario/link_names.h"

#include <fmt/format.h>

#include <vector>

#include "sim/scenario/read_on.h"

namespace weft::scenario {
namespace {

// Says how the cables are named that lie side by side from `from` to the device that `name` leads to; empty: no such.
std::string parallel_cables(const std::string& name, DeviceId from, const net::Topology& topology) {
  std::vector<std::string> cables;
  for (const LinkId link : topology.out_links(from)) {
    if (topology.name(link).starts_with(name + '#')) cables.push_back(topology.name(link));
  }
  if (cables.empty()) return {};
  return fmt::format("{} cables lie side by side here, named '{}' to '{}'", cables.size(), cables.front(), cables.back());
}

}  // namespace

std::optional<LinkId> find_link(std::string_view name, const net::Topology& topology) {
  const std::size_t arrow = name.find("->");
  if (arrow == std::string_view::npos) return std::nullopt;
  const auto from = topology.find(name.substr(0, arrow));
  if (!from) return std::nullopt;
  for (const LinkId link : topology.out_links(*from)) {
    if (topology.name(link) == name) return link;
  }
  return std::nullopt;
}

std::optional<LinkId> read_link(const ConfigNode& node, const net::Topology& topology, Diagnostics& diagnostics) {
  if (!node.is_scalar()) {
    diagnostics.error(
        node.diagnostic(fmt::format("{}: expected a link such as 'h0->s0', got {}", node.path(), found_text(node))));
    return std::nullopt;
  }
  const std::string& name = node.scalar();
  if (const auto link = find_link(name, topology)) return link;
  std::string note = "a link is written 'from->to', with the names that `weft topo` prints";
  const auto from = topology.find(std::string_view{name}.substr(0, name.find("->")));
  if (const std::string cables = from ? parallel_cables(name, *from, topology) : std::string{}; !cables.empty()) {
    note = cables;
  } else if (from) {
    constexpr std::size_t kShown = 8;
    const auto links = topology.out_links(*from);
    note = fmt::format("links of '{}': ", topology.name(*from));
    for (std::size_t i = 0; i < links.size() && i < kShown; ++i) note += (i == 0 ? "" : ", ") + topology.name(links[i]);
    if (links.size() > kShown) note += fmt::format(" and {} more", links.size() - kShown);
  }
  if (const std::string stands_in = stand_in_note(topology); !stands_in.empty()) note = stands_in;
  diagnostics.error(node.diagnostic(fmt::format("{}: no link '{}'", node.path(), name), note));
  return std::nullopt;
}

}  // namespace weft::scenario
