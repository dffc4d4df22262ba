# larmor_workload(<name> [NOT_SHIPPED] [LIBRARIES …]): one folder becomes a library, with others of its own. It provides
# `larmor::<name>::make_workload()` in workload.cpp, and a folder for each stage: its sources, and its configs in
# <stage>/configs. Its tests lie in tests/. What is shipped gets a row in the program's table, and its configs are
# installed.
function(larmor_workload name)
  cmake_parse_arguments(workload "NOT_SHIPPED" "" "LIBRARIES" ${ARGN})
  if(TARGET larmor_workload_${name})  # it is brought along, built (tests/new_workload)
    set_property(GLOBAL APPEND PROPERTY larmor_workloads ${name})
    return()
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp)
  list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/tests/")
  add_library(larmor_workload_${name} STATIC ${sources})
  target_include_directories(larmor_workload_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(larmor_workload_${name} PUBLIC
    larmor_judge larmor_run larmor_measure larmor_task larmor_nn larmor_data larmor_transforms larmor_formats larmor_kernels larmor_device larmor_config larmor_plan larmor_draw larmor_text larmor_base
    PRIVATE ${workload_LIBRARIES})
  target_precompile_headers(larmor_workload_${name} REUSE_FROM larmor_precompiled)
  if(workload_NOT_SHIPPED)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY larmor_workloads ${name})
  file(GLOB stages CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} */configs/default.yaml)
  foreach(config ${stages})
    string(REPLACE "/configs/default.yaml" "" stage ${config})
    install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/${stage}/configs
            DESTINATION ${CMAKE_INSTALL_DATADIR}/larmor/workloads/${name}/${stage} COMPONENT program)
  endforeach()
endfunction()

# larmor_write_workload_table(<target> <names…>): the library that lists these workloads. Plain calls in a generated
# source, no static initialisers that a linker may drop.
function(larmor_write_workload_table target)
  set(declarations "")
  set(rows "")
  foreach(name ${ARGN})
    string(APPEND declarations
      "namespace larmor::${name} { larmor::Workload make_workload(); }\n")
    string(APPEND rows "  all.push_back(larmor::${name}::make_workload());\n")
  endforeach()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/workload_table.cpp.in
                 ${CMAKE_CURRENT_BINARY_DIR}/workload_table.cpp @ONLY)
  add_library(${target} STATIC ${CMAKE_CURRENT_BINARY_DIR}/workload_table.cpp)
  target_precompile_headers(${target} REUSE_FROM larmor_precompiled)
  target_link_libraries(${target} PUBLIC larmor_task)
  foreach(name ${ARGN})
    target_link_libraries(${target} PUBLIC larmor_workload_${name})
  endforeach()
endfunction()

# Finds the folders of workloads/, and writes the table of the program.
function(larmor_workload_table)
  file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true ${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt)
  foreach(file ${folders})
    cmake_path(GET file PARENT_PATH folder)
    add_subdirectory(${folder})
  endforeach()
  get_property(names GLOBAL PROPERTY larmor_workloads)
  larmor_write_workload_table(larmor_workloads ${names})
endfunction()

# Tests of a workload: workloads/<name>/tests/*_test.cpp become one binary, *_long_test.cpp one more, with the label long;
# for those folders that have any. Called where the tests are made.
function(larmor_workload_tests)
  get_property(names GLOBAL PROPERTY larmor_workloads)
  foreach(name ${names})
    set(folder ${PROJECT_SOURCE_DIR}/workloads/${name}/tests)
    file(GLOB tests CONFIGURE_DEPENDS ${folder}/*_test.cpp)
    if(NOT tests)
      continue()
    endif()
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
    file(GLOB long_sources CONFIGURE_DEPENDS ${folder}/*_long_test.cpp)
    list(REMOVE_ITEM sources ${long_sources})
    larmor_test(${name}_test TORCH SOURCES ${sources}
                LIBRARIES larmor_workload_${name} larmor_train larmor_test_support TIMEOUT 300)
    if(long_sources)
      larmor_test(${name}_long_test TORCH SOURCES ${long_sources}
                  LIBRARIES larmor_workload_${name} larmor_train larmor_test_support LABELS long TIMEOUT 1800)
    endif()
  endforeach()
endfunction()
