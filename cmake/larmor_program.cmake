# larmor_program(<target> WORKLOAD <name> SOURCES <files…> [LIBRARIES <targets…>]), of an installed Larmor: a program with
# all verbs, and with one workload, that of the folder in which it is called. SOURCES provide
# `larmor::<name>::make_workload()`; the configs of each stage lie in <stage>/configs, as in Larmor's own workloads.
#
# The program lies in bin of the build folder, with what it looks for beside it, as `cmake --install` lays it out:
# larmor-decode, and share/larmor/workloads/<name>/<stage>/configs.
set(LARMOR_WORKLOAD_TABLE ${CMAKE_CURRENT_LIST_DIR}/workload_table.cpp.in)

function(larmor_program target)
  cmake_parse_arguments(program "" "WORKLOAD" "SOURCES;LIBRARIES" ${ARGN})
  set(name ${program_WORKLOAD})
  if(NOT name OR NOT program_SOURCES)
    message(FATAL_ERROR "larmor_program(${target} …): WORKLOAD and SOURCES are needed")
  endif()
  set(declarations "namespace larmor::${name} { larmor::Workload make_workload(); }\n")
  set(rows "  all.push_back(larmor::${name}::make_workload());\n")
  set(table ${CMAKE_CURRENT_BINARY_DIR}/${target}_workloads.cpp)
  configure_file(${LARMOR_WORKLOAD_TABLE} ${table} @ONLY)

  include(GNUInstallDirs)
  add_executable(${target} ${program_SOURCES} ${table})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin INSTALL_RPATH_USE_LINK_PATH ON)
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_link_libraries(${target} PRIVATE larmor::program ${program_LIBRARIES})
  install(TARGETS ${target})
  install(PROGRAMS ${LARMOR_DECODER} TYPE BIN)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  file(CREATE_LINK ${LARMOR_DECODER} ${CMAKE_BINARY_DIR}/bin/larmor-decode SYMBOLIC)

  file(GLOB stages CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} */configs/default.yaml)
  foreach(config ${stages})
    string(REPLACE "/configs/default.yaml" "" stage ${config})
    set(folder larmor/workloads/${name}/${stage})
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/${folder})
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/${stage}/configs ${CMAKE_BINARY_DIR}/share/${folder}/configs SYMBOLIC)
    install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/${stage}/configs DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder})
  endforeach()
endfunction()
