// weft experts: DeepEP's dispatch and combine over a range of tokens a rank.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/option_checks.h"
#include "sim/apps/output.h"
#include "sim/apps/table.h"
#include "sim/collectives/expert_exchange.h"
#include "sim/core/config/nearest.h"
#include "sim/core/config/shipped_file.h"
#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/core/json_writer.h"
#include "sim/core/result_header.h"
#include "sim/core/version.h"
#include "sim/scenario/catalog.h"
#include "sim/scenario/collective_sweep.h"
#include "sim/scenario/configuration_text.h"

namespace weft::apps {
namespace {

struct ExpertOptions {
  CommonOptions common;
  std::string step;
  std::string cluster;
  std::string mode = "normal";
  std::string dispatch_type = "fp8";
  std::vector<std::int64_t> tokens{4096};
  int ranks = 0;
  coll::ExpertCall call;
};

int place_of(const char* option, const std::string& text, const std::vector<std::string>& choices) {
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i] == text) return static_cast<int>(i);
  }
  throw ConfigError(std::vector<Diagnostic>{{.where = {},
                                             .message = fmt::format("{}: unknown value '{}'", option, text),
                                             .source_line = {},
                                             .length = 1,
                                             .note = did_you_mean(text, choices, "choices")}});
}

// Decimal gigabytes a second: bytes over the time.
double rate_of(Bytes bytes, Duration time) { return static_cast<double>(bytes.count()) / time.seconds() / 1e9; }

void write_points(std::ostream& out, const ResultHeader& header, const std::vector<coll::ExpertResult>& results) {
  JsonWriter json{out};
  json.begin_object();
  write_header(json, header);
  json.key("points").begin_array();
  for (const coll::ExpertResult& point : results) {
    json.begin_object();
    json.field("tokens", point.call.tokens).field("hidden", point.call.hidden).field("topk", point.call.topk);
    json.field("experts", point.call.experts).field("sms", point.call.sms);
    json.field("skew", point.call.skew).field("heaviest_rank", point.heaviest);
    json.field("ranks_visited", point.ranks_visited).field("nodes_visited", point.nodes_visited);
    json.field("token_bytes", point.token_bytes.count()).field("nvlink_bytes", point.over_nvlink.count());
    json.field("network_bytes", point.over_network.count()).field("messages", point.messages);
    json.field("time_us", static_cast<double>(point.time.ps()) / 1e6);
    json.field("nvlink_GBps", rate_of(point.over_nvlink, point.time))
        .field("network_GBps", rate_of(point.over_network, point.time));
    json.end_object();
  }
  json.end_array().end_object();
  json.finish();
}

