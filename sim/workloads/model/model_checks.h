// Checks that every description of a model must pass, ours and Hugging Face's alike. Bounds of single values keep all sums of
// parameters within 64 bits; other checks relate values.
#pragma once

#include <cstdint>

#include "sim/core/config/params.h"
#include "sim/workloads/model/transformer.h"

namespace weft::work {

inline constexpr std::int64_t kMaxLayers = 1024;
inline constexpr std::int64_t kMaxHidden = std::int64_t{1} << 17;
inline constexpr std::int64_t kMaxHeads = 4096;
inline constexpr std::int64_t kMaxHeadDim = 4096;
inline constexpr std::int64_t kMaxFfn = std::int64_t{1} << 19;
inline constexpr std::int64_t kMaxVocab = std::int64_t{1} << 26;
inline constexpr std::int64_t kMaxExperts = 8192;
inline constexpr std::int64_t kMaxSharedExperts = 64;
inline constexpr std::int64_t kMaxSequence = std::int64_t{1} << 40;  // windows and positions
inline constexpr std::int64_t kMaxPositions = std::int64_t{1} << 30;
inline constexpr std::int64_t kMaxMtpModules = 64;

// How a format calls what is compared; errors stand at these keys.
struct ShapeKeys {
  const char* heads;
  const char* kv_heads;
  const char* layers;
  const char* windows;
  const char* experts;
  const char* experts_per_token;
  const char* dense_layers;
  const char* groups;
  const char* groups_per_token;
};

// `moe` reads the map that holds the keys of experts, which may be `top` itself.
void check_shape(ParamReader& top, ParamReader& moe, const TransformerModel& model, const ShapeKeys& keys);

// The width of a head that was not stated; an error at `heads` where it is not whole.
[[nodiscard]] std::int64_t default_head_dim(ParamReader& top, std::int64_t hidden, std::int64_t heads, const char* heads_key);

}  // namespace weft::work
