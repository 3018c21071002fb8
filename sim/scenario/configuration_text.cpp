#include "sim/scenario/configuration_text.h"

#include <sstream>

#include "sim/core/json_writer.h"

namespace weft::scenario {
namespace {

void write_settings(JsonWriter& json, const coll::nccl::Settings& settings) {
  json.key("nccl").begin_object();
  for (const auto& [key, value] : settings.all()) json.field(key, value);
  json.end_object();
}

}  // namespace

ProfileStatement profile_statement(const net::Cluster& cluster) {
  ProfileStatement statement{.name = cluster.profile.name(), .file = {}, .stated_error = cluster.profile.stated_error()};
  if (const auto node = cluster.resolved.find("profile")) statement.file = node->file();
  return statement;
}

std::string sweep_configuration(const CollectiveSweep& sweep) {
  std::ostringstream text;
  JsonWriter json{text, 0};
  json.begin_object().key("cluster").raw(sweep.cluster.resolved.to_json());
  json.field("collective", coll::name_of(sweep.call)).field("root", sweep.call.root);
  json.field("element_bytes", sweep.call.element_size).field("integers", coll::is_of_integers(sweep.call));
  json.field("redop", redop_of(sweep.call));
  json.key("sizes_bytes").begin_array();
  for (const Bytes size : sweep.sizes) json.value(size.count());
  json.end_array();
  if (const coll::PairSizes* pairs = sweep.call.pairs.get(); pairs != nullptr) {
    json.key("sizes_by_pair").begin_array();
    for (Rank from = 0; from < pairs->ranks(); ++from) {
      for (Rank to = 0; to < pairs->ranks(); ++to) json.value(pairs->bytes(from, to));
    }
    json.end_array();
  }
  const Participants& who = sweep.participants;
  json.field("ranks", who.devices.size()).field("nodes", who.nodes).field("processes", who.processes);
  json.field("threads_per_process", who.threads).field("gpus_per_thread", who.gpus_per_thread);
  json.field("algorithm", sweep.options.algorithm).field("channels", sweep.options.channels);
  if (sweep.options.registered != coll::Registered::kNot) json.field("registered", static_cast<int>(sweep.options.registered));
  if (!sweep.options.engine.empty()) json.field("library", sweep.options.engine);
  write_settings(json, sweep.options.settings);
  json.field("fidelity", net::to_string(sweep.fidelity)).field("grain", coll::to_string(sweep.options.grain));
  json.field("shuffle_ties", sweep.shuffle_ties).end_object();
  json.finish();
  return text.str();
}

std::string run_configuration(const Scenario& scenario) {
  std::ostringstream text;
  JsonWriter json{text, 0};
  json.begin_object().key("scenario").raw(scenario.resolved.to_json());
  json.key("cluster").raw(scenario.cluster.resolved.to_json());
  write_settings(json, scenario.nccl);
  json.field("fidelity", net::to_string(scenario.simulation.fidelity))
      .field("grain", coll::to_string(scenario.simulation.grain));
  json.field("shuffle_ties", scenario.simulation.shuffle_ties).end_object();
  json.finish();
  return text.str();
}

}  // namespace weft::scenario
