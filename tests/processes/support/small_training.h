// A training of a few short steps with everything on, as the tests stop and kill it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/processes/support/program_run.h"

namespace larmor::testing {

constexpr int small_steps = 24;

/// `train` of a run named `run` in the folder's runs/, with so many ranks.
std::vector<std::string> small_training(const std::string& run, int ranks, int steps = small_steps);

/// The same words with another value for `key`; another kind of data has no phantoms.
std::vector<std::string> with(std::vector<std::string> words, const std::string& key,
                              const std::string& value);

/// The newest step that the run has logged; 0 before the first.
int64_t newest_step(const std::filesystem::path& run);
/// Waits until the run has logged that step.
bool reaches_step(const std::filesystem::path& run, int64_t step, double seconds = 60);

}  // namespace larmor::testing
