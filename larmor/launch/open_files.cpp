#include "larmor/launch/open_files.h"

#include <sys/resource.h>

#include <limits>

#include "larmor/base/error.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"

namespace larmor {

// Counted at 2, 4 and 8 ranks, with batch norm over ranks: three groups, and the store at the first one.
int64_t open_files_of_rank(int ranks) {
  constexpr int64_t alone = 25, of_a_peer = 4;
  return alone + of_a_peer * (ranks - 1);
}

int64_t limit_of_open_files() {
  rlimit files{};
  constexpr auto most = std::numeric_limits<int64_t>::max();
  const bool is_known = ::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max < static_cast<rlim_t>(most);
  return is_known ? static_cast<int64_t>(files.rlim_max) : most;
}

void refuse_too_many_ranks(int ranks, int64_t limit) {
  const int64_t needed = open_files_of_rank(ranks);
  if (needed <= limit) return;
  fail(Exit::environment,
       text("each of ", ranks, " ranks opens up to ", needed, " files, and ", host_name(), " allows ", limit),
       text("raise the hard limit (ulimit -Hn, LimitNOFILE of the service) to ", needed,
            ", or start fewer ranks"));
}

}  // namespace larmor
