#include "sim/workloads/trace/chakra/groups.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/workloads/trace/chakra/chakra_file.h"
#include "sim/workloads/trace/input_stream.h"
#include "sim/workloads/trace/shallow_json.h"

namespace weft::work::chakra {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLargestFile = std::uint64_t{64} << 20;
constexpr std::int64_t kMostRanks = 1'048'576;

bool all_ranks(const json& list) {
  if (!list.is_array()) return false;
  for (const json& each : list) {
    if (!each.is_number_integer() || each.get<std::int64_t>() < 0 || each.get<std::int64_t>() >= kMostRanks) return false;
  }
  return true;
}

json parse(std::string_view text) {
  constexpr int kDeepest = 16;
  return shallow_json(text, kDeepest);
}

}  // namespace

bool looks_like_comm_groups(std::string_view head) {
  const std::size_t open = head.find_first_not_of(" \t\r\n");
  if (open == std::string_view::npos || head[open] != '{') return false;
  const std::size_t quote = head.find_first_not_of(" \t\r\n", open + 1);
  if (quote == std::string_view::npos || head[quote] != '"') return false;
  const std::size_t colon = head.find_first_not_of("0123456789", quote + 1);
  if (colon == std::string_view::npos || colon == quote + 1 || head[colon] != '"') return false;
  const std::size_t list = head.find_first_not_of(" \t\r\n:", colon + 1);
  return list != std::string_view::npos && head[list] == '[';
}

GroupRanks read_comm_groups(const std::filesystem::path& file) {
  const json all = parse(read_whole(file, kLargestFile));
  if (!all.is_object()) fail(file, "expected process groups such as {\"1\": [0, 1, 2, 3]}");
  GroupRanks groups;
  for (const auto& [name, ranks] : all.items()) {
    if (!all_ranks(ranks)) fail(file, fmt::format("group '{}': expected a list of ranks from 0 to {}", name, kMostRanks - 1));
    groups[name] = ranks.get<std::vector<Rank>>();
  }
  return groups;
}

void add_process_groups(std::string_view input_values, GroupRanks& groups) {
  const std::size_t open = input_values.find('[');
  if (open == std::string_view::npos || input_values.find("pg_name") == std::string_view::npos) return;
  json list = parse(input_values);
  // A stringified Python list of one text that is JSON itself.
  if (list.is_array() && !list.empty() && list[0].is_string()) list = parse(list[0].get<std::string>());
  if (list.is_discarded()) {
    const std::size_t inner = input_values.find("[{");
    const std::size_t end = input_values.rfind("}]");
    if (inner == std::string_view::npos || end == std::string_view::npos || end < inner) return;
    list = parse(input_values.substr(inner, end + 2 - inner));
  }
  if (!list.is_array()) return;
  for (const json& each : list) {
    if (!each.is_object() || !each.contains("pg_name") || !each.contains("ranks") || !all_ranks(each["ranks"])) continue;
    const json& name = each["pg_name"];
    if (!name.is_string() && !name.is_number_integer()) continue;
    groups[name.is_string() ? name.get<std::string>() : name.dump()] = each["ranks"].get<std::vector<Rank>>();
  }
}

}  // namespace weft::work::chakra
