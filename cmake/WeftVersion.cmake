# The version and the commit, as a header that one source file includes.
#
# weft_version_strings(weft_core) makes <build>/generated/sim/core/version_strings.h before `weft_core` is compiled. Every
# build asks git for the commit, in milliseconds; the header is rewritten only when the answer changes, and only version.cpp
# includes it, so that a new commit costs one compilation and one link.
#
# The same file is the script that makes the header: cmake -DSOURCE_DIR= -DHEADER= -DWEFT_VERSION= -P WeftVersion.cmake
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(WEFT_VERSION_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

  function(weft_version_strings target)
    set(header ${PROJECT_BINARY_DIR}/generated/sim/core/version_strings.h)
    add_custom_target(weft_version_strings
      COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -DHEADER=${header} -DWEFT_VERSION=${PROJECT_VERSION}
              -P ${WEFT_VERSION_SCRIPT}
      BYPRODUCTS ${header}
      COMMENT "Asking git for the commit"
      VERBATIM)
    add_dependencies(${target} weft_version_strings)
    target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/generated)
  endfunction()
  return()
endif()

set(WEFT_COMMIT unknown)
find_program(GIT git)
# The check for .git keeps a tarball unpacked inside another project's checkout from taking that project's commit.
if(GIT AND EXISTS ${SOURCE_DIR}/.git)
  execute_process(
    COMMAND ${GIT} -C ${SOURCE_DIR} describe --always --dirty --abbrev=10 --exclude=*
    OUTPUT_VARIABLE answer
    OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET
    RESULT_VARIABLE status)
  if(status EQUAL 0 AND answer)
    set(WEFT_COMMIT ${answer})
  endif()
endif()
# configure_file leaves the header and its time stamp alone when nothing changed.
configure_file(${CMAKE_CURRENT_LIST_DIR}/version_strings.h.in ${HEADER} @ONLY)
