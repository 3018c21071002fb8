# Parts that need what a machine may not have. Absent, the rest builds, and one line says what is missing.
find_program(WEFT_NVCC nvcc HINTS /usr/local/cuda/bin)
if(WEFT_NVCC)
  message(STATUS "CUDA: found ${WEFT_NVCC}")
else()
  message(STATUS "CUDA: not built (no nvcc)")
endif()
