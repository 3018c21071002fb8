# Installation: libraries, their public headers, the program, the shipped configurations, and two ways to be found:
# find_package(Weft) and `pkg-config weft`. Packages of it (tools/package.sh). Included last, when all layers are known.
#
#   <prefix>/bin/weft
#   <prefix>/libexec/weft-measure-serving      of `weft measure --serving`
#   <prefix>/include/weft/sim/core/units.h     included as "sim/core/units.h", as inside the project
#   <prefix>/lib/libweft_core.a ...            static, one per layer
#   <prefix>/lib/cmake/Weft, <prefix>/lib/pkgconfig/weft.pc
#   <prefix>/share/weft/configs
#   <prefix>/share/weft/schema/scenario.json ...
#   <prefix>/share/man/man1/weft.1 ..., completion of bash, zsh and fish below <prefix>/share
include(CMakePackageConfigHelpers)
get_property(weft_layers GLOBAL PROPERTY WEFT_LAYERS)  # core first

# Static libraries pass on what they link privately. Each row: the target a layer names; the package that find_package asks
# for; the pkg-config module, or "-" for headers only.
set(weft_external
  "fmt::fmt|fmt|fmt"
  "yaml-cpp|yaml-cpp|yaml-cpp"
  "spdlog::spdlog|spdlog|spdlog"
  "Boost::headers|Boost|-"
  "pugixml|pugixml|pugixml"
  "pugixml::pugixml|pugixml|pugixml"
  "nlohmann_json::nlohmann_json|nlohmann_json|nlohmann_json"
  "NLopt::nlopt|NLopt|nlopt"
  "NLopt::nlopt_cxx|NLopt|nlopt_cxx"
  "ZLIB::ZLIB|ZLIB|zlib"
  "SQLite::SQLite3|SQLite3|sqlite3"
  "Threads::Threads|Threads|-")

set(weft_find_dependencies "")
set(weft_pkg_config_requires "")
set(weft_pkg_config_libs "")
foreach(layer IN LISTS weft_layers)
  list(PREPEND weft_pkg_config_libs -l${layer})  # a library stands before those it needs
  get_target_property(links ${layer} LINK_LIBRARIES)
  foreach(link IN LISTS links)
    if(link MATCHES "^weft::|BUILD_INTERFACE")
      continue()
    endif()
    set(known FALSE)
    foreach(row IN LISTS weft_external)
      string(REPLACE "|" ";" row "${row}")
      list(GET row 0 target)
      if(link STREQUAL target)
        set(known TRUE)
        list(GET row 1 package)
        list(GET row 2 module)
        list(APPEND weft_find_dependencies "find_dependency(${package})")
        if(NOT module STREQUAL "-")
          list(APPEND weft_pkg_config_requires ${module})
        endif()
      endif()
    endforeach()
    if(NOT known)
      message(FATAL_ERROR "${layer} links ${link}: add it to weft_external in cmake/WeftInstall.cmake, "
                          "so that the installed package can find it")
    endif()
  endforeach()
endforeach()
list(REMOVE_DUPLICATES weft_find_dependencies)
list(REMOVE_DUPLICATES weft_pkg_config_requires)
list(JOIN weft_find_dependencies "\n" weft_find_dependencies)
list(JOIN weft_pkg_config_requires " " weft_pkg_config_requires)
list(JOIN weft_pkg_config_libs " " weft_pkg_config_libs)
list(TRANSFORM weft_layers REPLACE "^weft_" "weft::" OUTPUT_VARIABLE weft_exported_layers)
list(REVERSE weft_exported_layers)

set(weft_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Weft)
install(TARGETS ${weft_layers} EXPORT WeftTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft COMPONENT dev)
install(EXPORT WeftTargets NAMESPACE weft:: DESTINATION ${weft_package_dir} COMPONENT dev)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/weft-config.cmake.in ${PROJECT_BINARY_DIR}/weft-config.cmake
  INSTALL_DESTINATION ${weft_package_dir} PATH_VARS CMAKE_INSTALL_DATADIR)
