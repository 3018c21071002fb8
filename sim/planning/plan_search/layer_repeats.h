// Models repeat their layers: a model of the first few stands for the whole where only one layer's work between its neighbours
// counts.
//
//   layers 0 to 60 of DeepSeek-V3: d d d e e ... e     the first six, d d d e e e, and of = {0, 1, 2, 3, 4, 4, ..., 4, 5}
//
// The first layer stands for the first, the last for the last, and any other for those between the same two kinds of layers.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workloads/model/transformer.h"

namespace weft::plan {

struct LayerRepeats {
  std::int64_t layers = 0;       // of the shorter model
  std::vector<std::int64_t> of;  // by layer of the whole: the one that stands for it

  [[nodiscard]] std::int64_t stands_for(std::int64_t layer) const { return of[static_cast<std::size_t>(layer)]; }
};

// The shortest of them.
[[nodiscard]] LayerRepeats layer_repeats(const work::TransformerModel& model);

}  // namespace weft::plan
