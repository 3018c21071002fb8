// Serves requests on a machine: arrivals, engines that step, caches that move over the fabric, and what each request saw.
//
//   Serving serving{machine, setup, requests, kernels, profile, costs, memory, seed};
//   serving.start();
//   machine.simulator.run();
//   serving.check_conservation();                  // every token emitted, every block back
//   for (const RequestRecord& record : serving.records()) ...
//
// Without disaggregation a prompt's last step gives the first token. Disaggregated, the prompt's cache moves to an engine that
// decodes as soon as that has blocks free, and its first step there gives the first token (models/workloads §6: TTFT = queue +
// prefill + exposed transfer + first decode step).
//
// Model: an engine is given to a request when it arrives, and another for decoding when there is room for its cache; neither
// changes. By prefix, the engine is that which holds most of the prompt when it arrives, as SGLang's router chooses
// (cache_aware) with the values that it has unless told otherwise. Layer by layer, what the last piece of a prompt adds to the
// cache moves evenly over that piece's step, what was cached before moves from its start on, and the last layer's part when it
// has ended. Requests reach engines, and tokens users, at once. Engines that only decode cache no prefixes: a whole prompt's
// cache moves to them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "sim/collectives/runner.h"
#include "sim/core/random.h"
#include "sim/core/stats.h"
#include "sim/workloads/inference/batch_scheduler.h"
#include "sim/workloads/inference/cache_pieces.h"
#include "sim/workloads/inference/engine_memory.h"
#include "sim/workloads/inference/inference.h"
#include "sim/workloads/inference/prefix_contents.h"
#include "sim/workloads/inference/serving_observer.h"
#include "sim/workloads/inference/step_times.h"

namespace weft::work {

struct RequestRecord {
  Time arrival;
  std::int64_t prompt = 0;
  std::int64_t output = 0;
  Time started = Time::max();      // its first step began
  Time prefilled = Time::max();    // its prompt was cached
  Time first_token = Time::max();  // max: it never came
  Time last_token = Time::max();
  Duration exposed_transfer = {};  // from `prefilled` to the cache's arrival
  std::int64_t emitted = 0;
  std::int64_t preemptions = 0;
  std::int64_t found = 0;         // tokens of the prompt, in the prefix cache
  std::size_t engine = 0;         // that prefilled it
  std::size_t decode_engine = 0;  // that gave its tokens

  [[nodiscard]] bool is_done() const { return emitted == output; }
};

struct EngineReport {
  EngineRole role = EngineRole::kBoth;
  SchedulerTotals totals;
  double busy_share = 0;  // of the first stage
  double mean_running = 0;
  std::int64_t peak_running = 0;
  double mean_waiting = 0;
  std::int64_t peak_waiting = 0;
  double mean_block_share = 0;  // of the cache's blocks
  double peak_block_share = 0;
  StepParts parts{};  // time of all steps
};

// Memory of engines of each role; `decode` counts where there are such engines.
struct ServingMemory {
  EngineMemory prefill;  // of engines that do both, too
  EngineMemory decode;
};

class Serving final : private net::TransferListener, private EventTarget {
 public:
  // Requests in order of arrival. All but `profile` must outlive it. The engines' GPUs are the cluster's first ones.
  Serving(net::Machine& machine, const InferenceSetup& setup, std::vector<Request> requests, const KernelTimes& kernels,
          const Profile& profile, GroupCosts& costs, const ServingMemory& memory, std::uint64_t seed);
  ~Serving();

  // Hears of all that happens from now on; must outlive it. Before start().
  void observe(ServingObserver& observer);
  void start();
  [[nodiscard]] std::uint64_t finished() const { return finished_; }
  // InternalError where a request is not done, or blocks are still taken.
  void check_conservation() const;

  [[nodiscard]] const std::vector<RequestRecord>& records() const { return records_; }
  // Between tokens of the same request, in nanoseconds, in the order in which they came.
  [[nodiscard]] const std::vector<double>& token_gaps_ns() const { return gaps_ns_; }
  [[nodiscard]] std::vector<EngineReport> engines(Time end) const;
  [[nodiscard]] double cache_bytes_moved() const { return cache_bytes_; }
  [[nodiscard]] std::uint64_t digest() const;

 private:
  struct Engine;
  struct Handover;
  enum class EventKind : std::uint8_t { kArrival, kWake, kStepEnd };

  void on_event(std::uint64_t payload) override;
  void on_source_free(TransferId, std::uint64_t) override {}
  void on_delivered(TransferId transfer, std::uint64_t request) override;
  void on_aborted(TransferId transfer, std::uint64_t request) override;
  void schedule_event(Time at, Phase phase, EventKind kind, std::uint64_t index);

  void add_pool(const EnginePlan& plan, EngineRole role, const EngineMemory& memory, const KernelTimes& kernels,
                const Profile& profile, GroupCosts& costs);
  [[nodiscard]] std::size_t choose(std::size_t first, std::size_t last, std::size_t& turn) const;
  [[nodiscard]] std::size_t choose_by_prefix(RequestId request);
  [[nodiscard]] std::size_t turns() const { return static_cast<std::size_t>(setup_.requests.sessions.turns); }
  void schedule_first_turn(std::size_t session);  // when it is due, or now
  void arrive(RequestId request);
  void wake(std::size_t engine);
  void run_engine(std::size_t engine);
  void start_step(std::size_t engine, std::size_t slot);
  void end_step(std::size_t engine, std::size_t slot);
  void emit(const Emitted& emitted);
  void finish(RequestId request);
  void sample(std::size_t engine);

  // Disaggregated.
  [[nodiscard]] bool try_reserve(RequestId request);
  void stream(const BatchStep& step, Duration latency);
  void hand_over(RequestId request);
  void prompt_done(RequestId request);
  void send(RequestId request, double tokens, Duration pace);
  void settle(RequestId request);
  void admit_handovers();

  net::Machine& machine_;
  const InferenceSetup& setup_;
  ComponentId component_;
  RandomStream acceptance_;
  std::vector<RequestRecord> records_;
  std::vector<Sequence> sequences_;         // on engines that prefill
  std::vector<Sequence> decode_sequences_;  // on those that only decode
  std::optional<PrefixContents> contents_;  // where prefixes are cached
  std::vector<std::unique_ptr<Engine>> engines_;
  std::size_t prefill_engines_ = 0;           // the first ones; the others decode
  std::vector<std::size_t> engine_of_;        // by request: where it is
  std::vector<std::size_t> handover_engine_;  // where it will decode
  std::size_t turn_ = 0;
  std::size_t decode_turn_ = 0;
  std::vector<CachePiece> pieces_;
  std::vector<Handover> handovers_;
  std::deque<RequestId> ready_;  // prompts that wait for room on an engine that decodes
  std::vector<double> gaps_ns_;
  std::vector<Emitted> emitted_;  // by the step at hand
  ServingObserver* observer_ = nullptr;
  std::vector<ServedStep::Stage> stages_;  // of the step at hand
  std::uint64_t finished_ = 0;
  std::size_t next_arrival_ = 0;  // of a session
  double cache_bytes_ = 0;
};

}  // namespace weft::work
