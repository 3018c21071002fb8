#include "sim/scenario/idle_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace weft::scenario {
namespace {

struct Warner {
  const ConfigNode& section;
  Diagnostics& diagnostics;

  void operator()(std::initializer_list<std::string_view> keys, std::string_view why, const std::string& note) const {
    for (const std::string_view key : keys) {
      const std::optional<ConfigNode> stated = section.find(key);
      if (stated) diagnostics.warning(stated->key_diagnostic(fmt::format("{}: has no effect {}", stated->path(), why), note));
    }
  }
};

// Queue pairs of a scenario: the fabric's, and those that state some of their own.
struct QueuePairs {
  std::vector<const net::TransportSettings*> settings;
  std::vector<const net::CongestionFactory*> controls;
  bool any_window = false;
};

QueuePairs queue_pairs(const net::TransportSettings& fabric, const work::Workload& workload) {
  QueuePairs all;
  all.settings.push_back(&fabric);
  all.controls.push_back(fabric.congestion.get());
  all.any_window = fabric.window.has_value();
  const auto add = [&](const net::FlowTransport& own) {
    if (own.settings != nullptr) all.settings.push_back(own.settings.get());
    if (own.congestion != nullptr) all.controls.push_back(own.congestion.get());
    all.any_window |= own.window.has_value();
  };
  for (const work::FlowOptions& options : workload.options) add(options.transport);
  for (const work::JobItem& job : workload.jobs) add(job.transport);
  std::erase(all.controls, nullptr);
  return all;
}

void check_transport(const ConfigNode& section, const QueuePairs& all, Diagnostics& diagnostics) {
  const Warner warn{section, diagnostics};
  const auto acknowledges = [](const net::TransportSettings* how) { return how->acks != net::AckMode::kNone; };
  const auto repeats = [&](const net::TransportSettings* how) {
    return acknowledges(how) && how->reliability != net::Reliability::kNone;
  };
  if (std::ranges::none_of(all.settings, acknowledges)) {
    warn({"timeout", "retries", "nak_interval", "ack_size", "ack_every", "ack_priority"}, "where nothing is acknowledged",
         "reliability: go_back_n, or acks: packets");
  } else if (std::ranges::none_of(all.settings, repeats)) {
    warn({"timeout", "retries", "nak_interval"}, "where nothing is sent again", "reliability: go_back_n");
  }
  const std::optional<ConfigNode> acks = section.find("acks");
  if (acks && acks->is_scalar() && acks->scalar() == "free" && std::ranges::none_of(all.settings, repeats) && !all.any_window &&
      all.controls.empty())
    warn({"acks"}, "where no window, no reliability and no congestion control waits for acknowledgements",
         "acks: packets take room on the links");
  const auto heeds = [](const net::CongestionFactory* control) { return control->needs().cnps; };
  const std::optional<ConfigNode> cnps = section.find("cnps");
  const bool are_none = cnps && cnps->is_scalar() && cnps->scalar() == "none";
  if (std::ranges::none_of(all.controls, heeds) && !are_none)
    warn({"cnps", "cnp_size", "cnp_interval"}, "where no congestion control heeds notifications", "congestion_control: dcqcn");
}

// Whether the key stands anywhere below.
bool states(const ConfigNode& node, std::string_view key) {
  if (node.is_list()) {
    for (std::size_t i = 0; i < node.size(); ++i) {
      if (states(node[i], key)) return true;
    }
  }
  if (!node.is_map()) return false;
  return node.find(key) || std::ranges::any_of(node.keys(), [&](const std::string& name) {
           return name != "collectives" && states(*node.find(name), key);
         });
}

bool has_credits(const net::Cluster& cluster) {
  if (cluster.packet.credits.enabled) return true;
  const net::Topology& topology = cluster.topology;
  for (std::size_t i = 0; i < topology.link_count(); ++i) {
    const LinkId link = LinkId::from_index(i);
    if (topology.host_of(topology.link(link).from) < 0 && topology.spec(link).type == "infiniband") return true;
  }
  return false;
}

void check_marks(const ConfigNode& fabric, const net::Cluster& cluster, Diagnostics& diagnostics) {
  const std::optional<net::FecnSettings>& marks = cluster.packet.ecn.fecn;
  const std::optional<ConfigNode> section = fabric.find("fecn");
  if (!section || !marks || marks->threshold || marks->weight == 0 || has_credits(cluster)) return;
  const ConfigNode place = section->is_map() ? section->find("threshold").value_or(*section) : *section;
  diagnostics.warning(place.key_diagnostic(
      fmt::format("{}: a weight is a part of what a receiver's credits stand for, and links of this fabric have none: nothing "
                  "is marked",
                  place.path()),
      "a size such as 20 kB, or the section credits"));
}

}  // namespace

void warn_of_idle_keys(const net::Cluster& cluster, const ConfigNode& written, const work::Workload& workload, bool is_packet,
                       Diagnostics& diagnostics) {
  const std::optional<ConfigNode> fabric = cluster.resolved.find("fabric");
  if (!fabric || !fabric->is_map()) return;
  const bool is_program = workload.training || !workload.training_jobs.empty() || workload.inference;
  // A cluster of its own file is there for other scenarios too.
  const bool is_own = fabric->file() == written.file();
  const std::optional<ConfigNode> sharp = fabric->find("sharp");
  if (sharp && is_own && !is_program && workload.collectives.empty())
    diagnostics.warning(
        sharp->key_diagnostic(fmt::format("{}: has no effect without collectives, which switches add up for", sharp->path())));
  if (!is_packet) return;
  const std::optional<ConfigNode> transport = fabric->find("transport");
  if (transport && transport->is_map())
    check_transport(*transport, queue_pairs(cluster.packet.transport, workload), diagnostics);
  check_marks(*fabric, cluster, diagnostics);
  const std::optional<ConfigNode> levels = fabric->find("service_levels");
  if (levels && is_own && !states(written, "service_level"))
    diagnostics.warning(levels->key_diagnostic(fmt::format("{}: has no effect: nothing states a service level", levels->path()),
                                               "service_level: 1, in place of a flow's priority"));
}

}  // namespace weft::scenario
