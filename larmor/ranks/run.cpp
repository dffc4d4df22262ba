#include "larmor/ranks/run.h"

#include <optional>
#include <vector>

#include "larmor/base/files/file.h"
#include "larmor/launch/launcher.h"
#include "larmor/launch/rank_threads.h"

namespace larmor::ranks {

namespace {

// A rank that has lost its peers cannot do its work any more.
constexpr double grace_seconds = 10;

GroupEnding start_processes(const Job& job) {
  const ScratchFolder scratch;
  LaunchOptions launch;
  launch.arguments = job.words;
  launch.job = to_text(job);
  launch.log_folder = scratch.path();
  launch.keeps_logs = false;
  launch.first_rank_speaks = true;
  launch.console = false;
  launch.hang = job.hang;
  launch.grace_seconds = grace_seconds;
  return run_ranks(job.plan, launch);
}

/// This process is all ranks.
void live_as_threads(const Job& job, const Prepare& prepare,
                     const std::function<void(std::exception_ptr)>& give_up) {
  const auto body = prepare();
  const int count = job.plan.world_size();
  ThreadRendezvous rendezvous(count, job.plan.device);
  std::vector<RankThread> threads;
  for (int i = 0; i < count; ++i) {
    Rank place = job.rank.value_or(Rank{.count = count, .local_count = count});
    place.index = place.local_index = i;
    const auto live = [&body, &rendezvous, place] {
      LiveRank rank(place, [&](DeviceKind, int device) { return rendezvous.connect(place.index, device); });
      body(rank);
      rank.enter(Phase::finished);
    };
    threads.push_back({.live = live, .cores = job.plan.ranks[static_cast<size_t>(i)].cores});
  }
  run_rank_threads(threads, grace_seconds, give_up);
}

/// This process is one rank.
void live_as_process(const Job& job, const Prepare& prepare) {
  const Rank place = job.rank.value_or(Rank());
  std::optional<Rendezvous> rendezvous;  // once all have read what they need
  LiveRank rank(place, [&](DeviceKind device, int device_index) {
    if (!rendezvous) rendezvous.emplace(place, job.peers);
    return rendezvous->connect(device, device_index);
  });
  prepare()(rank);
  rank.enter(Phase::finished);
}

}  // namespace

GroupEnding run(const Job& job, const Prepare& prepare,
                const std::function<void(std::exception_ptr)>& give_up) {
  if (job.means == Job::Means::processes) return start_processes(job);
  job.means == Job::Means::threads ? live_as_threads(job, prepare, give_up) : live_as_process(job, prepare);
  return {};
}

}  // namespace larmor::ranks
