#include "sim/workloads/kernels/experts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "sim/core/portable_math.h"
#include "sim/core/random.h"
#include "sim/workloads/kernels/paged_attention.h"

namespace weft::work {
namespace {

constexpr std::array<double, 4> kTileRows{16, 32, 64, 128};
constexpr std::array<double, 4> kTileColumns{32, 64, 128, 256};
constexpr double kStepBytes = 128;  // of a main loop's step
constexpr double kLastWave = 0.5;   // of its idle SMs, what is lost
constexpr double kHiddenBytes = 2;  // of activations between kernels, bf16
constexpr double kLargeTile = 128.0 * 256 / (128 + 256);
constexpr int kDraws = 4;
constexpr int kRounds = 4;             // until no expert has more than every token
constexpr double kMostOfTokens = 0.8;  // that an expert draws

double matrices(const Kernel& kernel) { return kernel.gated ? 3 : 2; }

// Visits by expert, of tokens that all choose `top_k`.
std::vector<double> drawn_visits(std::uint64_t& state, double tokens, double visits, std::int64_t experts, double exponent) {
  const double one = std::abs(1.0 - exponent) < 1e-6 ? 1e-6 : 1.0 - exponent;
  const bool many = visits > static_cast<double>(experts);
  const double least = portable_pow(many ? 1.0 : 0.01, one);
  const double most = portable_pow(many ? std::max(kMostOfTokens * tokens, 1.0) : 2.0, one);
  std::vector<double> drawn(static_cast<std::size_t>(experts));
  for (double& value : drawn) {
    const double unit = static_cast<double>(split_mix_64(state) >> 11) * 0x1p-53;
    value = portable_pow((most - least) * unit + least, 1.0 / one);
  }
  for (int round = 0; round < kRounds; ++round) {
    double open = 0;
    double full = 0;
    for (const double value : drawn) (value >= tokens ? full : open) += std::min(value, tokens);
    if (open <= 0) break;
    const double factor = std::max(0.0, visits - full) / open;
    for (double& value : drawn) value = value >= tokens ? tokens : std::min(value * factor, tokens);
  }
  return drawn;
}

// Tiles of `rows` over an expert's rows, of all experts in use. Rows that are uneven are taken as exponentially distributed.
double row_tiles(const Kernel& kernel, double rows) {
  const double each = kernel.expert_rows / kernel.experts_used / rows;
  if (!kernel.uneven) return kernel.experts_used * std::ceil(each - 1e-9);
  return kernel.experts_used / (1.0 - portable_exp(-1.0 / each));
}

// One of the grouped products: `columns` by `inner`.
double product_seconds(const Kernel& kernel, const GpuSpec& gpu, const ExpertCosts& costs, double rate, int sms, double columns,
                       double inner) {
  const OperandBytes operand = operand_bytes(kernel.precision);
  const double width = operand.activation;
  const double load = costs.sm_bytes_per_clock * gpu.clock_ghz * 1e9;
  const double latency = costs.loop_latency.seconds() * width / kStepBytes;
  const double large = 1.0 + costs.small_tile_penalty / kLargeTile;
  double best = std::numeric_limits<double>::infinity();
  for (const double m : kTileRows) {
    const double rows = row_tiles(kernel, m);
    for (const double n : kTileColumns) {
      const double tiles = rows * std::ceil(columns / n);
      const double reached = rate * costs.efficiency / gpu.sms * large / (1.0 + costs.small_tile_penalty * (m + n) / (m * n));
      const double each = std::max({2.0 * m * n / reached, (m * width + n * operand.weight) / load, latency});
      const double filled = std::max(tiles / sms, 1.0);
      const double waves = filled + (std::ceil(tiles / sms) - filled) * kLastWave;
      best = std::min(best, waves * (inner * each + costs.block_overhead.seconds()));
    }
  }
  return best;
}

// Mean over the draws of the load that `heaviest_of` finds in the visits by expert.
template <class HeaviestOf>
ExpertVisits mean_of_draws(double tokens, double top_k, std::int64_t experts, double exponent, const HeaviestOf& heaviest_of) {
  std::uint64_t state = 1;
  ExpertVisits mean{.kept = 0};
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<double> visits = drawn_visits(state, tokens, tokens * top_k, experts, exponent);
    const ExpertVisits heaviest = heaviest_of(visits);
    mean.rows += heaviest.rows / kDraws;
    mean.experts += heaviest.experts / kDraws;
    mean.kept += heaviest.kept / kDraws;
  }
  mean.experts = std::max(1.0, std::min(mean.experts, mean.rows));
  return mean;
}

// As DeepSeek's EPLB does for one group of experts: a copy more of the expert whose copies have most to do, one by one.
std::vector<double> loads_of_copies(const std::vector<double>& visits, std::int64_t redundant) {
  std::vector<double> copies(visits.size(), 1.0);
  for (std::int64_t i = 0; i < redundant; ++i) {
    std::size_t busiest = 0;
    for (std::size_t e = 1; e < visits.size(); ++e)
      if (visits[e] / copies[e] > visits[busiest] / copies[busiest]) busiest = e;
    copies[busiest] += 1.0;
  }
  std::vector<double> loads;
  for (std::size_t e = 0; e < visits.size(); ++e)
    loads.insert(loads.end(), static_cast<std::size_t>(copies[e]), visits[e] / copies[e]);
  return loads;
}

// The busiest copies first, each to the GPU with least to do that has a place left.
ExpertVisits busiest_of_packed(std::vector<double> loads, std::int64_t ranks) {
  std::ranges::sort(loads, std::greater{});
  const std::size_t places = loads.size() / static_cast<std::size_t>(ranks);
  std::vector<ExpertVisits> gpus(static_cast<std::size_t>(ranks));
  std::vector<std::size_t> held(gpus.size(), 0);
  for (const double load : loads) {
    std::size_t least = gpus.size();
    for (std::size_t g = 0; g < gpus.size(); ++g)
      if (held[g] < places && (least == gpus.size() || gpus[g].rows < gpus[least].rows)) least = g;
    if (least == gpus.size()) break;
    gpus[least].add(load);
    ++held[least];
  }
  return std::ranges::max(gpus, {}, &ExpertVisits::rows);
}

}  // namespace

