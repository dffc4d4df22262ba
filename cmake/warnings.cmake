# The one set of compiler options, for every target alike: targets that share the precompiled header
# must not differ in a single flag.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# -fPIC everywhere, executables included: with CMake's own switch they would get -fPIE, and GCC
# silently ignores a precompiled header made with the other flag.
add_compile_options(-fPIC)

# Dev: asserts on, enough optimisation that our own voxel loops do not dominate the tests.
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # With libstdc++'s assertions GCC 12 at -O1 takes the store that empties an optional for a dead one (docs/decisions/0017).
  string(APPEND CMAKE_CXX_FLAGS_DEV " -fno-tree-dse")
endif()
# GCC 12 sees copies in std::string at -O3 that overlap or run out of bounds, and do not (its bug 105651):
# without these two, and without -Werror, which is for those who change the code.
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG -Wno-restrict -Wno-array-bounds")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Dev)
endif()

find_program(LARMOR_CCACHE ccache)
if(LARMOR_CCACHE)
  # The settings that let ccache work with a precompiled header live here, not in people's heads.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${LARMOR_CCACHE})
endif()
find_program(LARMOR_MOLD mold)
if(LARMOR_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast
                    -Woverloaded-virtual -fdiagnostics-color
                    # A designated initialiser says that the other members keep their defaults.
                    $<$<CXX_COMPILER_ID:GNU>:-Wno-missing-field-initializers>
                    # What ccache needs where there is a precompiled header.
                    $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
                    "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
# Under sanitizers GCC 12 takes variables of libtorch's headers for uninitialised.
if(CMAKE_BUILD_TYPE STREQUAL "Dev" AND NOT LARMOR_SANITIZE)
  add_compile_options(-Werror)
endif()
if(CMAKE_UNITY_BUILD)
  add_compile_options(-Wno-shadow)  # a neighbour's file-local name is no shadow
endif()
if(LARMOR_SANITIZE)
  add_compile_options(-fsanitize=${LARMOR_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${LARMOR_SANITIZE})
endif()
