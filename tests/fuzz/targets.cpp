#include "tests/fuzz/targets.h"

#include <sqlite3.h>

#include <array>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/collectives/msccl/algorithm.h"
#include "sim/collectives/nccl/graph_xml.h"
#include "sim/core/config/json.h"
#include "sim/core/config/node.h"
#include "sim/core/profile.h"
#include "sim/core/result_header.h"
#include "sim/core/version.h"
#include "sim/measured/readers/kernel_log.h"
#include "sim/measured/readers/measurement_set.h"
#include "sim/network/cluster.h"
#include "sim/network/import/nccl_xml.h"
#include "sim/network/import/source_text.h"
#include "sim/output/check_file.h"
#include "sim/output/explain/explain_channels.h"
#include "sim/output/report/document.h"
#include "sim/output/report/result_report.h"
#include "sim/planning/sweep/database.h"
#include "sim/planning/sweep/export.h"
#include "sim/planning/sweep/point_run.h"
#include "sim/planning/sweep/sweep.h"
#include "sim/scenario/import_topology.h"
#include "sim/scenario/scenario.h"
#include "sim/workloads/flow_file.h"

namespace weft::fuzz {
namespace {

namespace fs = std::filesystem;

// Options of the command line describe what the file of a machine leaves open.
const scenario::TopologyHints kHints{.gpu = "h200", .cpu = "sapphire_rapids", .nic_rate = "400 Gb/s", .nvlinks = 18};

void must_be_equal(const std::string& written, const std::string& read_again) {
  if (written != read_again) throw std::logic_error{"what was written reads back as another tree:\n" + written};
}

void read_json(const fs::path& input) {
  const std::string written = parse_json(net::read_text_file(input.string()), "input").to_json();
  must_be_equal(written, parse_json(written, "written").to_json());
}

void read_yaml(const fs::path& input) {
  const ConfigNode tree = ConfigNode::load_file(input);
  const std::string written = tree.to_yaml();
  if (written.size() > 1'000'000) return;  // aliases repeated: under sanitizers half a minute to read again
  must_be_equal(written, ConfigNode::parse(written, "written").to_yaml());
  static_cast<void>(parse_json(tree.to_json(), "written"));
}

// As `weft check` reads it: nothing is run.
void read_configuration(const fs::path& input) { static_cast<void>(output::check_file(input)); }

void import_with(const fs::path& input, const scenario::TopologyHints& hints) {
  const Profile profile = Profile::defaults(scenario::all_param_groups());
  static_cast<void>(
      scenario::cluster_text(scenario::import_topology(input.string(), hints, profile), input.string(), hints, profile));
}

void read_topology(const fs::path& input) { import_with(input, {}); }

void read_cloud_topology(const fs::path& input) { import_with(input, kHints); }

void read_channels(const fs::path& input) {
  Diagnostics diagnostics;
  static_cast<void>(
      output::channels_graph_xml(output::explain_channels_of_xml(input.string(), {.hints = kHints}, diagnostics)));
}

// Channels of a machine of two GPUs.
void read_graph(const fs::path& input) {
  static const coll::nccl::System system{parse_xml(net::SourceText{"machine.xml", R"(<system version="1">
  <cpu numaid="0" affinity="ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:01:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="90" rank="0" gdr="1"><nvlink target="0000:02:00.0" count="18" tclass="0x030200"/></gpu>
    </pci>
    <pci busid="0000:02:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
      <gpu dev="1" sm="90" rank="1" gdr="1"><nvlink target="0000:01:00.0" count="18" tclass="0x030200"/></gpu>
    </pci>
  </cpu>
</system>
)"}),
                                         {}};
  static_cast<void>(coll::nccl::read_graph_xml(net::read_text_file(input.string()), "input", system));
}

void read_msccl(const fs::path& input) { static_cast<void>(coll::msccl_algorithm(input.string())); }

void read_result(const fs::path& input) {
  const output::Document document = output::result_report({input}, "");
  static_cast<void>(output::to_html(document));
  static_cast<void>(output::to_markdown(document));
}

void read_measured(const fs::path& input) { static_cast<void>(measured::read_measurements({input.string()})); }

void read_kernels(const fs::path& input) {
  if (measured::is_kernel_log(input.string())) static_cast<void>(measured::read_kernel_log(input.string()));
}

constexpr std::string_view kTwoHosts = R"({nodes: 2, node: {type: host},
 fabric: {type: single_switch, link: {type: ethernet, rate: 100 Gb/s}}})";

void read_flows(const fs::path& input) {
  Diagnostics diagnostics;
  static const net::Cluster cluster = [] {
    Diagnostics none;
    return scenario::load_cluster(ConfigNode::parse(kTwoHosts, "cluster.yaml"), {}, none);
  }();
  work::Workload workload;
  read_flow_file(input, cluster.topology, diagnostics, workload);
  diagnostics.throw_if_any();
}

// As if this build had written it: a database of another one is refused before its tables are read.
void stamp(const fs::path& input, const plan::SweepPlan& plan) {
  sqlite3* database = nullptr;
  if (sqlite3_open_v2(input.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK) {
    const std::string set = "UPDATE meta SET value = '";
    const std::string sql = set + std::string{version()} + "' WHERE key = 'weft_version';" + set + std::string{commit()} +
                            "' WHERE key = 'weft_commit';" + set + digest_text(plan.digest) + "' WHERE key = 'sweep_digest'";
    sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr);  // where it is too damaged for that, it stays as it is
  }
  sqlite3_close(database);
}

void read_sweep_database(const fs::path& input) {
  struct Asked {
    explicit Asked(const fs::path& folder) {
      std::ofstream{folder / "sweep.yaml"} << "scenario: {cluster: " << kTwoHosts
                                           << ", workload: {flows: [{from: h0, to: h1, bytes: 1 MB}]}}\n"
                                              "grid: {simulation.seed: [1, 2, 3]}\nmetrics: [makespan_ns]\n";
      sweep.emplace(folder / "sweep.yaml", scenario::Overrides{});
      plan = plan::check_sweep(*sweep);
    }
    std::optional<plan::Sweep> sweep;
    plan::SweepPlan plan;
  };
  static const Asked asked{input.parent_path()};
  for (const char* beside : {"-wal", "-shm", "-journal"}) fs::remove(input.string() + beside);
  stamp(input, asked.plan);
  using Open = plan::SweepDatabase::Open;
  {
    const plan::SweepDatabase database{input, *asked.sweep, asked.plan, Open::kRead};
    std::ostringstream out;
    plan::write_sweep_csv(out, asked.plan, database);
    plan::write_sweep_json(out, {}, asked.plan, database);
  }
  plan::SweepDatabase database{input, *asked.sweep, asked.plan, Open::kExisting};
  const std::vector<bool> finished = database.finished();
  for (std::uint64_t id = 0; id < finished.size(); ++id) {
    if (finished[id]) continue;
    database.add({{.id = id, .axes = {std::int64_t{1}}, .configuration = "{}", .digest = "0", .metrics = {1.0}, .error = {}}});
  }
}

constexpr std::array kTargets{
    Target{"book", "input.yaml", read_configuration},
    Target{"channels", "input.xml", read_channels},
    Target{"cloud_topology", "input.xml", read_cloud_topology},
    Target{"cluster", "input.yaml", read_configuration},
    Target{"flow_file", "input.txt", read_flows},
    Target{"gpu", "input.yaml", read_configuration},
    Target{"json", "input.json", read_json},
    Target{"kernel_log", "input.jsonl", read_kernels},
    Target{"measured_json", "input.json", read_measured},
    Target{"measured_lines", "input.jsonl", read_measured},
    Target{"measured_text", "input.txt", read_measured},
    Target{"model", "input.yaml", read_configuration},
    Target{"model_config", "config.json", read_configuration},
    Target{"msccl", "input.xml", read_msccl},
    Target{"nccl_graph", "input.xml", read_graph},
    Target{"node", "input.yaml", read_configuration},
    Target{"profile", "input.yaml", read_configuration},
    Target{"result", "input.json", read_result},
    Target{"scenario", "input.yaml", read_configuration},
    Target{"sweep", "input.yaml", read_configuration},
    Target{"sweep_database", "input.sqlite", read_sweep_database},
    Target{"topology", "input.xml", read_topology},
    Target{"yaml", "input.yaml", read_yaml},
};

}  // namespace

std::span<const Target> targets() { return kTargets; }

}  // namespace weft::fuzz
