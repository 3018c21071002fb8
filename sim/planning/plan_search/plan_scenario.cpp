#include "sim/planning/plan_search/plan_scenario.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <system_error>

#include "sim/core/config/shipped_file.h"

namespace weft::plan {
namespace {

namespace fs = std::filesystem;

std::string_view grain_name(coll::Grain grain) {
  switch (grain) {
    case coll::Grain::kAuto:
      return "auto";
    case coll::Grain::kChunk:
      return "chunk";
    case coll::Grain::kFluid:
      return "fluid";
    case coll::Grain::kClosedForm:
      return "closed_form";
  }
  return "auto";
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// As seen from the folder that the scenario is written to.
std::string seen_from(const fs::path& file, const fs::path& written) {
  std::error_code error;
  if (!fs::exists(file, error)) return quoted(file.generic_string());
  const fs::path folder = fs::absolute(written).parent_path();
  const fs::path near = fs::proximate(fs::absolute(file), folder, error);
  return quoted((error ? fs::absolute(file) : near).generic_string());
}

std::string parallelism(const work::ParallelPlan& plan) {
  std::string text = fmt::format("tensor: {}, pipeline: {}, data: {}", plan.tensor, plan.pipeline, plan.data);
  if (plan.context > 1) text += fmt::format(", context: {}", plan.context);
  if (plan.expert > 1) text += fmt::format(", expert: {}", plan.expert);
  if (plan.expert_tensor > 0) text += fmt::format(", expert_tensor: {}", plan.expert_tensor);
  if (plan.zero == 0) {
    text += ", data_parallelism: megatron";
  } else {
    text += fmt::format(", zero: {}", plan.zero);
  }
  text += fmt::format(", sequence_parallel: {}", plan.sequence_parallel);
  if (plan.pipeline > 1) text += fmt::format(", schedule: {}", plan.schedule);
  if (plan.virtual_stages > 1) text += fmt::format(", virtual_stages: {}", plan.virtual_stages);
  if (plan.first_stage_layers >= 0) text += fmt::format(", first_stage_layers: {}", plan.first_stage_layers);
  if (plan.last_stage_layers >= 0) text += fmt::format(", last_stage_layers: {}", plan.last_stage_layers);
  if (plan.recompute != work::Recompute::kNone) text += fmt::format(", recompute: {}", to_string(plan.recompute));
  if (plan.overlap_expert) text += ", overlap_expert: true";
  if (!plan.rank_map.empty()) text += fmt::format(", rank_map: [{}]", fmt::join(plan.rank_map, ", "));
  return text;
}

}  // namespace

std::string plan_scenario(const PlanSpace& space, const PlanCandidate& candidate, const PlanFiles& files,
                          const scenario::Overrides& overrides, const scenario::SimulationOptions& simulation) {
  std::string text = "# The best plan that weft plan found.\n";
  text += fmt::format("cluster: {}\n", seen_from(file_or_shipped(files.cluster, "clusters"), files.written));
  std::string over;
  for (const auto& [path, value] : overrides.sets) over += fmt::format("  {}: {}\n", path, value);
  if (overrides.profile)
    over +=
        fmt::format("  profile: {}\n", quoted(fs::absolute(file_or_shipped(*overrides.profile, "profiles")).generic_string()));
  for (const auto& [key, value] : overrides.nccl) over += fmt::format("  nccl.{}: {}\n", key, value);
  if (!over.empty()) text += "overrides:\n" + over;
  const work::Batch& batch = space.setup.batch;
  text += fmt::format("workload:\n  model: {}\n  parallelism: {{{}}}\n",
                      seen_from(file_or_shipped(files.model, "models"), files.written),
                      parallelism(setup_of(space, candidate).plan));
  text += fmt::format("  batch: {{global: {}, micro: {}, sequence: {}}}\n", batch.global, candidate.micro, batch.sequence);
  text += fmt::format("simulation: {{grain: {}, seed: {}, iterations: {}, shuffle_ties: {}}}\n", grain_name(simulation.grain),
                      simulation.seed, simulation.iterations, simulation.shuffle_ties);
  return text;
}

}  // namespace weft::plan
