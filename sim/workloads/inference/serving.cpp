#include "sim/workloads/inference/serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/core/whole_numbers.h"

namespace weft::work {
namespace {

constexpr int kKindShift = 56;
constexpr int kSlotBits = 16;

// SGLang's router, policy cache_aware: --cache-threshold, --balance-abs-threshold, --balance-rel-threshold.
constexpr double kLeastMatch = 0.3;
constexpr std::int64_t kRequestsApart = 64;
constexpr double kTimesApart = 1.5;

}  // namespace

struct Serving::Engine {
  Engine(const SchedulerOptions& options, const KvCacheOptions& cache, const EngineMemory& memory,
         const EnginePlan& engine_plan, EngineRole engine_role, std::int64_t tokens_per_decode,
         std::vector<Sequence>& sequences, const PrefixContents* contents, StepTimes step_times, std::vector<DeviceId> gpus)
      : plan{engine_plan},
        role{engine_role},
        scheduler{options, cache, memory.blocks, engine_plan, engine_role, tokens_per_decode, sequences, contents},
        times{std::move(step_times)},
        devices{std::move(gpus)},
        stage_free(static_cast<std::size_t>(engine_plan.pipeline)),
        steps(static_cast<std::size_t>(engine_plan.pipeline)),
        is_taken(static_cast<std::size_t>(engine_plan.pipeline), false) {}

  EnginePlan plan;
  EngineRole role;
  BatchScheduler scheduler;
  StepTimes times;
  std::vector<DeviceId> devices;
  std::vector<Time> stage_free;
  std::vector<BatchStep> steps;  // in flight
  std::vector<bool> is_taken;    // of those
  bool is_woken = false;
  std::int64_t outstanding = 0;  // tokens of requests that it has and that are not done
  Duration busy;
  StepParts parts{};
  TimeWeighted running;
  TimeWeighted waiting;
  TimeWeighted used_blocks;
  // To each engine that decodes: by piece and the attention groups of both ends.
  std::map<std::tuple<std::size_t, std::size_t, int, int>, FootprintId> routes;
};

// A prompt's way to the engine that decodes it.
struct Serving::Handover {
  bool is_reserved = false;
  bool is_prefilled = false;
  double sent_tokens = 0;
  std::size_t pending = 0;  // transfers
};

Serving::Serving(net::Machine& machine, const InferenceSetup& setup, std::vector<Request> requests, const KernelTimes& kernels,
                 const Profile& profile, GroupCosts& costs, const ServingMemory& memory, std::uint64_t seed)
    : machine_{machine},
      setup_{setup},
      component_{machine.simulator.add_component("serving")},
      acceptance_{seed, "inference/acceptance"},
      sequences_(requests.size()),
      decode_sequences_(setup.decode ? requests.size() : 0),
      engine_of_(requests.size(), 0),
      handover_engine_(setup.decode ? requests.size() : 0, 0),
      handovers_(setup.decode ? requests.size() : 0) {
  WEFT_CHECK(requests.size() < std::numeric_limits<RequestId>::max());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    records_.push_back({.arrival = requests[i].arrival, .prompt = requests[i].prompt, .output = requests[i].output});
    sequences_[i].prompt = requests[i].prompt;
    sequences_[i].output = requests[i].output;
    if (setup.decode) decode_sequences_[i] = sequences_[i];
    if (setup.requests.hit_rate) {
      sequences_[i].stated_hit =
          static_cast<std::int64_t>(*setup.requests.hit_rate * static_cast<double>(requests[i].prompt) + 1e-9);
      sequences_[i].stated_hit -= sequences_[i].stated_hit % setup.kv_cache.block;
    }
  }
  if (setup.kv_cache.prefix_caching && !setup.requests.hit_rate)
    contents_.emplace(setup.requests, setup.kv_cache.block, requests);
  add_pool(setup.plan, setup.decode ? EngineRole::kPrefill : EngineRole::kBoth, memory.prefill, kernels, profile, costs);
  prefill_engines_ = engines_.size();
  if (!setup.decode) return;
  add_pool(*setup.decode, EngineRole::kDecode, memory.decode, kernels, profile, costs);
  pieces_ = cache_pieces(setup, setup.plan, *setup.decode);
}

Serving::~Serving() = default;

