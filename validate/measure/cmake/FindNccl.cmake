# NCCL as Nccl::nccl: from NCCL_HOME, the CUDA toolkit or the system, or the Python package nvidia-nccl.
set(nccl_places $ENV{NCCL_HOME} ${NCCL_HOME} ${CUDAToolkit_LIBRARY_ROOT} ${CUDAToolkit_TARGET_DIR} ${CUDAToolkit_BIN_DIR}/..)
find_program(NCCL_PYTHON NAMES python3 python)
if(NCCL_PYTHON)
  execute_process(
    COMMAND ${NCCL_PYTHON} -c "import nvidia.nccl as n; print(list(n.__path__)[0])"
    OUTPUT_VARIABLE nccl_package OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  list(APPEND nccl_places ${nccl_package})
endif()
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${nccl_places} PATH_SUFFIXES include)
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${nccl_places} PATH_SUFFIXES lib lib64)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Nccl REQUIRED_VARS NCCL_LIBRARY NCCL_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "NCCL is not in the CUDA toolkit, not in NCCL_HOME, and not in the Python package nvidia-nccl")
if(Nccl_FOUND AND NOT TARGET Nccl::nccl)
  add_library(Nccl::nccl UNKNOWN IMPORTED)
  set_target_properties(Nccl::nccl PROPERTIES
    IMPORTED_LOCATION ${NCCL_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${NCCL_INCLUDE_DIR})
endif()
