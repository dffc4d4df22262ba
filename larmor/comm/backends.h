// How the backends of libtorch are made.
#pragma once

#include "larmor/comm/group.h"
#include "larmor/comm/meeting.h"

namespace larmor {

MakeBackend gloo_backends(const Meeting& meeting, const Rank& rank, std::chrono::milliseconds limit);

/// nccl.cpp where the build has CUDA; no_nccl.cpp, which refuses, where not.
MakeBackend nccl_backends(const Meeting& meeting, const Rank& rank, int device_index,
                          std::chrono::milliseconds limit);

}  // namespace larmor
