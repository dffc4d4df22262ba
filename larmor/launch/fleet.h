// The hosts of a run as its leader holds them, from one start of the ranks to the next.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "larmor/launch/gathering.h"
#include "larmor/launch/hosts/local_host.h"
#include "larmor/launch/launcher.h"
#include "larmor/launch/signal_pipe.h"
#include "larmor/plan/plan.h"

namespace larmor {

/// One thread, which outlives all ranks.
class Fleet {
 public:
  /// This host, and the agents that gather() has let in, if any. `own` is what this agent says of itself;
  /// `environment` is for its own ranks alone; `key` is the one that all agents know.
  explicit Fleet(const AgentPlace& place = {}, Hello own = {}, std::vector<Member> members = {},
                 std::map<std::string, std::string> environment = {}, const RunKey& key = RunKey::draw());

  /// What every agent said of itself, this one first. Lost ones are left out.
  std::vector<Hello> agents() const;

  /// Starts the plan's ranks on the hosts in turn and blocks until all have ended.
  GroupEnding run(const Plan& plan, const LaunchOptions& options);
  /// Waits so long for a signal, between two starts: which one came, or 0.
  int signal_within(double seconds);
  /// The members end with this status.
  void dismiss(int status, const std::string& message);

 private:
  const Hello& hello_of(size_t agent) const;
  /// The same for agents that share a host.
  std::string host_of(size_t agent) const;
  /// The host, for each agent, by which its ranks count their devices.
  std::vector<std::string> device_hosts(const Plan& plan) const;
  /// Where each rank of the plan is started.
  std::vector<RankProcess> places(const Plan& plan) const;
  std::vector<GroupStart> starts(const Plan& plan, const LaunchOptions& options,
                                 const std::vector<RankProcess>& places) const;
  LocalHost& local(bool console);

  // From the first start on: until then a signal ends this process as it ends any.
  std::unique_ptr<SignalPipe> signals_;
  std::unique_ptr<LocalHost> local_;
  std::map<std::string, std::string> environment_;
  AgentPlace place_;
  RunKey key_;
  Hello own_;
  std::vector<Member> members_;
};

}  // namespace larmor
