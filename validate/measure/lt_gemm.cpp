#include "lt_gemm.h"

#include "cuda_check.h"

namespace weft::measure {
namespace {

constexpr std::size_t kWorkspaceBytes = 32U << 20U;  // what frameworks give cuBLASLt on Hopper

cudaDataType_t cuda_type(Element element) {
  switch (element) {
    case Element::kFloat:
      return CUDA_R_32F;
    case Element::kBfloat16:
      return CUDA_R_16BF;
    case Element::kHalf:
      return CUDA_R_16F;
    case Element::kFp8:
      return CUDA_R_8F_E4M3;
  }
  return CUDA_R_32F;
}

cublasLtMatrixLayout_t make_layout(Element element, int rows, int columns, int batch) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublasLtMatrixLayoutCreate(&layout, cuda_type(element), static_cast<std::uint64_t>(rows),
                                   static_cast<std::uint64_t>(columns), rows),
        "matrix layout");
  const std::int64_t stride = std::int64_t{rows} * columns;
  check(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch), "batch");
  check(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride), "batch");
  return layout;
}

}  // namespace

GemmType gemm_type(const std::string& name) {
  if (name == "bf16") return {};
  if (name == "fp16") return {.input = Element::kHalf, .output = Element::kHalf};
  if (name == "fp8") return {.input = Element::kFp8, .output = Element::kBfloat16};
  if (name == "tf32") return {.input = Element::kFloat, .output = Element::kFloat, .tf32 = true};
  throw std::runtime_error("unknown type " + name);
}

LtGemm::LtGemm(const GemmShape& shape, const GemmType& type) {
  check(cublasLtCreate(&handle_), "cuBLASLt");
  check(cublasLtMatmulDescCreate(&operation_, type.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
        "GEMM");
  // A row-major matrix is its transpose column-major: C' = B' A'.
  const cublasOperation_t transpose = shape.transposed_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  check(cublasLtMatmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_TRANSA, &transpose, sizeof transpose), "GEMM");
  left_ = shape.transposed_b ? make_layout(type.input, shape.k, shape.n, shape.batch)
                             : make_layout(type.input, shape.n, shape.k, shape.batch);
  right_ = make_layout(type.input, shape.k, shape.m, shape.batch);
  result_ = make_layout(type.output, shape.n, shape.m, shape.batch);
  check(cudaMalloc(&workspace_, kWorkspaceBytes), "workspace");
  choose_algorithm();
}

void LtGemm::choose_algorithm() {
  cublasLtMatmulPreference_t preference = nullptr;
  check(cublasLtMatmulPreferenceCreate(&preference), "heuristic");
  check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspaceBytes,
                                             sizeof kWorkspaceBytes),
        "heuristic");
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_, operation_, left_, right_, result_, result_, preference, 1, &found, &count);
  cublasLtMatmulPreferenceDestroy(preference);
  if (status != CUBLAS_STATUS_SUCCESS || count == 0)
    throw std::runtime_error("cuBLASLt has no algorithm for this type and shape");
  algorithm_ = found.algo;
}

LtGemm::~LtGemm() {
  cudaFree(workspace_);
  for (cublasLtMatrixLayout_t layout : {left_, right_, result_}) cublasLtMatrixLayoutDestroy(layout);
  cublasLtMatmulDescDestroy(operation_);
  cublasLtDestroy(handle_);
}

void LtGemm::enqueue(const void* a, const void* b, void* c, cudaStream_t stream) const {
  constexpr float kOne = 1;
  constexpr float kZero = 0;
  check(cublasLtMatmul(handle_, operation_, &kOne, b, left_, a, right_, &kZero, c, result_, c, result_, &algorithm_, workspace_,
                       kWorkspaceBytes, stream),
        "GEMM");
}

}  // namespace weft::measure
