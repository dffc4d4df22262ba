// What a verb has its ranks do: decided once, by the process that starts them, and read by whoever is a rank.
// The protocol in order: README.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/comm/communicator.h"
#include "larmor/launch/rank.h"
#include "larmor/plan/plan.h"
#include "larmor/watch/hang_watch.h"

namespace larmor::ranks {

struct Job {
  Plan plan;
  Json request = Json::object();  // what the verb adds, of which this layer knows nothing

  // What follows is said by each process itself.
  enum class Means { here, threads, processes };
  Means means = Means::here;            // how the ranks live that this process has to care for
  std::optional<Rank> rank = {};        // which this process is, where it was started as one
  std::vector<std::string> words = {};  // with which the program is started again as a rank
  HangLimits hang = {};
  PeerLimits peers = {};
};

/// Plan and request, for LaunchOptions::job.
std::string to_text(const Job& job);
/// The job of the process that started this one as a rank; nothing where none did. Brings the environment of
/// the process to what the plan says: call it before there are other threads. Throws Error (usage).
std::optional<Job> inherited_job();

}  // namespace larmor::ranks