void Serving::add_pool(const EnginePlan& plan, EngineRole role, const EngineMemory& memory, const KernelTimes& kernels,
                       const Profile& profile, GroupCosts& costs) {
  const std::vector<DeviceId>& all = machine_.topology.endpoints();
  std::size_t first = 0;
  for (const std::unique_ptr<Engine>& engine : engines_) first += engine->devices.size();
  const std::int64_t per_decode = 1 + setup_.speculation.draft_tokens;
  for (int index = 0; index < plan.data; ++index) {
    const auto count = static_cast<std::size_t>(plan.engine_gpus());
    WEFT_CHECK(first + count <= all.size());
    std::vector<DeviceId> devices(all.begin() + static_cast<std::ptrdiff_t>(first),
                                  all.begin() + static_cast<std::ptrdiff_t>(first + count));
    first += count;
    engines_.push_back(std::make_unique<Engine>(setup_.scheduler, setup_.kv_cache, memory, plan, role, per_decode,
                                                role == EngineRole::kDecode ? decode_sequences_ : sequences_,
                                                contents_ && role != EngineRole::kDecode ? &*contents_ : nullptr,
                                                StepTimes{setup_, plan, kernels, profile, costs, devices}, devices));
  }
}

void Serving::schedule_event(Time at, Phase phase, EventKind kind, std::uint64_t index) {
  machine_.simulator.schedule(at, phase, component_, *this, static_cast<std::uint64_t>(kind) << kKindShift | index);
}

void Serving::observe(ServingObserver& observer) {
  observer_ = &observer;
  for (std::size_t i = 0; i < engines_.size(); ++i) {
    const Engine& engine = *engines_[i];
    observer.on_engine(i, engine.role, engine.plan.pipeline, engine.scheduler.blocks());
  }
}

void Serving::start() {
  const bool is_closed = setup_.requests.arrivals == Arrivals::kClosed;
  const std::size_t sessions = records_.size() / turns();
  // One arrival is pending at a time; of a closed loop, one for each user.
  const std::size_t first = is_closed ? static_cast<std::size_t>(setup_.requests.concurrency) : 1;
  while (next_arrival_ < std::min(first, sessions)) schedule_first_turn(next_arrival_++);
}

void Serving::schedule_first_turn(std::size_t session) {
  const std::size_t request = session * turns();
  const Time now = machine_.simulator.now();
  schedule_event(std::max(now, records_[request].arrival), Phase::kDelivery, EventKind::kArrival, request);
}

void Serving::on_event(std::uint64_t payload) {
  const std::uint64_t index = payload & ((std::uint64_t{1} << kKindShift) - 1);
  switch (static_cast<EventKind>(payload >> kKindShift)) {
    case EventKind::kArrival:
      return arrive(static_cast<RequestId>(index));
    case EventKind::kWake:
      return run_engine(index);
    case EventKind::kStepEnd:
      return end_step(index >> kSlotBits, index & ((std::uint64_t{1} << kSlotBits) - 1));
  }
}

std::size_t Serving::choose(std::size_t first, std::size_t last, std::size_t& turn) const {
  if (setup_.scheduler.balance == Balance::kRoundRobin) return first + turn++ % (last - first);
  std::size_t best = first;
  for (std::size_t i = first + 1; i < last; ++i) {
    if (engines_[i]->outstanding < engines_[best]->outstanding) best = i;
  }
  return best;
}

std::size_t Serving::choose_by_prefix(RequestId request) {
  const std::size_t least_loaded = choose(0, prefill_engines_, turn_);
  std::int64_t most = 0;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::size_t best = least_loaded;
  std::int64_t best_found = engines_[best]->scheduler.tokens_found(request);
  for (std::size_t i = 0; i < prefill_engines_; ++i) {
    const BatchScheduler& scheduler = engines_[i]->scheduler;
    const auto requests = static_cast<std::int64_t>(scheduler.running() + scheduler.waiting());
    most = std::max(most, requests);
    least = std::min(least, requests);
    const std::int64_t found = scheduler.tokens_found(request);
    if (found <= best_found) continue;
    best = i;
    best_found = found;
  }
  const bool is_uneven = most - least > kRequestsApart && static_cast<double>(most) > kTimesApart * static_cast<double>(least);
  const bool is_worth_it = static_cast<double>(best_found) > kLeastMatch * static_cast<double>(records_[request].prompt);
  return is_worth_it && !is_uneven ? best : least_loaded;
}

