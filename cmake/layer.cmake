# larmor_layer(<name> [TORCH] [USES <layers…>] [LIBRARIES <targets…>] [PRIVATE_HEADERS <files…>])
# One library per folder of larmor/. All .cpp of the folder and its sub-folders belong to it; all .h are public and get
# installed unless listed as private. USES repeats the layer table of docs/architecture.md, which
# tools/check_layers.py checks against the #includes.
function(larmor_layer name)
  cmake_parse_arguments(layer "TORCH" "" "USES;LIBRARIES;PRIVATE_HEADERS;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS *.h)
  list(FILTER headers EXCLUDE REGEX "_shim/")  # a folder that stands in for headers of somebody else
  foreach(file ${layer_PRIVATE_HEADERS})
    list(REMOVE_ITEM headers ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endforeach()
  foreach(file ${layer_EXCLUDE})
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endforeach()
  if(NOT sources)
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/empty.cpp "")
    set(sources ${CMAKE_CURRENT_BINARY_DIR}/empty.cpp)
  endif()
  add_library(larmor_${name} STATIC ${sources})
  add_library(larmor::${name} ALIAS larmor_${name})
  set_target_properties(larmor_${name} PROPERTIES EXPORT_NAME ${name} LINKER_LANGUAGE CXX)
  target_sources(larmor_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
  target_include_directories(larmor_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  foreach(used ${layer_USES})
    target_link_libraries(larmor_${name} PUBLIC larmor_${used})
  endforeach()
  target_link_libraries(larmor_${name} PRIVATE ${layer_LIBRARIES})
  if(layer_TORCH)
    target_link_libraries(larmor_${name} PUBLIC LibTorch::cpu nlohmann_json::nlohmann_json)
    target_precompile_headers(larmor_${name} REUSE_FROM larmor_precompiled)
  endif()
  set_property(GLOBAL APPEND PROPERTY larmor_layers ${name})
endfunction()

# larmor_cuda_sources(<target> <files…> OPTIONS <of nvcc…>): sources that nvcc compiles, with flags of their own, since what
# g++ and clang++ are told here nvcc's generated code does not stand.
# "all" GPUs are those that libtorch has code for; the compiler is the one beside libtorch before any of the machine.
set(LARMOR_CUDA_ARCHITECTURES all CACHE STRING "GPUs that CUDA sources are compiled for (compute capabilities)")
string(REGEX REPLACE "^all$" "75;80;86;90;100;120" larmor_cuda_architectures "${LARMOR_CUDA_ARCHITECTURES}")
function(larmor_cuda_sources target)
  cmake_parse_arguments(cuda "" "" "OPTIONS" ${ARGN})
  find_program(LARMOR_NVCC nvcc PATHS ${LibTorch_ROOT}/nvidia/cu13/bin NO_DEFAULT_PATH)
  find_program(LARMOR_NVCC nvcc HINTS ENV CUDACXX /usr/local/cuda/bin REQUIRED)
  set(code "")
  foreach(architecture ${larmor_cuda_architectures})
    list(APPEND code "-gencode=arch=compute_${architecture},code=[sm_${architecture},compute_${architecture}]")
  endforeach()
  foreach(file ${cuda_UNPARSED_ARGUMENTS})
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${file}.o)
    cmake_path(GET object PARENT_PATH folder)
    file(MAKE_DIRECTORY ${folder})  # nvcc makes none
    add_custom_command(OUTPUT ${object} DEPENDS ${file} DEPFILE ${object}.d VERBATIM
      COMMAND ${LARMOR_NVCC} -std=c++20 -O3 ${cuda_OPTIONS} --expt-relaxed-constexpr -Xcompiler=-fPIC ${code}
              -I${PROJECT_SOURCE_DIR} -isystem ${LibTorch_ROOT}/torch/include
              -MD -MF ${object}.d -c ${CMAKE_CURRENT_SOURCE_DIR}/${file} -o ${object})
    target_sources(${target} PRIVATE ${object})
  endforeach()
endfunction()

# larmor_cuda_twins(<source that speaks CUDA> <its twin>): a build has one of the two, and differs from the other kind
# of build in nothing else. The source gets the headers and the definition for itself, and each is an object of its
# own in its archive, so that a program may bring the source along where the archive has the twin.
function(larmor_cuda_twins source twin)
  set_source_files_properties(${source} PROPERTIES
    COMPILE_DEFINITIONS USE_C10D_NCCL
    COMPILE_OPTIONS "-isystem;${LARMOR_CUDA_INCLUDE};-isystem;${LARMOR_NCCL_INCLUDE}"
    SKIP_PRECOMPILE_HEADERS ON)
  set_source_files_properties(${source} ${twin} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# The status of a test binary that skipped each of its tests (tests/support/main.cpp). No regular expression: what
# gtest prints then it prints as well where tests failed and the others were skipped.
set(larmor_all_skipped 77)

# larmor_test(<name> [TORCH] SOURCES <files…> [LAYERS …] [LIBRARIES …] [LABELS …] [TIMEOUT s])
# One test binary, one ctest entry.
function(larmor_test name)
  cmake_parse_arguments(test "TORCH" "TIMEOUT" "SOURCES;LAYERS;LIBRARIES;LABELS" ${ARGN})
  if(NOT test_TIMEOUT)
    set(test_TIMEOUT 120)
  endif()
  if(LARMOR_SANITIZE)
    math(EXPR test_TIMEOUT "${test_TIMEOUT} * 5")
  endif()
  if(NOT test_LABELS)
    set(test_LABELS unit)
  endif()
  add_executable(${name} ${test_SOURCES})
  foreach(layer ${test_LAYERS})
    target_link_libraries(${name} PRIVATE larmor_${layer})
  endforeach()
  target_link_libraries(${name} PRIVATE ${test_LIBRARIES} larmor_test_main GTest::gmock GTest::gtest)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  if(test_TORCH)
    target_link_libraries(${name} PRIVATE LibTorch::cpu nlohmann_json::nlohmann_json)
    target_precompile_headers(${name} REUSE_FROM larmor_precompiled)
    set(surroundings ";MKL_CBWR=AUTO")  # as ranks have it
  else()
    target_link_libraries(${name} PRIVATE nlohmann_json::nlohmann_json)
    target_precompile_headers(${name} REUSE_FROM larmor_test_main)
  endif()
  # What ran and what was skipped, and why: tools/test_summary.py counts it.
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1
                                        --gtest_output=xml:${PROJECT_BINARY_DIR}/test-cases/${name}.xml)
  # Passive: tests share the cores with each other, and libgomp's own spin would make seconds last for minutes. The
  # program chooses a short one by itself (app/thread_spin.cpp), test binaries do not.
  set_tests_properties(${name} PROPERTIES LABELS "${test_LABELS}" TIMEOUT ${test_TIMEOUT}
    ENVIRONMENT "LARMOR_SOURCE=${PROJECT_SOURCE_DIR};LARMOR_PROGRAM=$<TARGET_FILE:larmor>;LARMOR_DECODER=$<TARGET_FILE:larmor_decode>;OMP_WAIT_POLICY=passive${surroundings}"
    SKIP_RETURN_CODE ${larmor_all_skipped})
  if(NOT test_TORCH)  # the program's own calls have none (decision 32), whatever the shell of the tests has
    set_tests_properties(${name} PROPERTIES ENVIRONMENT_MODIFICATION MKL_CBWR=unset:)
  endif()
endfunction()

# larmor_every_cpu(<files…>): sources that promise the same bits on every CPU. No fused multiply-add, and a
# square root that is one instruction. Functions marked LARMOR_EVERY_CPU get one copy of their loops per vector
# width; which one runs is chosen when the program is loaded, by what the CPU can do (names such as arch=haswell
# would ask for that very model). Sanitizers are not ready when the choice is made, so they get the plain copy.
function(larmor_every_cpu)
  set(copies "")
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT LARMOR_SANITIZE)
    set(copies "__attribute__((target_clones(\"arch=x86-64-v4\",\"arch=x86-64-v3\",\"default\")))")
  endif()
  set_source_files_properties(${ARGN} PROPERTIES
    COMPILE_OPTIONS "-O3;-ffp-contract=off;-fno-math-errno;-fno-trapping-math"
    COMPILE_DEFINITIONS "LARMOR_EVERY_CPU=${copies}"
    SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# larmor_vector_source(<file> <options…>): a source that only CPUs with the vectors of these options run. It includes no
# inline functions of others: the linker would take the copy that was made here for every CPU.
function(larmor_vector_source file)
  set(options "-O3;-ffp-contract=fast;-fno-math-errno;-fno-trapping-math")
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    list(APPEND options ${ARGN})
  endif()
  set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "${options}" SKIP_PRECOMPILE_HEADERS ON
                                                 SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