# Before 1.0 a minor version may break what was promised by the one before.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weft-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weft-config.cmake ${PROJECT_BINARY_DIR}/weft-config-version.cmake
  DESTINATION ${weft_package_dir} COMPONENT dev)

# pkg-config finds its own prefix from where weft.pc lies, so that a moved or staged installation works.
file(RELATIVE_PATH weft_pc_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" weft_pc_to_prefix "${weft_pc_to_prefix}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/weft.pc.in ${PROJECT_BINARY_DIR}/weft.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/weft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs DESTINATION ${CMAKE_INSTALL_DATADIR}/weft COMPONENT weft)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT weft)

if(TARGET weft)
  set_target_properties(weft PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  # A tarball brings the libraries along in lib/weft (tools/package.sh), from wherever it is unpacked.
  set_target_properties(weft PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/weft")
  install(TARGETS weft RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT weft)
  install(PROGRAMS ${PROJECT_SOURCE_DIR}/validate/measure/serving.py DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}
    RENAME weft-measure-serving COMPONENT weft)
  install(FILES ${PROJECT_SOURCE_DIR}/validate/measure/weft_serving_blocks.py DESTINATION ${CMAKE_INSTALL_LIBEXECDIR} COMPONENT weft)

  # Completion and manual pages are the program's own words, written by the program that is installed.
  set(weft_words ${PROJECT_BINARY_DIR}/words)
  install(CODE "
    file(MAKE_DIRECTORY \"${weft_words}/man1\")
    function(weft_write file)
      execute_process(COMMAND \"$<TARGET_FILE:weft>\" \${ARGN} OUTPUT_FILE \"${weft_words}/\${file}\" COMMAND_ERROR_IS_FATAL ANY)
    endfunction()
    weft_write(weft completion bash)
    weft_write(_weft completion zsh)
    weft_write(weft.fish completion fish)
    weft_write(man1/weft.1 man)
    file(GLOB commands RELATIVE \"${PROJECT_SOURCE_DIR}/sim/apps\" \"${PROJECT_SOURCE_DIR}/sim/apps/cmd_*.cpp\")
    foreach(command IN LISTS commands)
      string(REGEX REPLACE \"cmd_(.*)[.]cpp\" \"\\\\1\" command \"\${command}\")
      weft_write(man1/weft-\${command}.1 man \${command})
    endforeach()
    foreach(pair IN ITEMS topo-import trace-convert trace-kernels trace-info)
      string(REPLACE - \";\" words \${pair})
      weft_write(man1/weft-\${pair}.1 man \${words})
    endforeach()
    # Schemas are made from the shipped files, those of the source tree here.
    set(ENV{WEFT_CONFIG_DIR} \"${PROJECT_SOURCE_DIR}/configs\")
    weft_write(written schema --out \"${weft_words}/schema\")" COMPONENT weft)
  install(DIRECTORY ${weft_words}/schema DESTINATION ${CMAKE_INSTALL_DATADIR}/weft COMPONENT weft)
  install(FILES ${weft_words}/weft DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT weft)
  install(FILES ${weft_words}/_weft DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT weft)
  install(FILES ${weft_words}/weft.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT weft)
  install(DIRECTORY ${weft_words}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT weft)
endif()

# Debian packages, by `cpack -G DEB`: the program, and what find_package and pkg-config need.
set(CPACK_PACKAGE_NAME weft)
set(CPACK_PACKAGE_CONTACT "the Weft project")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Simulator of GPU clusters and collectives")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL weft dev)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_WEFT_PACKAGE_NAME weft)
set(CPACK_DEBIAN_WEFT_PACKAGE_SECTION science)
set(CPACK_DEBIAN_WEFT_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libweft-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libyaml-cpp-dev, libfmt-dev, libspdlog-dev, libboost-dev, nlohmann-json3-dev, libpugixml-dev, libnlopt-dev, libnlopt-cxx-dev, libsqlite3-dev, zlib1g-dev")
include(CPack)
