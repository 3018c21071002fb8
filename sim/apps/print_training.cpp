#include "sim/apps/print_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "sim/apps/table.h"
#include "sim/workloads/model/parameters.h"

namespace weft::apps {
namespace {

std::string plan_text(const work::ParallelPlan& plan) {
  std::string text;
  const auto add = [&](std::string_view name, int size) {
    if (size > 1) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, size);
  };
  add("tensor", plan.tensor);
  add("context", plan.context);
  add("pipeline", plan.pipeline);
  add("data", plan.data);
  add("expert", plan.expert);
  if (plan.pipeline > 1) text += fmt::format(", {}", plan.schedule);
  if (plan.virtual_stages > 1) text += fmt::format(" x {}", plan.virtual_stages);
  if (plan.zero > 0) text += fmt::format(", ZeRO-{}", plan.zero);
  return text.empty() ? "one GPU" : text;
}

std::string ms(Duration duration) { return fmt::format("{:.2f}", duration.us() / 1e3); }

void print_breakdown(const Report& report, const scenario::TrainingResult& result) {
  report.print("#\n# where an iteration goes, mean over GPUs\n");
  Table table;
  table.add_column("what", Table::Align::kLeft);
  for (const char* title : {"busy (ms)", "exposed (ms)", "share"}) table.add_column(title);
  const double step = std::max(1e-12, result.iteration.seconds());
  const auto share = [&](Duration duration) { return fmt::format("{:.1f} %", 100 * duration.seconds() / step); };
  const work::RankTimes& mean = result.mean;
  for (std::size_t c = 0; c < work::kCategories; ++c) {
    const auto category = static_cast<work::Category>(c);
    if (mean.busy[c] == Duration{}) continue;
    const bool is_compute = work::is_compute(category);
    const Duration counted = is_compute ? mean.busy[c] : mean.exposed[c];
    table.add_row(
        {std::string{work::to_string(category)}, ms(mean.busy[c]), is_compute ? "" : ms(mean.exposed[c]), share(counted)});
  }
  for (const auto& [name, duration] :
       {std::pair{"pipeline bubble", mean.bubble}, std::pair{"waiting for slower ranks", mean.skew},
        std::pair{"idle (launches, gaps)", mean.idle}}) {
    if (duration > Duration{}) table.add_row({name, "", ms(duration), share(duration)});
  }
  report.print(table.text());
}

// Kernels wait for their launch for a fifth of the step or more.
bool is_paced_by_host(const scenario::TrainingResult& result) {
  constexpr double kShare = 0.2;
  const Duration host = result.mean.busy[static_cast<std::size_t>(work::Category::kHost)];
  return host > Duration{} && result.mean.idle.seconds() > kShare * result.iteration.seconds();
}

void print_ranks(const Report& report, const scenario::TrainingResult& result) {
  if (result.ranks.size() < 2) return;
  report.print(fmt::format("#\n# ranks{}\n", result.ranks.size() > kRanksShown ? ", the first ones" : ""));
  Table table;
  for (const char* title :
       {"rank", "stands for", "compute (ms)", "exposed comm (ms)", "bubble (ms)", "skew (ms)", "peak (GB)"}) {
    table.add_column(title);
  }
  for (std::size_t i = 0; i < std::min(result.ranks.size(), kRanksShown); ++i) {
    const scenario::RankReport& rank = result.ranks[i];
    Duration exposed;
    for (const Duration each : rank.times.exposed) exposed += each;
    table.add_row({std::to_string(rank.rank), std::to_string(rank.stands_for), ms(rank.times.compute), ms(exposed),
                   ms(rank.times.bubble), ms(rank.times.skew), fmt::format("{:.2f}", rank.peak_bytes / 1e9)});
  }
  report.print(table.text());
}

}  // namespace

