#include "sim/measured/traced_kernel_shapes.h"

#include <fmt/format.h>

namespace weft::measured {
namespace {

using Inputs = std::vector<work::kineto::OperatorInput>;
using Sides = std::vector<std::int64_t>;

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

void add(TracedShape& shape, std::string_view name, std::int64_t value) {
  shape.fields += fmt::format(", \"{}\": {}", name, value);
}

TracedShape of_kind(std::string_view kind) {
  return {.kind = std::string{kind}, .fields = fmt::format("\"kind\": \"{}\"", kind)};
}

TracedShape of_elements(std::string_view kind, std::int64_t elements, std::int64_t bytes_per_element = 0) {
  TracedShape shape = of_kind(kind);
  add(shape, "elements", elements);
  if (bytes_per_element > 0) add(shape, "bytes", elements * bytes_per_element);
  return shape;
}

TracedShape strided(std::string_view how, std::int64_t elements, std::int64_t bytes_per_element) {
  TracedShape shape = of_kind("strided");
  shape.fields += fmt::format(", \"strided\": \"{}\"", how);
  add(shape, "elements", elements);
  add(shape, "bytes", elements * bytes_per_element);
  return shape;
}

TracedShape contiguous(std::int64_t elements, std::int64_t bytes_per_element) {
  return of_elements("elementwise", elements, bytes_per_element);
}

// The sides of a tensor; null: the operator has no such one.
const Sides* tensor(const Inputs& inputs, std::size_t at) {
  return at < inputs.size() && !inputs[at].is_list && !inputs[at].tensors.empty() ? &inputs[at].tensors.front() : nullptr;
}

std::int64_t elements_of(const Inputs& inputs, std::size_t at = 0) { return at < inputs.size() ? inputs[at].elements() : 0; }

std::optional<TracedShape> gemm_shape(std::string_view operation, const Inputs& inputs, std::string_view kernel) {
  const std::size_t first = operation == "addmm" || operation == "baddbmm" ? 1 : 0;  // after what is added
  const Sides* a = tensor(inputs, first);
  const Sides* b = tensor(inputs, first + 1);
  if (a == nullptr || b == nullptr || a->size() < 2 || a->size() > 3 || b->empty()) return std::nullopt;
  TracedShape shape = of_kind("gemm");
  add(shape, "m", (*a)[a->size() - 2]);
  add(shape, "n", b->back());
  add(shape, "k", a->back());
  add(shape, "batch", a->size() == 3 ? a->front() : 1);
  // nvjet's names end in the layouts of A, B and C; a weight gradient's A is transposed.
  add_flag(shape, "weight_gradient", kernel.size() > 2 && kernel.substr(kernel.size() - 3).starts_with("NT"));
  return shape;
}

std::optional<TracedShape> attention_shape(const Inputs& inputs, bool backward) {
  const Sides* query = tensor(inputs, 0);  // batch, heads, tokens, width
  if (query == nullptr || query->size() != 4) return std::nullopt;
  TracedShape shape = of_kind(backward ? "attention_backward" : "attention_forward");
  add(shape, "m", (*query)[2]);
  add(shape, "n", (*query)[2]);
  add(shape, "k", (*query)[3]);
  add(shape, "batch", (*query)[0] * (*query)[1]);
  return shape;
}

std::optional<TracedShape> elementwise_shape(std::string_view operation, const Inputs& inputs, std::string_view kernel) {
  const std::int64_t elements = elements_of(inputs);
  if (elements == 0 || operation == "sum") return std::nullopt;
  if (operation == "cat" || operation == "stack" || operation == "_stack") {
    return has(kernel, "_vectorized") ? contiguous(elements, 4) : strided("stack", elements, 4);
  }
  if (operation.starts_with("_foreach_")) {
    // Lists of tensors: each is read, and the first written.
    std::int64_t moved = 2;
    for (const work::kineto::OperatorInput& input : inputs) moved += input.is_list ? 2 : 0;
    const bool is_plain = operation.starts_with("_foreach_add") || operation.starts_with("_foreach_mul");
    if (!is_plain || !has(kernel, "multi_tensor_apply")) return std::nullopt;
    return contiguous(elements, moved);
  }
  const Sides* sides = tensor(inputs, 0);
  if (sides == nullptr) return std::nullopt;
  const bool vectorized = has(kernel, "vectorized_elementwise_kernel");
  if (operation == "fill_") {
    // Logits' gradients are fp32, an embedding's are bf16 and have more rows than columns.
    return of_elements("memset", elements, sides->front() > sides->back() ? 2 : 4);
  }
  if ((operation == "add" || operation == "add_") && vectorized) return contiguous(elements, 6);
  if (operation == "mul" && vectorized) return contiguous(elements, tensor(inputs, 1) == nullptr ? 4 : 6);
  if (operation == "silu") return strided("forward", elements, 4);
  if (operation == "mul") return strided("forward", elements, 6);
  if (operation == "silu_backward") return strided("activation_backward", elements, 6);
  if (operation == "copy_" && has(kernel, "unrolled_elementwise")) return strided("forward", elements, 6);  // logits to fp32
  if (operation == "copy_") return vectorized ? contiguous(elements, 6) : strided("copy", elements, 4);
  return std::nullopt;
}

}  // namespace

void add_flag(TracedShape& shape, std::string_view name, bool value) {
  shape.fields += fmt::format(", \"{}\": {}", name, value);
}

std::optional<TracedShape> traced_shape(std::string_view operation, const Inputs& inputs, std::string_view kernel,
                                        std::int64_t blocks) {
  if (operation.starts_with("aten::")) operation.remove_prefix(6);
  if (has(kernel, "nvjet")) return has(kernel, "splitK") ? std::nullopt : gemm_shape(operation, inputs, kernel);
  if (has(kernel, "flash_fprop") || has(kernel, "flash_bprop")) return attention_shape(inputs, has(kernel, "bprop"));
  const std::int64_t first = elements_of(inputs);
  if (has(kernel, "compute_dot_do_o") || has(kernel, "convert_dq"))
    return strided("attention_ends", first, has(kernel, "dot") ? 4 : 6);
  if (has(kernel, "multi_tensor_apply") && operation == "_fused_adamw_") {
    // A launch of 320 blocks takes 320 chunks of 65536 parameters; others may be partly filled.
    constexpr std::int64_t kBlocks = 320;
    constexpr std::int64_t kChunk = 65'536;
    return blocks == kBlocks ? std::optional{of_elements("optimizer", kBlocks * kChunk)} : std::nullopt;
  }
  if (has(kernel, "vectorized_layer_norm")) return of_elements("norm_forward", first);
  if (has(kernel, "layer_norm_grad_input")) return of_elements("norm_backward", first);
  if (has(kernel, "GammaBeta")) return of_elements("norm_weight_grad", first);
  if (has(kernel, "vectorized_gather")) return of_elements("embedding_forward", elements_of(inputs, 2));
  if (operation == "embedding_dense_backward") return of_elements("embedding_backward", first);
  if (operation == "_log_softmax") return of_elements("softmax_loss", first, 8);
  if (operation == "_log_softmax_backward_data") return of_elements("softmax_loss", first, 12);
  return elementwise_shape(operation, inputs, kernel);
}

}  // namespace weft::measured
