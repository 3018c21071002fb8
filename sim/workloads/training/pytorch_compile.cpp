// PyTorch under torch.compile, a block at a time, as torchtitan runs it: kernels fused much as Megatron's are, with FSDP2's
// copies, DTensor's tensor parallelism, which blocks, and fp8 scaled dynamically. What is fused was read off kernels of
// Llama-3 8B's blocks on an H100 (validate/measured/h100x1_torch.json, PyTorch 2.11). Last norm, head and, unless it is
// compiled, the loss are eager.
#include <utility>

#include "sim/workloads/training/megatron_linear.h"
#include "sim/workloads/training/megatron_operators.h"

namespace weft::work {
namespace {

// Complex numbers are not fused: cast to fp32 (2 B to 4 B), multiplied (4 B to 4 B), cast back and laid out (4 B to 2 B).
constexpr double kRotaryBytes = 6 + 8 + 6;
constexpr std::int64_t kFp32Logit = 4;  // bytes of a logit in fp32

class PytorchCompile final : public LayerOperators {
 public:
  explicit PytorchCompile(std::unique_ptr<LayerOperators> blocks) : blocks_{std::move(blocks)} {}
  [[nodiscard]] std::string refusal(const TrainingSetup& setup) const override { return blocks_->refusal(setup); }
  [[nodiscard]] FrameworkTraits traits() const override { return blocks_->traits(); }

  void embedding_forward(StepEmitter& emit) const override { blocks_->embedding_forward(emit); }
  void layer_forward(StepEmitter& emit, std::int64_t layer) const override { blocks_->layer_forward(emit, layer); }
  void layer_again(StepEmitter& emit, std::int64_t layer) const override { blocks_->layer_again(emit, layer); }
  void operators_again(StepEmitter& emit, std::int64_t layer) const override { blocks_->operators_again(emit, layer); }
  void head_forward(StepEmitter& emit) const override;
  void head_backward(StepEmitter& emit, GradientSync& gradients, BackwardPart part) const override;
  void layer_backward(StepEmitter& emit, GradientSync& gradients, std::int64_t layer, BackwardPart part) const override {
    blocks_->layer_backward(emit, gradients, layer, part);
  }
  void embedding_backward(StepEmitter& emit, GradientSync& gradients) const override {
    blocks_->embedding_backward(emit, gradients);
  }
  void optimizer(StepEmitter& emit, const std::vector<ParameterTensor>& tensors, const GradientSync& gradients) const override {
    blocks_->optimizer(emit, tensors, gradients);
  }
  [[nodiscard]] std::int64_t saved_by_layer(const StepEmitter& emit, std::int64_t layer) const override {
    return blocks_->saved_by_layer(emit, layer);
  }