std::string critical_path_text(const std::array<Duration, work::kCategories>& critical, int decimals) {
  std::vector<std::pair<Duration, std::size_t>> parts;
  for (std::size_t c = 0; c < work::kCategories; ++c) {
    if (critical[c] > Duration{}) parts.emplace_back(critical[c], c);
  }
  std::ranges::sort(parts,
                    [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  std::string text;
  for (const auto& [duration, c] : parts) {
    text += fmt::format("{}{} {:.{}f} ms", text.empty() ? "" : ", ", work::to_string(static_cast<work::Category>(c)),
                        duration.us() / 1e3, decimals);
  }
  return text;
}

std::string iterations_line(const work::ReplayResult& replay) {
  const std::size_t run = replay.iterations.size() - static_cast<std::size_t>(replay.skipped);
  return fmt::format("# iterations {}: {} simulated, {} skipped{}\n", replay.iterations.size(), run, replay.skipped,
                     replay.skipped > 0 ? " as exact repetitions" : "");
}

namespace {

// Says what ran: model, plan and batch.
void print_setup(const Report& report, const work::TrainingSetup& setup, const scenario::TrainingResult& result) {
  const double total = static_cast<double>(work::total_parameters(setup.model));
  const double active = static_cast<double>(work::active_parameters(setup.model));
  report.print(fmt::format("# {}: {:.2f} B parameters{}; {}; {} GPUs, {} simulated\n",
                           setup.model.name.empty() ? "model" : setup.model.name, total / 1e9,
                           active < total ? fmt::format(" ({:.2f} B active)", active / 1e9) : "", plan_text(setup.plan),
                           result.gpus, result.leaders));
  report.print(fmt::format("# batch {} x {} tokens, micro {}, {} microbatches, {}{}\n", setup.batch.global,
                           setup.batch.sequence, setup.batch.micro, setup.batch.microbatches(setup.plan), setup.framework,
                           setup.attention == work::AttentionKernels::kFlash2 ? ", attention flash2" : ""));
  if (!result.run.replay.iterations.empty()) report.print(iterations_line(result.run.replay));
}

}  // namespace

void print_training(const Report& report, const work::TrainingSetup& setup, const scenario::TrainingResult& result) {
  if (result.run.replay.iterations.empty()) return print_setup(report, setup, result);
  const double gpus = static_cast<double>(result.gpus);
  report.print("#\n");
  report.print(fmt::format("iteration   {:.3f} ms\n", result.iteration.us() / 1e3));
  report.print(
      fmt::format("tokens/s    {:.0f}  ({:.0f} per GPU)\n", result.tokens_per_second, result.tokens_per_second / gpus));
  report.print(fmt::format("MFU         {:.1f} %  ({:.0f} TFLOP/s per GPU, {}; peak {})\n", 100 * result.mfu,
                           result.model_tflops_per_gpu, result.convention, result.peak_name));
  report.print(fmt::format("HFU         {:.1f} %\n", 100 * result.hfu));
  const scenario::MemoryParts& memory = result.memory;
  report.print(fmt::format(
      "memory      {:.2f} of {:.0f} GB  (rank {}: parameters {:.2f}, gradients {:.2f}, optimizer {:.2f}, activations {:.2f})\n",
      memory.total() / 1e9, memory.capacity / 1e9, memory.rank, memory.parameters / 1e9, memory.gradients / 1e9,
      memory.optimizer / 1e9, memory.activations / 1e9));
  if (memory.reserved > 0) {
    report.print(fmt::format("reserved    {:.2f} GB  (by PyTorch's allocator, which keeps what each stream once held)\n",
                             memory.reserved / 1e9));
  }
  if (result.recomputed_layers) {
    report.print(*result.recomputed_layers == 0
                     ? "recomputed  nothing: it fits without\n"
                     : fmt::format("recomputed  the first {} layers of each chunk, {}\n", *result.recomputed_layers,
                                   memory.fits() ? "the fewest that fit" : "and even that does not fit"));
  }
  print_breakdown(report, result);
  print_ranks(report, result);
  report.print("#\n");
  print_setup(report, setup, result);
  report.print(fmt::format("# critical path: {}\n", critical_path_text(result.critical, 2)));
  if (!result.run.clocks.empty()) {
    const auto [lowest, highest] = std::ranges::minmax(result.run.clocks, {}, &work::RankClocks::mean);
    const std::string least = fmt::format("{:.1f}", 100 * (lowest.mean - 1));
    const std::string most = fmt::format("{:.1f}", 100 * (highest.mean - 1));
    report.print(fmt::format("# the limit of power slows GEMMs by {} % (weft explain clock)\n",
                             least == most ? least : least + " to " + most));
  }
  if (is_paced_by_host(result)) {
    report.print(
        "# the host paces this step, and hosts differ: the same step took 1.5 times as long on another machine\n"
        "# (validate/training/host_pace.py; gpu.stream.host_operator, device.launch.host_cost)\n");
  }
}

void print_training_jobs(const Report& report, const std::vector<scenario::TrainingJobResult>& jobs) {
  Table table;
  table.add_column("job", Table::Align::kLeft);
  for (const char* title : {"GPUs", "start (ms)", "end (ms)", "iteration (ms)", "alone (ms)", "slowdown", "tokens/s", "MFU"}) {
    table.add_column(title);
  }
  for (const scenario::TrainingJobResult& job : jobs) {
    table.add_row({job.name, std::to_string(job.together.gpus), ms(job.start - Time{}), ms(job.end - Time{}),
                   ms(job.mean_together), ms(job.mean_alone), fmt::format("{:.3f}", job.slowdown()),
                   fmt::format("{:.0f}", job.together.tokens_per_second), fmt::format("{:.1f} %", 100 * job.together.mfu)});
  }
  report.print(table.text());
  report.print("# iteration, alone: means over a job's iterations; tokens/s and MFU: of its last one, beside the others\n");
}

}  // namespace weft::apps
