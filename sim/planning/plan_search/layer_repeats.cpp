#include "sim/planning/plan_search/layer_repeats.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace weft::plan {
namespace {

// The kinds of layers by their numbers, in the order in which they first occur.
std::vector<std::int64_t> kinds_of(const work::TransformerModel& model) {
  const std::vector<work::LayerShape> shapes = work::distinct_shapes(model);
  std::vector<std::int64_t> kinds;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    kinds.push_back(std::ranges::find(shapes, work::layer_shape(model, layer)) - shapes.begin());
  }
  return kinds;
}

}  // namespace

LayerRepeats layer_repeats(const work::TransformerModel& model) {
  const std::vector<std::int64_t> kinds = kinds_of(model);
  const auto layers = static_cast<std::int64_t>(kinds.size());
  const auto between = [&](std::int64_t layer) {
    const auto at = static_cast<std::size_t>(layer);
    return std::array{kinds[at - 1], kinds[at], kinds[at + 1]};
  };
  // A shorter model has every layer between its neighbours, and ends as the whole does.
  std::map<std::array<std::int64_t, 3>, std::int64_t> first;
  std::int64_t needed = 0;
  for (std::int64_t layer = 1; layer + 1 < layers; ++layer) {
    if (first.emplace(between(layer), layer).second) needed = layer + 2;
  }
  LayerRepeats made{.layers = layers, .of = {}};
  for (std::int64_t length = std::max<std::int64_t>(needed, 2); length < layers; ++length) {
    const auto end = static_cast<std::size_t>(length);
    if (kinds[end - 1] != kinds.back() || kinds[end - 2] != kinds[kinds.size() - 2]) continue;
    made.layers = length;
    break;
  }
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const bool is_end = layer == 0 || layer + 1 == layers;
    made.of.push_back(made.layers == layers ? layer : !is_end ? first[between(layer)] : layer == 0 ? 0 : made.layers - 1);
  }
  return made;
}

}  // namespace weft::plan
