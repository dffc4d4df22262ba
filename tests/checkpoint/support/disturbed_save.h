// A save of which one system call fails: what must hold whatever the call and whatever the errno.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "larmor/base/error.h"

#include "tests/checkpoint/support/file_tree.h"
#include "tests/support/faults/memory_folder.h"
#include "tests/support/faults/system_call_watch.h"

namespace larmor::testing {

/// Steps 1 to 3 are saved on so many ranks, threads of this process; the saving of step 4 can be disturbed
/// again and again. Failures are reported to the running test.
class DisturbedSave {
 public:
  explicit DisturbedSave(int ranks);

  /// Of a save that nothing disturbs.
  const std::vector<SystemCall>& calls() const { return calls_; }
  /// The call fails once, in a save that is the run's last one or not. Whatever comes of it: all ranks have
  /// the same outcome; a checkpoint that was announced is there; one that was not has a warning with the path
  /// and the reason, and ends the run with Exit::environment when it was to be the last; an earlier one
  /// loads; no descriptor stays open; a signal (EINTR) changes nothing, unless the standard library was
  /// listing a folder; the next save succeeds and leaves no rubbish.
  void disturb(const SystemCall& call, int error, bool last);
  size_t cells() const { return cells_; }

 private:
  /// What became of a save on one rank.
  struct Ending {
    bool committed = false;
    std::string warning = {};
    std::optional<Exit> exit = {};
    bool operator==(const Ending&) const = default;
  };
  std::vector<Ending> save(int64_t step, bool last) const;
  void expect_as_promised(const Ending& ending, const SystemCall& call, int error, bool last) const;
  void expect_next_save() const;

  int ranks_;
  MemoryFolder folder_;
  FileTree before_;
  std::vector<SystemCall> calls_;
  size_t cells_ = 0;
};

}  // namespace larmor::testing