 private:
  std::unique_ptr<LayerOperators> blocks_;
};

SplitLinear head_of(const StepEmitter& emit) {
  const RankShapes& s = emit.shapes();
  return {.kind = TensorKind::kHead, .split = Split::kColumn, .rows = s.tokens, .in = s.hidden, .out = s.vocab, .name = "head"};
}
std::int64_t norm_elements(const StepEmitter& emit) { return emit.shapes().norm_tokens * emit.shapes().hidden; }
std::int64_t logits_of(const StepEmitter& emit) { return emit.shapes().tokens * emit.shapes().vocab; }
std::int64_t kept_by_last_norm(const StepEmitter& emit) { return 2 * emit.shapes().activation_bytes(norm_elements(emit)); }
// A compiled loss keeps the 16-bit logits and writes their gradient; an eager one keeps the logarithms of probabilities in
// fp32.
std::int64_t kept_by_loss(const StepEmitter& emit) {
  const std::int64_t logits = logits_of(emit);
  return emit.setup().fused_loss ? 2 * emit.shapes().activation_bytes(logits) : kFp32Logit * logits;
}

// An eager loss has the logits, their copy in fp32 and what it keeps at once. A pipeline's last stage keeps the logits of
// every microbatch until its backward pass.
void PytorchCompile::head_forward(StepEmitter& emit) const {
  const std::int64_t logits = logits_of(emit);
  const auto count = static_cast<double>(logits);
  const bool fused = emit.setup().fused_loss;
  const std::int64_t own = emit.shapes().activation_bytes(logits);
  const std::int64_t transient = fused ? 0 : own + kFp32Logit * logits;
  emit.allocate(kept_by_last_norm(emit) + kept_by_loss(emit) + transient);
  of_elements(emit, KernelKind::kNormForward, norm_elements(emit), "norm");
  linear_forward(emit, head_of(emit));
  if (!fused) elementwise(emit, 6.0 * count, "cast to fp32");
  emit.kernel({.kind = KernelKind::kSoftmaxLoss, .bytes = (fused ? 6.0 : 8.0) * count}, "cross entropy");
  // Vocabulary-parallel: maximum, the target's logit, sum (models/workloads §2.4).
  for (const std::string_view name : {"all-reduce maxima", "all-reduce target logits", "all-reduce sums"}) {
    emit.blocking(GroupSlot::kTensor, coll::Collective::kAllReduce, Bytes{4 * emit.shapes().tokens}, name);
  }
  const bool keeps = emit.setup().plan.pipeline > 1;
  emit.release(transient - (!fused && keeps ? own : 0));
}

// Backward an eager loss makes the gradient of what it kept, then that of the logits in fp32, then that in 16 bits.
void PytorchCompile::head_backward(StepEmitter& emit, GradientSync& gradients, BackwardPart part) const {
  const std::int64_t logits = logits_of(emit);
  const auto count = static_cast<double>(logits);
  const bool fused = emit.setup().fused_loss;
  const std::int64_t own = emit.shapes().activation_bytes(logits);
  if (part.input) {
    if (!fused) emit.allocate(2 * kFp32Logit * logits);
    emit.kernel({.kind = KernelKind::kSoftmaxLoss, .bytes = (fused ? 6.0 : 12.0) * count}, "cross entropy backward");
    if (!fused) {
      emit.release(2 * kFp32Logit * logits);
      emit.allocate(own);
      elementwise(emit, 6.0 * count, "cast to 16 bit");
      emit.release(kFp32Logit * logits);
    }
  }
  linear_backward(emit, gradients, head_of(emit), part);
  if (part.input) {
    of_elements(emit, KernelKind::kNormBackward, norm_elements(emit), "norm backward");
    if (emit.setup().lora.rank == 0) {
      of_elements(emit, KernelKind::kNormWeightGradient, norm_elements(emit), "norm weight gradient");
      gradients.gradient_ready(emit, TensorKind::kFinalNorm);
    }
  }
  const bool keeps = emit.setup().plan.pipeline > 1;
  if (part.weight) emit.release(kept_by_last_norm(emit) + (fused ? kept_by_loss(emit) : own + (keeps ? own : 0)));
}

}  // namespace

const Registration<LayerOperators> pytorch_compile{
    .name = "pytorch_compile",
    .summary =
        "blocks under torch.compile, FSDP2 and DTensor, as torchtitan "
        "runs them",
    .make = [](ParamReader&) -> std::unique_ptr<LayerOperators> {
      return std::make_unique<PytorchCompile>(fused_operators(
          {.traits = {.copies_gradients = true, .blocks_on_tensor = true, .keeps_gathered = true, .scales_dynamically = true},
           .rotary_bytes = kRotaryBytes,
           .activation_again_in_backward = true,
           .stops_recomputing_early = true}));
    },
    .model = {.assumes = "Training steps under torch.compile, a block at a time: "
                         "the operators of megatron, with FSDP2's and "
                         "DDP's copies, rotary embedding by complex numbers that "
                         "are not fused, an activation that "
                         "recomputation by operators leaves to its backward kernel, "
                         "tensor-parallel communication that blocks "
                         "unless overlap_tensor, gathered inputs kept for the "
                         "weight gradient, and fp8 operands scaled by "
                         "their largest element. Attention is FlashAttention-2's "
                         "unless `attention` says otherwise. The loss is "
                         "compiled; with fused_loss: false it is eager, and holds "
                         "logits in fp32 up to three times.",
              .leaves_out = {"pytorch_compile: what a residual sum could share with "
                             "the norm after it is not fused",
                             "pytorch_compile: asynchronous tensor parallelism is "
                             "overlap_tensor's"},
              .sources = {"validate/measured/h100x1_torch.json", "validate/measured/h200x2_torch.json",
                          "torchtitan @ 9dec370 (train.py, parallelize_llama.py)"},
              .files = {"workloads/training/megatron_linear.cpp"}},
};

}  // namespace weft::work
