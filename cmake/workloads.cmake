# larmor_workload(<name>): one folder of workloads/ becomes a library, and a row of the table that the
# program lists. The folder provides `larmor::<name>::make_workload()` in workload.cpp.
function(larmor_workload name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp)
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  add_library(larmor_workload_${name} STATIC ${sources})
  target_include_directories(larmor_workload_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(larmor_workload_${name} PUBLIC
    larmor_train larmor_nn larmor_data larmor_transforms larmor_formats larmor_kernels larmor_device larmor_config larmor_plan larmor_draw larmor_base)
  target_precompile_headers(larmor_workload_${name} REUSE_FROM larmor_precompiled)
  set_property(GLOBAL APPEND PROPERTY larmor_workloads ${name})
  install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/configs
          DESTINATION ${CMAKE_INSTALL_DATADIR}/larmor/workloads/${name})
endfunction()

# Finds the folders and writes the table: plain calls in a generated source, no static initialisers
# that a linker may drop.
function(larmor_workload_table)
  file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true ${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt)
  foreach(file ${folders})
    cmake_path(GET file PARENT_PATH folder)
    add_subdirectory(${folder})
  endforeach()
  get_property(names GLOBAL PROPERTY larmor_workloads)
  set(declarations "")
  set(rows "")
  foreach(name ${names})
    string(APPEND declarations
      "namespace larmor::${name} { larmor::Workload make_workload(); }\n")
    string(APPEND rows "  all.push_back(larmor::${name}::make_workload());\n")
  endforeach()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/workload_table.cpp.in
                 ${CMAKE_CURRENT_BINARY_DIR}/workload_table.cpp @ONLY)
  add_library(larmor_workloads STATIC ${CMAKE_CURRENT_BINARY_DIR}/workload_table.cpp)
  target_precompile_headers(larmor_workloads REUSE_FROM larmor_precompiled)
  target_link_libraries(larmor_workloads PUBLIC larmor_train)
  foreach(name ${names})
    target_link_libraries(larmor_workloads PUBLIC larmor_workload_${name})
  endforeach()
endfunction()
