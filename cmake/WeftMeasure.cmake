# The runner of `weft measure` beside the program weft: a CMake project of its own (validate/measure), built here where nvcc is.
# Part of `all` with -DWEFT_CUDA=ON; else `cmake --build BUILD --target weft_measure` builds it.
option(WEFT_CUDA "Build the CUDA runner of weft measure with everything else" OFF)
if(NOT WEFT_NVCC)
  if(WEFT_CUDA)
    message(FATAL_ERROR "WEFT_CUDA is on, but there is no nvcc")
  endif()
  return()
endif()

include(ExternalProject)
set(leave_out TRUE)
if(WEFT_CUDA)
  set(leave_out FALSE)
endif()
ExternalProject_Add(weft_measure
  SOURCE_DIR ${PROJECT_SOURCE_DIR}/validate/measure
  BINARY_DIR ${PROJECT_BINARY_DIR}/measure
  CMAKE_ARGS -DCMAKE_BUILD_TYPE=Release -DCMAKE_CUDA_COMPILER=${WEFT_NVCC}
             -DCMAKE_RUNTIME_OUTPUT_DIRECTORY=$<TARGET_FILE_DIR:weft>
  INSTALL_COMMAND ""
  BUILD_ALWAYS TRUE
  EXCLUDE_FROM_ALL ${leave_out})
