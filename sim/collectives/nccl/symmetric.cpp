#include "sim/collectives/nccl/symmetric.h"

#include <algorithm>

#include "sim/core/portable_math.h"
#include "sim/core/whole_numbers.h"

// NCCL 2.28, src/sym_kernels.cc (2.27: src/symmetric.cc), for ranks that all reach each other over NVLink: its kernels, what
// each moves, and the estimate by which it picks one (queryModel_lsa, ncclSymkPickKernel).
namespace weft::coll::nccl {
namespace {

constexpr int kMostBlocks = 64;                // ncclSymkMaxBlocks
constexpr double kLowLatencyFactor = 9;        // LL_BusFactor: twice the bytes, and more work
constexpr double kMultimemLead = 1.1;          // busMultiplier of low-latency kernels that multicast
constexpr double kCopyLead = 0.55;             // and of those that copy or add up in the switch, for each rank
constexpr double kGigabyte = (1 << 30) / 1e6;  // GBps: bytes in a microsecond
constexpr double kPenalty = 0.025;             // of the time, for each block
constexpr double kTolerance = 1.025;           // of the time on the most blocks, so that fewer do

struct SymmetricKind {
  std::string_view name;
  Collective of;
  bool low_latency;
  bool multicasts;
  bool adds_up;
};
// In NCCL's order, as the first of equals is picked.
constexpr SymmetricKind kSymmetricKinds[] = {{"AGxLL_R", Collective::kAllReduce, true, false, false},
                                             {"AGxLLMC_R", Collective::kAllReduce, true, true, false},
                                             {"RSxLD_AGxST", Collective::kAllReduce, false, false, false},
                                             {"RSxLDMC_AGxSTMC", Collective::kAllReduce, false, true, true},
                                             {"LL", Collective::kAllGather, true, false, false},
                                             {"LLMC", Collective::kAllGather, true, true, false},
                                             {"ST", Collective::kAllGather, false, false, false},
                                             {"STMC", Collective::kAllGather, false, true, false},
                                             {"LL", Collective::kReduceScatter, true, false, false},
                                             {"LD", Collective::kReduceScatter, false, false, false},
                                             {"LDMC", Collective::kReduceScatter, false, true, true}};

// A smooth min(x, ceiling), and a smooth max(0, x).
double softmin(double x, double ceiling, double softness) {
  return ceiling - softness * portable_log(1 + (portable_exp(ceiling / softness) - 1) * portable_exp(-x / softness));
}
double softplus(double x) { return x >= 100.0 ? x : portable_log(1 + portable_exp(x)); }

struct Estimate {
  SymmetricKernel kernel;
  double time_us = 0;
};

Estimate estimate(const SymmetricKind& kind, const SymmetricCall& call) {
  const auto bytes = static_cast<double>(call.bytes);
  const double ranks = call.ranks;
  const bool is_hopper = call.sm < 100;
  const bool is_gather = kind.of == Collective::kAllGather;
  const bool is_all_reduce = kind.of == Collective::kAllReduce;
  const bool in_switch = kind.multicasts && !kind.low_latency;
  double moved = (ranks - 1) * bytes;
  double lead = 1.0;
  if (kind.low_latency) {
    moved = ranks * bytes * kLowLatencyFactor;
    if (kind.multicasts) lead = kMultimemLead;
  } else if (is_all_reduce) {
    moved = in_switch ? bytes / ranks + bytes : 2 * bytes * (ranks - 1) / ranks;
    if (in_switch) lead = ranks;
  } else if (in_switch) {
    lead = kCopyLead * ranks;
  }
  double start = is_hopper ? 7.8 : is_all_reduce ? 19.5 : 13.0;
  if (kind.low_latency) start = is_hopper ? 4.5 : is_gather ? 8.5 : 11.0;
  const double block = (is_hopper ? (is_all_reduce ? 65 : 44) : 55) * kGigabyte;
  const bool is_reduced_in_switch = is_all_reduce && in_switch;
  const double most = (is_hopper ? (is_reduced_in_switch ? 480 : 320) : is_reduced_in_switch ? 1000 : 600) * kGigabyte;
  const int most_blocks =
      in_switch ? static_cast<int>(ceil_div(std::int64_t{is_hopper ? 16 : 32}, std::int64_t{call.ranks})) : kMostBlocks;

  const auto time = [&](int blocks) { return start + softplus(moved / softmin(blocks * block * lead, most, block) - 1); };
  int blocks = 1;
  while (blocks < most_blocks && time(blocks) > kTolerance * time(most_blocks)) ++blocks;
  return {.kernel = {.name = kind.name,
                     .low_latency = kind.low_latency,
                     .in_switch = in_switch,
                     .blocks = blocks,
                     .start_us = start,
                     .bytes = moved,
                     .on_links = kind.low_latency ? moved * 2 / kLowLatencyFactor : moved,
                     .blocks_per_us = kind.low_latency ? softmin(blocks * block * lead, most, block) : blocks * block * lead},
          .time_us = time(blocks)};
}

bool takes(const SymmetricKind& kind, const SymmetricCall& call) {
  if (kind.of != call.kind || (kind.multicasts && !call.multicasts) || (kind.adds_up && !call.adds_up)) return false;
  if (kind.of != Collective::kAllGather && !call.is_summed) return false;
  const auto all = static_cast<double>(call.bytes) * (kind.of == Collective::kAllReduce ? 1 : call.ranks);
  constexpr double kTwoGibibytes = 2.0 * (1 << 30);
  return all < (kind.low_latency ? 1 : 32) * kTwoGibibytes;
}

}  // namespace

double SymmetricKernel::moving_us(double bytes_per_us) const {
  const double by_links = bytes_per_us > 0 ? on_links / bytes_per_us : 0.0;
  return softplus(std::max(bytes / blocks_per_us, by_links) - 1);
}

std::optional<SymmetricKernel> symmetric_kernel(const SymmetricCall& call) {
  std::optional<SymmetricKernel> best;
  double least = 0;
  for (const SymmetricKind& kind : kSymmetricKinds) {
    if (!takes(kind, call)) continue;
    const Estimate found = estimate(kind, call);
    const double weighed = found.time_us * (1 + kPenalty * found.kernel.blocks);
    if (best && weighed >= least) continue;
    best = found.kernel;
    least = weighed;
  }
  return best;
}

std::optional<SymmetricKernel> symmetric_kernel(const SymmetricCall& call, std::string_view name) {
  const auto* const kind = std::ranges::find_if(
      kSymmetricKinds, [&](const SymmetricKind& each) { return each.of == call.kind && each.name == name; });
  if (kind == std::end(kSymmetricKinds)) return std::nullopt;
  return estimate(*kind, call).kernel;
}

}  // namespace weft::coll::nccl
