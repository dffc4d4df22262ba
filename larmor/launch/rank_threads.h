// Ranks that are threads of this process: how they live, and which of their ends is the group's.
#pragma once

#include <exception>
#include <functional>
#include <vector>

namespace larmor {

struct RankThread {
  std::function<void()> live;
  std::vector<int> cores = {};  // to be bound to, where the process may use all of them
};

/// Runs the i-th in a thread called "rank i", in the log as well, and blocks until all have ended. Throws
/// what the first that failed threw; one that only lost its peers (rank_lost) echoes another's end, even when
/// the echo arrives first. Nobody can end a thread from outside: where one still lives `grace_seconds` after
/// the first failure, calls `give_up` with the reason, and that has to end the process.
void run_rank_threads(const std::vector<RankThread>& ranks, double grace_seconds,
                      const std::function<void(std::exception_ptr)>& give_up);

}  // namespace larmor
