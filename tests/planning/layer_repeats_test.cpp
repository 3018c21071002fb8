#include "sim/planning/plan_search/layer_repeats.h"

#include <gtest/gtest.h>

#include <numeric>

#include "sim/core/config/params.h"
#include "sim/workloads/model/model_reader.h"

namespace weft::plan {
namespace {

work::TransformerModel shipped(const std::string& name) {
  Diagnostics diagnostics;
  work::TransformerModel model =
      work::read_model(work::load_model_file(WEFT_SOURCE_DIR "/configs/models/" + name), diagnostics);
  diagnostics.throw_if_any();
  return model;
}

// 80 alike: the first, one between two others, the last.
TEST(LayerRepeatsTest, ThreeLayersStandForAllThatAreAlike) {
  const LayerRepeats repeats = layer_repeats(shipped("llama3_70b.yaml"));
  EXPECT_EQ(repeats.layers, 3);
  ASSERT_EQ(repeats.of.size(), 80u);
  EXPECT_EQ(repeats.stands_for(0), 0);
  for (std::int64_t layer = 1; layer < 79; ++layer) EXPECT_EQ(repeats.stands_for(layer), 1);
  EXPECT_EQ(repeats.stands_for(79), 2);
}

// d d d e e ... e: the third dense layer has experts behind it, the first one with experts has a dense layer before it.
TEST(LayerRepeatsTest, LayersBetweenTheSameKindsAreOne) {
  const LayerRepeats repeats = layer_repeats(shipped("deepseek_v3.yaml"));
  EXPECT_EQ(repeats.layers, 6);
  ASSERT_EQ(repeats.of.size(), 61u);
  for (std::int64_t layer = 0; layer < 5; ++layer) EXPECT_EQ(repeats.stands_for(layer), layer);
  for (std::int64_t layer = 4; layer < 60; ++layer) EXPECT_EQ(repeats.stands_for(layer), 4);
  EXPECT_EQ(repeats.stands_for(60), 5);
}

TEST(LayerRepeatsTest, ShortModelsStandForThemselves) {
  for (const std::int64_t layers : {1, 2, 3}) {
    work::TransformerModel model = shipped("llama3_70b.yaml");
    model.layers = layers;
    const LayerRepeats repeats = layer_repeats(model);
    EXPECT_EQ(repeats.layers, layers);
    std::vector<std::int64_t> expected(static_cast<std::size_t>(layers));
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(repeats.of, expected);
  }
}

}  // namespace
}  // namespace weft::plan
