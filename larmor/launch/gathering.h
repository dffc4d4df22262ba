// Rendezvous of agents: each member connects to the leader, and both prove that they know the run's key
// (authenticating_listener.h). Then the member sends a Hello, and is accepted or refused with a reason.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/launch/hosts/remote_host.h"
#include "larmor/net/channel.h"
#include "larmor/net/run_key.h"
#include "larmor/net/socket.h"

namespace larmor {

/// This agent among those of its start. Agent 0 leads.
struct AgentPlace {
  int agent = 0;
  int agents = 1;
  std::string master_address = "127.0.0.1";
  int master_port = 0;
  std::chrono::milliseconds start_limit{std::chrono::minutes(10)};  // for all to be there
  std::chrono::milliseconds silence{std::chrono::seconds(15)};      // after which one of them is lost

  bool leads() const { return agent == 0; }
};

/// What an agent says of itself.
struct Hello {
  int agent = 0;
  int agents = 1;
  std::string host;      // its name
  std::string machine;   // what tells hosts of one name apart, and is the same in their namespaces; may be ""
  int local_index = -1;  // of the one rank that another launcher gave it; -1: as many ranks as the plan says
  std::string build;     // of the program
  Json words;            // key -> value: what it was asked to do
  Json hardware;         // as hardware.json
  double wall_seconds = 0;  // its clock, for a warning only
};
Json to_json(const Hello& hello);
Hello hello_from_json(const Json& json);

/// An agent that was let in.
struct Member {
  Hello hello;
  std::unique_ptr<RemoteHost> host;
};

/// The leader waits until all others are there: `own` first says what they have to agree with. Who does not
/// know the key is not heard, and agents that take too long to say who they are are turned away. Throws
/// Error: environment naming the agents that did not come within the limit, usage when one that knows the key
/// was asked to do something else (naming the key and both values; it is told the same).
std::vector<Member> gather(const AgentPlace& place, Listener& listener, const Hello& own, const RunKey& key);

/// Looks for the run's key, anew at each call. Throws Error where there is none yet.
using FindKey = std::function<RunKey()>;

/// What a member has once it is let in.
struct Joined {
  Channel leader;
  RunKey key;
};
/// A member reaches the leader and is let in. Where somebody answers who does not know the key, or there is
/// no key yet, it looks again for a minute: the leader may be about to renew it, and other hosts see that
/// late. Throws Error: environment when nobody is there or it is no leader of this run, or what the leader
/// says.
Joined join_leader(const AgentPlace& place, const Hello& own, const FindKey& find_key);

/// Why an agent may not take part in what `own` does; "" when it may.
std::string disagreement(const Hello& own, const Hello& other);

}  // namespace larmor
