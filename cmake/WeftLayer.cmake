# Options that every target of Weft shares, and `weft_add_layer`, by which a folder of sim/ states its library.
include(GNUInstallDirs)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Warnings are linked privately, so that users of the installed package keep their own. The floating-point flag is public
# policy: results must not depend on whether a compiler fuses a multiply and an add (determinism rule 3).
add_library(weft_warnings INTERFACE)
add_library(weft::warnings ALIAS weft_warnings)
target_compile_options(weft_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # g++ 12 reports the inside of std::string and std::vector when it optimizes (GCC bugs 105329, 105562); asan and valgrind find real cases.
  target_compile_options(weft_warnings INTERFACE -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow)
endif()
if(WEFT_DEVELOPER_MODE)
  target_compile_options(weft_warnings INTERFACE -Werror)
endif()

# weft_models(links routing) makes ${links} and ${routing} of all .cpp in these folders, looked for again at every build. So a model
# is a file and its line in the list of its kind; a file that no list names, lint.listed refuses.
macro(weft_models)
  foreach(folder IN ITEMS ${ARGN})
    get_filename_component(kind ${folder} NAME)
    file(GLOB ${kind} CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
  endforeach()
endmacro()

# weft_add_layer(core HEADERS a.h SOURCES a.cpp DEPENDS weft::x PRIVATE_DEPENDS fmt::fmt)
# makes the library weft_core (alias weft::core) with its public headers as a file set based at the project root.
function(weft_add_layer name)
  cmake_parse_arguments(ARG "" "" "HEADERS;SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  set(target weft_${name})
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(weft::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  # g++ keeps calls of exported functions in position-independent code, as a library loaded earlier could replace them; nothing
  # replaces ours, and the packets' path is faster by a fifth without the calls.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${ARG_HEADERS})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_link_libraries(${target} PUBLIC ${ARG_DEPENDS} PRIVATE $<BUILD_INTERFACE:weft::warnings>)
  foreach(dependency IN LISTS ARG_PRIVATE_DEPENDS)
    target_link_libraries(${target} PRIVATE ${dependency})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY WEFT_LAYERS ${target})
endfunction()
