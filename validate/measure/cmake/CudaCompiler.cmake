# Before project(): finds nvcc where PATH does not name it, and chooses the GPUs to build for: the one that is here, else every
# Ampere and newer (8.0 as PTX too, so that what comes later runs).
find_program(WEFT_MEASURE_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
if(NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  if(NOT WEFT_MEASURE_NVCC)
    message(FATAL_ERROR "no nvcc: it is neither on PATH nor in /usr/local/cuda/bin; give -DCMAKE_CUDA_COMPILER=.../bin/nvcc")
  endif()
  set(CMAKE_CUDA_COMPILER ${WEFT_MEASURE_NVCC} CACHE FILEPATH "nvcc")
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE capabilities ERROR_QUIET RESULT_VARIABLE status)
  set(CMAKE_CUDA_ARCHITECTURES 80 90)
  if(status EQUAL 0 AND capabilities MATCHES "^([0-9]+)\\.([0-9]+)")
    set(CMAKE_CUDA_ARCHITECTURES ${CMAKE_MATCH_1}${CMAKE_MATCH_2})
  endif()
endif()
