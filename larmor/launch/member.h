// An agent that does as the leader says: starts its ranks, passes signals on, reports. What its ranks run is
// its own: of the leader it takes numbers, each looked at, and the hash of what the others run.
//
// Messages, JSON objects (channel.h). Member: {"hello": …} (gathering.h), then {"ended": …}, {"signal": n},
// {"statuses": {rank: …}, "states": {rank: …}} twice a second. Leader: {"welcome": true} or {"refused": …},
// then {"start": …}, {"send": {rank, signal}}, {"beat": true} once a second, {"over": {status, message}}.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "larmor/base/clock.h"
#include "larmor/launch/hosts/host.h"
#include "larmor/net/channel.h"

namespace larmor {

/// How the leader ended the group.
struct Dismissal {
  int status = 0;
  std::string message;
};

/// Adds to a start what never comes from the leader: the program, its words, its logs, the store's address
/// and key. Throws Error (usage) when the hash of that is not the leader's.
using CompleteStart = std::function<void(GroupStart&)>;

/// How long the leader may be silent.
struct LeaderSilence {
  std::chrono::milliseconds while_ranks_run, between_starts;
};

/// One thread. Borrows all that it is given.
class Service {
 public:
  Service(Channel& leader, Host& host, const CompleteStart& complete, const LeaderSilence& silence,
          const Clock& clock = system_clock());
  /// Does what the leader has said since the last call, and reports what is due. The dismissal once it has
  /// come; ranks that still ran are ended then. Throws Error (rank_lost) when the leader is gone or was
  /// silent for too long; our ranks are dead by then.
  std::optional<Dismissal> step();

 private:
  void obey(const Json& message);
  void start_or_report(GroupStart start);
  void report();
  [[noreturn]] void lose_leader(const std::string& why);

  Channel& leader_;
  Host& host_;
  const CompleteStart& complete_;
  LeaderSilence silence_;
  const Clock& clock_;
  double heard_, reported_;  // steady seconds
  std::optional<Dismissal> over_;
};

/// Service::step() until the leader says that the group is over. Blocks.
Dismissal serve(Channel& leader, Host& host, const CompleteStart& complete, const LeaderSilence& silence);

}  // namespace larmor
