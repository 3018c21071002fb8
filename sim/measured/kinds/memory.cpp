// Memory-bound kernels, alone: copies, elementwise kernels, norms, softmax, strided ones, scatters.
//
// Model: norms of `weft measure` keep a row in shared memory and go at the speed of memory, where PyTorch's take a time for
// each element. Its softmax is one of written scores (gpu.memory.scores_softmax_ps), not a pass over logits.
#include <utility>

#include "sim/measured/kinds/kernel_models.h"
#include "sim/measured/kinds/kinds.h"
#include "sim/measured/readers/json_record.h"

namespace weft::measured {
namespace {

using work::Kernel;
using work::KernelKind;
using work::StridedKind;

void read_memory(const detail::JsonRecord& record, MeasuredPoint& measured) {
  measured.hand_written = record.text("library").empty();
}

std::optional<std::vector<Kernel>> memory_kernels(const MeasuredPoint& measured, work::Precision /*precision*/) {
  if (measured.bytes <= Bytes{}) return std::nullopt;
  const std::string& op = measured.what;
  const auto of = [&](KernelKind kind) {
    const bool by_element = kind == KernelKind::kNormForward || kind == KernelKind::kStrided;
    const double elements = by_element ? static_cast<double>(measured.elements) : 0;
    Kernel kernel = detail::kernel_of_bytes(kind, static_cast<double>(measured.bytes.count()), elements);
    kernel.repeated = op != "write";  // writes alone leave for HBM
    return std::vector{kernel};
  };
  const auto scores_softmax = [&] {
    std::vector<Kernel> kernels = of(KernelKind::kStrided);
    kernels.front().strided = StridedKind::kScoresSoftmax;
    return kernels;
  };
  if (op == "rmsnorm") return of(measured.hand_written ? KernelKind::kElementwise : KernelKind::kNormForward);
  if (op == "softmax") return measured.hand_written ? scores_softmax() : of(KernelKind::kSoftmaxLoss);
  if (op == "memset") return of(KernelKind::kMemset);
  if (op == "copy" || op == "copy_engine") return of(KernelKind::kCopy);
  if (op == "read" || op == "write" || op == "add" || op == "silu") return of(KernelKind::kElementwise);
  return std::vector<Kernel>{};
}

std::vector<FitPart> memory_fits(const FitData& data) {
  std::vector<FitPart> parts;
  const auto fit = [&](std::vector<std::string> keys, const detail::Wanted& wanted) {
    parts.push_back(detail::fit_alone(data, "memory", std::move(keys), wanted));
  };
  const auto kind = [](KernelKind wanted) { return [wanted](const Kernel& kernel) { return kernel.kind == wanted; }; };
  const auto strided = [](StridedKind wanted) {
    return [wanted](const Kernel& kernel) { return kernel.kind == KernelKind::kStrided && kernel.strided == wanted; };
  };
  const auto contiguous = [](const Kernel& kernel) {
    return kernel.kind == KernelKind::kElementwise || kernel.kind == KernelKind::kCopy;
  };
  fit({"gpu.memory.contiguous_efficiency", "gpu.memory.fixed"}, contiguous);
  fit({"gpu.memory.softmax_efficiency"}, kind(KernelKind::kSoftmaxLoss));
  fit({"gpu.memory.gather_efficiency"}, kind(KernelKind::kEmbeddingForward));
  fit({"gpu.memory.fill_efficiency", "gpu.memory.fill_ps"}, kind(KernelKind::kMemset));
  fit({"gpu.memory.strided_forward_ps"}, strided(StridedKind::kForward));
  fit({"gpu.memory.strided_activation_backward_ps"}, strided(StridedKind::kActivationBackward));
  fit({"gpu.memory.strided_copy_ps"}, strided(StridedKind::kCopy));
  fit({"gpu.memory.strided_stack_ps"}, strided(StridedKind::kStack));
  fit({"gpu.memory.attention_ends_ps"}, strided(StridedKind::kAttentionEnds));
  fit({"gpu.memory.norm_forward_ps", "gpu.memory.l2_share"}, kind(KernelKind::kNormForward));
  fit({"gpu.memory.norm_backward_ps"}, kind(KernelKind::kNormBackward));
  fit({"gpu.memory.norm_weight_gradient_ps"}, kind(KernelKind::kNormWeightGradient));
  fit({"gpu.memory.embedding_backward_ps"}, kind(KernelKind::kEmbeddingBackward));
  return parts;
}

}  // namespace

const PointKind memory_kind{
    .name = "memory", .read = read_memory, .predict = detail::predict_kernels, .kernels = memory_kernels, .fits = memory_fits};

}  // namespace weft::measured