void Serving::arrive(RequestId request) {
  RequestRecord& record = records_[request];
  record.arrival = machine_.simulator.now();
  const bool is_open = setup_.requests.arrivals != Arrivals::kClosed;
  if (is_open && request % turns() == 0 && next_arrival_ * turns() < records_.size()) schedule_first_turn(next_arrival_++);
  const std::size_t engine =
      setup_.scheduler.balance == Balance::kPrefix ? choose_by_prefix(request) : choose(0, prefill_engines_, turn_);
  engine_of_[request] = engine;
  record.engine = engine;
  engines_[engine]->outstanding += record.prompt + record.output;
  engines_[engine]->scheduler.submit(request);
  sample(engine);
  wake(engine);
}

// Steps start in the action phase, after all arrivals of their instant.
void Serving::wake(std::size_t engine) {
  if (engines_[engine]->is_woken) return;
  engines_[engine]->is_woken = true;
  schedule_event(machine_.simulator.now(), Phase::kAction, EventKind::kWake, engine);
}

void Serving::run_engine(std::size_t index) {
  Engine& engine = *engines_[index];
  engine.is_woken = false;
  if (engine.stage_free.front() > machine_.simulator.now()) return;
  const auto slot = static_cast<std::size_t>(std::ranges::find(engine.is_taken, false) - engine.is_taken.begin());
  if (slot == engine.is_taken.size()) return;
  if (engine.scheduler.next_step(engine.steps[slot])) start_step(index, slot);
  sample(index);
}

void Serving::start_step(std::size_t index, std::size_t slot) {
  Engine& engine = *engines_[index];
  const BatchStep& step = engine.steps[slot];
  const Time now = machine_.simulator.now();
  const StepTime time = engine.times.next(step.mix, now);
  engine.is_taken[slot] = true;
  for (std::size_t part = 0; part < kStepParts; ++part) engine.parts[part] += time.parts[part];
  // A stage takes a step when the stage before has sent it, and its own last step is done.
  Time at = now + time.before;
  stages_.clear();
  for (std::size_t stage = 0; stage < time.stages.size(); ++stage) {
    if (stage > 0) at += time.hop;
    at = std::max(at, engine.stage_free[stage]);
    stages_.push_back({stage > 0 ? at : now, at + time.stages[stage]});
    at += time.stages[stage];
    engine.stage_free[stage] = at;
  }
  if (observer_ != nullptr) observer_->on_step({index, step.mix, stages_});
  engine.busy += engine.stage_free.front() - now;
  for (const StepItem& item : step.items) {
    if (item.is_prefill && engine.role != EngineRole::kDecode) {
      records_[item.request].started = std::min(records_[item.request].started, now);
    }
  }
  if (engine.role == EngineRole::kPrefill && setup_.layer_wise) stream(step, at - now);
  schedule_event(at, Phase::kCompletion, EventKind::kStepEnd, index << kSlotBits | slot);
  if (engine.stage_free.front() < at) {
    schedule_event(engine.stage_free.front(), Phase::kAction, EventKind::kWake, index);
  }
}

void Serving::end_step(std::size_t index, std::size_t slot) {
  Engine& engine = *engines_[index];
  const int drafts = setup_.speculation.draft_tokens;
  const auto accepted = [&](RequestId) {
    std::int64_t tokens = 1;
    while (tokens <= drafts && acceptance_.chance(setup_.speculation.acceptance)) ++tokens;
    return tokens;
  };
  emitted_.clear();
  engine.scheduler.finish_step(engine.steps[slot], accepted, emitted_);
  engine.is_taken[slot] = false;
  for (const Emitted& emitted : emitted_) {
    if (engine.role == EngineRole::kPrefill) {
      prompt_done(emitted.request);
    } else {
      emit(emitted);
    }
  }
  if (engine.role == EngineRole::kDecode) admit_handovers();
  sample(index);
  wake(index);
}

