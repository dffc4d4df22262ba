#include "tests/launch/support/simulated_host.h"

#include <utility>

#include <signal.h>

#include "larmor/base/error.h"
#include "larmor/launch/stop_signal.h"
#include "larmor/watch/stack_dump.h"

namespace larmor {

void SimulatedHost::start(const GroupStart& start) {
  for (const auto& place : start.ranks) {
    if (ranks.contains(place.rank)) ++started_twice;
    const double now = clock_.steady_seconds();
    SimulatedRank rank;
    rank.generation = start.generation;
    rank.world = start.world_size;
    rank.began = rank.heard = now;
    rank.step = std::max<int64_t>(start.terms.resume_step, 0);
    ranks.insert_or_assign(place.rank, rank);
  }
}

void SimulatedHost::send(int number, int signal) {
  const auto found = ranks.find(number);
  if (found == ranks.end()) return;
  auto& rank = found->second;
  if (signal == SIGKILL) return die(number, SIGKILL);
  if (signal == SIGCONT) {
    if (!std::exchange(rank.stands_still, false)) return;
    rank.woke = clock_.steady_seconds();
    for (const int kept : std::exchange(rank.pending, {})) send(number, kept);
    return;
  }
  if (rank.stands_still) return rank.pending.push_back(signal);
  if (signal == stack_signal()) return;
  if (signal == lost_peer_signal()) {
    // Before the start is over nobody listens for it, and it is ignored.
    if (rank.phase != Phase::starting) exit(number, static_cast<int>(Exit::rank_lost));
    return;
  }
  if (rank.phase == Phase::starting) return die(number, signal);
  rank.is_asked_to_stop = true;
}

std::vector<RankEnding> SimulatedHost::take_endings() { return std::exchange(endings_, {}); }

int SimulatedHost::take_signal() {
  if (signals_.empty()) return 0;
  const int signal = signals_.front();
  signals_.pop_front();
  return signal;
}

std::map<int, RankStatus> SimulatedHost::statuses() {
  std::map<int, RankStatus> all;
  const double now = clock_.steady_seconds();
  for (const auto& [number, rank] : ranks) {
    RankStatus status;
    status.phase = rank.phase;
    status.step = rank.step;
    status.quiet = now - rank.heard;
    if (rank.blocked > 0) status.waiting = now - rank.blocked;
    all.emplace(number, status);
  }
  return all;
}

std::string SimulatedHost::process_state(int rank) {
  const auto found = ranks.find(rank);
  return found != ranks.end() && found->second.stands_still ? "stopped by a signal" : "";
}

void SimulatedHost::lose_all() {
  ranks.clear();
  endings_.clear();
  signals_.clear();
}

void SimulatedHost::end(int number, const Ending& ending) {
  const auto found = ranks.find(number);
  if (found == ranks.end()) return;
  endings_.push_back(
      {.rank = number, .ending = ending, .phase = found->second.phase, .step = found->second.step});
  ranks.erase(found);
}

}  // namespace larmor
