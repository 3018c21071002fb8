// Workloads of ASTRA-sim 1 and of SimAI (AICB): a table of layers with times and communication of their forward, input-gradient
// and weight-gradient passes (models/workloads §5.4, §5.5), and the step that it stands for.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/core/model_text.h"
#include "sim/workloads/trace/line_reader.h"
#include "sim/workloads/trace/trace_format.h"

namespace weft::work {

// Both formats share this text.
inline constexpr ModelText kLayerTableText{
    .title = "tables of layers: SimAI and ASTRA-sim 1",
    .assumes =
        "Every rank runs every row of the table: forward through the rows, each waiting for its "
        "communication; backward in reverse, input gradients waiting for theirs, weight gradients' "
        "communication beside the rest, updates behind it. Groups: tensor, then data. Times of ASTRA-sim 1 "
        "are nanoseconds.",
    .leaves_out = {"tables of layers: pipeline stages, their messages and recomputation, which the table does not have"},
    .sources = {"models/workloads §5.4, §5.5"},
    .files = {"workloads/trace/layer_table.h", "workloads/trace/layer_table.cpp"}};

enum class LayerGroup : std::uint8_t { kNone, kTensor, kData, kExpert, kExpertData };
inline constexpr std::size_t kLayerGroups = 5;

struct LayerPass {
  Duration compute = {};
  bool communicates = false;
  coll::Collective collective = coll::Collective::kAllReduce;
  LayerGroup group = LayerGroup::kNone;
  Bytes bytes = {};
};

struct Layer {
  std::string name = {};
  LayerPass forward = {};
  LayerPass input_gradient = {};
  LayerPass weight_gradient = {};
  Duration update = {};
};

// Ranks count through tensor groups first, then through data-parallel ones, then through stages.
struct LayerPlan {
  std::int64_t ranks = 0;
  std::int64_t tensor = 1;
  std::int64_t expert = 1;
  std::int64_t pipeline = 1;
};

// The rows from the line after the reader's on, `count` of them. Errors are left with the reader.
[[nodiscard]] std::vector<Layer> read_layers(LineReader& lines, std::int64_t count, std::uint64_t most);

// Forward through the rows, each waiting for its communication; backward through them in reverse, the next input gradient
// waiting for that of this one; weight gradients' communication beside the rest; updates behind that.
[[nodiscard]] Program layer_program(const std::vector<Layer>& layers, const LayerPlan& plan);

// The numbers that stand behind keys on a table's first line: "pp: 4".
using HeaderNumbers = std::map<std::string, std::int64_t, std::less<>>;
[[nodiscard]] HeaderNumbers header_numbers(const std::vector<Word>& words);

// Tells what the program leaves out of the table and its header, which stands `at`: stages, recomputation, calls of groups of
// one rank.
[[nodiscard]] std::vector<Diagnostic> left_out(const Diagnostic& at, const HeaderNumbers& header,
                                               const std::vector<Layer>& layers, const LayerPlan& plan);

}  // namespace weft::work
