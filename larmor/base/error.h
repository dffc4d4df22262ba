// One kind of error for everything a person, a file or the machine got wrong: what, where, what to do.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace larmor {

/// Exit statuses of the program (docs/cli.md). An Error carries the one it ends the program with.
enum class Exit : int {
  done = 0,
  unexpected = 1,
  usage = 2,
  data = 3,
  environment = 4,
  memory = 5,
  numerics = 6,
  checkpoint = 7,
  rank_lost = 8,
  no_progress = 9,
  stopped = 75,
};

class Error : public std::runtime_error {
 public:
  /// `message` says what is wrong and where; `hint` what to do next (may be empty).
  Error(Exit exit, std::string message, std::string hint = {});

  Exit exit() const { return exit_; }
  const std::string& message() const { return message_; }
  const std::string& hint() const { return hint_; }

  /// The same error with `context` put before the message ("while reading x.nii: …").
  Error within(std::string_view context) const;

 private:
  Exit exit_;
  std::string message_;
  std::string hint_;
};

[[noreturn]] void fail(Exit exit, std::string message, std::string hint = {});

/// Programmers' mistakes are for assert; this is for the person, the file and the machine.
inline void require(bool ok, Exit exit, const char* message, const char* hint = "") {
  if (!ok) fail(exit, message, hint);
}

}  // namespace larmor
