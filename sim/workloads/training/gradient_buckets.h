// Which gradients travel together (models/workloads §2.1).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "sim/core/units.h"

namespace weft::work {

// PyTorch DDP: a bucket closes when it has reached its cap; the first one's is smaller, so that communication starts early.
class BucketFiller {
 public:
  BucketFiller(Bytes first_cap, Bytes cap) : limit_{first_cap}, cap_{cap} {}

  // Adds a gradient; the bucket's size if that closed it.
  std::optional<Bytes> add(Bytes gradient) {
    filled_ += gradient;
    return filled_ >= limit_ ? flush() : std::nullopt;
  }
  // Closes the bucket as it is; nothing if it is empty.
  std::optional<Bytes> flush() {
    if (filled_ == Bytes{}) return std::nullopt;
    const Bytes size = filled_;
    filled_ = {};
    limit_ = cap_;
    return size;
  }

 private:
  Bytes limit_;
  Bytes cap_;
  Bytes filled_ = {};
};

// Megatron-LM's default bucket, in parameters, over `ranks` data-parallel ranks.
[[nodiscard]] constexpr std::int64_t megatron_bucket_parameters(std::int64_t ranks) {
  return std::max<std::int64_t>(40'000'000, 1'000'000 * ranks);
}

}  // namespace weft::work
