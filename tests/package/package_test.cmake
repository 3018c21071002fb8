# Builds the project in CONSUMER against the installation in PREFIX by one ROUTE, in WORK, and compares what it prints.
# CXX_FLAGS are those Weft was built with: a sanitized library needs a sanitized program.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})

if(ROUTE STREQUAL cmake)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK} -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${PREFIX}
            -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_FLAGS=${CXX_FLAGS} -DCMAKE_FIND_PACKAGE_NO_PACKAGE_REGISTRY=ON
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK} COMMAND_ERROR_IS_FATAL ANY)
elseif(ROUTE STREQUAL pkg_config)
  set(ENV{PKG_CONFIG_PATH} ${PREFIX}/${LIBDIR}/pkgconfig)
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs weft OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  message("pkg-config says: ${flags}")
  separate_arguments(flags UNIX_COMMAND "${flags}")
  separate_arguments(own_flags UNIX_COMMAND "${CXX_FLAGS}")
  execute_process(COMMAND ${CXX} -std=c++20 ${own_flags} ${CONSUMER}/main.cpp -o ${WORK}/consumer ${flags}
                  COMMAND_ERROR_IS_FATAL ANY)
else()
  message(FATAL_ERROR "no such route: ${ROUTE}")
endif()

execute_process(COMMAND ${WORK}/consumer OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
set(expected "weft ${VERSION}\n64 KiB at 400 Gb/s: 1310720 ps\npod.yaml:3:5: error: no such key\n")
if(NOT printed STREQUAL expected)
  message(FATAL_ERROR "expected:\n${expected}\nprinted:\n${printed}")
endif()
message("${printed}")
