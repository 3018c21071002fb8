#include "collective.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "cuda_check.h"
#include "refusal.h"

namespace weft::measure {
namespace {

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool is_divided(Collective collective) {
  switch (collective) {
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAlltoall:
    case Collective::kGather:
    case Collective::kScatter:
      return true;
    default:
      return false;
  }
}

// nccl-tests' PERFORMANCE.md: bus bandwidth over algorithm bandwidth.
double bus_factor(Collective collective, int ranks) {
  const double n = ranks;
  if (collective == Collective::kAllReduce) return 2 * (n - 1) / n;
  return is_divided(collective) ? (n - 1) / n : 1;
}

// In place, as nccl-tests lays it out: an all-gather's input is its part of the output, a reduce-scatter's output its part of
// the input.
Buffers buffers_of(const NcclRank& one, const Call& call, bool in_place) {
  if (!in_place) return {.send = one.send->data(), .receive = one.receive->data()};
  const std::int64_t part = one.rank * call.count * size_of(call.type);
  if (call.collective == Collective::kAllGather) return {.send = one.receive->at(part), .receive = one.receive->data()};
  if (call.collective == Collective::kReduceScatter) return {.send = one.receive->data(), .receive = one.receive->at(part)};
  return {.send = one.receive->data(), .receive = one.receive->data()};
}

struct CallTimes {
  double whole_us = 0;
  double host_us = 0;  // until the slowest member had issued its last call
};

class Timed {
 public:
  Timed(const Call& call, bool in_place, Team& team, NcclRanks& ranks)
      : call_{call}, in_place_{in_place}, team_{team}, ranks_{ranks} {}

  [[nodiscard]] std::int64_t wrong_elements() {
    for (NcclRank& one : ranks_.ranks()) {
      const Share share = share_of(one);
      const Buffers buffers = buffers_of(one, call_, in_place_);
      const cudaStream_t stream = one.stream->get();
      check(cudaSetDevice(one.device), "device");
      check(cudaMemsetAsync(one.wrong->data(), 0, sizeof(unsigned long long), stream), "counter");
      // Bytes that nobody writes must not look right by chance: 0xff is NaN in every type.
      check(cudaMemsetAsync(one.receive->data(), 0xff, output_bytes(share), stream), "output");
      write_input(call_.type, const_cast<char*>(buffers.send), share.sent(), one.rank, stream);
    }
    enqueue_once();
    double wrong = 0;
    for (NcclRank& one : ranks_.ranks()) {
      check(cudaSetDevice(one.device), "device");
      auto* counter = reinterpret_cast<unsigned long long*>(one.wrong->data());
      count_wrong(call_.type, buffers_of(one, call_, in_place_).receive, share_of(one), counter, one.stream->get());
      unsigned long long mine = 0;
      check(cudaMemcpyAsync(&mine, counter, sizeof mine, cudaMemcpyDeviceToHost, one.stream->get()), "counter");
      check(cudaStreamSynchronize(one.stream->get()), "check the data");
      wrong += static_cast<double>(mine);
    }
    return static_cast<std::int64_t>(team_.sum(wrong));
  }

  // Mean over the members of wall time from a barrier to the end of the member's own ranks, per operation.
  CallTimes sample(int inner) {
    team_.barrier();
    const double begin = now_us();
    for (int i = 0; i < inner; ++i) enqueue_once();
    const double issued = now_us();
    ranks_.synchronize();
    const double end = now_us();
    return {.whole_us = team_.mean((end - begin) / inner), .host_us = team_.maximum((issued - begin) / inner)};
  }

  void enqueue_once() {
    const bool several = ranks_.ranks().size() > 1;
    if (several) check(ncclGroupStart(), "group");
    for (const NcclRank& one : ranks_.ranks()) {
      check(cudaSetDevice(one.device), "device");
      enqueue_collective(call_, one.rank, ranks_.size(), buffers_of(one, call_, in_place_), one.comm, one.stream->get());
    }
    if (several) check(ncclGroupEnd(), "group");
  }

  Team& team() { return team_; }
  NcclRanks& ranks() { return ranks_; }

 private:
  [[nodiscard]] Share share_of(const NcclRank& one) const {
    return {.collective = call_.collective, .rank = one.rank, .ranks = ranks_.size(), .count = call_.count};
  }
  [[nodiscard]] std::size_t output_bytes(const Share& share) const {
    return static_cast<std::size_t>(std::max(share.sent(), share.received()) * size_of(call_.type));
  }

  Call call_;
  bool in_place_;
  Team& team_;
  NcclRanks& ranks_;
};

// All `inner` calls of a row in one graph per GPU.
class GraphRow {
 public:
  GraphRow(Timed& timed, int inner) : timed_{timed} {
    for (NcclRank& one : timed.ranks().ranks()) {
      check(cudaSetDevice(one.device), "device");
      check(cudaStreamBeginCapture(one.stream->get(), cudaStreamCaptureModeThreadLocal), "capture");
    }
    for (int i = 0; i < inner; ++i) timed.enqueue_once();
    // All captures end before the first graph is made: a thread that captures may not make one.
    std::vector<cudaGraph_t> graphs;
    for (NcclRank& one : timed.ranks().ranks()) {
      check(cudaSetDevice(one.device), "device");
      check(cudaStreamEndCapture(one.stream->get(), &graphs.emplace_back()), "capture");
    }
    for (std::size_t i = 0; i < graphs.size(); ++i) {
      check(cudaSetDevice(timed.ranks().ranks()[i].device), "device");
      check(cudaGraphInstantiate(&executables_.emplace_back(), graphs[i], 0), "graph");
      check(cudaGraphDestroy(graphs[i]), "graph");
    }
    inner_ = inner;
  }
  ~GraphRow() {
    for (cudaGraphExec_t executable : executables_) cudaGraphExecDestroy(executable);
  }
  GraphRow(const GraphRow&) = delete;
  GraphRow& operator=(const GraphRow&) = delete;

