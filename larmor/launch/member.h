// An agent that does as the leader says: starts its ranks, passes signals on, reports.
//
// Messages, one JSON object a line. Member: {"hello": …} (gathering.h), then {"ended": …}, {"signal": n},
// {"statuses": {rank: …}, "states": {rank: …}} twice a second. Leader: {"welcome": true} or {"refused": …},
// then {"start": …}, {"send": {rank, signal}}, {"beat": true} once a second, {"over": {status, message}}.
#pragma once

#include <chrono>
#include <string>

#include "larmor/launch/channel.h"
#include "larmor/launch/local_host.h"

namespace larmor {

/// How the leader ended the group.
struct Dismissal {
  int status = 0;
  std::string message;
};

/// Blocks until the leader says that the group is over; ranks that still run are ended then. Throws Error
/// (rank_lost) when the leader is gone, or silent for so long while ranks of ours run, or for `pause` between
/// two starts; our ranks are dead by then.
Dismissal serve(Channel& leader, LocalHost& host, std::chrono::milliseconds silence,
                std::chrono::milliseconds pause);

}  // namespace larmor
