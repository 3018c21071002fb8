# Parts that need what a machine may not have. Absent, the rest builds, and one line says what is missing.
#
# CUDA serves `weft measure` (validate/measure, a CMake project of its own, which .ci/run builds where nvcc is); MPI serves
# `mpirun weft sweep`; Python serves the lint and README tests, and with pybind11 has a module of Weft (python/).
find_program(WEFT_NVCC nvcc HINTS /usr/local/cuda/bin)
if(WEFT_NVCC)
  message(STATUS "CUDA: found ${WEFT_NVCC}; the target weft_measure builds the runner of weft measure")
else()
  message(STATUS "CUDA: not built (no nvcc)")
endif()

find_package(MPI QUIET COMPONENTS CXX)
set(WEFT_MPI ${MPI_CXX_FOUND})
if(WEFT_MPI)
  message(STATUS "MPI: found ${MPI_CXX_COMPILER}")
else()
  message(STATUS "MPI: not built (no libopenmpi-dev); `weft sweep -j N` works all the same")
endif()

find_package(Python3 3.9 QUIET COMPONENTS Interpreter OPTIONAL_COMPONENTS Development.Module)
if(Python3_Interpreter_FOUND)
  message(STATUS "Python: found ${Python3_EXECUTABLE}")
else()
  message(STATUS "Python: lint and README tests are left out (no python3)")
endif()

set(WEFT_PYTHON_MODULE FALSE)
if(WEFT_PYTHON AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")  # python3 itself has no sanitizer
  set(PYBIND11_NOPYTHON ON)  # Python is found above
  find_package(pybind11 2.9 CONFIG QUIET)
  if(pybind11_FOUND AND Python3_Development.Module_FOUND)
    set(WEFT_PYTHON_MODULE TRUE)
  else()
    message(STATUS "Python: the module weft is not built (no pybind11-dev, or no python3-dev)")
  endif()
endif()
