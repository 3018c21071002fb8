// A sweep: one scenario, and the values that some of its keys take in turn.
//
//   kind: sweep
//   scenario: ../scenarios/all_reduce.yaml              # or inline; any scenario that `weft run` takes
//   set: {simulation.seed: 3}                           # over the scenario, for every point
//   grid:                                               # every combination
//     workload.parallelism.tensor: [1, 2, 4, 8]
//     cluster.fabric.link.rate: {from: 100 Gb/s, to: 800 Gb/s, scale: log2}      # axis_range.h
//   list:                                               # one point of values each
//     - {workload.batch.micro: 1, workload.parallelism.recompute: full}
//   latin_hypercube: {count: 20, seed: 1, axes: {...}}  # draws, each axis cut into `count` equally likely parts, one from each
//   random: {count: 20, seed: 1, axes: {...}}           # independent draws
//   derive: {workload.parallelism.data: 64 / tensor}    # values that follow from others (expression.h)
//   where: [tensor * data == 64]                        # constraints; points that miss one are left out
//   metrics: [iteration_time_ns, mfu]                   # absent: all of the workload's kind (metrics.h)
//   objective: {minimize: iteration_time_ns}
//
// Key paths are those of `--set`, from the top of the scenario. The sections are crossed with each other: each combination of
// the grid with each item of the list and each draw. Points are numbered from 0 in that order, the last axis fastest, after the
// constraints have left theirs out.
//
// Reading a sweep is cheap but for its points, and gives the same sweep each time: every thread reads its own, so that none
// shares a counter of references with another.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/config/node.h"
#include "sim/core/config/params.h"
#include "sim/planning/sweep/expression.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/scenario_layers.h"

namespace weft::plan {

inline constexpr std::uint64_t kMaxSweepPoints = 1'000'000;  // before the constraints

// One value of an axis. Written ones know where they stand, so that a path in them starts from there; others are text alone.
struct AxisValue {
  std::string yaml;
  std::optional<ConfigNode> node = {};
  SweepValue value = {};
};

struct SweepAxis {
  std::string path;
  ConfigNode node;                                    // what states it
  std::size_t section = 0;                            // whose turn decides the value
  std::vector<std::optional<AxisValue>> values = {};  // by turn; none where an item of a list leaves it as it is
  std::optional<Expression> derived = {};             // in place of values
  std::optional<SweepValue> unset = {};               // what expressions see where it is left as it is
};

struct SweepObjective {
  std::string metric;
  bool maximize = false;
};

class Sweep {
 public:
  // ConfigError with what is wrong. `overrides`: what the command line says over the scenario.
  Sweep(const std::filesystem::path& file, scenario::Overrides overrides);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& scenario_name() const { return scenario_name_; }
  [[nodiscard]] const ConfigNode& node() const { return root_; }
  [[nodiscard]] const ConfigNode& scenario() const { return base_; }
  [[nodiscard]] const scenario::Overrides& overrides() const { return overrides_; }
  [[nodiscard]] const std::vector<SweepAxis>& axes() const { return axes_; }
  [[nodiscard]] const std::vector<std::string>& metrics() const { return metrics_; }  // as stated; may be empty
  [[nodiscard]] const std::optional<SweepObjective>& objective() const { return objective_; }
  [[nodiscard]] std::uint64_t combinations() const { return combinations_; }

  // The combinations that meet every constraint, ascending: the point's id is the place here. ConfigError where there is none.
  [[nodiscard]] std::vector<std::uint64_t> points() const;
  // By axis; none where the point leaves the scenario's own value.
  [[nodiscard]] std::vector<std::optional<AxisValue>> values(std::uint64_t combination) const;
  // The scenario with a point's values in place.
  [[nodiscard]] ConfigNode scenario_of(const std::vector<std::optional<AxisValue>>& values) const;

  // Covers the sweep, its scenario and every file of ours that these name. Two databases hold the same thing only if it is
  // equal.
  [[nodiscard]] std::uint64_t digest() const;

 private:
  // A name in an expression stands for an axis or for a value of the scenario.
  struct Binding {
    std::optional<std::size_t> axis;
    SweepValue constant;
    std::string of_cluster;  // a key path that each cluster of the axis has its own value of
  };
  struct Constraint {
    Expression expression;
    std::vector<Binding> bindings;
  };

  struct Draws {
    std::string_view key;
    std::int64_t count;
    std::uint64_t seed;
    bool latin;
  };

  // Each tells every error of its section; `knows_axes`: there was none before, so that names can be looked up.
  void read_base(ParamReader& reader, Diagnostics& diagnostics);
  void read_grid(ParamReader& reader, Diagnostics& diagnostics);
  void read_list(ParamReader& reader, Diagnostics& diagnostics);
  void read_draws(ParamReader& reader, std::string_view key, bool latin, Diagnostics& diagnostics);
  void read_derived(ParamReader& reader, bool knows_axes, Diagnostics& diagnostics);
  void read_where(ParamReader& reader, bool knows_axes, Diagnostics& diagnostics);
  void read_metrics(ParamReader& reader, Diagnostics& diagnostics);
  void read_objective(ParamReader& reader, Diagnostics& diagnostics);
  void check_axes(Diagnostics& diagnostics) const;
  // These throw their first error.
  void read_grid_axis(const std::string& path, const ConfigNode& node);
  void read_points(const ConfigNode& list);
  void draw(const ConfigNode& section, const ConfigNode& axes, const Draws& draws);
  SweepAxis& add_axis(const std::string& path, const ConfigNode& node, std::size_t section);
  std::size_t add_section(std::uint64_t turns, const ConfigNode& node);
  [[nodiscard]] std::vector<Binding> bind(const Expression& expression, const ConfigNode& node) const;
  [[nodiscard]] SweepValue evaluate(const Expression& expression, const std::vector<Binding>& bindings,
                                    const std::vector<std::optional<AxisValue>>& values) const;
  [[nodiscard]] ConfigNode on_its_cluster(const std::vector<std::optional<AxisValue>>& values) const;
  [[nodiscard]] scenario::ScenarioChange change_at(std::size_t which, const AxisValue& value) const;
  [[nodiscard]] std::optional<SweepValue> value_at(const std::string& path,
                                                   const std::vector<std::optional<AxisValue>>& values) const;
  [[nodiscard]] std::vector<SweepValue> bound(const std::vector<Binding>& bindings,
                                              const std::vector<std::optional<AxisValue>>& values) const;

  std::string name_;
  std::string scenario_name_;
  ConfigNode root_;
  ConfigNode stated_;                          // the scenario as its file has it
  std::vector<scenario::ScenarioChange> set_;  // over it at every point
  ConfigNode base_;                            // the two together
  scenario::Overrides overrides_;
  std::vector<SweepAxis> axes_;
  std::vector<std::vector<Binding>> derived_bindings_;  // by axis
  std::vector<std::uint64_t> sections_;                 // turns of each
  std::vector<Constraint> constraints_;
  std::vector<std::string> metrics_;
  std::optional<SweepObjective> objective_;
  std::uint64_t combinations_ = 1;
};

}  // namespace weft::plan
