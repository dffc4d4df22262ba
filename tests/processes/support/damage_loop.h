// A training that is killed by chance, and whose checkpoints are damaged between its starts.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/processes/support/kill_loop.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {

/// The parameter is checkpoint.keep_last.
class DamageLoop : public KillLoop, public ::testing::WithParamInterface<int> {
 protected:
  /// Kills runs of so many steps, one after the other where they come to their end, until there were so many
  /// kills. Nothing is lost: after each kill what was announced last is whole; no damage that leaves one
  /// whole checkpoint keeps a start from going on; and every run ends in the bits of one that was left alone.
  void kill_and_damage(int kills, int steps);

 private:
  std::vector<std::string> words(const std::string& name) const;
  /// Kills it at a moment that chance chooses; false where it came to its end before.
  bool is_killed(const std::string& name);
  /// Looks at what is left, and damages some of it.
  void damage(const std::string& name);
  void expect_the_end_of(const std::string& name);

  int steps_ = 0;
  std::optional<TrainedState> whole_;
  size_t announced_ = 0;  // of the current run's checkpoints, when some of what is there was last damaged
  std::map<std::string, int> damages_;
};

}  // namespace larmor::testing
