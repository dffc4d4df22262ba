// An agent that does as the leader says: starts its ranks, passes signals on, reports. What its ranks run is
// its own: of the leader it takes numbers, each looked at, and the hash of what the others run.
//
// Messages, JSON objects (channel.h). Member: {"hello": …} (gathering.h), then {"ended": …}, {"signal": n},
// {"statuses": {rank: …}, "states": {rank: …}} twice a second. Leader: {"welcome": true} or {"refused": …},
// then {"start": …}, {"send": {rank, signal}}, {"beat": true} once a second, {"over": {status, message}}.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "larmor/launch/channel.h"
#include "larmor/launch/local_host.h"

namespace larmor {

/// How the leader ended the group.
struct Dismissal {
  int status = 0;
  std::string message;
};

/// Adds to a start what never comes from the leader: the program, its words, its logs, the store's address
/// and key. Throws Error (usage) when the hash of that is not the leader's.
using CompleteStart = std::function<void(GroupStart&)>;

/// Blocks until the leader says that the group is over; ranks that still run are ended then. Throws Error
/// (rank_lost) when the leader is gone, or silent for so long while ranks of ours run, or for `pause` between
/// two starts; our ranks are dead by then.
Dismissal serve(Channel& leader, LocalHost& host, const CompleteStart& complete,
                std::chrono::milliseconds silence, std::chrono::milliseconds pause);

}  // namespace larmor
