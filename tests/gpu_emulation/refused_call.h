// A function of NVIDIA's libraries that is not emulated: it ends the process with its name.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace emulated {

[[noreturn]] inline void refuse_call(const char* name) {
  std::fprintf(stderr, "emulated GPU: %s was called, which is not emulated\n", name);
  std::abort();
}

}  // namespace emulated

#define EMULATED_REFUSAL(name) \
  extern "C" void name() { emulated::refuse_call(#name); }
