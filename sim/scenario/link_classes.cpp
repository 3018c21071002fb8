#include "sim/scenario/link_classes.h"

#include <algorithm>

#include "sim/network/link_type.h"
#include "sim/workloads/parallel/rank_groups.h"

namespace weft::scenario {
namespace {

using work::Axis;
using work::Category;

std::vector<Rank> group_of(const work::RankGrid& grid, Category category, Rank rank) {
  constexpr std::array kTensor{Axis::kTensor};
  constexpr std::array kData{Axis::kData, Axis::kContext};
  constexpr std::array kPipeline{Axis::kPipeline};
  constexpr std::array kContext{Axis::kContext};
  constexpr std::array kExpert{Axis::kExpert, Axis::kTensor};
  constexpr std::array kAll{Axis::kTensor, Axis::kContext, Axis::kData, Axis::kPipeline};
  switch (category) {
    case Category::kCommTensor:
      return grid.group(rank, kTensor);
    case Category::kCommData:
      return grid.group(rank, kData);
    case Category::kCommPipeline:
      return grid.group(rank, kPipeline);
    case Category::kCommContext:
      return grid.group(rank, kContext);
    case Category::kCommExpert:
      return grid.expert_group(rank, kExpert);
    default:
      return grid.group(rank, kAll);
  }
}

LinkClass class_of(const work::ParallelPlan& plan, const net::Topology& topology, const std::vector<Rank>& group) {
  const auto device = [&](Rank rank) {
    const auto index = static_cast<std::size_t>(rank);
    return topology.endpoints()[plan.rank_map.empty() ? index : static_cast<std::size_t>(plan.rank_map[index])];
  };
  const std::int32_t host = topology.host_of(device(group.front()));
  for (const Rank rank : group) {
    if (topology.host_of(device(rank)) != host) return LinkClass::kNetwork;
  }
  return node_class(topology);
}

}  // namespace

std::string_view to_string(LinkClass link_class) {
  constexpr std::array<std::string_view, kLinkClasses> kNames{"NVLink", "PCIe", "network"};
  return kNames[static_cast<std::size_t>(link_class)];
}

LinkClass node_class(const net::Topology& topology) {
  const bool has_nvlink = std::ranges::any_of(topology.out_links(topology.endpoints().front()), [&](LinkId link) {
    const net::LinkType* type = net::find_link_type(topology.spec(link).type);
    return type != nullptr && type->medium() == net::LinkMedium::kNvlink;
  });
  return has_nvlink ? LinkClass::kNvlink : LinkClass::kPcie;
}

ByLinkClass exposed_by_link(const work::TrainingSetup& setup, const net::Topology& topology, const TrainingResult& result) {
  const work::RankGrid grid{setup.plan};
  ByLinkClass exposed{};
  for (std::size_t c = 0; c < work::kCategories; ++c) {
    const auto category = static_cast<Category>(c);
    if (!work::is_communication(category) || result.mean.exposed[c] <= Duration{}) continue;
    LinkClass slowest = LinkClass::kNvlink;
    for (const RankReport& rank : result.ranks) {
      slowest = std::max(slowest, class_of(setup.plan, topology, group_of(grid, category, rank.rank)));
    }
    exposed[static_cast<std::size_t>(slowest)] += result.mean.exposed[c];
  }
  return exposed;
}

}  // namespace weft::scenario
