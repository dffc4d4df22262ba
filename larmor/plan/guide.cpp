#include "larmor/plan/guide.h"

#include <algorithm>

#include "larmor/base/ensure.h"

namespace larmor {

GuideRow guide_row(const Guide& guide, uint64_t memory_bytes, int64_t ranks) {
  ensure(!guide.rows.empty());
  const auto fits = [memory_bytes](const GuideRow& row) { return memory_bytes >= row.least_memory_bytes; };
  const auto found = std::find_if(guide.rows.begin(), guide.rows.end(), fits);
  GuideRow row = found == guide.rows.end() ? guide.rows.back() : *found;
  constexpr int64_t most = 32;
  if (guide.examples_a_step > 0)
    row.accumulation = std::clamp<int64_t>(guide.examples_a_step / (row.micro_batch * ranks), 1, most);
  return row;
}

int guide_prefetch(uint64_t memory_available_bytes) {
  const uint64_t gibibytes = memory_available_bytes >> 30;
  return gibibytes > 64 ? 4 : gibibytes > 32 ? 3 : 2;
}

}  // namespace larmor