void Serving::emit(const Emitted& emitted) {
  RequestRecord& record = records_[emitted.request];
  const Time now = machine_.simulator.now();
  if (record.emitted == 0) {
    record.first_token = now;
    if (!setup_.decode) record.prefilled = now;
    // Tokens that a step gives together come at once.
    gaps_ns_.insert(gaps_ns_.end(), static_cast<std::size_t>(emitted.tokens - 1), 0.0);
  } else {
    gaps_ns_.push_back((now - record.last_token).ns());
    gaps_ns_.insert(gaps_ns_.end(), static_cast<std::size_t>(emitted.tokens - 1), 0.0);
  }
  record.last_token = now;
  record.emitted += emitted.tokens;
  if (emitted.is_done) finish(emitted.request);
}

void Serving::finish(RequestId request) {
  RequestRecord& record = records_[request];
  record.preemptions = sequences_[request].preemptions;
  record.found = sequences_[request].found;
  if (setup_.decode) record.preemptions += decode_sequences_[request].preemptions;
  record.decode_engine = engine_of_[request];
  if (observer_ != nullptr) observer_->on_request(request, record);
  engines_[engine_of_[request]]->outstanding -= record.prompt + record.output;
  ++finished_;
  if ((request + 1) % turns() != 0) {
    schedule_event(machine_.simulator.now() + setup_.requests.sessions.think, Phase::kDelivery, EventKind::kArrival,
                   request + 1);
  } else if (setup_.requests.arrivals == Arrivals::kClosed && next_arrival_ * turns() < records_.size()) {
    schedule_first_turn(next_arrival_++);
  }
}

void Serving::sample(std::size_t index) {
  Engine& engine = *engines_[index];
  const Time now = machine_.simulator.now();
  engine.running.set(now, static_cast<std::int64_t>(engine.scheduler.running()));
  engine.waiting.set(now, static_cast<std::int64_t>(engine.scheduler.waiting()));
  engine.used_blocks.set(now, engine.scheduler.blocks() - engine.scheduler.free_blocks());
  if (observer_ != nullptr) observer_->on_load(index, now, engine.scheduler);
}

bool Serving::try_reserve(RequestId request) {
  Handover& handover = handovers_[request];
  if (handover.is_reserved) return true;
  std::size_t turn = decode_turn_;
  const std::size_t chosen = choose(prefill_engines_, engines_.size(), turn);
  if (!engines_[chosen]->scheduler.reserve(request)) return false;
  decode_turn_ = turn;
  handover.is_reserved = true;
  const RequestRecord& record = records_[request];
  handover_engine_[request] = chosen;
  engines_[chosen]->outstanding += record.prompt + record.output;
  sample(chosen);
  return true;
}

// A prompt's last piece: room is taken where it will decode, and all but the last layer's share of the piece leaves while the
// step goes on. Earlier than that a reservation could wait for blocks that wait for it.
void Serving::stream(const BatchStep& step, Duration latency) {
  const auto layers = static_cast<double>(setup_.model.layers);
  for (const StepItem& item : step.items) {
    const Sequence& sequence = sequences_[item.request];
    const bool is_last = sequence.cached + item.tokens == sequence.to_prefill;
    if (!is_last || !ready_.empty() || !try_reserve(item.request)) continue;
    if (sequence.cached > 0) send(item.request, static_cast<double>(sequence.cached), {});
    send(item.request, static_cast<double>(item.tokens) * (layers - 1) / layers, latency);
  }
}

void Serving::prompt_done(RequestId request) {
  records_[request].prefilled = machine_.simulator.now();
  handovers_[request].is_prefilled = true;
  if (handovers_[request].is_reserved) return hand_over(request);
  ready_.push_back(request);
  admit_handovers();
}

// First come, first served.
void Serving::admit_handovers() {
  while (!ready_.empty() && try_reserve(ready_.front())) {
    const RequestId request = ready_.front();
    ready_.pop_front();
    hand_over(request);
  }
}

void Serving::hand_over(RequestId request) {
  send(request, static_cast<double>(records_[request].prompt) - handovers_[request].sent_tokens, {});
}

