// A matrix product by cuBLASLt, as row-major frameworks call it: C(m,n) = A(m,k) B(k,n), FP32 accumulation, the first algorithm
// of the heuristic.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels.h"

namespace weft::measure {

struct GemmShape {
  int m = 1;
  int n = 1;
  int k = 1;
  int batch = 1;
  bool transposed_b = false;  // B lies as (n,k), as weights of linear layers do; fp8 must
};

struct GemmType {
  Element input = Element::kBfloat16;
  Element output = Element::kBfloat16;
  bool tf32 = false;
};
// "bf16", "fp16", "fp8", "tf32"; throws std::runtime_error for others.
[[nodiscard]] GemmType gemm_type(const std::string& name);

class LtGemm {
 public:
  // Throws std::runtime_error if no algorithm does it.
  LtGemm(const GemmShape& shape, const GemmType& type);
  ~LtGemm();
  LtGemm(const LtGemm&) = delete;
  LtGemm& operator=(const LtGemm&) = delete;

  void enqueue(const void* a, const void* b, void* c, cudaStream_t stream) const;

 private:
  void choose_algorithm();

  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t left_ = nullptr;   // B of the caller: cuBLASLt's matrices are column-major
  cublasLtMatrixLayout_t right_ = nullptr;  // A
  cublasLtMatrixLayout_t result_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_ = {};
  void* workspace_ = nullptr;
};

}  // namespace weft::measure
