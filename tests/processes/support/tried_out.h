// Runs that try a validation before their first step, beside runs that do not.
#pragma once

#include <gtest/gtest.h>

#include "tests/processes/support/small_training.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {

/// Trains two steps by these words, with and without the trial; every file of the checkpoints and every
/// number of the steps has to be the same.
inline void expect_the_trial_changes_nothing(const std::vector<std::string>& words,
                                             const std::filesystem::path& folder) {
  std::vector<TrainedState> ends;
  for (const std::string name : {"tried", "untried"}) {
    auto call = words;
    call.insert(call.begin(), "train");
    call.insert(call.end(), {"run.name=" + name, "run.folder=" + (folder / "same").string(), "--steps", "2"});
    if (name == "untried") call.emplace_back("--no-check");
    const auto end = larmor_program(call, {.folder = folder});
    ASSERT_EQ(end.status, 0) << end.err;
    ends.push_back(trained_state(folder / "same" / name));
  }
  EXPECT_FALSE(ends[0].files.empty());
  EXPECT_EQ(ends[0].files, ends[1].files);
  EXPECT_EQ(ends[0].steps, ends[1].steps);
  std::filesystem::remove_all(folder / "same");
}

}  // namespace larmor::testing
