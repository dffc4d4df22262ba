# Flags that turn a memory error in a parser into an end of the process instead of a way in. They hold for every
# target alike, because targets that share the precompiled header must not differ in a single flag. docs/decisions/0017
# says what they cost. Sanitizers do these checks themselves, and disagree with _FORTIFY_SOURCE.
include(CheckCXXCompilerFlag)
if(NOT LARMOR_SANITIZE)
  add_compile_options(-fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)  # bounds of containers are checked in release builds, too
  check_cxx_compiler_flag(-fcf-protection=full LARMOR_HAS_CF_PROTECTION)  # x86-64
  if(LARMOR_HAS_CF_PROTECTION)
    add_compile_options(-fcf-protection=full)
  endif()
  check_cxx_compiler_flag(-ftrivial-auto-var-init=zero LARMOR_HAS_ZERO_INIT)  # GCC 12, Clang 16
  if(LARMOR_HAS_ZERO_INIT)
    # GCC 12 then warns of optional<int64_t> values that are set before they are read, and nothing is left uninitialised.
    add_compile_options(-ftrivial-auto-var-init=zero -Wno-maybe-uninitialized)
  endif()
  add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
  set(CMAKE_EXE_LINKER_FLAGS "${CMAKE_EXE_LINKER_FLAGS} -pie")
endif()
