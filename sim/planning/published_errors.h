// How far off predicted training steps were where others published theirs (validate/published/results.md), rounded up to whole
// per cent. Written by validate/published/rows.py --errors.
#pragma once

namespace weft::plan {

struct PublishedError {
  double mean = 0;   // of dense models over blocks, of mixtures of experts over rows
  double worst = 0;  // of a row
};
inline constexpr PublishedError kPublishedDense{.mean = 0.10, .worst = 0.60};
inline constexpr PublishedError kPublishedMixtures{.mean = 0.41, .worst = 1.62};

}  // namespace weft::plan