ExpertVisits even_expert_load(double tokens, double top_k, std::int64_t experts, std::int64_t ranks) {
  const double rows = std::max(1.0, tokens * top_k / static_cast<double>(ranks));
  const std::int64_t here = experts / ranks;
  return {.rows = rows, .experts = std::min(static_cast<double>(here), rows)};
}

ExpertVisits heaviest_expert_load(double tokens, double top_k, std::int64_t experts, std::int64_t ranks, double exponent,
                                  double capacity) {
  const double most = capacity * tokens * top_k / static_cast<double>(experts);
  const auto here = static_cast<std::size_t>(std::max<std::int64_t>(1, experts / ranks));
  return mean_of_draws(tokens, top_k, experts, exponent, [&](std::vector<double>& visits) {
    const double routed = std::accumulate(visits.begin(), visits.end(), 0.0);
    for (double& visit : visits) visit = std::min(visit, most);
    const double kept = routed > 0 ? std::accumulate(visits.begin(), visits.end(), 0.0) / routed : 1.0;
    ExpertVisits heaviest;
    for (std::size_t first = 0; first + here <= visits.size(); first += here) {
      ExpertVisits load;
      for (std::size_t i = first; i < first + here; ++i) load.add(visits[i]);
      if (load.rows > heaviest.rows) heaviest = load;
    }
    heaviest.kept = kept;
    return heaviest;
  });
}

ExpertVisits balanced_expert_load(double tokens, double top_k, std::int64_t experts, std::int64_t redundant, std::int64_t ranks,
                                  double exponent) {
  return mean_of_draws(tokens, top_k, experts, exponent, [&](const std::vector<double>& visits) {
    return busiest_of_packed(loads_of_copies(visits, redundant), ranks);
  });
}

double experts_seconds(const Kernel& kernel, const GpuSpec& gpu, const ExpertCosts& costs, double rate, int sms) {
  const OperandBytes operand = operand_bytes(kernel.precision);
  const double width = operand.activation;
  const auto tokens = static_cast<double>(kernel.m);
  const auto columns = static_cast<double>(kernel.n);
  const auto hidden = static_cast<double>(kernel.k);
  const double rows = kernel.expert_rows;
  const double first = (kernel.gated ? 2 : 1) * columns;
  const double weights = kernel.experts_used * columns * hidden * operand.weight;
  // A benchmark calls the same experts again: what of the weights is still in the L2.
  const double all = matrices(kernel) * weights + rows * (hidden * (width + kHiddenBytes) + 3 * columns * kHiddenBytes);
  const double held = kernel.repeated ? held_in_l2(all, costs.l2_share * static_cast<double>(gpu.l2_bytes)) : 0.0;
  const double bandwidth = gpu.hbm_bytes_per_second;
  const auto product = [&](double n, double k) {
    const double computing = product_seconds(kernel, gpu, costs, rate, sms, n, k);
    const double bytes = (1.0 - held) * (kernel.experts_used * n * k * operand.weight + rows * (k * width + n * kHiddenBytes));
    const double reading = bytes / (bandwidth * costs.memory_efficiency);
    return std::sqrt(computing * computing + reading * reading);
  };
  // Values of a visit that passes read and write: for the sum, and around the activation.
  const double activation = columns * ((kernel.gated ? 2 : 1) * kHiddenBytes + width);
  const double here = rows * (hidden * (width + 2 * kHiddenBytes) + activation) + 2 * kHiddenBytes * tokens * hidden;
  const double away = std::max(0.0, kernel.visits - rows) * (hidden * kHiddenBytes + activation);
  const double passes = (here + costs.elsewhere * away) / (bandwidth * costs.pass_efficiency);
  return costs.fixed.seconds() + product(first, hidden) + product(hidden, columns) + passes;
}

}  // namespace weft::work
