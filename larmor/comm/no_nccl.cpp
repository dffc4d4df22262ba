#include "larmor/base/error.h"
#include "larmor/comm/backends.h"

namespace larmor {

MakeBackend nccl_backends(const RankStore&, const Rank&, int, std::chrono::milliseconds) {
  fail(Exit::environment, "this build has no CUDA, so its ranks cannot speak over NCCL",
       "configure with the preset cuda, or say --device cpu");
}

}  // namespace larmor
