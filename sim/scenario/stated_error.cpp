#include "sim/scenario/stated_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include "sim/core/printable.h"
#include "sim/network/nic_transport.h"

namespace weft::scenario {
namespace {

constexpr std::string_view kNotValidated = "not validated";

// Takes the number that `text` begins with.
std::optional<int> take_count(std::string_view& text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || count <= 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return count;
}

bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// The first value of collectives, network or launches that stands in another file than the statements about them; empty: none.
std::string changed_value(const net::Cluster& cluster) {
  const auto profile = cluster.resolved.find("profile");
  if (!profile || !profile->is_map()) return {};
  const auto stated = profile->find("validation");
  const auto parameters = profile->find("parameters");
  if (!stated || !parameters || !parameters->is_map()) return {};
  const bool inherited = stated->file() != profile->file();
  constexpr std::array<std::string_view, 3> kActing = {"collectives.", "network.", "device."};
  const std::vector<std::string> keys = parameters->keys();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (std::ranges::none_of(kActing, [&](std::string_view group) { return keys[i].starts_with(group); })) continue;
    const auto value = (*parameters)[i].find("value");
    const std::string file = value ? value->file() : (*parameters)[i].file();
    if (file != stated->file() && (inherited || file == "--set")) return keys[i];
  }
  return {};
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string where_of(const PredictedCollective& predicted, std::string_view network) {
  std::string text = fmt::format("on {} GPU{}", predicted.gpus, predicted.gpus == 1 ? "" : "s");
  if (!network.empty()) text += fmt::format(" over {}", network);
  return text;
}

}  // namespace

std::optional<TestedOn> tested_on(std::string_view data) {
  const std::size_t of = data.find(" of ");
  if (of == std::string_view::npos || of == 0) return std::nullopt;
  TestedOn tested{.operation = std::string{data.substr(0, of)}, .gpus = {}, .network = {}};
  data.remove_prefix(of + 4);
  do {
    const auto count = take_count(data);
    if (!count) return std::nullopt;
    tested.gpus.push_back(*count);
  } while (take_word(data, " and "));
  if (take_word(data, " over ")) {
    const std::size_t end = std::min(data.find(','), data.size());
    tested.network = data.substr(0, end);
    data.remove_prefix(end);
  }
  return data.empty() || data.starts_with(',') ? std::optional{tested} : std::nullopt;
}

std::string_view network_between(const net::Cluster& cluster, int nodes) {
  if (nodes <= 1) return {};
  return net::find_nic_transport(net::nic_transport_of(cluster.topology, cluster.topology.endpoints().front()))->called;
}

std::string error_of_collective(const net::Cluster& cluster, const PredictedCollective& predicted) {
  if (cluster.profile.validations().empty()) return std::string{kNotValidated};
  const std::string operation = printable(predicted.operation);
  const std::string_view network = network_between(cluster, predicted.nodes);
  double exactly = -1;
  double nearly = -1;
  std::set<int> counts;  // that it was tested on, over this network
  for (const Validation& validation : cluster.profile.validations()) {
    const auto tested = tested_on(validation.data);
    if (!tested || tested->operation != predicted.operation || tested->network != network) continue;
    nearly = std::max(nearly, validation.median_error);
    counts.insert(tested->gpus.begin(), tested->gpus.end());
    if (std::ranges::find(tested->gpus, predicted.gpus) != tested->gpus.end())
      exactly = std::max(exactly, validation.median_error);
  }
  if (const std::string changed = changed_value(cluster); !changed.empty())
    return fmt::format("{} not tested with this {}", operation, changed);
  if (!predicted.made_by.empty()) return fmt::format("{} not tested with {}", operation, printable(predicted.made_by));
  if (exactly >= 0) {
    return fmt::format("median error of {} {}{}{}", operation, percent(exactly), network.empty() ? "" : " over ", network);
  }
  if (nearly < 0 && network.empty()) return fmt::format("{} not tested", operation);
  if (nearly < 0) return fmt::format("{} not tested over {}", operation, network);
  return fmt::format("{} not tested {}; median error {} on {}", operation, where_of(predicted, network), percent(nearly),
                     fmt::join(counts, " and "));
}

std::string error_of_others(const net::Cluster& cluster) {
  return std::string{cluster.profile.validations().empty() ? kNotValidated : "tested on collectives alone"};
}

}  // namespace weft::scenario
