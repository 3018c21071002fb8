#include "sim/network/import/htsim_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "sim/core/config/nearest.h"
#include "sim/core/config/quantity.h"
#include "sim/core/words.h"
#include "sim/network/cluster.h"
#include "sim/network/import/source_text.h"

namespace weft::net {
namespace {

constexpr std::int64_t kMostPorts = 2048;      // down or up, of a switch: a leaf has at most 4096 (folded_clos.h)
constexpr std::int64_t kMostGbps = 1'000'000;  // of a link
constexpr std::int64_t kMostNanoseconds = 1'000'000'000;
constexpr std::size_t kMostTopoErrors = 20;

struct TopoWord {
  std::string text;  // in lower case
  std::string_view written;
  std::size_t offset = 0;
};

std::vector<TopoWord> topo_words(std::string_view line, std::size_t offset) {
  constexpr std::string_view kBlank = " \t\r";
  std::vector<TopoWord> words;
  for (std::size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    const std::string_view written = line.substr(at, end - at);
    words.push_back({.text = lower_case(written), .written = written, .offset = offset + at});
    at = line.find_first_not_of(kBlank, end);
  }
  if (!words.empty() && words.front().text.starts_with('#')) words.clear();
  return words;
}

struct TopoKey {
  std::string_view name;
  std::int64_t least;
  std::int64_t most;
};
constexpr std::array<TopoKey, 3> kHeadKeys{{{"Nodes", 1, kMaxNodes}, {"Tiers", 2, 3}, {"Podsize", 1, kMaxNodes}}};
constexpr std::array<TopoKey, 9> kTierKeys{{{"Downlink_speed_Gbps", 1, kMostGbps},
                                            {"Downlink_Latency_ns", 0, kMostNanoseconds},
                                            {"Switch_Latency_ns", 0, kMostNanoseconds},
                                            {"Radix_Down", 1, kMostPorts},
                                            {"Radix_Up", 1, kMostPorts},
                                            {"Oversubscribed", 1, kMostPorts},
                                            {"Bundle", 1, 1'024},
                                            {"Queue_Down", 0, INT64_MAX},
                                            {"Queue_Up", 0, INT64_MAX}}};

// A section's values by name, each with its place.
struct TopoValue {
  std::int64_t value = 0;
  std::size_t offset = 0;
  std::size_t length = 1;
};
struct TopoSection {
  std::map<std::string, TopoValue, std::less<>> values;  // by name as kHeadKeys and kTierKeys spell it
  std::size_t offset = 0;
  bool is_there = false;

  [[nodiscard]] std::int64_t get(std::string_view key, std::int64_t otherwise = 1) const {
    const auto found = values.find(key);
    return found == values.end() ? otherwise : found->second.value;
  }
  [[nodiscard]] bool has(std::string_view key) const { return values.contains(key); }
};

class TopoReader {
 public:
  TopoReader(const SourceText& source, std::string name) : source_{source}, name_{std::move(name)} {}

  HtsimTopology read() {
    read_lines();
    check_there();
    if (errors_.empty()) check_counts();
    if (!errors_.empty()) throw ConfigError(errors_);
    warn_of_queues();
    return {cluster(), std::move(warnings_)};
  }

 private:
  void fail(std::size_t offset, std::size_t length, std::string message, std::string note = {}) {
    if (errors_.size() < kMostTopoErrors)
      errors_.push_back(
          source_.at(offset, std::move(message), static_cast<int>(std::max<std::size_t>(length, 1)), std::move(note)));
  }
  void fail(const TopoSection& section, std::string_view key, std::string message) {
    const auto found = section.values.find(key);
    if (found == section.values.end()) return fail(section.offset, 1, std::move(message));
    fail(found->second.offset, found->second.length, std::move(message));
  }

  void read_lines() {
    TopoSection* section = &head_;
    std::span<const TopoKey> keys = kHeadKeys;
    const std::string_view text = source_.text();
    for (std::size_t start = 0; start < text.size();) {
      const std::size_t end = std::min(text.find('\n', start), text.size());
      const std::vector<TopoWord> words = topo_words(text.substr(start, end - start), start);
      start = end + 1;
      if (words.empty()) continue;
      if (words[0].text == "tier") {
        section = tier_at(words);
        keys = kTierKeys;
        if (section == nullptr) return;
      } else {
        take(words, *section, keys);
      }
    }
  }

  // Null: which one it is cannot be told.
  TopoSection* tier_at(const std::vector<TopoWord>& words) {
    const auto number = words.size() == 2 ? parse_integer(words[1].written) : std::nullopt;
    if (!number || *number < 0 || *number > 2) {
      fail(words.back().offset, words.back().written.size(), "expected 'Tier 0', 'Tier 1' or 'Tier 2'");
      return nullptr;
    }
    TopoSection& tier = tiers_[static_cast<std::size_t>(*number)];
    if (tier.is_there) fail(words[1].offset, words[1].written.size(), fmt::format("tier {} is given twice", *number));
    tier.is_there = true;
    tier.offset = words[0].offset;
    return &tier;
  }

  void take(const std::vector<TopoWord>& words, TopoSection& section, std::span<const TopoKey> keys) {
    const TopoWord& word = words[0];
    const auto key = std::ranges::find_if(keys, [&](const TopoKey& each) { return lower_case(each.name) == word.text; });
    if (key == keys.end()) {
      std::vector<std::string> names;
      for (const TopoKey& each : keys) names.emplace_back(each.name);
      const std::string_view where = &section == &head_ ? "before the first tier" : "in a tier";
      return fail(word.offset, word.written.size(), fmt::format("unknown word '{}' {}", word.written, where),
                  did_you_mean(word.written, names, "words here"));
    }
    const auto number = words.size() == 2 ? parse_integer(words[1].written) : std::nullopt;
    if (!number || *number < key->least || *number > key->most) {
      section.values.try_emplace(std::string{key->name}, TopoValue{key->least, word.offset, 1});  // it is there, if wrong
      const TopoWord& at = words.back();
      const std::string range = key->most == INT64_MAX ? fmt::format("of {} or more", key->least)
                                                       : fmt::format("from {} to {}", key->least, key->most);
      return fail(at.offset, at.written.size(), fmt::format("{}: expected one whole number {}", key->name, range));
    }
    const bool is_new =
        section.values.try_emplace(std::string{key->name}, TopoValue{*number, words[1].offset, words[1].written.size()}).second;
    if (!is_new) fail(word.offset, word.written.size(), fmt::format("{} is given twice", key->name));
  }

  [[nodiscard]] std::size_t top() const { return static_cast<std::size_t>(head_.get("Tiers", 3)) - 1; }
  [[nodiscard]] std::int64_t speed(std::size_t tier) const { return tiers_[tier].get("Downlink_speed_Gbps"); }
  [[nodiscard]] std::int64_t bundle(std::size_t tier) const { return tiers_[tier].get("Bundle"); }

  void check_there() {
    for (const TopoKey& key : kHeadKeys)
      if (!head_.has(key.name)) fail(0, 1, fmt::format("{} is missing before the first tier", key.name));
    if (!head_.has("Tiers")) return;
    for (std::size_t t = 0; t < tiers_.size(); ++t) {
      const TopoSection& tier = tiers_[t];
      if (t > top()) {
        if (tier.is_there) fail(tier.offset, 4, fmt::format("tier {} of {} tiers: they count from 0", t, top() + 1));
        continue;
      }
      if (!tier.is_there) {
        fail(head_, "Tiers", fmt::format("tier {} is missing", t));
        continue;
      }
      for (const std::string_view key : {"Downlink_speed_Gbps", "Downlink_Latency_ns", "Radix_Down"})
        if (!tier.has(key)) fail(tier.offset, 4, fmt::format("tier {} has no {}", t, key));
      if (t < top() && !tier.has("Radix_Up")) fail(tier.offset, 4, fmt::format("tier {} has no Radix_Up", t));
      for (const std::string_view key : {"Radix_Up", "Queue_Up", "Oversubscribed"})
        if (t == top() && tier.has(key)) fail(tier, key, fmt::format("{}: nothing leads up from the top tier", key));
    }
    if (bundle(0) != 1) fail(tiers_[0], "Bundle", "Bundle: a host has one cable");
  }

  // Ports of one tier meet those of the next.
  void check_counts() {
    const std::int64_t nodes = head_.get("Nodes");
    pod_hosts_ = head_.get("Podsize");
    edge_hosts_ = tiers_[0].get("Radix_Down");
    if (nodes % pod_hosts_ != 0)
      return fail(head_, "Nodes", fmt::format("Nodes: {} are not a multiple of the {} of a pod", nodes, pod_hosts_));
    if (top() == 1 && nodes != pod_hosts_)
      return fail(head_, "Podsize", fmt::format("Podsize: with two tiers all {} nodes are one pod", nodes));
    if (pod_hosts_ % edge_hosts_ != 0)
      return fail(tiers_[0], "Radix_Down",
                  fmt::format("Radix_Down: the {} hosts of a pod are not a multiple of it", pod_hosts_));
    pods_ = nodes / pod_hosts_;
    edges_ = pod_hosts_ / edge_hosts_;
    const std::int64_t up = tiers_[0].get("Radix_Up");
    const std::int64_t down = tiers_[1].get("Radix_Down");
    if (down != edges_ * bundle(1)) {
      return fail(tiers_[1], "Radix_Down",
                  fmt::format("Radix_Down: {} switches below with a Bundle of {} take {} ports", edges_, bundle(1),
                              edges_ * bundle(1)));
    }
    if (up % bundle(1) != 0)
      return fail(tiers_[0], "Radix_Up", fmt::format("Radix_Up: not a multiple of the Bundle of tier 1, {}", bundle(1)));
    aggs_ = up / bundle(1);
    if (top() == 2) {
      const std::int64_t core_down = tiers_[2].get("Radix_Down");
      if (core_down != pods_ * bundle(2)) {
        return fail(tiers_[2], "Radix_Down",
                    fmt::format("Radix_Down: {} pods with a Bundle of {} take {} ports", pods_, bundle(2), pods_ * bundle(2)));
      }
      if (tiers_[1].get("Radix_Up") % bundle(2) != 0)
        return fail(tiers_[1], "Radix_Up", fmt::format("Radix_Up: not a multiple of the Bundle of tier 2, {}", bundle(2)));
      agg_cores_ = tiers_[1].get("Radix_Up") / bundle(2);
    }
    for (std::size_t t = 0; t < top(); ++t) {
      const TopoSection& tier = tiers_[t];
      if (!tier.has("Oversubscribed")) continue;
      const std::int64_t below = tier.get("Radix_Down") * speed(t);
      const std::int64_t above = tier.get("Radix_Up") * speed(t + 1);
      if (below != above * tier.get("Oversubscribed")) {
        fail(tier, "Oversubscribed",
             fmt::format("Oversubscribed: {} Gb/s down and {} Gb/s up are {:.4g} to 1", below, above,
                         static_cast<double>(below) / static_cast<double>(above)));
      }
    }
  }

  void warn_of_queues() {
    for (std::size_t t = 0; t <= top(); ++t) {
      for (const std::string_view key : {"Queue_Down", "Queue_Up"}) {
        const auto found = tiers_[t].values.find(key);
        if (found == tiers_[t].values.end()) continue;
        warnings_.push_back(source_.at(found->second.offset,
                                       fmt::format("{} is left aside: state 'switch: {{queue_limit: ...}}'", key),
                                       static_cast<int>(found->second.length)));
        return;
      }
    }
  }

  [[nodiscard]] bool is_uniform() const {
    for (std::size_t t = 0; t <= top(); ++t) {
      for (const std::string_view key : {"Downlink_speed_Gbps", "Downlink_Latency_ns"})
        if (tiers_[t].get(key) != tiers_[0].get(key)) return false;
      if (bundle(t) != 1 || tiers_[t].get("Switch_Latency_ns", 0) != tiers_[0].get("Switch_Latency_ns", 0)) return false;
    }
    return true;
  }

  [[nodiscard]] std::string link_of(std::size_t tier) const {
    return fmt::format("type: ethernet, rate: {} Gb/s, latency: {} ns", speed(tier), tiers_[tier].get("Downlink_Latency_ns"));
  }

  [[nodiscard]] std::string cluster() const {
    std::string out =
        fmt::format("# From {}, a topology file of htsim: {} hosts, {} tiers.\n", name_, head_.get("Nodes"), top() + 1);
    out += fmt::format("name: {}\nnodes: {}\nnode: {{type: host}}\nfabric:\n", yaml_scalar(name_), head_.get("Nodes"));
    if (!is_uniform()) return out + custom();
    if (top() == 2) {
      out += fmt::format(
          "  type: fat_tree\n  pods: {}\n  edges_per_pod: {}\n  aggs_per_pod: {}\n  cores: {}\n  hosts_per_edge: {}\n", pods_,
          edges_, aggs_, aggs_ * agg_cores_, edge_hosts_);
    } else {
      out += fmt::format("  type: leaf_spine\n  leaf_ports: {}\n  spine_ports: {}\n  hosts_per_leaf: {}\n  spines: {}\n",
                         edge_hosts_ + aggs_, edges_, edge_hosts_, aggs_);
    }
    return out + fmt::format("  link: {{{}}}\n  switch: {{latency: {} ns, forwarding: store_and_forward}}\n", link_of(0),
                             tiers_[0].get("Switch_Latency_ns", 0));
  }

  // Cores are numbered by the position of their aggs in a pod.
  [[nodiscard]] std::string custom() const {
    constexpr std::array<std::string_view, 3> kNames{"edge", "agg", "core"};
    const std::array<std::int64_t, 3> counts{pods_ * edges_, pods_ * aggs_, aggs_ * agg_cores_};
    const auto range = [](std::string_view name, std::int64_t first, std::int64_t count) {
      return count == 1 ? fmt::format("{}{}", name, first) : fmt::format("{}{}..{}", name, first, first + count - 1);
    };
    std::string out = "  type: custom\n  switch: {forwarding: store_and_forward}\n  devices:\n";
    for (std::size_t t = 0; t <= top(); ++t) {
      out += fmt::format("    - {{name: {}, kind: switch, latency: {} ns}}\n", range(kNames[t], 0, counts[t]),
                         tiers_[t].get("Switch_Latency_ns", 0));
    }
    out += fmt::format("  links:\n    - {{between: [{}, {}], pairing: block, {}}}\n", range("h", 0, head_.get("Nodes")),
                       range("edge", 0, counts[0]), link_of(0));
    for (std::int64_t pod = 0; pod < pods_; ++pod) {
      out += fmt::format("    - {{between: [{}, {}], count: {}, {}}}\n", range("edge", pod * edges_, edges_),
                         range("agg", pod * aggs_, aggs_), bundle(1), link_of(1));
    }
    for (std::int64_t position = 0; top() == 2 && position < aggs_; ++position) {
      std::vector<std::string> aggs;
      for (std::int64_t pod = 0; pod < pods_; ++pod) aggs.push_back(fmt::format("agg{}", pod * aggs_ + position));
      out += fmt::format("    - {{between: [[{}], {}], count: {}, {}}}\n", fmt::join(aggs, ", "),
                         range("core", position * agg_cores_, agg_cores_), bundle(2), link_of(2));
    }
    return out;
  }

  const SourceText& source_;
  std::string name_;
  TopoSection head_;
  std::array<TopoSection, 3> tiers_;
  std::int64_t pod_hosts_ = 1;
  std::int64_t edge_hosts_ = 1;  // of an edge
  std::int64_t pods_ = 1;
  std::int64_t edges_ = 1;      // of a pod
  std::int64_t aggs_ = 1;       // of a pod
  std::int64_t agg_cores_ = 0;  // of an agg
  std::vector<Diagnostic> errors_;
  std::vector<Diagnostic> warnings_;
};

}  // namespace

bool is_htsim_topology(std::string_view text) {
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::vector<TopoWord> words = topo_words(text.substr(start, end - start), start);
    start = end + 1;
    if (words.empty()) continue;
    return words[0].text == "tier" ||
           std::ranges::any_of(kHeadKeys, [&](const TopoKey& key) { return lower_case(key.name) == words[0].text; });
  }
  return false;
}

HtsimTopology read_htsim_topology(std::string_view text, const std::string& file, const std::string& name) {
  const SourceText source{file, text};
  return TopoReader{source, name}.read();
}

}  // namespace weft::net
