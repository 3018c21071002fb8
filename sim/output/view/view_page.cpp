#include "sim/output/view/view_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/core/config/node.h"
#include "sim/core/error.h"
#include "sim/core/used_files.h"
#include "sim/core/version.h"
#include "sim/output/view/view_assets.h"
#include "sim/scenario/scenario.h"

namespace weft::output {
namespace {

using ViewJson = nlohmann::ordered_json;

// More are drawn by nobody's eye.
constexpr std::size_t kMostDrawnDevices = 50'000;

// Results go far less deep. What is written again is written by recursion.
constexpr int kDeepest = 100;

// Counts levels of brackets, strings left out. A parser with a hook for each level takes the square of a list's length.
int nesting(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

std::string escaped_html(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

// Places of texts in a list of all, each once.
class TextList {
 public:
  std::size_t place_of(const std::string& text) {
    const auto [found, is_new] = places_.try_emplace(text, places_.size());
    if (is_new) texts_.push_back(text);
    return found->second;
  }
  [[nodiscard]] ViewJson take() { return std::move(texts_); }

 private:
  std::map<std::string, std::size_t> places_;
  ViewJson texts_ = ViewJson::array();
};

// One row of a timeline: spans of one thread of one process, by their start. Times are whole nanoseconds.
struct TrackSpans {
  std::string process;
  std::string thread;
  struct Span {
    std::int64_t start;
    std::int64_t duration;
    std::size_t name;
    std::size_t category;
  };
  std::vector<Span> spans;
};

std::int64_t nanoseconds(const ViewJson& event, const char* key) {
  const auto found = event.find(key);
  return found == event.end() || !found->is_number() ? 0 : std::llround(found->get<double>() * 1e3);
}

ViewJson compact_timeline(const std::string& file, const ViewJson& events) {
  TextList names;
  TextList categories;
  std::map<std::pair<std::int64_t, std::int64_t>, TrackSpans> tracks;
  std::map<std::int64_t, std::string> processes;
  for (const ViewJson& event : events) {
    if (!event.is_object()) continue;
    const std::string phase = event.value("ph", "");
    const std::pair key{event.value("pid", std::int64_t{0}), event.value("tid", std::int64_t{0})};
    if (phase == "M") {
      const std::string what = event.value("name", "");
      const std::string name = event.contains("args") ? event["args"].value("name", "") : "";
      if (what == "process_name") processes[key.first] = name;
      if (what == "thread_name") tracks[key].thread = name;
    } else if (phase == "X") {
      tracks[key].spans.push_back({nanoseconds(event, "ts"), nanoseconds(event, "dur"), names.place_of(event.value("name", "")),
                                   categories.place_of(event.value("cat", "other"))});
    }
  }
  ViewJson rows = ViewJson::array();
  for (auto& [key, track] : tracks) {
    if (track.spans.empty()) continue;
    std::ranges::stable_sort(track.spans, {}, &TrackSpans::Span::start);
    ViewJson starts = ViewJson::array();
    ViewJson durations = ViewJson::array();
    ViewJson of_names = ViewJson::array();
    ViewJson of_categories = ViewJson::array();
    for (const TrackSpans::Span& span : track.spans) {
      starts.push_back(span.start);
      durations.push_back(span.duration);
      of_names.push_back(span.name);
      of_categories.push_back(span.category);
    }
    const auto process = processes.find(key.first);
    rows.push_back({{"process", process == processes.end() ? fmt::format("{}", key.first) : process->second},
                    {"thread", track.thread.empty() ? fmt::format("{}", key.second) : track.thread},
                    {"rank", key.first},
                    {"t", std::move(starts)},
                    {"d", std::move(durations)},
                    {"n", std::move(of_names)},
                    {"c", std::move(of_categories)}});
  }
  return {{"file", file}, {"names", names.take()}, {"cats", categories.take()}, {"tracks", std::move(rows)}};
}

ViewJson topology_graph(const net::Cluster& cluster) {
  const net::Topology& topology = cluster.topology;
  TextList kinds;
  TextList types;
  ViewJson devices = ViewJson::array();
  for (std::size_t i = 0; i < topology.device_count(); ++i) {
    const DeviceId id = DeviceId::from_index(i);
    devices.push_back({topology.name(id), kinds.place_of(std::string{to_string(topology.kind(id))}), topology.host_of(id)});
  }
  ViewJson links = ViewJson::array();
  for (std::size_t i = 0; i < topology.link_count(); ++i) {
    const LinkId id = LinkId::from_index(i);
    const net::Link& link = topology.link(id);
    if (link.twin < id) continue;  // one line a cable
    const net::LinkSpec& spec = topology.spec(id);
    links.push_back({link.from.index(), link.to.index(), 1e3 * spec.capacity(), types.place_of(spec.type), topology.name(id),
                     topology.name(link.twin)});
  }
  return {{"name", cluster.name},
          {"kinds", kinds.take()},
          {"types", types.take()},
          {"devices", std::move(devices)},
          {"links", std::move(links)}};
}

class ViewData {
 public:
  explicit ViewData(const std::string& title) {
    data_ = {{"title", title},
             {"results", ViewJson::array()},
             {"timelines", ViewJson::array()},
             {"topologies", ViewJson::array()},
             {"notes", ViewJson::array()}};
  }

  void add(const std::filesystem::path& path) {
    const std::string file = path.filename().string();
    std::ifstream in = open_input(path);
    if (!in) throw ConfigError(fmt::format("cannot read '{}'", path.string()));
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    if (nesting(text) > kDeepest) refuse(path);
    ViewJson json = ViewJson::parse(text, nullptr, false);
    const bool is_timeline = json.is_array() || (json.is_object() && json.contains("traceEvents"));
    try {
      if (is_timeline) {
        data_["timelines"].push_back(compact_timeline(file, json.is_array() ? json : json["traceEvents"]));
      } else if (json.is_object() && json.contains("command") && json.contains("digest")) {
        add_result(file, std::move(json));
      } else {
        refuse(path);
      }
    } catch (const ViewJson::exception&) {
      refuse(path);
    }
  }

  // As it may stand in a script of a page.
  [[nodiscard]] std::string text() const {
    std::string safe;
    for (const char c : data_.dump(-1, ' ', false, ViewJson::error_handler_t::replace)) {
      if (c == '<') {
        safe += "\\u003c";
      } else {
        safe += c;
      }
    }
    return safe;
  }

 private:
  [[noreturn]] static void refuse(const std::filesystem::path& path) {
    throw ConfigError(fmt::format(
        "'{0}' is neither a result of weft nor a timeline: run a command with --json {0}, or --timeline {0}", path.string()));
  }

  void add_result(const std::string& file, ViewJson json) {
    const ViewJson configuration = json.value("configuration", ViewJson::object());
    json.erase("configuration");
    json["file"] = file;
    const bool has_cluster = configuration.is_object() && configuration.contains("cluster");
    const ViewJson& cluster = has_cluster ? configuration["cluster"] : configuration;
    if (cluster.is_object() && (cluster.contains("node") || cluster.contains("fabric")))
      json["topology"] = topology_of(cluster);
    data_["results"].push_back(std::move(json));
  }

  // The place of its graph; null where it cannot be drawn, which a note tells.
  ViewJson topology_of(const ViewJson& cluster) {
    const std::string text = cluster.dump();
    const auto [known, is_new] = topologies_.try_emplace(text, data_["topologies"].size());
    if (!is_new) return known->second;
    try {
      Diagnostics diagnostics;
      const net::Cluster built = scenario::load_cluster(ConfigNode::parse(text, "configuration", "cluster"), {}, diagnostics);
      diagnostics.throw_if_any();
      if (built.topology.device_count() <= kMostDrawnDevices) {
        data_["topologies"].push_back(topology_graph(built));
        return known->second;
      }
      note(fmt::format("The topology of '{}' is not drawn: it has {} devices.", built.name, built.topology.device_count()));
    } catch (const ConfigError& error) {
      note(fmt::format("A topology is not drawn, as its cluster does not load by itself: {}", error.what()));
    }
    known->second = nullptr;
    return nullptr;
  }

  void note(std::string text) { data_["notes"].push_back(std::move(text)); }

  ViewJson data_;
  std::map<std::string, ViewJson> topologies_;
};

}  // namespace

std::string view_page(const std::vector<std::filesystem::path>& files, const std::string& title) {
  const std::string heading = !title.empty() ? title : files.size() == 1 ? files.front().stem().string() : "Results";
  ViewData data{heading};
  for (const std::filesystem::path& file : files) data.add(file);
  // No request leaves the page: the policy refuses all.
  return fmt::format(
      R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{0}</title>
<style>
{1}
{2}</style></head>
<body><h1>{0}</h1><p class="hint">weft {3} ({4})</p><nav></nav><main id="app"></main>
<script id="data" type="application/json">{5}</script>
<!-- uPlot, drawn with here:
{6}-->
<script>
{7}
</script>
<script>
{8}</script></body></html>
)",
      escaped_html(heading), kPlotStyle, kViewStyle, version(), commit(), data.text(), kPlotLicence, kPlotScript, kViewScript);
}

}  // namespace weft::output