  CallTimes sample() {
    timed_.team().barrier();
    const double begin = now_us();
    for (std::size_t i = 0; i < executables_.size(); ++i) {
      const NcclRank& one = timed_.ranks().ranks()[i];
      check(cudaSetDevice(one.device), "device");
      check(cudaGraphLaunch(executables_[i], one.stream->get()), "graph launch");
    }
    const double issued = now_us();
    timed_.ranks().synchronize();
    const double end = now_us();
    Team& team = timed_.team();
    return {.whole_us = team.mean((end - begin) / inner_), .host_us = team.maximum((issued - begin) / inner_)};
  }

 private:
  Timed& timed_;
  std::vector<cudaGraphExec_t> executables_;
  int inner_ = 1;
};

Measurement take_samples(Timed& timed, bool in_graph) {
  constexpr int kFirst = 5;
  constexpr int kMaxInner = 40;  // as many as the reference logs of nccl-tests
  static_cast<void>(timed.sample(2));
  // The members agree on it: it is the mean over them.
  const double estimate = timed.sample(kFirst).whole_us;
  const Repetition repetition = choose_repetition(
      estimate, {.target_us = point_target_us(), .min_inner = in_graph ? 20 : 4, .max_inner = kMaxInner, .min_samples = 5});
  Measurement measurement{.what = {}, .samples_us = {}, .inner = repetition.inner, .warmup = kFirst + 3};
  std::vector<double> host_us;
  const auto take = [&](const CallTimes& times) {
    measurement.samples_us.push_back(times.whole_us);
    host_us.push_back(times.host_us);
  };
  if (in_graph) {
    GraphRow row{timed, repetition.inner};
    static_cast<void>(row.sample());
    for (int i = 0; i < repetition.samples; ++i) take(row.sample());
  } else {
    for (int i = 0; i < repetition.samples; ++i) take(timed.sample(repetition.inner));
  }
  measurement.what.add("host_us", summarize(host_us).median);
  return measurement;
}

bool reduces(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduceScatter || collective == Collective::kReduce;
}

bool has_root(Collective collective) {
  return collective == Collective::kBroadcast || collective == Collective::kReduce || collective == Collective::kGather ||
         collective == Collective::kScatter;
}

}  // namespace

JsonObject layout_json(const LayoutNumbers& layout) {
  JsonObject json;
  json.add("processes", layout.processes).add("threads", layout.threads).add("gpus_per_thread", layout.gpus_per_thread);
  return json;
}

Measurement measure_collective(const Point& point, const LayoutNumbers& layout, Team& team, NcclRanks& ranks) {
  const std::string name = point.text_of("collective");
  const std::string type = point.text_of("type");
  const bool in_place = point.number_of("in_place") != 0;
  const bool in_graph = point.text_of("launch") == "graph";
  Call call{.collective = collective_of(name), .type = data_type_of(type)};
  const std::int64_t parts = is_divided(call.collective) ? ranks.size() : 1;
  call.count = point.number_of("bytes") / size_of(call.type) / parts;
  const std::int64_t bytes = call.count * parts * size_of(call.type);
  if (bytes > ranks.buffer_bytes()) throw Refusal("too little device memory");

  Timed timed{call, in_place, team, ranks};
  const std::int64_t wrong = timed.wrong_elements();
  Measurement measurement = take_samples(timed, in_graph);
  measurement.gpus = ranks.all_gpus();
  JsonObject& what = measurement.what;
  what.add("collective", name).add("bytes", bytes).add("count", call.count).add("type", type);
  if (reduces(call.collective)) what.add("redop", "sum");
  what.add("root", has_root(call.collective) ? kRoot : -1).add("in_place", in_place);
  what.add("ranks", ranks.size()).add("nodes", layout.nodes).add("layout", layout_json(layout));
  what.add("launch", in_graph ? "graph" : "stream");
  for (const char* forced : {"algorithm", "protocol"}) {
    if (point.has(forced)) what.add(forced, point.text_of(forced));
  }
  if (point.has("channels")) what.add("channels", point.number_of("channels"));
  if (point.has("communicator")) what.add("communicator", point.number_of("communicator"));
  const double algorithm_bandwidth = static_cast<double>(bytes) / measurement.median_us() / 1e3;
  what.add("algbw_GBps", algorithm_bandwidth)
      .add("busbw_GBps", algorithm_bandwidth * bus_factor(call.collective, ranks.size()));
  what.add("check", wrong == 0 ? "ok" : "wrong").add("wrong", wrong);
  return measurement;
}

}  // namespace weft::measure
