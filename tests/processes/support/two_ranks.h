// Trainings of two ranks by other launchers than ours, and what ours makes of the same words.
#pragma once

#include <optional>

#include <gtest/gtest.h>

#include "tests/processes/support/small_training.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {

class TwoRanks : public ::testing::Test {
 protected:
  static void TearDownTestSuite() { own_.reset(); }

  std::filesystem::path folder() const { return scratch_.path(); }
  std::filesystem::path run(const std::string& name) const { return folder() / "runs" / name; }

  /// `small_training` without --ranks, which the other launcher decides.
  static std::vector<std::string> words(const std::string& run, int steps = small_steps);
  /// A file of the program and its words.
  static std::vector<std::string> command(const std::vector<std::string>& words);
  /// What two ranks of our own launcher end with; trained once a suite.
  static const TrainedState& own();

 private:
  ScratchFolder scratch_;
  static inline std::optional<TrainedState> own_;
};

/// One list of words behind the other.
std::vector<std::string> operator+(std::vector<std::string> left, const std::vector<std::string>& right);

}  // namespace larmor::testing
