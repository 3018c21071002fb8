#include "sim/workloads/trace/layer_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "sim/core/config/nearest.h"
#include "sim/core/config/quantity.h"

namespace weft::work {
namespace {

constexpr std::size_t kFields = 12;
constexpr std::int64_t kMostNanoseconds = kLongestTask.ps() / 1'000;

class RowReader {
 public:
  explicit RowReader(LineReader& lines) : lines_{lines}, words_{words_of(lines.line())} {}

  std::optional<Layer> read() {
    if (words_.size() < kFields) {
      lines_.error(
          words_.empty() ? Word{} : words_.back(),
          fmt::format("expected {} fields (name, -1, then time, collective and bytes of three passes, update time), found {}",
                      kFields, words_.size()));
      return std::nullopt;
    }
    Layer layer;
    layer.name = words_[0].text;
    const bool fine = pass(2, LayerGroup::kTensor, layer.forward) && pass(5, LayerGroup::kTensor, layer.input_gradient) &&
                      pass(8, LayerGroup::kData, layer.weight_gradient);
    const auto update = number(words_[11], "nanoseconds", kMostNanoseconds);
    if (!fine || !update) return std::nullopt;
    layer.update = Duration::from_ns(*update);
    return layer;
  }

 private:
  std::optional<std::int64_t> number(const Word& word, std::string_view what, std::int64_t most) {
    const auto value = parse_integer(word.text);
    if (value && *value >= 0 && *value <= most) return value;
    lines_.error(word, fmt::format("expected {} from 0 to {}, found '{}'", what, most, word.text.substr(0, 40)));
    return std::nullopt;
  }

  bool pass(std::size_t at, LayerGroup usual, LayerPass& pass) {
    const auto time = number(words_[at], "nanoseconds", kMostNanoseconds);
    const auto bytes = number(words_[at + 2], "bytes", kLargestTask.count());
    if (!time || !bytes) return false;
    pass.compute = Duration::from_ns(*time);
    pass.bytes = Bytes{*bytes};
    return collective(words_[at + 1], usual, pass);
  }

  bool collective(const Word& word, LayerGroup usual, LayerPass& pass) {
    using coll::Collective;
    static const std::map<std::string, Collective, std::less<>> kNames = {{"ALLREDUCE", Collective::kAllReduce},
                                                                          {"ALLGATHER", Collective::kAllGather},
                                                                          {"REDUCESCATTER", Collective::kReduceScatter},
                                                                          {"BROADCAST", Collective::kBroadcast},
                                                                          {"ALLTOALL", Collective::kAllToAll}};
    if (word.text == "NONE") return true;
    std::string_view name = word.text;
    pass.group = usual;
    if (name.ends_with("_DP_EP")) {
      pass.group = LayerGroup::kExpertData;
      name.remove_suffix(6);
    } else if (name.ends_with("_EP")) {
      pass.group = LayerGroup::kExpert;
      name.remove_suffix(3);
    }
    const auto known = kNames.find(name);
    if (known == kNames.end()) {
      std::vector<std::string> names = {"NONE"};
      for (const auto& [each, kind] : kNames) names.push_back(each);
      lines_.error(word, fmt::format("unknown collective '{}'", word.text.substr(0, 40)),
                   did_you_mean(name, names, "each also with _EP or _DP_EP:"));
      return false;
    }
    pass.collective = known->second;
    pass.communicates = pass.bytes > Bytes{};
    return true;
  }

  LineReader& lines_;
  std::vector<Word> words_;
};

Category category_of(LayerGroup group) {
  switch (group) {
    case LayerGroup::kTensor:
      return Category::kCommTensor;
    case LayerGroup::kExpert:
      return Category::kCommExpert;
    default:
      return Category::kCommData;
  }
}

// How many ranks a group of the kind has, and how far apart they are.
struct Extent {
  std::int64_t count = 1;
  std::int64_t stride = 1;
};

Extent extent_of(LayerGroup group, const LayerPlan& plan) {
  const std::int64_t data = plan.ranks / (plan.tensor * plan.pipeline);
  switch (group) {
    case LayerGroup::kTensor:
      return {plan.tensor, 1};
    case LayerGroup::kData:
      return {data, plan.tensor};
    case LayerGroup::kExpert:
      return {plan.expert, plan.tensor};
    case LayerGroup::kExpertData:
      return {data / plan.expert, plan.tensor * plan.expert};
    case LayerGroup::kNone:
      break;
  }
  return {};
}

class StepBuilder {
 public:
  explicit StepBuilder(const LayerPlan& plan) : plan_{plan}, compute_{builder_.stream("compute")} {
    blocking_ = builder_.stream("communication");
    gradients_ = builder_.stream("gradients");
  }

  RankProgram build(const std::vector<Layer>& layers) {
    for (const Layer& layer : layers)
      held_ = communicate(layer.forward, layer.name, compute(layer.forward, layer.name), blocking_);
    std::vector<OpIndex> gradients(layers.size(), kNoOp);
    for (std::size_t i = layers.size(); i-- > 0;) {
      const Layer& layer = layers[i];
      const OpIndex before = held_;
      held_ = communicate(layer.input_gradient, layer.name, compute(layer.input_gradient, layer.name), blocking_);
      const OpIndex next = held_;
      held_ = before;
      gradients[i] = communicate(layer.weight_gradient, layer.name, compute(layer.weight_gradient, layer.name), gradients_);
      held_ = next;
    }
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (layers[i].update == Duration{}) continue;
      builder_.add({.duration = layers[i].update, .stream = compute_, .category = Category::kOptimizer, .launched = false},
                   layers[i].name, std::vector{gradients[i]});
    }
    return builder_.take();
  }

