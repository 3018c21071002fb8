// Errors of CUDA, NCCL and cuBLASLt become exceptions that say what was tried.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <nccl.h>

#include <stdexcept>
#include <string>

namespace weft::measure {

inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string{what} + ": " + cudaGetErrorString(status));
}
inline void check(ncclResult_t status, const char* what) {
  if (status != ncclSuccess) throw std::runtime_error(std::string{what} + ": NCCL: " + ncclGetErrorString(status));
}
inline void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string{what} + ": cuBLASLt: " + cublasLtGetStatusString(status));
}

}  // namespace weft::measure