int run_experts(ExpertOptions& options) {
  coll::ExpertCall& call = options.call;
  call.step = static_cast<coll::ExpertStep>(place_of("STEP", options.step, {"dispatch", "combine"}));
  call.kernels = static_cast<coll::ExpertKernels>(place_of("--mode", options.mode, {"normal", "low_latency"}));
  call.fp8_dispatch = place_of("--dispatch-type", options.dispatch_type, {"fp8", "bf16"}) == 0;
  const scenario::Overrides overrides = to_overrides(options.common);
  if (!options.common.timeline.empty()) throw ConfigError("--timeline: a sweep over tokens has no one timeline");
  if (overrides.grain.value_or(coll::Grain::kChunk) != coll::Grain::kChunk && *overrides.grain != coll::Grain::kAuto)
    throw ConfigError("--grain: DeepEP's messages are simulated one by one: chunk");
  const Outputs outputs = outputs_of(options.common, "experts_" + options.step);
  Diagnostics diagnostics;
  const net::Cluster cluster = scenario::load_cluster(
      ConfigNode::load_file(file_or_shipped(options.cluster, "clusters"), "cluster"), overrides, diagnostics);
  print_warnings(diagnostics, options.common);
  std::vector<DeviceId> devices =
      scenario::participants(cluster.topology, {.nodes = static_cast<int>(cluster.topology.host_count())}).devices;
  if (options.ranks > static_cast<int>(devices.size()))
    throw ConfigError(fmt::format("--ranks: {} GPUs, but the cluster has {}", options.ranks, devices.size()));
  if (options.ranks > 0) devices.resize(static_cast<std::size_t>(options.ranks));

  net::Machine machine{cluster.topology, cluster.routing, overrides.seed.value_or(1), overrides.shuffle_ties.value_or(0)};
  coll::ExpertExchange exchange{machine, cluster.profile, std::move(devices)};
  const Report report{outputs};
  const std::string subject = fmt::format("{} ({})", options.step, options.mode);
  const Heading heading{"experts", subject, overrides.seed.value_or(1), coll::Grain::kChunk};
  report.print(heading_text(heading, cluster, options.common.verbose));
  report.print(fmt::format("# ranks {} on {} node{}; hidden {}, top {} of {} experts{}\n#\n", exchange.ranks(),
                           exchange.nodes(), exchange.nodes() == 1 ? "" : "s", call.hidden, call.topk, call.experts,
                           options.mode == "normal" ? fmt::format(", {} SMs", call.sms) : ""));
  Table table;
  for (const char* title :
       {"tokens", "ranks visited", "nodes", "heaviest", "NVLink B", "network B", "time us", "NVLink GB/s", "network GB/s"})
    table.add_column(title);
  std::vector<coll::ExpertResult> results;
  Digest digest;
  for (const std::int64_t tokens : options.tokens) {
    call.tokens = tokens;
    const coll::ExpertResult point = exchange.run(call);
    digest.add(point.digest).add(point.time);
    table.add_row({fmt::format("{}", tokens), fmt::format("{:.2f}", point.ranks_visited),
                   fmt::format("{:.2f}", point.nodes_visited), fmt::format("{:.2f}", point.heaviest),
                   fmt::format("{}", point.over_nvlink.count()), fmt::format("{}", point.over_network.count()),
                   fmt::format("{:.2f}", static_cast<double>(point.time.ps()) / 1e6),
                   fmt::format("{:.1f}", rate_of(point.over_nvlink, point.time)),
                   fmt::format("{:.1f}", rate_of(point.over_network, point.time))});
    results.push_back(point);
  }
  report.print(table.text());
  report.print(provenance_text(heading, options.common.verbose));
  report.print(fmt::format("# digest {}\n", digest_text(digest.value())));
  if (!outputs.json.empty()) {
    const ResultHeader header{.command = "experts",
                              .command_line = command_line(),
                              .seed = overrides.seed.value_or(1),
                              .configuration = cluster.resolved.to_json(),
                              .profiles = {scenario::profile_statement(cluster)},
                              .warnings = warning_texts(diagnostics),
                              .digest = digest.value()};
    write_file(outputs.json, [&](std::ostream& out) { write_points(out, header, results); });
  }
  return kOk;
}

}  // namespace

void add_experts(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("experts", "Predicts DeepEP's dispatch and combine of tokens among ranks of experts");
  const auto options = std::make_shared<ExpertOptions>();
  coll::ExpertCall& call = options->call;
  command->add_option("STEP", options->step, "dispatch, combine")->required();
  command->add_option("--cluster,-c", options->cluster, "Cluster file")->type_name("FILE")->required();
  command->add_option("--mode", options->mode, "Kernels: normal, low_latency")->type_name("NAME")->capture_default_str();
  command->add_option("--tokens", options->tokens, "Tokens of a rank, one or several: 128,4096")
      ->type_name("N,...")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--hidden", call.hidden, "Hidden size")->type_name("N")->capture_default_str();
  command->add_option("--topk", call.topk, "Experts that a token visits")->type_name("N")->capture_default_str();
  command->add_option("--experts", call.experts, "Experts of all ranks")->type_name("N")->capture_default_str();
  command->add_option("--node-limit", call.node_limit, "Nodes that a token visits at most (group-limited gating); 0: any")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--skew", call.skew, "Popularity of experts: the k-th is drawn in proportion to 1/k^S; 0: all alike")
      ->type_name("S")
      ->capture_default_str();
  command->add_option("--sms", call.sms, "SMs of normal kernels")->type_name("N")->capture_default_str();
  command->add_option("--dispatch-type", options->dispatch_type, "What is dispatched: fp8, bf16")
      ->type_name("TYPE")
      ->capture_default_str();
  command->add_option("--ranks", options->ranks, "GPUs that take part, the first of the cluster; absent: all")
      ->type_name("N")
      ->check(positive_number());
  add_common_options(*command, options->common);
  command->callback([options, &exit_code] { exit_code = run_experts(*options); });
}

}  // namespace weft::apps
