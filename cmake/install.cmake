# `cmake --install` gives a tree that can be moved: program, libraries, headers, configs, package file.
# libtorch stays where it is; the program finds it by the absolute path it was linked with.
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
install(TARGETS ${targets} larmor_all EXPORT larmorTargets FILE_SET HEADERS)
install(TARGETS larmor larmor_decode)
install(EXPORT larmorTargets NAMESPACE larmor:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/larmor)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/larmorConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/larmorConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/larmor)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/larmorConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/larmorConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/larmorConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/FindLibTorch.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/larmor)
