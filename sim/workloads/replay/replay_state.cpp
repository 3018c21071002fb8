#include "sim/workloads/replay/replay_state.h"

#include <fmt/format.h>

#include <cstdlib>
#include <new>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/core/portable_math.h"

namespace weft::work {

ProgramLayout::ProgramLayout(const RankProgram& program, Duration launch)
    : streams(std::max<std::size_t>(program.streams.size(), 1)) {
  const std::size_t count = program.operations.size();
  place.resize(count);
  segment.resize(count);
  issue_offset.resize(count);
  sequence.resize(count);
  first_memory.resize(count + 1);
  Duration offset;
  std::size_t change = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Operation& op = program.operations[i];
    const auto index = static_cast<OpIndex>(i);
    if (op.launched && !is_host(op.kind) && op.kind != OpKind::kMarker) offset += launch;
    segment[i] = static_cast<std::uint32_t>(host_operations.size());
    issue_offset[i] = offset;
    if (is_host(op.kind)) {
      place[i] = static_cast<std::uint32_t>(host_operations.size());
      host_operations.push_back(index);
      offset = {};
    } else {
      place[i] = static_cast<std::uint32_t>(streams[op.stream].size());
      streams[op.stream].push_back(index);
    }
    if (op.kind == OpKind::kCollective || is_message(op.kind)) {
      const CallKey key{op.kind, op.slot, op.tag};
      auto known = std::ranges::find(calls_, key, &std::pair<CallKey, std::uint32_t>::first);
      if (known == calls_.end()) known = calls_.insert(calls_.end(), {key, 0});
      sequence[i] = known->second++;
    }
    first_memory[i] = static_cast<std::uint32_t>(change);
    while (change < program.memory.size() && program.memory[change].op == index) ++change;
    WEFT_CHECK(change == program.memory.size() || program.memory[change].op > index);
  }
  first_memory[count] = static_cast<std::uint32_t>(change);
}

std::uint64_t ProgramLayout::calls_like(const Operation& op) const {
  const auto known = std::ranges::find(calls_, CallKey{op.kind, op.slot, op.tag}, &std::pair<CallKey, std::uint32_t>::first);
  return known->second;
}

TimingStore::TimingStore(std::size_t operations) {
  constexpr std::size_t kPage = std::size_t{2} << 20;
  const std::size_t bytes = (operations * sizeof(OperationTiming) + kPage - 1) / kPage * kPage;
  void* const block = std::aligned_alloc(kPage, std::max(bytes, kPage));
  if (block == nullptr) throw std::bad_alloc{};
#ifdef __linux__
  if (bytes > kPage) madvise(block, bytes, MADV_HUGEPAGE);  // a wish: without it all is the same, and slower
#endif
  block_.reset(static_cast<OperationTiming*>(block));
}

OperationTiming* TimingStore::take(std::size_t operations) { return &block_[std::exchange(taken_, taken_ + operations)]; }

void TimingStore::Free::operator()(OperationTiming* block) const { std::free(block); }

RankState::RankState(Rank r, const Program& whole, const ProgramLayout& l, const ReplayOptions& options, OperationTiming* t,
                     std::span<StreamState> s)
    : program{&whole.program_of(r)},
      layout{&l},
      timing{t},
      streams{s},
      rank{r},
      table{&whole.ranks[static_cast<std::size_t>(r)]} {
  kernels.reserve(1);
  if (options.jitter.kernel > 0) random.emplace(options.seed, fmt::format("rank{}/kernel jitter", r));
  if (options.jitter.rank > 0) {
    RandomStream speeds{options.seed, fmt::format("rank{}/speed", r)};
    slowness = std::max(0.1, speeds.normal(1.0, options.jitter.rank));
  }
  for (const auto& [straggler, factor] : options.jitter.stragglers) {
    if (straggler == r) slowness *= factor;
  }
}

void RankState::begin(Time now) {
  for (std::size_t s = 0; s < streams.size(); ++s) {
    const bool background = streams[s].background;
    streams[s] = {};
    streams[s].busy = streams[s].background = background;
    if (!layout->streams[s].empty()) streams[s].head = layout->streams[s].front();
  }
  remaining = program->operations.size();
  segment = 0;
  host_base = now;
  began = now;
  changed = now;
  times = {};
  bytes = 0;
}

void RankState::end(Time now) {
  account(now);
  last = times;
  iteration_ends.push_back(now);
  Digest digest;
  for (const OperationTiming& operation : std::span{timing, program->operations.size()}) {
    digest.add(operation.start - began).add(operation.end - began);
  }
  digests.push_back(digest.value());
}

