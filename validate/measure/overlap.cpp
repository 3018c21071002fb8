#include "overlap.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "cuda_check.h"
#include "lt_gemm.h"
#include "refusal.h"

namespace weft::measure {
namespace {

constexpr int kSide = 8192;                   // of the GEMM
constexpr std::int64_t kCopyBytes = 1 << 30;  // of the copy in the device's memory
constexpr int kComputeCalls = 12;
constexpr int kMostCalls = 64;  // collectives in a row, of 512 MiB together if they are small
constexpr std::int64_t kBytesInRow = 512 << 20;
constexpr int kWarmup = 2;
constexpr int kSamples = 9;
// GEMMs of a case before leave the clock a quarter lower, where power is the limit: after 100 ms it is within 3 % again.
constexpr std::chrono::milliseconds kClockRecovers{200};

struct Part {
  JsonObject what = {};
  int calls = 1;
  cudaStream_t stream = nullptr;
  bool computes = false;
  std::function<void()> enqueue = {};  // one call
  std::vector<double> samples_us = {};
};

}  // namespace

class OverlapParts {
 public:
  OverlapParts(Team& team, NcclRanks& ranks)
      : team_{team},
        ranks_{ranks},
        one_{ranks.ranks().front()},
        gemm_{{.m = kSide, .n = kSide, .k = kSide}, gemm_type("bf16")},
        operands_{3 * kMatrixBytes},
        copied_{2 * kCopyBytes} {
    fill_random(Element::kBfloat16, operands_.data(), 2 * kMatrixBytes / 2, 5, one_.stream->get());
    split(0, other_);
    split(one_.rank / 2, pair_);
    split(one_.rank % (ranks.size() / 2), cross_);
    ranks_.synchronize();
  }
  ~OverlapParts() {
    for (ncclComm_t comm : {other_, pair_, cross_}) ncclCommAbort(comm);
  }
  OverlapParts(const OverlapParts&) = delete;
  OverlapParts& operator=(const OverlapParts&) = delete;

  Measurement measure(const Point& point, const LayoutNumbers& layout) {
    const std::string name = point.text_of("case");
    std::vector<Part> parts = make_parts(name, point);
    const bool computes = std::any_of(parts.begin(), parts.end(), [](const Part& part) { return part.computes; });
    if (!computes) std::this_thread::sleep_for(kClockRecovers);
    Measurement measurement{.what = {}, .samples_us = {}, .inner = 1, .warmup = kWarmup, .gpus = ranks_.all_gpus()};
    std::vector<std::vector<double>> own(parts.size());
    for (int i = 0; i < kWarmup + kSamples; ++i) {
      const std::vector<double> times = sample(parts);
      double last = 0;
      for (std::size_t j = 0; j < parts.size(); ++j) {
        const double slowest = team_.maximum(times[j]);
        last = std::max(last, slowest);
        if (i >= kWarmup) parts[j].samples_us.push_back(slowest), own[j].push_back(times[j]);
      }
      if (i >= kWarmup) measurement.samples_us.push_back(last);
    }
    std::vector<std::string> texts;
    for (std::size_t j = 0; j < parts.size(); ++j) texts.push_back(text_of(parts[j], own[j]));
    measurement.what.add("case", name).add("layout", layout_json(layout)).add("ranks", ranks_.size());
    measurement.what.add_raw("parts", json_array(texts));
    return measurement;
  }

 private:
  static constexpr std::int64_t kMatrixBytes = std::int64_t{kSide} * kSide * 2;

  void split(int color, ncclComm_t& comm) const {
    check(ncclCommSplit(one_.comm, color, one_.rank, &comm, nullptr), "second communicator");
  }