 private:
  OpIndex compute(const LayerPass& pass, const std::string& name) {
    if (pass.compute == Duration{}) return held_;
    return builder_.add({.duration = pass.compute, .stream = compute_, .launched = false}, name, std::vector{held_});
  }

  OpIndex communicate(const LayerPass& pass, const std::string& name, OpIndex behind, std::uint8_t stream) {
    if (!pass.communicates || extent_of(pass.group, plan_).count < 2) return behind;
    return builder_.add({.bytes = pass.bytes,
                         .slot = static_cast<std::uint16_t>(static_cast<std::size_t>(pass.group) - 1),
                         .stream = stream,
                         .kind = OpKind::kCollective,
                         .category = category_of(pass.group),
                         .collective = pass.collective,
                         .launched = false},
                        name, std::vector{behind});
  }

  const LayerPlan& plan_;
  RankProgramBuilder builder_;
  std::uint8_t compute_;
  std::uint8_t blocking_ = 0;
  std::uint8_t gradients_ = 0;
  OpIndex held_ = kNoOp;  // what the next computation waits for
};

}  // namespace

std::vector<Layer> read_layers(LineReader& lines, std::int64_t count, std::uint64_t most) {
  std::vector<Layer> layers;
  while (static_cast<std::int64_t>(layers.size()) < count && lines.next()) {
    if (words_of(lines.line()).empty()) continue;
    if (layers.size() * 9 >= most) {
      lines.error({}, fmt::format("more than {} operations", most));
      break;
    }
    const auto layer = RowReader{lines}.read();
    layers.push_back(layer.value_or(Layer{}));
  }
  if (static_cast<std::int64_t>(layers.size()) < count) {
    lines.error_at_end(fmt::format("{} rows are announced, but the file ends after {}", count, layers.size()));
  }
  return layers;
}

HeaderNumbers header_numbers(const std::vector<Word>& words) {
  HeaderNumbers numbers;
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    std::string_view key = words[i].text;
    if (key.ends_with(':')) key.remove_suffix(1);
    if (parse_integer(key)) continue;
    if (const auto value = parse_integer(words[i + 1].text)) numbers[std::string{key}] = *value;
  }
  return numbers;
}

std::vector<Diagnostic> left_out(const Diagnostic& at, const HeaderNumbers& header, const std::vector<Layer>& layers,
                                 const LayerPlan& plan) {
  std::vector<Diagnostic> findings;
  const auto find = [&](std::string message) {
    findings.push_back(at);
    findings.back().message = std::move(message);
  };
  const auto value = [&](std::string_view key) {
    const auto found = header.find(key);
    return found == header.end() ? std::int64_t{0} : found->second;
  };
  if (value("pp") > 1) {
    find(
        fmt::format("pp {}: the table has one stage's rows; messages between stages and the "
                    "pipeline's bubble are left out",
                    value("pp")));
  }
  if (value("checkpoints") > 0) find("checkpoints: recomputation is left out");
  std::array<std::size_t, kLayerGroups> alone{};
  for (const Layer& layer : layers) {
    for (const LayerPass* pass : {&layer.forward, &layer.input_gradient, &layer.weight_gradient}) {
      if (pass->communicates && extent_of(pass->group, plan).count < 2) ++alone[static_cast<std::size_t>(pass->group)];
    }
  }
  constexpr std::array<std::string_view, kLayerGroups> kOf = {"", "tensor", "data", "expert", "expert's data"};
  for (std::size_t g = 1; g < kLayerGroups; ++g) {
    if (alone[g] == 0) continue;
    find(fmt::format("{} call{} of {}-parallel groups of one rank move{} nothing and {} left out", alone[g],
                     alone[g] == 1 ? "" : "s", kOf[g], alone[g] == 1 ? "s" : "", alone[g] == 1 ? "is" : "are"));
  }
  return findings;
}

Program layer_program(const std::vector<Layer>& layers, const LayerPlan& plan) {
  Program program;
  program.programs.push_back(StepBuilder{plan}.build(layers));
  std::map<std::pair<std::size_t, Rank>, std::uint32_t> known;  // by kind and first rank
  constexpr std::array<std::string_view, kLayerGroups> kNames = {"", "tp", "dp", "ep", "dp_ep"};
  for (std::int64_t r = 0; r < plan.ranks; ++r) {
    ProgramRank& rank = program.ranks.emplace_back();
    rank.leader = static_cast<Rank>(r);
    for (std::size_t kind = 1; kind < kLayerGroups; ++kind) {
      const Extent extent = extent_of(static_cast<LayerGroup>(kind), plan);
      const std::int64_t first = r - (r / extent.stride) % extent.count * extent.stride;
      const auto [at, is_new] =
          known.try_emplace({kind, static_cast<Rank>(first)}, static_cast<std::uint32_t>(program.groups.size()));
      if (is_new) {
        Group& group = program.groups.emplace_back();
        group.name = fmt::format("{} of {}", kNames[kind], first);
        for (std::int64_t i = 0; i < extent.count; ++i) group.ranks.push_back(static_cast<Rank>(first + i * extent.stride));
      }
      rank.groups.push_back(at->second);
    }
  }
  return program;
}

}  // namespace weft::work
