#include "larmor/plan/guide.h"

#include <algorithm>

namespace larmor {

GuideBatch guide_batch_on_gpus(uint64_t memory_bytes, int64_t ranks) {
  // The guide's limits are MiB in round thousands, so that a "24 GB" card with 22.5 GiB counts as one of 20.
  const uint64_t mebibytes = memory_bytes >> 20;
  const int64_t micro_batch = mebibytes >= 20000   ? 16
                              : mebibytes >= 14000 ? 12
                              : mebibytes >= 10000 ? 8
                              : mebibytes >= 6000  ? 4
                                                   : 2;
  constexpr int64_t examples_a_step = 256, most = 32;
  return {micro_batch, std::clamp<int64_t>(examples_a_step / (micro_batch * ranks), 1, most)};
}

int guide_prefetch(uint64_t memory_available_bytes) {
  const uint64_t gibibytes = memory_available_bytes >> 30;
  return gibibytes > 64 ? 4 : gibibytes > 32 ? 3 : 2;
}

}  // namespace larmor
