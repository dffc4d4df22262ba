#include "tests/processes/support/two_ranks.h"

#include <algorithm>
#include <cstdlib>

#include "larmor/base/error.h"

namespace larmor::testing {

std::vector<std::string> TwoRanks::words(const std::string& run, int steps) {
  auto all = small_training(run, 2, steps);
  const auto flag = std::find(all.begin(), all.end(), "--ranks");
  all.erase(flag, flag + 2);
  return all;
}

std::vector<std::string> TwoRanks::command(const std::vector<std::string>& words) {
  const char* program = std::getenv("LARMOR_PROGRAM");
  return std::vector<std::string>{program == nullptr ? "" : program} + words;
}

const TrainedState& TwoRanks::own() {
  if (!own_) {
    const ScratchFolder folder;
    const auto end = larmor_program(small_training("own", 2), {.folder = folder.path()});
    if (end.status != 0) fail(Exit::unexpected, "our own launcher failed: " + end.err);
    own_ = trained_state(folder.path() / "runs" / "own");
  }
  return *own_;
}

std::vector<std::string> operator+(std::vector<std::string> left, const std::vector<std::string>& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

}  // namespace larmor::testing
