// A training that is killed again and again, by chance.
#pragma once

#include <filesystem>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/processes/support/program_run.h"

namespace larmor::testing {

class KillLoop : public ::testing::Test {
 protected:
  /// LARMOR_SEED repeats a row of kills, as far as the machine does.
  KillLoop();

  std::filesystem::path folder() const { return scratch_.path(); }
  std::filesystem::path run(const std::string& name) const { return folder() / "runs" / name; }
  ProgramOptions here() const { return {.folder = folder()}; }

  double between(double least, double most);
  int number_to(int most);

  /// Kills the launcher or one of its ranks, and sees that none of them is left. False where the run had come
  /// to its end just before.
  bool kill_one_of(Running& training);
  bool kill_and_look(Running& training, int victim);

  bool has_half_a_checkpoint(const std::string& name) const;

 private:
  ScratchFolder scratch_;
  std::mt19937 chance_;
};

/// Whether the newest checkpoint that the log announces, or a later one, is there and whole; `verified` is
/// what `checkpoint verify --json` says.
bool announced_is_good(const Json& verified, const std::filesystem::path& run);

}  // namespace larmor::testing
