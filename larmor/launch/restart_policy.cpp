#include "larmor/launch/restart_policy.h"

#include <algorithm>

#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr int64_t most_starts_without_progress = 3;
constexpr double wait_after_two = 1;  // seconds; what lacked may be there by then

}  // namespace

RestartVerdict RestartPolicy::decide(const GroupEnding& ending, int64_t committed_step) {
  RestartVerdict verdict{.ending = ending};
  const bool moved = committed_step > committed_before_;
  starts_without_progress_ = moved ? 0 : starts_without_progress_ + 1;
  verdict.same_rank_again =
      !moved && ending.first_rank >= 0 && failed_before_ && *failed_before_ == ending.first_rank;
  committed_before_ = std::max(committed_before_, committed_step);
  failed_before_ = ending.first_rank;
  if (!ending.is_worth_a_restart() || most_restarts_ == 0) return verdict;
  if (starts_without_progress_ >= most_starts_without_progress) {
    verdict.ending.exit = Exit::no_progress;
    verdict.ending.raw_status = static_cast<int>(Exit::no_progress);
    verdict.ending.message = text("no checkpoint was committed in the last ", most_starts_without_progress,
                                  " starts; the last one: ", ending.message);
    return verdict;
  }
  if (restarts_ >= most_restarts_) {
    verdict.ending.message =
        text(ending.message, " (after ", restarts_, restarts_ == 1 ? " restart)" : " restarts)");
    return verdict;
  }
  ++restarts_;
  verdict.again = true;
  if (starts_without_progress_ > 1) verdict.wait_seconds = wait_after_two;
  return verdict;
}

void RestartPolicy::go_back_to(int64_t committed_step) {
  committed_before_ = std::min(committed_before_, committed_step);
}

}  // namespace larmor
