// How the backends of libtorch are made.
#pragma once

#include "larmor/comm/group.h"
#include "larmor/comm/rank_store.h"

namespace larmor {

MakeBackend gloo_backends(const RankStore& rank_store, const Rank& rank, std::chrono::milliseconds limit);

/// nccl.cpp where the build has CUDA; no_nccl.cpp, which refuses, where not.
MakeBackend nccl_backends(const RankStore& rank_store, const Rank& rank, int device_index,
                          std::chrono::milliseconds limit);

}  // namespace larmor
