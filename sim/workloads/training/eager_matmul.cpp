#include "sim/workloads/training/eager_matmul.h"

#include <string>

#include "sim/core/whole_numbers.h"

namespace weft::work {
namespace {

// In the traces (DDP, TP, EP) products of at most two 256 x 128 tiles per SM come without a memset, and are the ones that run
// twice as long beside a collective: they deal out their tiles beforehand. Of products of few tiles and long inner dimension
// the latter is split, and a kernel adds up the parts.
void product(StepEmitter& emit, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch, const std::string& name) {
  const std::int64_t tiles = batch * ceil_div(m, 256) * ceil_div(n, 128);
  const std::int64_t sms = emit.gpu().sms;
  constexpr std::int64_t kLongInner = 1024;
  const bool splits_inner = 2 * tiles <= sms && k >= kLongInner;
  const bool deals_out = tiles <= 2 * sms;
  if (!deals_out) dynamic_counter(emit);
  emit.kernel({.kind = KernelKind::kGemm,
               .precision = emit.setup().precision.compute,
               .m = m,
               .n = n,
               .k = k,
               .batch = batch,
               .weight_gradient = deals_out && !splits_inner},
              name);
  if (splits_inner) {
    emit.kernel({.kind = KernelKind::kElementwise, .bytes = 6.0 * static_cast<double>(m * n)}, "add up splits");
  }
}

}  // namespace

void dynamic_counter(StepEmitter& emit) { emit.kernel({.kind = KernelKind::kMemset, .bytes = 4}, "memset"); }

void matmul(StepEmitter& emit, const Linear& linear, std::string_view name) {
  product(emit, linear.rows, linear.out, linear.in, linear.batch, std::string{name});
}
void input_gradient(StepEmitter& emit, const Linear& linear, std::string_view name) {
  product(emit, linear.rows, linear.in, linear.out, linear.batch, std::string{name} + " dgrad");
}
void weight_gradient(StepEmitter& emit, const Linear& linear, std::string_view name) {
  product(emit, linear.out, linear.in, linear.rows, linear.batch, std::string{name} + " wgrad");
}

}  // namespace weft::work
