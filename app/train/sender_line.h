// From the training of a run to the senders of its numbers, which are processes of their own (`larmor sync`),
// and back: the sender tells what happens, and sees when the training has ended, however it has.
#pragma once

#include <string>
#include <vector>

#include "larmor/base/process/descriptor.h"
#include "larmor/base/process/process.h"
#include "larmor/config/run_config.h"
#include "larmor/run/run_folder.h"

namespace larmor::app {

/// The sender's end, LARMOR_SYNC_FD in the environment.
class SenderLine {
 public:
  SenderLine();
  bool is_there() const { return line_.is_open(); }
  /// Whether the training goes on.
  bool is_held() const;
  /// One sentence for the person; nothing where nobody is there.
  void tell(const std::string& words) const;

 private:
  Descriptor line_;
};

/// Throws Error (usage) where a service that the configuration asks for cannot be meant as it says.
void check_services(const TrackConfig& config);

/// The training's end.
class RunSenders {
 public:
  RunSenders() = default;
  ~RunSenders();
  RunSenders(const RunSenders&) = delete;
  RunSenders& operator=(const RunSenders&) = delete;
  /// Starts a sender for each service that the run's configuration asks for. Their output goes to
  /// log/sync-<service>.log.
  void start(const RunFolder& folder);
  /// What each has told first, or that it has told nothing: waits until then, for a few seconds.
  std::vector<std::string> first_words();
  /// Lets them see that training has ended, waits ten seconds for what they have yet to send, and leaves
  /// those that need longer to themselves. What each did not bring to its end, as sentences.
  std::vector<std::string> finish();

 private:
  struct Sender {
    std::string service, title;
    Process process;
    Descriptor line;
  };
  RunFolder folder_;
  std::vector<Sender> senders_;
};

}  // namespace larmor::app
