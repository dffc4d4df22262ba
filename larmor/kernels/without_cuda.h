// What a build without CUDA has in place of kernels for GPUs.
#pragma once

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

/// Throws Error (environment). `what`: "radiographs on a GPU need".
[[noreturn]] inline void refuse_without_cuda(const char* what) {
  fail(Exit::environment, text(what, " a larmor that is built with CUDA"),
       "build it by script/build --cuda, or train on the CPU");
}

}  // namespace larmor
