// Agents without processes of their own: connections, greetings, and threads that play the other side.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/launch/gathering.h"
#include "larmor/launch/hosts/host.h"
#include "larmor/launch/member.h"
#include "larmor/net/channel.h"

namespace larmor {

using std::chrono::milliseconds;

/// The two ends of a connection.
struct Ends {
  Descriptor here, there;
};
Ends connect_ends();

/// The same in every test.
const RunKey& test_key();
/// Of two sides that have shown each other the test's key.
ChannelKeys test_keys(Handshake::Side side);
/// The leader's and a member's end of a connection on which they have done so.
Channel leaders_end(Descriptor socket);
Channel members_end(Descriptor socket);

/// Agent `agent` of `agents` on host "node-AGENT", of the build "1.0", asked to train for 10 epochs.
Hello hello_of(int agent, int agents);

/// Ranks that are shell scripts: rank i is the i-th of those that start here and runs `script`.
GroupStart script_start(const std::vector<int>& ranks, const std::string& script,
                        const std::filesystem::path& log_folder);

/// Calls `step` until it says yes, for at most ten seconds; whether it did.
bool happens(const std::function<bool()>& step);

/// "2: message" of the error that `work` throws; "fine" without one.
template <class Work>
std::string words_of(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    return text(static_cast<int>(error.exit()), ": ", error.message());
  }
  return "fine";
}

/// A member that serves in a thread of its own: its ranks are real, its signals those of this process. They
/// run what `complete` makes of a start.
class MemberThread {
 public:
  MemberThread(Descriptor socket, CompleteStart complete, milliseconds silence, milliseconds pause);
  /// Waits for its end.
  ~MemberThread();
  /// How it was dismissed, or the words of its error with the exit status before them. Waits.
  std::string outcome();

 private:
  std::string outcome_;
  std::thread thread_;
};

}  // namespace larmor
