#include "sim/planning/sweep/metrics.h"

#include <algorithm>
#include <array>

#include "sim/scenario/flow_summary.h"

namespace weft::plan {
namespace {

double ns(Duration duration) { return static_cast<double>(duration.ps()) / 1e3; }
double us(Duration duration) { return static_cast<double>(duration.ps()) / 1e6; }

using Read = Cell (*)(const scenario::Scenario&, const scenario::RunResult&);
using enum ColumnType;

// Figures of the first collective that is listed.
template <class Get>
Cell of_collective(const scenario::RunResult& result, Get get) {
  return result.collectives.empty() ? Cell{} : Cell{get(result.collectives.front())};
}

template <class Get>
Cell of_training(const scenario::RunResult& result, Get get) {
  return result.training && !result.training->run.replay.iterations.empty() ? Cell{get(*result.training)} : Cell{};
}

template <class Get>
Cell of_inference(const scenario::RunResult& result, Get get) {
  return result.inference ? Cell{get(*result.inference)} : Cell{};
}

template <class Get>
Cell of_flows(const scenario::RunResult& result, Get get) {
  const scenario::FlowSummary summary = scenario::summarize_flows(result.flows, 0);
  return summary.finished == 0 ? Cell{} : Cell{get(summary)};
}

template <class Get>
std::int64_t over_ports(const scenario::RunResult& result, Get get) {
  std::int64_t sum = 0;
  for (const scenario::PortResult& port : result.network.ports) sum += get(port);
  return sum;
}

// Time in which a rank did nothing but communicate, mean over the ranks.
Duration exposed_communication(const scenario::TrainingResult& training) {
  Duration sum;
  for (const Duration part : training.mean.exposed) sum += part;
  return sum;
}

Cell mean_job_iteration(const scenario::RunResult& result) {
  double sum = 0;
  std::int64_t count = 0;
  for (const work::JobResult& job : result.jobs) {
    for (const work::JobIteration& iteration : job.iterations) {
      if (iteration.end == Time::max()) continue;
      sum += us(iteration.end - iteration.start);
      ++count;
    }
  }
  return count == 0 ? Cell{} : Cell{sum / static_cast<double>(count)};
}

#define WEFT_COLLECTIVE(expression)                                                      \
  [](const scenario::Scenario&, const scenario::RunResult& r) {                          \
    return of_collective(r, [](const coll::CollectiveResult& c) { return expression; }); \
  }
#define WEFT_TRAINING(expression)                                                        \
  [](const scenario::Scenario&, const scenario::RunResult& r) {                          \
    return of_training(r, [](const scenario::TrainingResult& t) { return expression; }); \
  }
#define WEFT_INFERENCE(expression)                                                         \
  [](const scenario::Scenario&, const scenario::RunResult& r) {                            \
    return of_inference(r, [](const scenario::InferenceResult& i) { return expression; }); \
  }
#define WEFT_FLOWS(expression)                                                     \
  [](const scenario::Scenario&, const scenario::RunResult& r) {                    \
    return of_flows(r, [](const scenario::FlowSummary& f) { return expression; }); \
  }
#define WEFT_RUN(expression) [](const scenario::Scenario&, const scenario::RunResult& r) -> Cell { return expression; }

const std::array kMetrics{
    Metric{"makespan_ns", kReal, "any", "from the start to the last end", WEFT_RUN(ns(r.makespan))},
    Metric{"time_us", kReal, "collectives", "of one call of the first collective", WEFT_COLLECTIVE(us(c.time))},
    Metric{"algbw_GBps", kReal, "collectives", "bytes over time", WEFT_COLLECTIVE(c.algorithm_bandwidth_gbps())},
    Metric{"busbw_GBps", kReal, "collectives", "bus bandwidth as nccl-tests defines it",
           WEFT_COLLECTIVE(c.bus_bandwidth_gbps())},
    Metric{"algorithm", kText, "collectives", "that was chosen", WEFT_COLLECTIVE(std::string{c.choice.algorithm})},
    Metric{"protocol", kText, "collectives", "that was chosen", WEFT_COLLECTIVE(std::string{c.choice.protocol})},
    Metric{"channels", kInteger, "collectives", "that were chosen",
           WEFT_COLLECTIVE(static_cast<std::int64_t>(c.choice.channels))},
    Metric{"ranks", kInteger, "collectives", "that took part", WEFT_COLLECTIVE(static_cast<std::int64_t>(c.ranks))},
    Metric{"iteration_time_ns", kReal, "training", "of the last step", WEFT_TRAINING(ns(t.iteration))},
    Metric{"tokens_per_second", kReal, "training", "of the whole job", WEFT_TRAINING(t.tokens_per_second)},
    Metric{"model_tflops_per_gpu", kReal, "training", "of the model, without recomputation",
           WEFT_TRAINING(t.model_tflops_per_gpu)},
    Metric{"mfu", kReal, "training", "model FLOPs over the peak", WEFT_TRAINING(t.mfu)},
    Metric{"hfu", kReal, "training", "executed FLOPs over the peak", WEFT_TRAINING(t.hfu)},
    Metric{"exposed_communication_ns", kReal, "training", "that nothing hides, mean over ranks",
           WEFT_TRAINING(ns(exposed_communication(t)))},
    Metric{"bubble_share", kReal, "training", "of the step", WEFT_TRAINING(t.bubble_share)},
    Metric{"memory_per_gpu_bytes", kReal, "training", "of the rank that holds most", WEFT_TRAINING(t.memory.total())},
    Metric{"gpus", kInteger, "training", "of the job", WEFT_TRAINING(t.gpus)},
    Metric{"ttft_p50_ns", kReal, "inference", "time to the first token, median", WEFT_INFERENCE(i.ttft.p50_ns)},
    Metric{"ttft_p90_ns", kReal, "inference", "time to the first token, of 90 % of requests", WEFT_INFERENCE(i.ttft.p90_ns)},
    Metric{"ttft_p99_ns", kReal, "inference", "time to the first token, of 99 %", WEFT_INFERENCE(i.ttft.p99_ns)},
    Metric{"tpot_p50_ns", kReal, "inference", "time per output token, median", WEFT_INFERENCE(i.tpot.p50_ns)},
    Metric{"tpot_p90_ns", kReal, "inference", "time per output token, of 90 % of requests", WEFT_INFERENCE(i.tpot.p90_ns)},
    Metric{"tpot_p99_ns", kReal, "inference", "time per output token, of 99 %", WEFT_INFERENCE(i.tpot.p99_ns)},
    Metric{"e2e_p50_ns", kReal, "inference", "arrival to last token, median", WEFT_INFERENCE(i.e2e.p50_ns)},
    Metric{"e2e_p90_ns", kReal, "inference", "arrival to last token, of 90 % of requests", WEFT_INFERENCE(i.e2e.p90_ns)},
    Metric{"e2e_p99_ns", kReal, "inference", "arrival to last token, of 99 %", WEFT_INFERENCE(i.e2e.p99_ns)},
    Metric{"output_tokens_per_second", kReal, "inference", "of all engines", WEFT_INFERENCE(i.tokens_per_second)},
    Metric{"output_tokens_per_second_per_gpu", kReal, "inference", "of all engines over their GPUs",
           WEFT_INFERENCE(i.tokens_per_second_per_gpu)},
    Metric{"requests_per_second", kReal, "inference", "that were finished", WEFT_INFERENCE(i.requests_per_second)},
    Metric{"goodput_requests_per_second", kReal, "inference", "that met the targets", WEFT_INFERENCE(i.goodput)},
    Metric{"within_targets", kReal, "inference", "share of finished requests", WEFT_INFERENCE(i.within_targets)},
    Metric{"prefix_hit_rate", kReal, "inference", "share of prompts' tokens in the cache", WEFT_INFERENCE(i.prefix_hit_rate())},
    Metric{"flows_finished", kInteger, "flows", "that ended", WEFT_FLOWS(static_cast<std::int64_t>(f.finished))},
    Metric{"fct_median_us", kReal, "flows", "completion time", WEFT_FLOWS(us(f.median_fct))},
    Metric{"fct_p99_us", kReal, "flows", "completion time", WEFT_FLOWS(us(f.p99_fct))},
    Metric{"fct_max_us", kReal, "flows", "completion time", WEFT_FLOWS(us(f.max_fct))},
    Metric{"aggregate_rate_gbps", kReal, "flows", "bytes of all from the first start to the last end", WEFT_FLOWS(f.rate_gbps)},
    Metric{"jain_index", kReal, "flows", "of the flows' rates",
           WEFT_RUN(r.network.jain_index ? Cell{*r.network.jain_index} : Cell{})},
    Metric{"job_iteration_mean_us", kReal, "jobs", "over all jobs and iterations", WEFT_RUN(mean_job_iteration(r))},
    Metric{"peak_queue_bytes", kInteger, "packets", "of any port", WEFT_RUN([&] {
             std::int64_t most = 0;
             for (const scenario::PortResult& port : r.network.ports) most = std::max(most, port.peak_queue_bytes);
             return most;
           }())},
    Metric{"marks", kInteger, "packets", "of all ports",
           WEFT_RUN(over_ports(r, [](const scenario::PortResult& port) { return port.marks; }))},
    Metric{"drops", kInteger, "packets", "of all ports",
           WEFT_RUN(over_ports(r, [](const scenario::PortResult& port) { return port.drops; }))},
    Metric{"pauses", kInteger, "packets", "of all links", WEFT_RUN(static_cast<std::int64_t>(r.network.pauses.size()))},
    Metric{"packet_hops", kInteger, "packets", "link crossings", WEFT_RUN(static_cast<std::int64_t>(r.network.packet_hops))},
    Metric{"hottest_link", kText, "any", "the busiest one",
           WEFT_RUN(r.hottest.empty() ? Cell{} : Cell{r.hottest.front().name})},
    Metric{"hottest_link_utilization", kReal, "any", "of the busiest link",
           WEFT_RUN(r.hottest.empty() ? Cell{} : Cell{r.hottest.front().utilization})},
    Metric{"events", kInteger, "any", "of the simulation", WEFT_RUN(static_cast<std::int64_t>(r.events))},
    Metric{"transfers", kInteger, "any", "of the simulation", WEFT_RUN(static_cast<std::int64_t>(r.transfers))},
};

#undef WEFT_COLLECTIVE
#undef WEFT_TRAINING
#undef WEFT_INFERENCE
#undef WEFT_FLOWS
#undef WEFT_RUN

bool has(const scenario::Scenario& scenario, std::string_view of) {
  const work::Workload& workload = scenario.workload;
  if (of == "collectives") return !workload.collectives.empty();
  if (of == "training") return workload.training.has_value();
  if (of == "inference") return workload.inference.has_value();
  if (of == "flows") return !workload.flows.empty();
  if (of == "jobs") return !workload.jobs.empty();
  return of == "any" || scenario.simulation.has_packets();
}

}  // namespace

std::span<const Metric> all_metrics() { return kMetrics; }

const Metric* find_metric(std::string_view name) {
  const auto found = std::ranges::find(kMetrics, name, &Metric::name);
  return found == kMetrics.end() ? nullptr : &*found;
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const Metric& metric : kMetrics) names.emplace_back(metric.name);
  return names;
}

std::vector<const Metric*> metrics_of(const scenario::Scenario& scenario) {
  std::vector<const Metric*> found;
  for (const Metric& metric : kMetrics) {
    if (has(scenario, metric.of)) found.push_back(&metric);
  }
  return found;
}

}  // namespace weft::plan
