// The ranks of another agent, at the other end of a connection. The messages are those of member.h.
#pragma once

#include <chrono>
#include <deque>
#include <set>

#include "larmor/base/clock.h"
#include "larmor/launch/hosts/host.h"
#include "larmor/net/channel.h"

namespace larmor {

class RemoteHost final : public Host {
 public:
  /// `silence`: after so long without a word the host is lost.
  RemoteHost(Channel channel, std::string name, std::chrono::milliseconds silence,
             const Clock& clock = system_clock());

  const std::string& name() const override { return name_; }
  void start(const GroupStart& start) override;
  void send(int rank, int signal) override;
  std::vector<int> descriptors() const override;
  std::vector<RankEnding> take_endings() override;
  int take_signal() override;
  std::map<int, RankStatus> statuses() override;
  std::string process_state(int rank) override;
  void beat() override;
  bool is_lost() const override { return is_lost_; }

  /// The group is over for good: with this status the member ends.
  void dismiss(int status, const std::string& message);

 private:
  void read_messages();
  void take(const Json& message);
  void lose(const std::string& why);

  Channel channel_;
  std::string name_;
  double silence_;  // seconds
  const Clock* clock_;
  double heard_;  // steady seconds
  bool is_lost_ = false;
  std::set<int> running_;
  std::vector<RankEnding> endings_;
  std::deque<int> signals_;
  std::map<int, RankStatus> statuses_;
  std::map<int, std::string> states_;
};

}  // namespace larmor
