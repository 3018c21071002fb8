#include "sim/core/stats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "sim/core/error.h"
#include "sim/core/portable_math.h"

namespace weft {
namespace {

// 1-based rank of the nearest-rank percentile among `count` values: ceil(percent/100 * count), at least 1. The small amount
// taken off keeps 95 % of 20 at 19, although 0.95 * 20 is a hair above 19 in binary.
std::int64_t nearest_rank(double percent, std::int64_t count) {
  WEFT_CHECK(percent >= 0.0 && percent <= 100.0);
  const double exact = percent / 100.0 * static_cast<double>(count);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(exact * (1.0 - 1e-12))), 1, count);
}

}  // namespace

std::string_view unit_name(Unit unit) {
  switch (unit) {
    case Unit::kCount:
      return "count";
    case Unit::kBytes:
      return "bytes";
    case Unit::kPicoseconds:
      return "ps";
    case Unit::kPackets:
      return "packets";
    case Unit::kEvents:
      return "events";
  }
  WEFT_CHECK(false);
  return {};
}

double TimeWeighted::mean(Time until) const {
  WEFT_CHECK(until >= since_);
  const std::int64_t elapsed = (until - start_).ps();
  if (elapsed == 0) return static_cast<double>(level_);
  const Int128 area = area_ + static_cast<Int128>(level_) * (until - since_).ps();
  return static_cast<double>(area) / static_cast<double>(elapsed);
}

double percentile(std::span<const double> values, double percent) {
  WEFT_CHECK(!values.empty());
  std::vector<double> sorted(values.begin(), values.end());
  const auto rank = sorted.begin() + (nearest_rank(percent, static_cast<std::int64_t>(sorted.size())) - 1);
  std::nth_element(sorted.begin(), rank, sorted.end());
  return *rank;
}

double median(std::span<const double> values) {
  WEFT_CHECK(!values.empty());
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2.0;
}

double mean(std::span<const double> values) {
  WEFT_CHECK(!values.empty());
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double geometric_mean(std::span<const double> values) {
  WEFT_CHECK(!values.empty());
  double sum = 0.0;
  for (const double value : values) {
    WEFT_CHECK(value >= 0.0);
    if (value == 0.0) return 0.0;
    sum += portable_log(value);
  }
  return portable_exp(sum / static_cast<double>(values.size()));
}

double jain_index(std::span<const double> values) {
  WEFT_CHECK(!values.empty());
  double sum = 0.0;
  double squares = 0.0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  return squares == 0.0 ? 1.0 : sum * sum / (static_cast<double>(values.size()) * squares);
}

// Below 2^(kSubBits+1) a value is its own bin. Above, the bins of one power of two share the value's leading kSubBits+1 bits.
std::size_t Histogram::bin_of(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  const int shift = std::max(0, static_cast<int>(std::bit_width(bits)) - (kSubBits + 1));
  return (static_cast<std::size_t>(shift) << kSubBits) + static_cast<std::size_t>(bits >> shift);
}

std::int64_t Histogram::first_of(std::size_t bin) {
  if (bin < (std::size_t{2} << kSubBits)) return static_cast<std::int64_t>(bin);
  const std::size_t shift = (bin >> kSubBits) - 1;
  const std::size_t leading = bin - (shift << kSubBits);
  return static_cast<std::int64_t>(std::uint64_t{leading} << shift);
}

void Histogram::add(std::int64_t value, std::int64_t times) {
  WEFT_CHECK(value >= 0 && times > 0);
  minimum_ = count_ == 0 ? value : std::min(minimum_, value);
  maximum_ = std::max(maximum_, value);
  bins_[bin_of(value)] += times;
  count_ += times;
  sum_ += static_cast<Int128>(value) * times;
}

void Histogram::merge(const Histogram& other) {
  if (other.count_ == 0) return;
  minimum_ = count_ == 0 ? other.minimum_ : std::min(minimum_, other.minimum_);
  maximum_ = std::max(maximum_, other.maximum_);
  for (std::size_t bin = 0; bin < kBins; ++bin) bins_[bin] += other.bins_[bin];
  count_ += other.count_;
  sum_ += other.sum_;
}

double Histogram::mean() const {
  WEFT_CHECK(count_ > 0);
  return static_cast<double>(sum_) / static_cast<double>(count_);
}

std::int64_t Histogram::percentile(double percent) const {
  WEFT_CHECK(count_ > 0);
  std::int64_t left = nearest_rank(percent, count_);
  std::size_t bin = 0;
  while (left > bins_[bin]) left -= bins_[bin++];
  const std::int64_t last = bin + 1 < kBins ? first_of(bin + 1) - 1 : maximum_;
  return std::min(last, maximum_);
}

std::vector<Histogram::Bin> Histogram::bins() const {
  std::vector<Bin> result;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    if (bins_[bin] == 0) continue;
    const std::int64_t last = bin + 1 < kBins ? first_of(bin + 1) - 1 : std::numeric_limits<std::int64_t>::max();
    result.push_back(Bin{first_of(bin), last, bins_[bin]});
  }
  return result;
}

}  // namespace weft