  // From a common start on the first stream to the end of each part, on this rank.
  std::vector<double> sample(const std::vector<Part>& parts) const {
    const Event begin;
    std::vector<std::unique_ptr<Event>> ends;
    check(cudaDeviceSynchronize(), "device");
    team_.barrier();
    check(cudaEventRecord(begin.get(), start_.get()), "event");
    for (const Part& part : parts) {
      check(cudaStreamWaitEvent(part.stream, begin.get(), 0), "common start");
      for (int i = 0; i < part.calls; ++i) part.enqueue();
      ends.push_back(std::make_unique<Event>());
      check(cudaEventRecord(ends.back()->get(), part.stream), "event");
    }
    check(cudaDeviceSynchronize(), "overlapped parts");
    std::vector<double> times;
    for (const auto& end : ends) {
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin.get(), end->get()), "elapsed time");
      times.push_back(static_cast<double>(ms) * 1e3);
    }
    return times;
  }

  [[nodiscard]] std::string text_of(Part& part, const std::vector<double>& own) {
    const Summary summary = summarize(part.samples_us);
    part.what.add("calls", part.calls);
    part.what.add("median_us", summary.median).add("min_us", summary.min).add("max_us", summary.max);
    part.what.add("per_rank_us", team_.gather(summarize(own).median));
    return part.what.text();
  }

  // `ranks` of `comm`; `second`: in the other half of the buffers and the other stream.
  Part collective(const std::string& op, std::int64_t bytes, ncclComm_t comm, int ranks, bool second) {
    Part part{.what = {}, .calls = static_cast<int>(std::clamp<std::int64_t>(kBytesInRow / bytes, 1, kMostCalls))};
    part.what.add("op", op).add("bytes", bytes).add("type", "bfloat16");
    const bool divided = op != "all_reduce";
    const Call call{collective_of(op), DataType::kBfloat16, bytes / 2 / (divided ? ranks : 1)};
    const std::int64_t offset = second ? ranks_.buffer_bytes() / 2 : 0;
    const Buffers buffers{one_.send->at(offset), one_.receive->at(offset)};
    part.stream = second ? second_.get() : one_.stream->get();
    int rank = 0;
    check(ncclCommUserRank(comm, &rank), "rank");
    part.enqueue = [call, rank, ranks, buffers, comm, stream = part.stream] {
      enqueue_collective(call, rank, ranks, buffers, comm, stream);
    };
    return part;
  }

  Part groups_of_two(std::int64_t bytes, ncclComm_t comm, bool crossed) {
    Part part = collective("all_reduce", bytes, comm, 2, crossed);
    std::vector<std::string> groups;
    const int half = ranks_.size() / 2;
    for (int i = 0; i < half; ++i) {
      std::vector<std::string> members;
      for (int rank = 0; rank < ranks_.size(); ++rank) {
        if ((crossed ? rank % half : rank / 2) == i) members.push_back(std::to_string(rank));
      }
      if (!members.empty()) groups.push_back(json_array(members));
    }
    part.what.add_raw("groups", json_array(groups));
    return part;
  }

  Part gemms() {
    Part part{.what = {}, .calls = kComputeCalls, .stream = second_.get(), .computes = true};
    part.what.add("op", "gemm").add("m", kSide).add("n", kSide).add("k", kSide).add("type", "bf16");
    part.enqueue = [this] {
      gemm_.enqueue(operands_.data(), operands_.at(kMatrixBytes), operands_.at(2 * kMatrixBytes), second_.get());
    };
    return part;
  }

  Part copies() {
    Part part{.what = {}, .calls = kComputeCalls, .stream = second_.get(), .computes = true};
    part.what.add("op", "copy").add("bytes", kCopyBytes).add("type", "bf16");
    // By a kernel, as frameworks copy: by copy engine it would leave the SMs alone.
    part.enqueue = [this] {
      memory_kernel(MemoryOp::kCopy, copied_.data(), nullptr, copied_.at(kCopyBytes), kCopyBytes / 2, second_.get());
    };
    return part;
  }

  std::vector<Part> make_parts(const std::string& name, const Point& point) {
    const std::string op = point.text_of("op");
    const std::int64_t bytes = point.number_of("bytes");
    if (bytes > ranks_.buffer_bytes() / 2) throw Refusal("too little device memory");
    std::vector<Part> parts;
    if (name == "pairs" || name == "pairs_and_cross") {
      parts.push_back(groups_of_two(bytes, pair_, false));
      if (name == "pairs_and_cross") parts.push_back(groups_of_two(bytes, cross_, true));
      return parts;
    }
    if (!op.empty()) parts.push_back(collective(op, bytes, one_.comm, ranks_.size(), false));
    if (name == "two_communicators") parts.push_back(collective(op, bytes, other_, ranks_.size(), true));
    if (name == "gemm_alone" || name == "collective_with_gemm") parts.push_back(gemms());
    if (name == "copy_alone" || name == "collective_with_copy") parts.push_back(copies());
    return parts;
  }

  Team& team_;
  NcclRanks& ranks_;
  NcclRank& one_;
  Stream start_;
  Stream second_;
  LtGemm gemm_;
  Buffer operands_;
  Buffer copied_;
  ncclComm_t other_ = nullptr;
  ncclComm_t pair_ = nullptr;
  ncclComm_t cross_ = nullptr;
};

Overlap::Overlap(Team& team, NcclRanks& ranks) : parts_{std::make_unique<OverlapParts>(team, ranks)} {}
Overlap::~Overlap() = default;
Measurement Overlap::measure(const Point& point, const LayoutNumbers& layout) { return parts_->measure(point, layout); }

}  // namespace weft::measure