void RankState::account(Time now) {
  const Duration passed = now - changed;
  changed = now;
  if (passed == Duration{}) return;
  if (tensor_kernels > 0) {
    times.tensor += passed;
    if (std::ranges::any_of(moving, [](int count) { return count > 0; })) times.tensor_beside += passed;
  }
  if (computing > 0) {
    times.compute += passed;
    return;
  }
  for (std::size_t c = 0; c < kCategories; ++c) {
    if (moving[c] > 0) {
      times.exposed[c] += passed;
      return;
    }
  }
  if (waiting_messages > 0) {
    times.bubble += passed;
  } else if (waiting_collectives > 0) {
    times.skew += passed;
  } else if (waits_for_storage()) {
    times.exposed[static_cast<std::size_t>(Category::kIo)] += passed;
  } else {
    times.idle += passed;
  }
}

bool RankState::waits_for_storage() const {
  for (const StreamState& stream : streams) {
    if (!stream.background || stream.head == kNoOp) continue;
    const Operation& op = program->operations[stream.head];
    if (std::ranges::all_of(program->waits_of(op), [&](OpIndex wait) { return is_done(wait); })) return true;
  }
  return false;
}

void RankState::change_memory(OpIndex op, bool starts_now) {
  for (std::uint32_t i = layout->first_memory[op]; i < layout->first_memory[op + 1]; ++i) {
    const std::int64_t change = program->memory[i].bytes;
    if ((change > 0) == starts_now) bytes += change;
  }
  peak_bytes = std::max(peak_bytes, bytes);
}

void RankState::start(OpIndex op, Time now, Cause cause) {
  newest = op;
  timing[op] = {.start = now, .ready = now, .end = {}, .cause = cause};
  change_memory(op, true);
}

void RankState::finish(OpIndex index, Time now) {
  const Operation& op = program->operations[index];
  timing[index].end = now;
  change_memory(index, false);
  times.busy[static_cast<std::size_t>(op.category)] += now - timing[index].ready;
  if (!is_host(op.kind)) {
    StreamState& stream = streams[op.stream];
    stream.busy = stream.background;
    const std::vector<OpIndex>& its = layout->streams[op.stream];
    stream.head = ++stream.next < its.size() ? its[stream.next] : kNoOp;
  }
  --remaining;
}

void RankState::start_kernel(OpIndex index, Time now, const ReplayOptions& options) {
  const Operation& op = program->operations[index];
  account(now);
  RunningKernel kernel;
  kernel.op = index;
  kernel.alone_ps = static_cast<double>(op.duration.ps()) * stretch(index, options);
  kernel.remaining_ps = kernel.alone_ps;
  kernel.since = now;
  if (op.weight_gradient && held_ctas > 0) {
    kernel.has_second_wave = true;
    kernel.remaining_ps *= 2;
  }
  // All blocks of a GEMM that splits statically end together.
  if (op.fills_gpu && op.category == Category::kGemm && !op.weight_gradient) {
    const Duration alone = Duration::whole_ps(kernel.alone_ps);
    kernel.drain_ps = static_cast<double>(gemm_drain(options.contention, alone).ps());
  }
  kernel.speed = speed(op, kernel, options.contention);
  kernel.holds_gpu = op.fills_gpu;
  if (op.fills_gpu) ++fills_gpu;
  ++computing;
  if (is_tensor(op.category)) ++tensor_kernels;
  kernels.push_back(kernel);
}

void RankState::end_kernel(const Operation& op) {
  if (is_tensor(op.category)) --tensor_kernels;
  --computing;
}

double RankState::stretch(OpIndex index, const ReplayOptions& options) {
  double factor = slowness;
  const Operation& op = program->operations[index];
  if (clocks != nullptr && clocks->stretches_kernels && is_compute(op.category)) {
    factor *= stretch_of(clocks->at(index), load_of(op).memory);
  }
  // Lognormal with mean 1.
  if (random) {
    const double sigma = options.jitter.kernel;
    factor *= portable_exp(random->normal(-0.5 * sigma * sigma, sigma));
  }
  return factor;
}

double RankState::speed(const Operation& op, const RunningKernel& kernel, const ContentionCosts& contention) const {
  if (held_ctas == 0 || kernel.has_second_wave) return 1;
  KernelClass kernel_class = KernelClass::kMemory;
  if (op.category == Category::kGemm) kernel_class = KernelClass::kGemm;
  if (op.category == Category::kAttention) kernel_class = KernelClass::kAttention;
  return 1 / slowdown_beside(contention, kernel_class, held_ctas);
}

}  // namespace weft::work
