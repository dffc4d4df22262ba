#include "larmor/launch/restart_policy.h"

#include <algorithm>

#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr int64_t most_starts_without_progress = 3;
constexpr double wait_after_two = 1;  // seconds; what lacked may be there by then

std::optional<Plan> smaller_plan(const Plan& plan) {
  // Other strategies have tried already, in the step that failed.
  if (plan.strategy != Strategy::zero3 && !plan.exchange_every_micro_batch) return std::nullopt;
  auto smaller = with_smaller_micro_batch(plan);
  if (!smaller) return std::nullopt;
  smaller->reasons.push_back(text("Memory ran out with micro-batch ", plan.micro_batch, ": since then ",
                                  smaller->micro_batch, " × accumulation ", smaller->accumulation, "."));
  return smaller;
}

/// "0,2": one device is a list, too, and no count.
std::string list_of_devices(const std::vector<int>& devices) {
  std::vector<std::string> names;
  for (const int device : devices) names.push_back(text(device));
  return text(join(names, ","), names.size() == 1 ? "," : "");
}

std::vector<int> devices_without(const Plan& plan, int rank_left_out) {
  std::vector<int> devices;
  for (int rank = 0; rank < plan.world_size(); ++rank) {
    if (rank != rank_left_out) devices.push_back(plan.ranks[static_cast<size_t>(rank)].device);
  }
  return devices;
}

/// What is left of what the ranks ran on.
struct Remainder {
  int64_t ranks = 0;
  std::vector<int> devices;  // of this host; empty: the plan finds them
  std::string lost;          // "1 of 2 hosts is lost"; "" where nothing is
};

std::string lost_words(int64_t lost, int64_t of, const char* what) {
  return text(lost, " of ", of, " ", what, lost == 1 ? " is lost" : " are lost");
}

Remainder remainder_of(const GroupEnding& ending, const GroupFacts& facts, bool leave_out_failed) {
  const Plan& plan = facts.plan;
  const int64_t world = plan.world_size();
  if (ending.has_lost_hosts) {
    const int64_t of_each = (world + facts.agents_before - 1) / facts.agents_before;
    return {.ranks = std::min(world, facts.agents_left * of_each),
            .devices = {},
            .lost = lost_words(facts.agents_before - facts.agents_left, facts.agents_before, "hosts")};
  }
  if (facts.devices_left && std::ssize(*facts.devices_left) < world) {
    const int64_t left = std::ssize(*facts.devices_left);
    return {.ranks = left, .devices = *facts.devices_left, .lost = lost_words(world - left, world, "GPUs")};
  }
  if (!leave_out_failed) return {.ranks = world, .devices = {}, .lost = {}};
  Remainder rest{.ranks = world - 1, .devices = {}, .lost = {}};
  // Of threads of one process nobody outside knows which failed.
  if (plan.hosts == 1 && plan.device == DeviceKind::cuda && !plan.in_one_process())
    rest.devices = devices_without(plan, ending.first_rank);
  return rest;
}

/// The largest number of ranks that the global batch allows, and where they run: a count, or a list where so
/// many GPUs are left.
std::optional<std::string> ranks_for(const Remainder& rest, const Plan& plan, int64_t least) {
  const auto allowed = allowed_world_sizes(plan.global_batch, rest.ranks);
  if (least == 0 || allowed.empty() || allowed.front() < least) return std::nullopt;
  if (allowed.front() == std::ssize(rest.devices)) return list_of_devices(rest.devices);
  return text(allowed.front());
}

}  // namespace

bool RestartPolicy::remember(const GroupEnding& ending, int64_t committed_step) {
  const bool moved = committed_step > committed_before_;
  starts_without_progress_ = moved ? 0 : starts_without_progress_ + 1;
  const bool same_rank =
      !moved && ending.first_rank >= 0 && failed_before_ && *failed_before_ == ending.first_rank;
  committed_before_ = std::max(committed_before_, committed_step);
  failed_before_ = ending.first_rank;
  return same_rank;
}

NextStart RestartPolicy::decide(const GroupEnding& ending, const GroupFacts& facts) {
  NextStart next{.ending = ending};
  if (ending.exit == Exit::memory) {
    next.smaller_micro_batches = smaller_plan(facts.plan);
    next.again = next.smaller_micro_batches.has_value();
    if (next.again) return next;
  }
  const bool same_rank_again = remember(ending, facts.committed_step);
  if (!ending.is_worth_a_restart() || limits_.most_restarts == 0) return next;
  if (starts_without_progress_ >= most_starts_without_progress) {
    next.ending.exit = Exit::no_progress;
    next.ending.raw_status = static_cast<int>(Exit::no_progress);
    next.ending.message = text("no checkpoint was committed in the last ", most_starts_without_progress,
                               " starts; the last one: ", ending.message);
    return next;
  }
  const bool would_repeat = limits_.asks_for_progress && starts_without_progress_ > 0;
  if (would_repeat || restarts_ >= limits_.most_restarts) {
    if (restarts_ > 0)
      next.ending.message += text(" (after ", restarts_, restarts_ == 1 ? " restart)" : " restarts)");
    return next;
  }
  const auto rest = remainder_of(ending, facts, same_rank_again && limits_.least_ranks > 0);
  if (rest.ranks < facts.plan.world_size()) {
    const auto ranks = ranks_for(rest, facts.plan, limits_.least_ranks);
    if (!ranks) {
      next.ending.message = text(ending.message, rest.lost.empty() ? "" : text("; ", rest.lost));
      return next;
    }
    next.ranks = *ranks;
  }
  ++restarts_;
  next.again = true;
  if (starts_without_progress_ > 1) next.wait_seconds = wait_after_two;
  return next;
}

void RestartPolicy::go_back_to(int64_t committed_step) {
  committed_before_ = std::min(committed_before_, committed_step);
}

}  // namespace larmor
