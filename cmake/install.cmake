# `cmake --install` gives a tree that can be moved: program, libraries, headers, configs, package file.
# libtorch stays where it is; the program finds it by the absolute path it was linked with, or by LARMOR_LIBRARY_FOLDERS.
include(CMakePackageConfigHelpers)
get_property(layers GLOBAL PROPERTY larmor_layers)
set(targets "")
foreach(layer ${layers})
  list(APPEND targets larmor_${layer})
endforeach()
add_library(larmor_all INTERFACE)
set_target_properties(larmor_all PROPERTIES EXPORT_NAME larmor)
target_link_libraries(larmor_all INTERFACE ${targets})
target_sources(larmor_all INTERFACE FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}
               FILES ${PROJECT_SOURCE_DIR}/larmor/larmor.h)
install(TARGETS ${targets} larmor_all larmor_program EXPORT larmorTargets FILE_SET HEADERS)
install(TARGETS larmor larmor_decode COMPONENT program)
install(EXPORT larmorTargets NAMESPACE larmor:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/larmor)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/larmorConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/larmorConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/larmor PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/larmorConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/larmorConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/larmorConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/FindLibTorch.cmake
              ${CMAKE_CURRENT_LIST_DIR}/larmor_program.cmake
              ${CMAKE_CURRENT_LIST_DIR}/workload_table.cpp.in
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/larmor)

# Component libraries, which is installed by name alone: what the programs need of this machine's libraries, with the
# licences of their packages. libtorch, the C library and the runtime of the compiler belong to the other machine; libgomp
# goes along, since only some builds of libtorch bring it under this name.
install(CODE "set(programs $<TARGET_FILE:larmor> $<TARGET_FILE:larmor_decode>)
set(folder ${CMAKE_INSTALL_LIBDIR})
set(licences ${CMAKE_INSTALL_DATADIR}/larmor/licences)
include(${CMAKE_CURRENT_LIST_DIR}/install_libraries.cmake)" COMPONENT libraries EXCLUDE_FROM_ALL)