void Serving::send(RequestId request, double tokens, Duration pace) {
  Handover& handover = handovers_[request];
  handover.sent_tokens += tokens;
  Engine& from = *engines_[engine_of_[request]];
  const std::size_t to_index = handover_engine_[request];
  const Engine& to = *engines_[to_index];
  const int group_from = static_cast<int>(request % static_cast<RequestId>(from.plan.attention_data));
  const int group_to = static_cast<int>(request % static_cast<RequestId>(to.plan.attention_data));
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const auto [route, is_new] = from.routes.try_emplace({to_index, i, group_from, group_to});
    if (is_new) {
      const auto source = flat_index(group_from, from.plan.tensor, pieces_[i].from);
      const auto destination = flat_index(group_to, to.plan.tensor, pieces_[i].to);
      route->second = machine_.fabric.add_footprint(machine_.router.route(from.devices[source], to.devices[destination], {i}));
    }
    net::Transfer transfer;
    transfer.footprint = route->second;
    transfer.bytes = Bytes{static_cast<std::int64_t>(std::ceil(tokens * pieces_[i].bytes - 1e-6))};
    if (pace > Duration{}) {
      const double bits = 8.0 * static_cast<double>(transfer.bytes.count()) / pace.seconds();
      transfer.rate_cap = Bandwidth::from_bits_per_second(std::max<std::int64_t>(1, std::llround(bits)));
    }
    transfer.tag = request;
    cache_bytes_ += static_cast<double>(transfer.bytes.count());
    ++handover.pending;
    machine_.fabric.post(transfer, *this);
  }
}

void Serving::on_delivered(TransferId, std::uint64_t request) {
  --handovers_[request].pending;
  settle(static_cast<RequestId>(request));
}

void Serving::on_aborted(TransferId, std::uint64_t request) {
  throw InternalError(fmt::format("the cache of request {} was lost on its way", request));
}

// Its cache is there: it decodes, and its blocks on the engine that prefilled it are free.
void Serving::settle(RequestId request) {
  const Handover& handover = handovers_[request];
  const auto prompt = static_cast<double>(records_[request].prompt);
  if (handover.pending > 0 || handover.sent_tokens < prompt - 1e-6) return;
  RequestRecord& record = records_[request];
  record.exposed_transfer = machine_.simulator.now() - record.prefilled;
  const std::size_t from = engine_of_[request];
  engines_[from]->scheduler.release(request);
  engines_[from]->outstanding -= record.prompt + record.output;
  sample(from);
  wake(from);
  const std::size_t to = handover_engine_[request];
  engine_of_[request] = to;
  engines_[to]->scheduler.activate(request);
  sample(to);
  wake(to);
}

void Serving::check_conservation() const {
  for (std::size_t i = 0; i < records_.size(); ++i) {
    if (records_[i].is_done()) continue;
    throw InternalError(fmt::format("request {} of {} ended with {} of {} tokens", i, records_.size(), records_[i].emitted,
                                    records_[i].output));
  }
  for (const std::unique_ptr<Engine>& engine : engines_) {
    WEFT_CHECK(engine->scheduler.free_blocks() == engine->scheduler.blocks());
    WEFT_CHECK(engine->scheduler.running() == 0 && engine->scheduler.waiting() == 0 && engine->outstanding == 0);
  }
}

std::vector<EngineReport> Serving::engines(Time end) const {
  std::vector<EngineReport> reports;
  const double span = std::max(1e-12, (end - Time{}).seconds());
  for (const std::unique_ptr<Engine>& engine : engines_) {
    const auto blocks = static_cast<double>(engine->scheduler.blocks());
    reports.push_back({.role = engine->role,
                       .totals = engine->scheduler.totals(),
                       .busy_share = engine->busy.seconds() / span,
                       .mean_running = engine->running.mean(end),
                       .peak_running = engine->running.maximum(),
                       .mean_waiting = engine->waiting.mean(end),
                       .peak_waiting = engine->waiting.maximum(),
                       .mean_block_share = engine->used_blocks.mean(end) / blocks,
                       .peak_block_share = static_cast<double>(engine->used_blocks.maximum()) / blocks,
                       .parts = engine->parts});
  }
  return reports;
}

std::uint64_t Serving::digest() const {
  Digest digest;
  for (const RequestRecord& record : records_) {
    digest.add(record.arrival).add(record.started).add(record.prefilled).add(record.first_token).add(record.last_token);
    digest.add(record.emitted).add(record.preemptions);
  }
  return digest.value();
}

}  // namespace weft::work
