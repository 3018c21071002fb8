#include "sim/output/serving_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace weft::output {
namespace {

// Two processes an engine: its steps and counters, and its requests.
std::size_t steps_of(std::size_t engine) { return 2 * engine; }
std::size_t requests_of(std::size_t engine) { return 2 * engine + 1; }

}  // namespace

void ServingTimeline::on_engine(std::size_t engine, work::EngineRole role, int stages, std::int64_t blocks) {
  engines_.resize(std::max(engines_.size(), engine + 1));
  engines_[engine].role = role;
  const std::string does = role == work::EngineRole::kBoth ? "" : fmt::format(" ({})", work::to_string(role));
  trace_.name_process(steps_of(engine), fmt::format("engine {}{}, {} cache blocks", engine, does, blocks));
  for (int stage = 0; stage < stages; ++stage) {
    trace_.name_thread(steps_of(engine), static_cast<std::size_t>(stage),
                       stages == 1 ? std::string{"steps"} : fmt::format("steps, stage {}", stage));
  }
}

void ServingTimeline::on_step(const work::ServedStep& step) {
  if (steps_ == kMostSteps) {
    ++steps_left_out_;
    return;
  }
  ++steps_;
  const work::StepMix& mix = step.mix;
  std::int64_t context = mix.decode_context;
  for (const work::PrefillChunk& chunk : mix.prefills) context += chunk.context;
  const char* name = mix.prefills.empty() ? "decode" : mix.decodes == 0 ? "prefill" : "mixed";
  for (std::size_t stage = 0; stage < step.stages.size(); ++stage) {
    const auto& [begin, end] = step.stages[stage];
    trace_.begin_span(name, "step", steps_of(step.engine), stage, begin, end - begin)
        .field("batch", mix.decodes + static_cast<std::int64_t>(mix.prefills.size()))
        .field("decodes", mix.decodes)
        .field("prompts", mix.prefills.size())
        .field("tokens", mix.tokens())
        .field("prefill_tokens", mix.prefill_tokens())
        .field("context", context);
    trace_.end_span();
  }
}

// Counters that did not change are not written again.
void ServingTimeline::on_load(std::size_t engine, Time now, const work::BatchScheduler& scheduler) {
  const Load load{.running = static_cast<std::int64_t>(scheduler.running()),
                  .waiting = static_cast<std::int64_t>(scheduler.waiting()),
                  .used = scheduler.blocks() - scheduler.free_blocks(),
                  .cached = scheduler.cached_blocks()};
  Load& last = engines_[engine].load;
  if (load == last || steps_ == kMostSteps) return;
  if (load.running != last.running || load.waiting != last.waiting) {
    trace_.begin_counter("requests", steps_of(engine), now).field("running", load.running).field("waiting", load.waiting);
    trace_.end_counter();
  }
  if (load.used != last.used || load.cached != last.cached) {
    trace_.begin_counter("cache blocks", steps_of(engine), now).field("used", load.used).field("unused prefixes", load.cached);
    trace_.end_counter();
  }
  last = load;
}

void ServingTimeline::on_request(work::RequestId request, const work::RequestRecord& record) {
  done_.push_back({request, record});
}

void ServingTimeline::write_phase(std::string_view name, std::size_t process, std::size_t lane, Time begin, Time end,
                                  const Done& done) {
  if (end <= begin) return;
  trace_.begin_span(name, "request", process, lane, begin, end - begin)
      .field("request", done.id)
      .field("prompt", done.record.prompt)
      .field("in_prefix_cache", done.record.found)
      .field("output", done.record.output)
      .field("preemptions", done.record.preemptions);
  trace_.end_span();
}

void ServingTimeline::write_visits(std::size_t engine) {
  const work::EngineRole role = engines_[engine].role;
  std::vector<Visit> visits;
  for (const Done& done : done_) {
    const work::RequestRecord& record = done.record;
    if (role == work::EngineRole::kDecode) {
      if (record.decode_engine == engine) visits.push_back({record.prefilled, record.last_token, &done});
    } else if (record.engine == engine) {
      visits.push_back({record.arrival, role == work::EngineRole::kBoth ? record.last_token : record.prefilled, &done});
    }
  }
  std::ranges::sort(visits, {}, [](const Visit& visit) { return std::tuple{visit.begin, visit.done->id}; });
  std::multimap<Time, std::size_t> free_at;  // ends of the last visits of lanes
  std::size_t lanes = 0;
  std::size_t hidden = 0;
  for (const Visit& visit : visits) {
    std::size_t lane = lanes;
    if (!free_at.empty() && free_at.begin()->first <= visit.begin) {
      lane = free_at.begin()->second;
      free_at.erase(free_at.begin());
    } else if (lanes == kMostLanes) {
      ++hidden;
      continue;
    } else {
      ++lanes;
    }
    free_at.emplace(visit.end, lane);
    const std::size_t process = requests_of(engine);
    const work::RequestRecord& record = visit.done->record;
    if (role == work::EngineRole::kDecode) {
      const Time arrived = record.prefilled + record.exposed_transfer;
      write_phase("transfer", process, lane, record.prefilled, arrived, *visit.done);
      write_phase("decode", process, lane, arrived, record.last_token, *visit.done);
      continue;
    }
    write_phase("queue", process, lane, record.arrival, record.started, *visit.done);
    write_phase("prefill", process, lane, record.started, record.prefilled, *visit.done);
    if (role == work::EngineRole::kBoth) {
      write_phase("decode", process, lane, record.prefilled, record.last_token, *visit.done);
    }
  }
  requests_left_out_ += hidden;
  if (lanes == 0) return;
  std::string name = fmt::format("requests of engine {}", engine);
  if (hidden > 0) name += fmt::format(" ({} more overlap and are not shown)", hidden);
  trace_.name_process(requests_of(engine), name);
}

void ServingTimeline::finish() {
  for (std::size_t engine = 0; engine < engines_.size(); ++engine) write_visits(engine);
  trace_.finish();
}

std::string ServingTimeline::note() const {
  if (steps_left_out_ == 0 && requests_left_out_ == 0) return {};
  return fmt::format(
      "the timeline leaves out {} steps and {} requests: it keeps {} steps, and {} requests of an engine at once",
      steps_left_out_, requests_left_out_, kMostSteps, kMostLanes);
}

}  // namespace weft::output
