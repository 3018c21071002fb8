#include "sim/workloads/model/model_checks.h"

#include <fmt/format.h>

namespace weft::work {
namespace {

// Values are 0 after an error that has been reported already.
void check_experts(ParamReader& moe, const TransformerModel& model, const ShapeKeys& keys) {
  const MixtureOfExperts& m = model.moe;
  if (m.experts_per_token > m.experts) {
    moe.error(keys.experts_per_token, fmt::format("a token cannot visit {} of {} experts", m.experts_per_token, m.experts));
    return;
  }
  if (model.layers > 0 && m.dense_layers >= model.layers) {
    moe.error(keys.dense_layers,
              fmt::format("{} dense layers leave no layer of {} with experts", m.dense_layers, model.layers));
  }
  if (m.groups <= 0) return;
  if (m.experts % m.groups != 0) {
    moe.error(keys.groups, fmt::format("{} experts cannot be split into {} equal groups", m.experts, m.groups));
  } else if (m.groups_per_token > m.groups) {
    moe.error(keys.groups_per_token, fmt::format("a token cannot visit {} of {} groups", m.groups_per_token, m.groups));
  } else if (m.groups_per_token > 0 && m.experts_per_token > m.groups_per_token * (m.experts / m.groups)) {
    moe.error(keys.groups_per_token, fmt::format("{} groups of {} experts have no {} experts for a token", m.groups_per_token,
                                                 m.experts / m.groups, m.experts_per_token));
  }
}

}  // namespace

void check_shape(ParamReader& top, ParamReader& moe, const TransformerModel& model, const ShapeKeys& keys) {
  if (model.attention == AttentionKind::kGrouped && model.kv_heads > 0 && model.heads % model.kv_heads != 0) {
    top.error(keys.kv_heads, fmt::format("{} heads cannot share {} key/value heads evenly", model.heads, model.kv_heads),
              fmt::format("'{}' must divide '{}'", keys.kv_heads, keys.heads));
  }
  if (model.layers > 0 && static_cast<std::int64_t>(model.windows.size()) > model.layers) {
    top.error(keys.windows, fmt::format("{} windows for {} layers", model.windows.size(), model.layers),
              "a list shorter than the layers is repeated");
  }
  if (model.moe.experts > 0) check_experts(moe, model, keys);
}

std::int64_t default_head_dim(ParamReader& top, std::int64_t hidden, std::int64_t heads, const char* heads_key) {
  if (hidden <= 0 || heads <= 0) return 0;
  if (hidden % heads != 0) {
    top.error(heads_key, fmt::format("{} hidden elements cannot be split into {} heads evenly", hidden, heads),
              "'head_dim' states another width");
  }
  return hidden / heads;
}

}  // namespace weft::work
