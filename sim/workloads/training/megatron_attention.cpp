// Model: causal attention is spread evenly over the context-parallel ranks, as the exchange of chunks r and 2c - 1 - r makes
// it: every block of a ring but the first is half a full one.
#include "sim/workloads/training/megatron_attention.h"

#include <algorithm>

#include "sim/workloads/training/megatron_modules.h"

namespace weft::work {
namespace {

// Keys and values of one rank's part of the sequence.
std::int64_t kv_elements(const StepEmitter& emit) {
  const RankShapes& s = emit.shapes();
  const TransformerModel& model = emit.setup().model;
  const std::int64_t heads = model.attention == AttentionKind::kLatent ? s.heads : s.kv_heads;
  return s.tokens * heads * (model.score_dim() + model.value_dim());
}

// Without flash attention: batched products, and the scaled and masked softmax as one kernel (N21 §4.2); dropout is another.
// The context is copied to the layout of the next product, and the gradients of Q, K and V into one tensor.
void run_unfused(StepEmitter& emit, const Kernel& kernel) {
  const bool backward = kernel.kind == KernelKind::kAttentionBackward;
  const double scores = static_cast<double>(kernel.m) * static_cast<double>(kernel.n) * static_cast<double>(kernel.batch);
  const auto product = [&](std::int64_t n, std::int64_t k, std::string_view name) {
    emit.kernel(
        {.kind = KernelKind::kGemm, .precision = kernel.precision, .m = kernel.m, .n = n, .k = k, .batch = kernel.batch}, name);
  };
  const auto elementwise = [&](double bytes, std::string_view name) {
    emit.kernel({.kind = KernelKind::kElementwise, .bytes = bytes * scores}, name);
  };
  const double w = bytes_per_element(emit.setup().precision.activations);
  const RankShapes& s = emit.shapes();
  const auto context = static_cast<double>(s.tokens * s.attention_width);
  const bool drops = emit.setup().model.dropout > 0;
  if (!backward) {
    product(kernel.n, kernel.k, "scores");
    emit.kernel(
        {.kind = KernelKind::kStrided, .strided = StridedKind::kScoresSoftmax, .elements = scores, .bytes = 2 * w * scores},
        "masked softmax");
    if (drops) elementwise(2 * w + 1, "dropout of scores");
    product(kernel.value_dim, kernel.n, "values");
    emit.kernel({.kind = KernelKind::kStrided, .strided = StridedKind::kCopy, .elements = context}, "context to contiguous");
    return;
  }
  product(kernel.n, kernel.value_dim, "gradient of scores");
  product(kernel.value_dim, kernel.n, "gradient of values");
  if (drops) elementwise(2 * w + 1, "dropout backward of scores");
  elementwise(3 * w, "softmax backward");
  product(kernel.k, kernel.n, "gradient of queries");
  product(kernel.k, kernel.n, "gradient of keys");
  emit.kernel({.kind = KernelKind::kCopy, .bytes = 2 * w * static_cast<double>(s.tokens * s.qkv_width)},
              "gradients of QKV to one");
}

// Without its kernel: the sums over rows before it and the conversion of dQ after it.
void run(StepEmitter& emit, const Kernel& kernel) {
  if (!emit.setup().flash_attention) return run_unfused(emit, kernel);
  const bool backward = kernel.kind == KernelKind::kAttentionBackward;
  const RankShapes& s = emit.shapes();
  const auto ends = [&](std::string_view name) {
    emit.kernel({.kind = KernelKind::kStrided,
                 .strided = StridedKind::kAttentionEnds,
                 .elements = static_cast<double>(s.tokens * s.attention_width)},
                name);
  };
  if (backward) ends("dot of dO and O");
  emit.kernel(kernel, backward ? "attention backward" : "attention");
  if (backward) ends("convert dQ");
}

// Each step the keys and values (backward: and their gradients) move on by one rank, beside the block at hand.
void ring(StepEmitter& emit, Kernel kernel) {
  const int c = emit.setup().plan.context;
  const bool backward = kernel.kind == KernelKind::kAttentionBackward;
  const Bytes message{emit.shapes().activation_bytes(kv_elements(emit)) * (backward ? 2 : 1)};
  for (int step = 0; step < c; ++step) {
    OpIndex next = kNoOp;
    if (step + 1 < c) {
      next = emit.collective(GroupSlot::kContext, coll::Collective::kSendRecv, message, "pass keys and values on");
    }
    Kernel block = kernel;
    if (step > 0) {
      block.causal = false;
      block.n = kernel.n / 2;
    }
    emit.kernel(block, backward ? "attention backward" : "attention");
    emit.join(next);
  }
}

void gathered(StepEmitter& emit, Kernel kernel) {
  const int c = emit.setup().plan.context;
  const Bytes all{emit.shapes().activation_bytes(kv_elements(emit)) * c};
  const bool backward = kernel.kind == KernelKind::kAttentionBackward;
  if (!backward) emit.blocking(GroupSlot::kContext, coll::Collective::kAllGather, all, "all-gather keys and values");
  kernel.causal = false;
  kernel.n = std::max<std::int64_t>(1, kernel.n * c / 2);
  run(emit, kernel);
  if (backward)
    emit.blocking(GroupSlot::kContext, coll::Collective::kReduceScatter, all, "reduce-scatter gradients of keys and values");
}

// From a part of the sequence and all heads to all of it and a part of the heads, and back.
void ulysses(StepEmitter& emit, Kernel kernel) {
  const RankShapes& s = emit.shapes();
  const TransformerModel& model = emit.setup().model;
  const int c = emit.setup().plan.context;
  const bool backward = kernel.kind == KernelKind::kAttentionBackward;
  const std::int64_t kv_heads = model.attention == AttentionKind::kLatent ? s.heads : s.kv_heads;
  const auto exchange = [&](std::int64_t width, std::string_view name) {
    emit.blocking(GroupSlot::kContext, coll::Collective::kAllToAll, Bytes{s.activation_bytes(s.tokens * width)}, name);
  };
  const auto inputs = [&] {
    exchange(s.heads * model.score_dim(), "exchange queries");
    exchange(kv_heads * model.score_dim(), "exchange keys");
    exchange(kv_heads * model.value_dim(), "exchange values");
  };
  if (backward) {
    exchange(s.attention_width, "exchange outputs");
  } else {
    inputs();
  }
  kernel.m *= c;
  kernel.n *= c;
  kernel.batch = std::max<std::int64_t>(1, kernel.batch / c);
  run(emit, kernel);
  if (backward) {
    inputs();
  } else {
    exchange(s.attention_width, "exchange outputs");
  }
}

void attention(StepEmitter& emit, const Kernel& kernel) {
  if (!emit.groups().has(GroupSlot::kContext)) return run(emit, kernel);
  switch (emit.setup().plan.context_kind) {
    case ContextKind::kRing:
      return ring(emit, kernel);
    case ContextKind::kAllGather:
      return gathered(emit, kernel);
    case ContextKind::kUlysses:
      return ulysses(emit, kernel);
  }
}

}  // namespace

std::int64_t saved_scores(const StepEmitter& emit) {
  const TrainingSetup& setup = emit.setup();
  if (setup.flash_attention || setup.plan.recompute == Recompute::kSelective) return 0;
  const RankShapes& s = emit.shapes();
  // The softmax's output, and of dropout its mask and its output (K22 §4.1).
  const double w = bytes_per_element(setup.precision.activations);
  const double bytes = setup.model.dropout > 0 ? 2 * w + 1 : w;
  return static_cast<std::int64_t>(bytes * static_cast<double>(s.sequence * s.sequence) *
                                   static_cast<double>(s.sequences * s.heads));
}

void attention_forward(StepEmitter& emit, std::int64_t layer) {
  layout_of_qkv(emit);
  attention(emit, attention_kernel(emit, KernelKind::kAttentionForward, layer));
  layout_of_context(emit);
}

void attention_backward(StepEmitter& emit, std::int64_t layer) {
  gradient_layout_of_context(emit);
  attention(emit, attention_kernel(emit, KernelKind::kAttentionBackward, layer));
}

}  // namespace weft::work
