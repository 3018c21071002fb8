#include "sim/workloads/model/messages.h"

namespace weft::work {

double hidden_state_bytes(const TransformerModel& model, const ParallelPlan& plan, const Batch& batch, Precision precision) {
  return static_cast<double>(batch.micro * batch.sequence * model.hidden) * bytes_per_element(precision) / plan.context;
}

ExpertMessage expert_message_bytes(const TransformerModel& model, double tokens, Precision precision) {
  const double elements = tokens * static_cast<double>(model.moe.experts_per_token * model.hidden);
  // Scales of MXFP8 and FP4 are part of bytes_per_element.
  return {elements * bytes_per_element(precision), precision == Precision::kFp8 ? elements * 4 / 128 : 0};
}

}  // namespace weft::work
